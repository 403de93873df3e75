import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../../src/iceberg/metadata.ts';
import { type ManifestFile, readManifestList } from '../../../src/snapshot/manifest-list.ts';
import { planSnapshot } from '../../../src/snapshot/snapshot.ts';
import { NOTHING_ADDED } from '../../../src/snapshot/summary.ts';
import { frontierAt } from '../../../src/time/frontier.ts';

function manifest(path: string, change: Partial<ManifestFile>): ManifestFile {
  return {
    path, lengthBytes: 10n, partitionSpecId: 0, content: 'data', sequenceNumber: null, minSequenceNumber: null, addedSnapshotId: 5n,
    addedFilesCount: 1, existingFilesCount: 0, deletedFilesCount: 0, addedRowsCount: 1n, existingRowsCount: 0n, deletedRowsCount: 0n,
    partitions: [], keyMetadata: null, ...change,
  };
}

const HEAD: Snapshot = {
  snapshotId: 4n, parentSnapshotId: null, sequenceNumber: 7n, timestampMs: 1n, summary: { operation: 'append', 'total-records': '8' }, manifestList: 'l', schemaId: 0,
};

const PLAN = {
  parent: HEAD, lastSequenceNumber: 9n, schemaId: 0, snapshotId: 5n, timestampMs: 2n, added: { ...NOTHING_ADDED, dataFiles: 1, dataRecords: 2n },
  progress: { frontier: frontierAt(3n), sinkId: 'u1', version: 0n }, manifestListPath: 's3://b/snap.avro', syncMarker: new Uint8Array(16),
  sections: [[manifest('new', {})]],
  merged: [],
  carried: [manifest('old', { sequenceNumber: 7n, minSequenceNumber: 2n, addedSnapshotId: 4n }), manifest('dead', { sequenceNumber: 3n, minSequenceNumber: 3n, addedFilesCount: 0, deletedFilesCount: 2 })],
} as const;

describe('GIVEN a batch and the head it comes after', () => {
  it('WHEN the snapshot is planned THEN it is above all of the table\'s numbers and carries what lives', () => {
    const { snapshot, manifestList } = planSnapshot(PLAN);
    expect(snapshot).toMatchObject({
      snapshotId: 5n, parentSnapshotId: 4n, sequenceNumber: 10n, timestampMs: 2n, manifestList: 's3://b/snap.avro', schemaId: 0,
      summary: { operation: 'append', 'total-records': '10', 'mz-frontier': '[3]' },
    });
    expect(readManifestList(manifestList).map((entry) => [entry.path, entry.sequenceNumber, entry.minSequenceNumber])).toEqual([['new', 10n, 10n], ['old', 7n, 2n]]);
  });

  it('WHEN its span was encoded in sections THEN each has a number of its own, in their order, and the snapshot the last', () => {
    const sections = [[manifest('a', {}), manifest('a-deletes', { content: 'deletes' })], [manifest('b', {})], [manifest('c-deletes', { content: 'deletes' })]];
    const numbers = (lastSequenceNumber: bigint): unknown => {
      const { snapshot, manifestList } = planSnapshot({ ...PLAN, sections, lastSequenceNumber, merged: [manifest('merged', { minSequenceNumber: 3n })] });
      return [snapshot.sequenceNumber, ...readManifestList(manifestList).map((entry) => [entry.path, entry.sequenceNumber, entry.minSequenceNumber])];
    };
    expect(numbers(9n)).toEqual([12n, ['a', 10n, 10n], ['a-deletes', 10n, 10n], ['b', 11n, 11n], ['c-deletes', 12n, 12n], ['merged', 12n, 3n], ['old', 7n, 2n]]);
    expect(numbers(20n)).toEqual([23n, ['a', 21n, 21n], ['a-deletes', 21n, 21n], ['b', 22n, 22n], ['c-deletes', 23n, 23n], ['merged', 23n, 3n], ['old', 7n, 2n]]);
  });

  it('WHEN another attempt has another head THEN only what depends on the head changes', () => {
    const { snapshot, manifestList } = planSnapshot({ ...PLAN, parent: { ...HEAD, snapshotId: 40n }, lastSequenceNumber: 11n, carried: [] });
    expect(snapshot).toMatchObject({ snapshotId: 5n, parentSnapshotId: 40n, sequenceNumber: 12n });
    expect(readManifestList(manifestList)).toMatchObject([{ path: 'new', sequenceNumber: 12n, addedSnapshotId: 5n }]);
  });

  it('WHEN the table is empty THEN there is no parent and totals begin', () => {
    const { snapshot } = planSnapshot({ ...PLAN, parent: null, lastSequenceNumber: 0n, carried: [], sections: [] });
    expect(snapshot).toMatchObject({ parentSnapshotId: null, sequenceNumber: 1n, summary: { 'total-records': '2' } });
  });

  it('WHEN a manifest is listed twice or a snapshot follows itself THEN an invariant breaks', () => {
    expect(() => planSnapshot({ ...PLAN, carried: [manifest('new', { sequenceNumber: 1n })] })).toThrow(/doubles every row/);
    expect(() => planSnapshot({ ...PLAN, snapshotId: 4n })).toThrow(/its own parent/);
    expect(() => planSnapshot({ ...PLAN, sections: [[manifest('x', { sequenceNumber: 1n })]] })).toThrow(/given its number/);
  });
});
