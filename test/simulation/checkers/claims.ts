/**
 * What the sink says it has committed is committed: an answer means that the catalog applied it, a find means that the
 * snapshot was in main's ancestry when the sink last looked. A sink that only believes so goes on as if nothing were
 * missing.
 */
import type { SinkPorts } from '../../../src/sink/driver.ts';
import type { TableMetadata } from '../../../src/iceberg/metadata.ts';
import type { SinkProcess } from '../sink-process.ts';
import { violate } from '../world.ts';

export function claimsOf(
  process: SinkProcess, hasApplied: (snapshotId: bigint) => boolean,
): NonNullable<SinkPorts['onCommitted']> {
  return ({ batch, how }) => {
    const { snapshotId } = batch;
    const isTrue = how === 'answered' ? hasApplied(snapshotId) : isInMain(process.seen, snapshotId);
    if (!isTrue) violate(process.world, 'claims', `p${process.id} says that ${snapshotId} is committed (${how})`);
  };
}

function isInMain(metadata: TableMetadata | null, snapshotId: bigint): boolean {
  if (metadata === null) return false;
  const parents = new Map(metadata.snapshots.map((snapshot) => [snapshot.snapshotId, snapshot.parentSnapshotId]));
  for (let next = metadata.refs['main']?.snapshotId ?? null; next !== null; next = parents.get(next) ?? null) {
    if (next === snapshotId) return true;
  }
  return false;
}
