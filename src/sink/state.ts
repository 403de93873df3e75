/** The machine's state: immutable, plain, and all there is to know about a sink's situation. */
import type { StashFacts } from '../batch/stash.ts';
import type { TableFacts } from '../commit/decide.ts';
import type { KnownTable } from '../commit/known-table.ts';
import type { SinkError } from '../errors.ts';
import type { Snapshot } from '../iceberg/metadata.ts';
import type { Relation } from '../relation/relation.ts';
import type { Frontier } from '../time/frontier.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { WritePlan } from '../write/plan.ts';
import type { Batch, CommitBase, SinkSettings, WrittenBatch } from './effects.ts';

export type Phase =
  | 'created'
  /** Asking Materialize for the relation. */
  | 'discovering'
  /** Loading, and where needed creating, the table. */
  | 'opening'
  | 'running'
  /** The source is gone; sealed batches are finished before the restart. */
  | 'draining'
  | 'backing-off'
  | 'stopping'
  | 'stopped'
  | 'complete'
  | 'halted';

export interface Committing {
  readonly written: WrittenBatch;
  readonly attempt: number;
  /** The table has been loaded for this batch; until then the attempt rests on the known one. */
  readonly hasLooked: boolean;
  /** How often in all it failed in a way that an outdated view of the table explains. */
  readonly staleTries: number;
  /** How often in all a load brought the table as it had been, older than what was seen of it before. */
  readonly outdatedLoads: number;
  /** The snapshot that was posted last; null before the first post. */
  readonly sent: Snapshot | null;
  readonly step: 'loading' | 'listing' | 'posting' | 'waiting';
  readonly base: CommitBase | null;
}

export interface SliceCounts {
  readonly snapshot: number;
  /** For the first step of a subscription that takes no snapshot. */
  readonly catchUp: number;
}

/** The batch of a span that is still open, of which some is encoded (batch/encode-ahead.ts). */
export interface OpenBatch {
  readonly ordinal: number;
  readonly snapshotId: bigint;
  /** Up to where its rows have left the stash. */
  readonly upper: Frontier;
  readonly sections: number;
  /** The newest section is on its way; nothing else is taken out of the stash meanwhile. */
  readonly isWriting: boolean;
}

export interface SinkState {
  readonly settings: SinkSettings;
  readonly phase: Phase;
  readonly epoch: number;
  /** Failures in a row without a commit or progress in between: the exponent of the back-off. */
  readonly failures: number;
  /** False once a snapshot turned out to hold retractions: it is then stashed and consolidated instead. */
  readonly streamSnapshot: boolean;
  /** False once the catalog refused a snapshot of several sections. */
  readonly encodeAhead: boolean;
  /** In how many slices the next subscription reads its first step. */
  readonly slices: SliceCounts;
  readonly relation: Relation | null;
  readonly plan: WritePlan | null;
  readonly facts: TableFacts | null;
  /** The table's frontier as far as this sink knows; null while nothing is committed. */
  readonly committed: Frontier | null;
  /** The highest last sequence number of the table that this sink has seen, or has made itself. */
  readonly newestSequence: bigint;
  /** The table to decide the next batch on; null when it has to be loaded for that. */
  readonly known: KnownTable | null;
  /** Upper of the newest batch made, committed or still in the pipeline. */
  readonly lower: Frontier | null;
  readonly asOf: Timestamp | null;
  readonly observed: Frontier | null;
  /** Source time between the last two progress messages. */
  readonly progressGapMs: number;
  readonly stash: StashFacts;
  /** The batch that the snapshot is streamed into while its span is still open. */
  readonly stream: { readonly ordinal: number; readonly snapshotId: bigint } | null;
  readonly open: OpenBatch | null;
  readonly writing: Batch | null;
  readonly ready: WrittenBatch | null;
  readonly committing: Committing | null;
  readonly nextOrdinal: number;
  readonly lastSealMs: number;
  readonly lastCommitMs: number | null;
  readonly heartbeatTimerSet: boolean;
  readonly sourceClosed: boolean;
  /** Why the sink is not running as it should; null when all is well. */
  readonly lastError: SinkError | null;
}

export const EMPTY_STASH: StashFacts = { rowCount: 0, heldBytes: 0, spilledBytes: 0, minTime: null };

export function initialState(settings: SinkSettings): SinkState {
  return {
    settings,
    phase: 'created',
    epoch: 0,
    failures: 0,
    streamSnapshot: true,
    encodeAhead: true,
    slices: { snapshot: settings.snapshotSlices, catchUp: 1 },
    relation: null,
    plan: null,
    facts: null,
    committed: null,
    newestSequence: 0n,
    lastCommitMs: null,
    lastError: null,
    ...clearedEpoch(),
  };
}

/** What does not survive from one epoch to the next. */
export function clearedEpoch(): Pick<SinkState, 'known' | 'lower' | 'asOf' | 'observed' | 'progressGapMs' | 'stash' | 'stream' | 'open' | 'writing'
  | 'ready' | 'committing' | 'nextOrdinal' | 'lastSealMs' | 'heartbeatTimerSet' | 'sourceClosed'> {
  return {
    known: null,
    lower: null,
    asOf: null,
    observed: null,
    progressGapMs: 0,
    stash: EMPTY_STASH,
    stream: null,
    open: null,
    writing: null,
    ready: null,
    committing: null,
    nextOrdinal: 0,
    lastSealMs: 0,
    heartbeatTimerSet: false,
    sourceClosed: false,
  };
}

export function highest(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
