/** Table metadata for tests of decisions: a chain of snapshots on main, newest last. */
import type { Snapshot, TableMetadata } from '../../src/iceberg/metadata.ts';
import { type Progress, progressToSummary } from '../../src/snapshot/progress.ts';

export interface SnapshotSketch {
  readonly id: bigint;
  readonly operation?: string;
  readonly progress?: Progress;
  readonly summary?: Readonly<Record<string, string>>;
  /** Defaults to the snapshot before it in the list. */
  readonly parent?: bigint | null;
}

export function metadataWith(sketches: readonly SnapshotSketch[], over: Partial<TableMetadata> = {}): TableMetadata {
  const snapshots = sketches.map((sketch, index): Snapshot => ({
    snapshotId: sketch.id,
    parentSnapshotId: sketch.parent === undefined ? sketches[index - 1]?.id ?? null : sketch.parent,
    sequenceNumber: BigInt(index + 1),
    timestampMs: BigInt(index + 1),
    summary: {
      operation: sketch.operation ?? 'append',
      ...(sketch.progress === undefined ? {} : progressToSummary(sketch.progress)),
      ...sketch.summary,
    },
    manifestList: `file:///t/snap-${sketch.id}.avro`,
    schemaId: 0,
  }));
  const head = snapshots.at(-1)?.snapshotId ?? null;
  return {
    formatVersion: 2,
    tableUuid: 'aaaaaaaa-0000-4000-8000-000000000001',
    location: 'file:///t',
    lastSequenceNumber: BigInt(snapshots.length),
    lastUpdatedMs: BigInt(snapshots.length),
    lastColumnId: 1,
    schemas: [{ schemaId: 0, fields: [{ id: 1, name: 'id', required: true, type: { kind: 'long' } }], identifierFieldIds: [] }],
    currentSchemaId: 0,
    partitionSpecs: [{ specId: 0, fields: [] }],
    defaultSpecId: 0,
    defaultSortOrderId: 0,
    properties: {},
    currentSnapshotId: head,
    snapshots,
    refs: head === null ? {} : { main: { snapshotId: head, type: 'branch' } },
    snapshotLogLength: snapshots.length,
    ...over,
  };
}
