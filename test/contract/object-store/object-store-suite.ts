/**
 * What every ObjectStore does, told once and run on local files, on a real S3 server and on doubles.
 */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import type { ObjectStore } from '../../../src/sink/ports.ts';

export interface StoreUnderTest {
  readonly store: () => ObjectStore;
  /** An unused location in the store, below its writable root. */
  readonly location: (name: string) => string;
  /** Sizes that matter to this store, beside the usual ones. */
  readonly sizes: readonly number[];
}

let counter = 0;
const unique = (name: string): string => `data/${process.pid}-${Date.now()}-${counter += 1}-${name}`;

/** Bytes that differ at every offset from their neighbours, so that swapped or lost parts show. */
export function pattern(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = 0x9e3779b9 ^ size;
  for (let index = 0; index < size; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return await promise.then(() => 'no error', (thrown: unknown) => (thrown instanceof SinkError ? thrown.code : String(thrown)));
}

export function objectStoreSuite(name: string, under: StoreUnderTest): void {
  describe(`GIVEN ${name}`, () => {
    test.each([0, 1, 4_095, 1_000_003, ...under.sizes])('WHEN %i bytes are put THEN the same bytes are got', async (size) => {
      const location = under.location(unique('file.parquet'));
      const bytes = pattern(size);
      expect(await under.store().put(location, bytes)).toBe('stored');
      const got = await under.store().get(location);
      expect(Buffer.compare(got, bytes)).toBe(0);
    });

    test.each([10, ...under.sizes])('WHEN a name of %i bytes is put again THEN it exists and keeps its first content', async (size) => {
      const location = under.location(unique('twice.avro'));
      const bytes = pattern(size);
      await under.store().put(location, bytes);
      expect(await under.store().put(location, pattern(size + 1))).toBe('exists');
      expect(Buffer.compare(await under.store().get(location), bytes)).toBe(0);
    });

    test('WHEN ten race for one name THEN exactly one stores and its content is whole', async () => {
      const location = under.location(unique('race.avro'));
      const contents = Array.from({ length: 10 }, (_, index) => new Uint8Array(50_000).fill(index));
      const outcomes = await Promise.all(contents.map((bytes) => under.store().put(location, bytes)));
      expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1);
      expect(Buffer.compare(await under.store().get(location), contents[outcomes.indexOf('stored')] ?? new Uint8Array())).toBe(0);
    });

    test('WHEN parts come side by side and one is repeated THEN the object appears whole, and only when it is finished', async () => {
      const location = under.location(unique('parts.parquet'));
      const bytes = pattern(11_000_000);
      const part = (index: number) => ({ index, offset: index * 5_242_880, bytes: bytes.subarray(index * 5_242_880, (index + 1) * 5_242_880) });
      const upload = under.store().open(location);
      await Promise.all([upload.put(part(1)), upload.put(part(0))]);
      await Promise.all([upload.put(part(2)), upload.put(part(1))]);
      expect(await codeOf(under.store().get(location))).toBe('storage-object-missing');
      expect(await upload.finish()).toBe('stored');
      expect(await upload.finish()).toBe('exists');
      await upload.abort();
      expect(Buffer.compare(await under.store().get(location), bytes)).toBe(0);
    });

    test('WHEN parts are let go, or the name is taken THEN no object comes of them', async () => {
      const location = under.location(unique('let-go.parquet'));
      const first = { index: 0, offset: 0, bytes: pattern(5_242_880) };
      const dropped = under.store().open(location);
      await dropped.put(first);
      await dropped.abort();
      expect(await codeOf(under.store().get(location))).toBe('storage-object-missing');
      await under.store().put(location, pattern(3));
      const late = under.store().open(location);
      await late.put(first);
      expect(await late.finish()).toBe('exists');
      expect(await under.store().get(location)).toHaveLength(3);
    });

    test('WHEN an object is missing THEN get says so and delete is content', async () => {
      const location = under.location(unique('missing.avro'));
      expect(await codeOf(under.store().get(location))).toBe('storage-object-missing');
      await under.store().delete(location);
    });

    test('WHEN an object is deleted THEN it is gone, and the name may be put', async () => {
      const location = under.location(unique('deleted.avro'));
      await under.store().put(location, pattern(5));
      await under.store().delete(location);
      expect(await codeOf(under.store().get(location))).toBe('storage-object-missing');
    });

    test('WHEN names hold spaces, percent signs, plus, equals and unicode THEN they are taken as they stand', async () => {
      for (const odd of ['a b.avro', 'a%20b.avro', 'k=v+w.avro', 'é—ü.avro', '%2E.avro']) {
        const location = under.location(unique(odd));
        await under.store().put(location, Buffer.from(odd));
        expect(Buffer.from(await under.store().get(location)).toString()).toBe(odd);
      }
    });

    test('WHEN a view into a larger buffer is put THEN only the view is stored', async () => {
      const location = under.location(unique('view.avro'));
      await under.store().put(location, pattern(100).subarray(10, 20));
      expect(Buffer.compare(await under.store().get(location), pattern(100).subarray(10, 20))).toBe(0);
    });

    test('WHEN a location is not of a storage that is written THEN it is refused by name', async () => {
      for (const location of ['gs://b/k', 'abfss://c@a.dfs.core.windows.net/k', 'http://x/y', 'relative/path']) {
        expect(await codeOf(under.store().put(location, pattern(1)))).toBe('table-location-unsupported');
      }
    });
  });
}
