/**
 * The table as this sink knows it without asking: as it was loaded, with the snapshots applied that the catalog has since
 * confirmed to us. The first attempt of a batch is decided on it, so that a commit in the steady state is one POST, whose
 * cost doesn't grow with the table's history.
 *
 * It may be wrong at any time, because others write too, and that does no harm: the request asserts all that the decision
 * rests on. Its uuid, schema and spec are asserted by themselves; progress and ownership are those of main's head, which is
 * asserted, and a snapshot never changes. Whoever has moved main, a newer version of the sink included, makes the catalog
 * answer 409. So nothing but "send" may be concluded from a known table; every other conclusion is drawn from a loaded one.
 */
import { invariant } from '../errors.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';
import { readProgress } from '../snapshot/progress.ts';
import { mainAncestry, mainHead } from './ancestry.ts';

export interface KnownTable {
  /** Of the snapshots only those from main's head down to the newest with progress, of the refs only main. */
  readonly metadata: TableMetadata;
  /** How many snapshots the table keeps, those not held here included. */
  readonly snapshotCount: number;
  readonly loadedAtMs: number;
}

/**
 * What no assertion covers is seen at the next load: write paths, which storage checks locations against, the number of
 * snapshots after an expiry, a column added without a change of the current schema. Minutes are soon enough for an operator,
 * and so rare a load costs nothing: of a table of 10,000 snapshots 150 ms of work, 0.05 % of the time.
 */
const KNOWN_FOR_MS = 300_000;

export function knownFromLoad(metadata: TableMetadata, nowMs: number): KnownTable {
  const ancestry = mainAncestry(metadata);
  const newest = ancestry.findIndex((snapshot) => readProgress(snapshot.summary).kind !== 'none');
  const main = metadata.refs['main'];
  return {
    metadata: { ...metadata, snapshots: ancestry.slice(0, newest + 1), refs: main === undefined ? {} : { main } },
    snapshotCount: metadata.snapshots.length,
    loadedAtMs: nowMs,
  };
}

/** After a plain yes to `snapshot`, posted on the head of `known`. Takes the same time however old the table is. */
export function knownAfterCommit(known: KnownTable, snapshot: Snapshot): KnownTable {
  const { metadata, snapshotCount, loadedAtMs } = known;
  invariant(snapshot.parentSnapshotId === mainHead(metadata), 'a snapshot was confirmed that does not follow the known head');
  const { snapshotId, sequenceNumber, timestampMs } = snapshot;
  return {
    metadata: {
      ...metadata,
      lastSequenceNumber: sequenceNumber,
      lastUpdatedMs: timestampMs,
      currentSnapshotId: snapshotId,
      snapshots: [snapshot],
      refs: { main: { snapshotId, type: 'branch' } },
      snapshotLogLength: metadata.snapshotLogLength + 1,
    },
    snapshotCount: snapshotCount + 1,
    loadedAtMs,
  };
}

/** A clock that was set back makes a load of the future, which is as good as an old one. */
export function isRecent(known: KnownTable, nowMs: number): boolean {
  return nowMs >= known.loadedAtMs && nowMs - known.loadedAtMs < KNOWN_FOR_MS;
}
