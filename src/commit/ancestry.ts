/**
 * Where the table stands, seen from main (architecture, commit protocol step 1).
 *
 * In: table metadata. Out: the newest snapshot of main's ancestry that carries sink progress.
 * Only `replace` snapshots (compaction) may lie above it: they change no rows. Looking at all snapshots
 * instead of the ancestry would believe in rows that a rollback removed, or that only a branch holds.
 */
import { SinkError } from '../errors.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';
import { type Progress, readProgress } from '../snapshot/progress.ts';

export type TableProgress =
  /** No snapshot and no trace that there ever was one. */
  | { readonly kind: 'fresh' }
  | { readonly kind: 'progress'; readonly progress: Progress; readonly snapshot: Snapshot }
  | { readonly kind: 'stop'; readonly error: SinkError };

/** main's snapshots from the head down, as far as the metadata still has them. */
export function mainAncestry(metadata: TableMetadata): readonly Snapshot[] {
  const byId = new Map(metadata.snapshots.map((snapshot) => [snapshot.snapshotId, snapshot]));
  const ancestry: Snapshot[] = [];
  const seen = new Set<bigint>();
  let next = mainHead(metadata);
  while (next !== null && !seen.has(next)) {
    const snapshot = byId.get(next);
    if (snapshot === undefined) break;
    seen.add(next);
    ancestry.push(snapshot);
    next = snapshot.parentSnapshotId;
  }
  return ancestry;
}

/** The id that main points at, null when main does not exist. */
export function mainHead(metadata: TableMetadata): bigint | null {
  return metadata.refs['main']?.snapshotId ?? metadata.currentSnapshotId;
}

export function findProgress(metadata: TableMetadata): TableProgress {
  const head = mainHead(metadata);
  if (head === null) return hasHistory(metadata) ? stop(missing(metadata)) : { kind: 'fresh' };
  for (const snapshot of mainAncestry(metadata)) {
    const read = readProgress(snapshot.summary);
    if (read.kind === 'progress') return { kind: 'progress', progress: read.progress, snapshot };
    if (read.kind === 'unreadable') {
      return stop(new SinkError('progress-unreadable', `snapshot ${snapshot.snapshotId} carries unreadable progress: ${read.reason}`));
    }
    const operation = snapshot.summary['operation'] ?? 'unknown';
    if (operation !== 'replace') {
      return stop(new SinkError(
        'foreign-writer',
        `the table has been modified by another writer: snapshot ${snapshot.snapshotId} has operation '${operation}' `
        + `but is missing 'mz-frontier'; its rows are not known to the sink, and upserts on top of them would be wrong`,
      ));
    }
  }
  return stop(missing(metadata));
}

/**
 * Evidence that the table once held rows. Property changes leave only metadata-log entries, which are none.
 * Without this check expired or compacted-away progress looks like a fresh table, and a second
 * snapshot doubles every row.
 */
function hasHistory(metadata: TableMetadata): boolean {
  return metadata.snapshots.length > 0 || metadata.snapshotLogLength > 0 || metadata.lastSequenceNumber !== 0n;
}

function missing(metadata: TableMetadata): SinkError {
  return new SinkError(
    'progress-missing',
    `the table has prior history (last sequence number ${metadata.lastSequenceNumber}, ${metadata.snapshots.length} `
    + 'snapshots) but main retains no snapshot with mz-frontier, mz-sink-id and mz-sink-version; '
    + 'taking a new snapshot would write every row a second time',
  );
}

function stop(error: SinkError): TableProgress {
  return { kind: 'stop', error };
}
