import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { readAvroContainer, writeAvroContainer } from '../../../src/iceberg/avro-container.ts';
import type { DataFile } from '../../../src/iceberg/data-file.ts';
import { type ManifestEntry, readManifest, writeManifest } from '../../../src/snapshot/manifest.ts';
import { readManifestList, writeManifestList } from '../../../src/snapshot/manifest-list.ts';

const SYNC = new Uint8Array(16).fill(3);
const FACTS = {
  content: 'data', partitionSpecId: 0, snapshotId: 77n, path: 'm', syncMarker: SYNC,
  schema: { schemaId: 0, fields: [{ id: 1, name: 'x', required: true, type: { kind: 'long' } }], identifierFieldIds: [] },
} as const;

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const count = fc.bigInt({ min: 0n, max: 2n ** 62n });
const counts = fc.array(fc.tuple(fc.nat(), int64), { maxLength: 4 }).map((pairs) => new Map(pairs));
const bounds = fc.array(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 20 })), { maxLength: 4 }).map((pairs) => new Map(pairs));

const file: fc.Arbitrary<DataFile> = fc.record({
  content: fc.constant('data' as const), path: fc.string({ unit: 'grapheme' }), recordCount: fc.bigInt({ min: 0n, max: 2n ** 50n }), fileSizeBytes: count,
  metrics: fc.record({
    columnSizes: counts, valueCounts: counts, nullValueCounts: counts, nanValueCounts: counts, lowerBounds: bounds, upperBounds: bounds,
  }),
  splitOffsets: fc.array(count, { maxLength: 3 }), equalityFieldIds: fc.constant([]),
});

const entry: fc.Arbitrary<ManifestEntry> = fc.record({
  status: fc.constantFrom('existing' as const, 'added' as const, 'deleted' as const),
  snapshotId: int64, sequenceNumber: count, fileSequenceNumber: count, file,
});

/** 'read', 'refused' (by name), or what went wrong: another error, or a read of seconds. */
function outcomeOf(read: () => unknown): string {
  const start = performance.now();
  let outcome = 'read';
  try {
    read();
  } catch (thrown) {
    outcome = thrown instanceof SinkError ? 'refused' : String(thrown);
  }
  return performance.now() - start < 2000 ? outcome : 'too slow';
}

describe('GIVEN any entries', () => {
  it('WHEN written as a manifest and read THEN they are the same', () => {
    fc.assert(fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
      expect(readManifest(writeManifest(entries, FACTS).bytes).entries).toEqual(entries);
    }));
  });
});

describe('GIVEN a manifest and a list that were damaged', () => {
  const entries = fc.sample(entry, { seed: 1, numRuns: 20 });
  const { bytes, manifest } = writeManifest(entries, FACTS);
  const list = writeManifestList([manifest], { snapshotId: 77n, parentSnapshotId: null, sequenceNumber: 2n ** 62n, syncMarker: SYNC });

  it('WHEN cut anywhere THEN reading is refused by name, unless the cut is between header and blocks', () => {
    const outcomes = Array.from(list, (_byte, end) => outcomeOf(() => readManifestList(list.subarray(0, end))));
    expect(outcomes.filter((outcome) => outcome === 'read')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(list.length - 1);
    fc.assert(fc.property(fc.nat(bytes.length - 1), (end) => {
      expect(outcomeOf(() => readManifest(bytes.subarray(0, end)))).toMatch(/^(read|refused)$/);
    }));
    expect(() => readManifest(bytes.subarray(0, bytes.length - 1))).toThrow(SinkError);
  });

  it('WHEN bytes are overwritten THEN reading succeeds or is refused by name, and never hangs', () => {
    fc.assert(fc.property(fc.nat(bytes.length - 1), fc.uint8Array({ minLength: 1, maxLength: 12 }), (at, garbage) => {
      const damaged = Uint8Array.from(bytes);
      damaged.set(garbage.subarray(0, bytes.length - at), at);
      expect(outcomeOf(() => readManifest(damaged))).toMatch(/^(read|refused)$/);
    }), { numRuns: 500 });
    fc.assert(fc.property(fc.nat(list.length - 1), fc.uint8Array({ minLength: 1, maxLength: 12 }), (at, garbage) => {
      const damaged = Uint8Array.from(list);
      damaged.set(garbage.subarray(0, list.length - at), at);
      expect(outcomeOf(() => readManifestList(damaged))).toMatch(/^(read|refused)$/);
    }), { numRuns: 500 });
  });

  it('WHEN the blocks are not packed, so that damage reaches the records, THEN it is the same', () => {
    const { schema, records } = readAvroContainer(bytes);
    const unpacked = writeAvroContainer({ schema, records, metadata: {}, codec: 'null', syncMarker: SYNC });
    // Behind the header: counts, lengths, branches and values of the records themselves.
    const header = writeAvroContainer({ schema, records: [], metadata: {}, codec: 'null', syncMarker: SYNC }).length;
    fc.assert(fc.property(fc.integer({ min: header, max: unpacked.length - 1 }), fc.uint8Array({ minLength: 1, maxLength: 12 }), (at, garbage) => {
      const damaged = Uint8Array.from(unpacked);
      damaged.set(garbage.subarray(0, unpacked.length - at), at);
      expect(outcomeOf(() => readManifest(damaged))).toMatch(/^(read|refused)$/);
    }), { numRuns: 2000 });
  });
});
