/** S1–S3 and never a hang: Avro containers, manifests and lists of other writers, damaged and made to kill the reader. */
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readAvroContainer, writeAvroContainer } from '../../../src/iceberg/avro-container.ts';
import { checkManifestList, readManifestList } from '../../../src/snapshot/manifest-list.ts';
import { readManifest, writeManifest } from '../../../src/snapshot/manifest.ts';
import { mergeEntries } from '../../../src/snapshot/merge.ts';
import { attempt, corpusFile } from './attempt.ts';
import { damaged, runsOf, seedOf } from './mutate.ts';

const SYNC = new Uint8Array(16).fill(9);
const CODES = ['catalog-protocol', 'table-unsupported'] as const;

const manifests = ['java-manifest.avro', 'pyiceberg-manifest-0.avro', 'pyiceberg-manifest-1.avro'].map(corpusFile);
const lists = ['java-manifest-list.avro', 'pyiceberg-manifest-list.avro'].map(corpusFile);

/** The same records without packing, so that damage reaches counts, branches and values and not the packing only. */
function unpacked(bytes: Uint8Array): Uint8Array {
  const { schema, records, metadata } = readAvroContainer(bytes);
  const kept = Object.fromEntries([...metadata].filter(([key]) => !key.startsWith('avro.')));
  return writeAvroContainer({ schema, records, metadata: kept, codec: 'null', syncMarker: SYNC });
}

const FACTS = {
  content: 'data', partitionSpecId: 0, snapshotId: 77n, path: 'm', syncMarker: SYNC,
  schema: { schemaId: 0, fields: [{ id: 1, name: 'x', required: true, type: { kind: 'long' } }], identifierFieldIds: [] },
} as const;

describe('GIVEN manifests and lists that Iceberg Java and PyIceberg wrote', () => {
  test('WHEN they are whole THEN they are read', () => {
    for (const bytes of manifests) expect(readManifest(bytes).entries.length).toBeGreaterThan(0);
    for (const bytes of lists) expect(readManifestList(bytes).length).toBeGreaterThan(0);
  });

  test('WHEN manifests are damaged THEN they are refused by name, or what is read can be merged and written again', () => {
    const corpus = [...manifests, ...manifests.map(unpacked)];
    let read = 0;
    for (const bytes of damaged(corpus, seedOf(1), runsOf(2500))) {
      const outcome = attempt(() => readManifest(bytes), bytes, CODES);
      if (outcome.kind === 'refused') continue;
      read += 1;
      // The sink's own use of a manifest: merged with another, in a list that says what lists say.
      attempt(() => {
        const manifest = readManifestList(lists[0]!)[0]!;
        const source = { manifest: { ...manifest, content: outcome.value.content }, contents: outcome.value };
        const merged = mergeEntries([source, source]);
        if (merged.replaced.length > 0) writeManifest(merged.entries, { ...FACTS, content: outcome.value.content });
      }, bytes, CODES);
    }
    expect(read).toBeGreaterThan(100);
  });

  test('WHEN lists are damaged THEN they are refused by name or agree with their table', () => {
    const corpus = [...lists, ...lists.map(unpacked)];
    for (const bytes of damaged(corpus, seedOf(2), runsOf(2500))) {
      const outcome = attempt(() => readManifestList(bytes), bytes, CODES);
      if (outcome.kind === 'refused') continue;
      attempt(() => checkManifestList(outcome.value, 5n), bytes, CODES);
      for (const manifest of outcome.value) {
        expect(manifest.addedFilesCount + manifest.existingFilesCount).toBeGreaterThanOrEqual(Math.max(manifest.addedFilesCount, 0));
      }
    }
  });
});

const long = (value: bigint | number): number[] => {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n)); ; rest >>= 7n) {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    if (rest <= 0x7fn) return bytes;
  }
};
const text = (value: string): number[] => [...long(Buffer.byteLength(value)), ...Buffer.from(value)];

/** A container with a schema, a codec and blocks as they are given: counts and lengths may lie. */
function container(schema: unknown, blocks: readonly { count: bigint | number; bytes: Uint8Array }[], codec = 'null'): Uint8Array {
  const header = [
    ...Buffer.from('Obj\u0001', 'latin1'), ...long(2), ...text('avro.schema'), ...text(typeof schema === 'string' ? schema : JSON.stringify(schema)),
    ...text('avro.codec'), ...text(codec), ...long(0), ...SYNC,
  ];
  return Buffer.concat([Buffer.from(header), ...blocks.map(({ count, bytes }) =>
    Buffer.concat([Buffer.from([...long(count), ...long(bytes.length)]), bytes, SYNC]))]);
}

const record = (fields: readonly unknown[], name = 'r'): unknown => ({ type: 'record', name, fields });
const field = (name: string, type: unknown): unknown => ({ name, type });

/** r0 {x: r1, y: r1}, r1 {x: r2, y: r2}, …: 2^depth visits and not a byte. */
function doubling(depth: number): unknown {
  let inner: unknown = { type: 'record', name: `r${depth}`, fields: [] };
  for (let level = depth - 1; level >= 0; level -= 1) inner = record([field('x', inner), field('y', `r${level + 1}`)], `r${level}`);
  return (inner as { fields: unknown[] }).fields.length === 0 ? inner : record([field('id', 'int'), field('deep', inner)], 'top');
}

const deepSchema = (depth: number): string => `${'{"type":"array","items":'.repeat(depth)}"int"${'}'.repeat(depth)}`;

describe('GIVEN an Avro file made to kill its reader', () => {
  const nulls = Buffer.concat(Array.from({ length: 2000 }, () => Buffer.from(long(4000))).concat(Buffer.from([0])));
  const attacks: readonly (readonly [string, () => Uint8Array])[] = [
    ['a block of 2^60 records', () => container(record([field('a', 'int')]), [{ count: 2n ** 60n, bytes: Buffer.from([2]) }])],
    ['a block of 2^60 records that take nothing', () => container(record([]), [{ count: 2n ** 60n, bytes: Buffer.from([]) }])],
    ['a string of 2^31 bytes', () => container(record([field('a', 'string')]), [{ count: 1, bytes: Buffer.from(long(2 ** 31)) }])],
    ['a string of 2^62 bytes', () => container(record([field('a', 'bytes')]), [{ count: 1, bytes: Buffer.from(long(2n ** 62n)) }])],
    ['an array of 2^50 items', () => container(record([field('a', { type: 'array', items: 'int' })]), [{ count: 1, bytes: Buffer.from(long(2n ** 50n)) }])],
    ['thousands of blocks of thousands of nulls', () => container(record([field('a', { type: 'array', items: 'null' })]), [{ count: 1, bytes: nulls }])],
    ['records that double 60 times and take nothing', () => container(doubling(60), [{ count: 1, bytes: Buffer.from([2]) }])],
    ['a record within itself', () => container(record([field('a', ['r', 'null'])]), [{ count: 1, bytes: Buffer.alloc(100_000) }])],
    ['a schema 100,000 deep', () => container(deepSchema(100_000), [])],
    ['a schema of 450 levels', () => container(deepSchema(450), [])],
    ['a schema of 100,000 fields', () => container(record(Array.from({ length: 100_000 }, (_, index) => field(`f${index}`, 'int'))), [])],
    ['a type with the name of a primitive', () => container(record([field('a', { type: 'fixed', name: 'n.string', size: 1 }), field('b', 'string')]), [{ count: 1, bytes: Buffer.from([1, 2]) }])],
    ['an enum without the symbol', () => container(record([field('a', { type: 'enum', name: 'e', symbols: ['x'] })]), [{ count: 1, bytes: Buffer.from(long(7)) }])],
    ['an int of 64 bits', () => container(record([field('a', 'int')]), [{ count: 1, bytes: Buffer.from(long(2n ** 40n)) }])],
    ['a boolean of 7', () => container(record([field('a', 'boolean')]), [{ count: 1, bytes: Buffer.from([7]) }])],
    ['a union branch of 2^31', () => container(record([field('a', ['null', 'int'])]), [{ count: 1, bytes: Buffer.from(long(2 ** 31 - 1)) }])],
    ['a fixed of 2^50', () => container(record([field('a', { type: 'fixed', name: 'f', size: 2 ** 50 })]), [{ count: 1, bytes: Buffer.from([1]) }])],
    ['a fixed of -1', () => container(record([field('a', { type: 'fixed', name: 'f', size: -1 })]), [{ count: 1, bytes: Buffer.from([1]) }])],
    ['a bomb of 600 MB', () => container(record([field('a', 'bytes')]), [{ count: 1, bytes: deflateRawSync(Buffer.alloc(600 * 1024 * 1024), { level: 1 }) }], 'deflate')],
    ['a header of 2^50 members', () => Buffer.from([...Buffer.from('Obj\u0001', 'latin1'), ...long(2n ** 50n)])],
    ['a codec with a line break', () => container(record([]), [{ count: 1, bytes: Buffer.from([1]) }], 'de\r\nflate')],
    ['code in a field name', () => container(record([field('a;globalThis.stolen=1;b', 'int')]), [{ count: 1, bytes: Buffer.from([2]) }])],
    ['code in a record name', () => container(record([field('a', 'int')], 'r(){globalThis.stolen=1};function x'), [{ count: 1, bytes: Buffer.from([2]) }])],
    ['a schema that is a type of JavaScript', () => container({ type: 'constructor' }, [{ count: 1, bytes: Buffer.from([2]) }])],
    ['a schema that names what every object has', () => container('"toString"', [{ count: 1, bytes: Buffer.from([2]) }])],
    ['a schema that is null', () => container('null', [{ count: 1, bytes: Buffer.from([2]) }])],
    ['a default of another type', () => container(record([{ name: 'a', type: 'int', default: { valueOf: 1, toString: 1 } }]), [{ count: 1, bytes: Buffer.from([2]) }])],
  ];

  test.each(attacks)('WHEN it is %s THEN every reader refuses it by name, soon and in little memory', (_what, make) => {
    const bytes = make();
    for (const read of [readAvroContainer, readManifest, readManifestList]) {
      const outcome = attempt(() => read(bytes), bytes.subarray(0, 2000), CODES);
      // A schema without blocks is an empty file, whatever it would have held.
      if (outcome.kind === 'read') expect(_what).toMatch(/^a schema of 450/);
    }
    expect('stolen' in globalThis).toBe(false);
  });

  test('WHEN two types have one short name, so that a walk without namespaces takes 2^50 items for a number, THEN it is refused', () => {
    const schema = record([
      field('a', { type: 'record', name: 'm.x', fields: [field('b', { type: 'array', items: 'null' })] }),
      field('c', { type: 'record', name: 'n.x', fields: [field('b', 'null')] }), field('d', 'm.x'), field('e', 'long'),
    ]);
    const bytes = container(schema, [{ count: 1, bytes: Buffer.from([0, ...long(2n ** 50n)]) }]);
    expect(() => readAvroContainer(bytes)).toThrow('two types have one name');
  });

  test('WHEN it names __proto__ as a field THEN no object but its own records changes', () => {
    const schema = record([field('__proto__', { type: 'record', name: 'p', fields: [field('polluted', 'int')] }), field('a', 'int')]);
    attempt(() => readAvroContainer(container(schema, [{ count: 1, bytes: Buffer.from([2, 4]) }])), '', CODES);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('WHEN ten million entries are packed into a few kilobytes THEN it is refused before they are made', () => {
    const schema = record([field('status', 'int'), field('a', { type: 'array', items: 'int' })]);
    const raw = Buffer.alloc(30_000_000);
    const bytes = container(schema, Array.from({ length: 3 }, () => ({ count: 15_000_000, bytes: deflateRawSync(raw) })), 'deflate');
    expect(bytes.length).toBeLessThan(200_000);
    const before = process.memoryUsage().heapUsed;
    const start = performance.now();
    expect(() => readAvroContainer(bytes)).toThrow(/values|records/);
    expect(performance.now() - start).toBeLessThan(30_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 31);
  });
});

describe('GIVEN a manifest list that contradicts itself or its table', () => {
  const [manifest] = readManifestList(lists[0]!);

  test('WHEN counts are negative, so that a manifest of live files would count as empty, THEN it is refused', () => {
    const { schema, records } = readAvroContainer(lists[0]!);
    const forged = records.map((entry) => ({ ...entry, added_files_count: -1, existing_files_count: 1 }));
    const bytes = writeAvroContainer({ schema, records: forged, metadata: {}, codec: 'null', syncMarker: SYNC });
    expect(() => readManifestList(bytes)).toThrow('added_files_count is negative');
  });

  test('WHEN a manifest is listed twice or is newer than the table THEN it is the catalog that is blamed', () => {
    expect(() => checkManifestList([manifest!, manifest!], 100n)).toThrow('listed twice');
    expect(() => checkManifestList([{ ...manifest!, sequenceNumber: 101n }], 100n)).toThrow('sequence number');
    expect(() => checkManifestList([{ ...manifest!, sequenceNumber: 100n }], 100n)).not.toThrow();
  });
});
