/**
 * The decisions of the commit protocol (architecture, "Commit protocol" steps 1 and 2), on a freshly loaded table.
 *
 * Invariant: a batch `[lower, upper)` is sent only against a head whose frontier equals `lower` exactly, and
 * the request asserts that very head. So of two senders of overlapping spans at most one can win, and whoever
 * loses finds out here before it sends again. A 409 is no proof of failure and absence after a time-out is no
 * proof either: nobody decides from an answer, only from a table.
 */
import { SinkError } from '../errors.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';
import type { Progress } from '../snapshot/progress.ts';
import { type Frontier, compareFrontiers, formatFrontier } from '../time/frontier.ts';
import { type Span, formatSpan } from '../time/span.ts';
import { findProgress, mainAncestry, mainHead } from './ancestry.ts';

export interface SinkIdentity {
  readonly sinkId: string;
  readonly version: bigint;
  /** Accept the progress of another sink id as our own starting point. */
  readonly takeOver: boolean;
}

/** What was true of the table when the incarnation planned its files; a change in between stops it. */
export interface TableFacts {
  readonly tableUuid: string;
  readonly schemaId: number;
  readonly specId: number;
}

export function tableFacts(metadata: TableMetadata): TableFacts {
  return { tableUuid: metadata.tableUuid, schemaId: metadata.currentSchemaId, specId: metadata.defaultSpecId };
}

export type ResumeDecision =
  /** Nothing committed yet: begin with a snapshot of the relation. */
  | { readonly kind: 'fresh' }
  /** `takesOver`: the table's newest progress is an older version's, or another sink's, which may still be running. */
  | { readonly kind: 'resume'; readonly frontier: Frontier; readonly takesOver: boolean }
  | { readonly kind: 'stop'; readonly error: SinkError };

/** Where an incarnation starts, from the table alone: no side log exists that could contradict it. */
export function decideResume(metadata: TableMetadata, sink: SinkIdentity): ResumeDecision {
  const found = findProgress(metadata);
  if (found.kind === 'stop') return found;
  if (found.kind === 'fresh') return { kind: 'fresh' };
  const refused = ownershipError(found.progress, found.snapshot.snapshotId, sink);
  if (refused !== null) return { kind: 'stop', error: refused };
  const { frontier, sinkId, version } = found.progress;
  return { kind: 'resume', frontier, takesOver: version < sink.version || sinkId !== sink.sinkId };
}

export interface CommitCandidate {
  readonly span: Span;
  /** The snapshot id of the batch: the same in every attempt, so that a landed attempt is recognised. */
  readonly snapshotId: bigint;
}

export type CommitDecision =
  | { readonly kind: 'send'; readonly head: bigint | null; readonly parent: Snapshot | null }
  /** An earlier attempt landed and its answer was lost. */
  | { readonly kind: 'already-committed' }
  | { readonly kind: 'stop'; readonly error: SinkError };

export function decideCommit(
  metadata: TableMetadata,
  facts: TableFacts,
  sink: SinkIdentity,
  batch: CommitCandidate,
): CommitDecision {
  if (metadata.tableUuid !== facts.tableUuid) {
    return stop('table-replaced', `the table uuid is ${metadata.tableUuid}, it was ${facts.tableUuid} when this sink started`);
  }
  const ancestry = mainAncestry(metadata);
  // Our own snapshot in main's history is the one proof of success, whatever answers came or did not come.
  if (ancestry.some((snapshot) => snapshot.snapshotId === batch.snapshotId)) return { kind: 'already-committed' };
  if (metadata.currentSchemaId !== facts.schemaId) {
    return stop('schema-changed', `expected schema ID ${facts.schemaId}, got ${metadata.currentSchemaId}: the files of this batch were written for the former`);
  }
  if (metadata.defaultSpecId !== facts.specId) {
    return stop('spec-changed', `expected partition spec ID ${facts.specId}, got ${metadata.defaultSpecId}: the files of this batch were written for the former`);
  }
  const found = findProgress(metadata);
  if (found.kind === 'stop') return found;
  if (found.kind === 'fresh') return decideOnFresh(batch.span);
  const refused = ownershipError(found.progress, found.snapshot.snapshotId, sink);
  if (refused !== null) return { kind: 'stop', error: refused };
  const error = frontierError(found.progress.frontier, found.snapshot.snapshotId, batch.span);
  if (error !== null) return { kind: 'stop', error };
  return { kind: 'send', head: mainHead(metadata), parent: ancestry[0] ?? null };
}

function decideOnFresh(span: Span): CommitDecision {
  if (span.lower === null) return { kind: 'send', head: null, parent: null };
  return stop(
    'frontier-behind',
    `the table has no snapshot, but this sink had committed up to ${formatFrontier(span.lower)}; sending ${formatSpan(span)} would lose all before it`,
  );
}

function ownershipError(progress: Progress, snapshotId: bigint, sink: SinkIdentity): SinkError | null {
  if (progress.sinkId !== sink.sinkId && !sink.takeOver) {
    return new SinkError(
      'foreign-sink',
      `the table has been modified by another writer: its newest progress (snapshot ${snapshotId}, frontier `
      + `${formatFrontier(progress.frontier)}) belongs to sink '${progress.sinkId}' version ${progress.version}, this is sink '${sink.sinkId}' version ${sink.version}`,
    );
  }
  if (progress.version > sink.version) {
    return new SinkError(
      'fenced',
      `Fenced off by newer sink version: the table carries version ${progress.version} in snapshot ${snapshotId}, `
      + `frontier ${formatFrontier(progress.frontier)}; this sink is version ${sink.version}`,
    );
  }
  return null;
}

function frontierError(frontier: Frontier, snapshotId: bigint, span: Span): SinkError | null {
  const where = `the table's frontier is ${formatFrontier(frontier)} (snapshot ${snapshotId}), this batch is ${formatSpan(span)}`;
  if (span.lower === null) {
    return new SinkError('frontier-beyond', `the table has been modified by another writer: ${where}; another copy committed the first snapshot`);
  }
  const toLower = compareFrontiers(frontier, span.lower);
  if (toLower === 0) return null;
  if (toLower < 0) {
    return new SinkError('frontier-behind', `the table was rolled back: ${where}; sending it would lose the changes in between`);
  }
  if (compareFrontiers(frontier, span.upper) < 0) {
    return new SinkError('frontier-inside', `the table has been modified by another writer: ${where}; sending it would double the changes up to the frontier`);
  }
  return new SinkError('frontier-beyond', `the table has been modified by another writer: ${where}; its changes are in the table already`);
}

function stop(code: 'table-replaced' | 'schema-changed' | 'spec-changed' | 'frontier-behind', message: string): CommitDecision {
  return { kind: 'stop', error: new SinkError(code, message) };
}
