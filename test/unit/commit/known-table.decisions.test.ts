/** The table as known from our own commits must lead to the same commits as the table that a load would bring. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decideCommit, tableFacts } from '../../../src/commit/decide.ts';
import { isRecent, knownAfterCommit, knownFromLoad } from '../../../src/commit/known-table.ts';
import type { Snapshot, TableMetadata } from '../../../src/iceberg/metadata.ts';
import { progressToSummary } from '../../../src/snapshot/progress.ts';
import { metadataWith } from '../../doubles/table-metadata.ts';

const us = { sinkId: 'orders', version: 3n, takeOver: false };
const at = (frontier: bigint, over: object = {}) => ({ frontier: [frontier] as const, sinkId: 'orders', version: 3n, ...over });
const batch = (lower: bigint, snapshotId: bigint) => ({ span: { lower: [lower] as const, upper: [lower + 10n] as const }, snapshotId });

function after(metadata: TableMetadata, snapshotId: bigint, frontier: bigint): Snapshot {
  return {
    snapshotId, parentSnapshotId: metadata.currentSnapshotId, sequenceNumber: metadata.lastSequenceNumber + 1n, timestampMs: metadata.lastUpdatedMs + 1n,
    summary: { operation: 'overwrite', ...progressToSummary(at(frontier)) }, manifestList: `s3://lake/ns/t/metadata/snap-${snapshotId}.avro`, schemaId: 0,
  };
}

/** What the catalog makes of it. */
function applied(metadata: TableMetadata, snapshot: Snapshot): TableMetadata {
  const { snapshotId } = snapshot;
  return {
    ...metadata, snapshots: [...metadata.snapshots, snapshot], currentSnapshotId: snapshotId, lastSequenceNumber: snapshot.sequenceNumber,
    lastUpdatedMs: snapshot.timestampMs, refs: { ...metadata.refs, main: { snapshotId, type: 'branch' } }, snapshotLogLength: metadata.snapshotLogLength + 1,
  };
}

const history = fc.array(fc.constantFrom('ours', 'replace', 'foreign', 'newer', 'other', 'behind'), { minLength: 1, maxLength: 6 });

function tableOf(kinds: readonly string[]): TableMetadata {
  return metadataWith(kinds.map((kind, index) => {
    const id = BigInt(index + 1);
    switch (kind) {
      case 'replace': return { id, operation: 'replace' };
      case 'foreign': return { id, operation: 'append' };
      case 'newer': return { id, progress: at(20n, { version: 4n }) };
      case 'other': return { id, progress: at(20n, { sinkId: 'somebody' }) };
      case 'behind': return { id, progress: at(10n) };
      default: return { id, progress: at(20n) };
    }
  }));
}

describe('GIVEN a table that was loaded', () => {
  test('WHEN it is kept without what lies below the newest progress THEN every batch is decided upon as before', () => {
    fc.assert(fc.property(history, fc.constantFrom(10n, 15n, 20n, 30n), (kinds, lower) => {
      const table = tableOf(kinds);
      const decide = (metadata: TableMetadata) => decideCommit(metadata, tableFacts(table), us, batch(lower, 77n));
      const [kept, whole] = [decide(knownFromLoad(table, 0).metadata), decide(table)];
      expect(kept.kind).toBe(whole.kind);
      if (kept.kind === 'send') expect(kept).toEqual(whole);
    }));
  });

  test('WHEN it holds ten thousand snapshots THEN one is kept, and all are counted', () => {
    const table = metadataWith(Array.from({ length: 10_000 }, (_, index) => ({ id: BigInt(index + 1), progress: at(20n) })));
    const known = knownFromLoad(table, 0);
    expect(known.metadata.snapshots.map(({ snapshotId }) => snapshotId)).toEqual([10_000n]);
    expect(known.snapshotCount).toBe(10_000);
  });
});

describe('GIVEN commits that the catalog confirmed', () => {
  test('THEN the known table is what a load would bring, but for what no decision needs', () => {
    let table = tableOf(['ours', 'replace']);
    let known = knownFromLoad(table, 0);
    for (let count = 0n; count < 5n; count++) {
      const snapshot = after(table, 100n + count, 30n + count * 10n);
      table = applied(table, snapshot);
      known = knownAfterCommit(known, snapshot);
      expect(known).toEqual(knownFromLoad(table, 0));
    }
    const decide = (metadata: TableMetadata) => decideCommit(metadata, tableFacts(table), us, batch(70n, 77n));
    expect(decide(known.metadata)).toMatchObject({ kind: 'send', head: 104n, parent: { snapshotId: 104n } });
    expect(decide(known.metadata)).toEqual(decide(table));
  });

  test('WHEN a snapshot does not follow the known head THEN that is a broken invariant', () => {
    const table = tableOf(['ours', 'ours']);
    const snapshot = { ...after(table, 100n, 30n), parentSnapshotId: 1n };
    expect(() => knownAfterCommit(knownFromLoad(table, 0), snapshot)).toThrow(/does not follow/);
  });
});

test.each([[299_999, true], [300_000, false], [-1, false]])('GIVEN a table loaded WHEN the clock says %i ms later THEN it is recent: %s', (ms, expected) => {
  expect(isRecent(knownFromLoad(tableOf(['ours']), 1_000), 1_000 + ms)).toBe(expected);
});
