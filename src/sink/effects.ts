/**
 * The vocabulary between the machine (decides) and the driver (acts): events go in, effects come out.
 * Every answer carries the epoch of the effect that asked for it; an answer of an earlier epoch belongs to an
 * incarnation that was given up and is ignored.
 */
import type { StashFacts } from '../batch/stash.ts';
import type { SinkIdentity, TableFacts } from '../commit/decide.ts';
import type { UuidMapping } from '../definition/definitions.ts';
import type { SinkError } from '../errors.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';
import type { Relation } from '../relation/relation.ts';
import type { ManifestFile } from '../snapshot/manifest-list.ts';
import type { AddedFiles } from '../snapshot/summary.ts';
import type { Frontier } from '../time/frontier.ts';
import type { Span } from '../time/span.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { RowErrorPolicy, SinkMode, WritePlan } from '../write/plan.ts';
import type { CommitOutcome, CreateOutcome, CreateTableRequest, LoadOutcome, TableIdentifier } from './ports.ts';

export interface SinkSettings {
  readonly name: string;
  readonly identity: SinkIdentity;
  readonly table: TableIdentifier;
  readonly mode: SinkMode;
  readonly keyColumns: readonly string[];
  readonly keyEnforced: boolean;
  readonly cluster: string | null;
  readonly snapshot: boolean;
  /** In how many slices the snapshot is read at first; more when a step turns out to be too large. */
  readonly snapshotSlices: number;
  readonly commitIntervalMs: number;
  readonly heartbeatIntervalMs: number;
  readonly uuidMapping: UuidMapping;
  readonly rowErrorPolicy: RowErrorPolicy;
  readonly targetFileSizeBytes: number;
  /** A span of fewer bytes is encoded when it closes (batch/encode-ahead.ts). */
  readonly sectionBytesMin: number;
  /** How long a stop waits for the answer of a commit that is on its way. */
  readonly stopGraceMs: number;
}

/** One span on its way into one snapshot. */
export interface Batch {
  readonly ordinal: number;
  readonly snapshotId: bigint;
  readonly span: Span;
}

export interface WrittenBatch {
  readonly batch: Batch;
  /** The manifests of each section, the oldest first; none without a row. */
  readonly sections: readonly (readonly ManifestFile[])[];
  readonly added: AddedFiles;
}

/** What an attempt is built on: the head that was decided on, and what the metadata said beside it. */
export interface CommitBase {
  /** As a known table has it: not with all snapshots and refs (commit/known-table.ts). */
  readonly metadata: TableMetadata;
  readonly head: bigint | null;
  readonly parent: Snapshot | null;
}

/** The batch that the snapshot is streamed into. */
export interface StreamedSnapshot {
  readonly ordinal: number;
  readonly snapshotId: bigint;
  /** How long in all the source may be made to wait for the encoder. */
  readonly patienceMs: number;
}

export type TimerName = 'restart' | 'commit-retry' | 'heartbeat' | 'stop-grace';

export type Effect =
  | { readonly kind: 'discover'; readonly epoch: number }
  | { readonly kind: 'load-table'; readonly epoch: number; readonly purpose: 'resume' | 'commit' }
  | { readonly kind: 'create-table'; readonly epoch: number; readonly request: CreateTableRequest }
  /** `streamed`: rows at the as of are encoded as they arrive instead of being stashed. */
  | { readonly kind: 'subscribe'; readonly epoch: number; readonly relation: Relation; readonly plan: WritePlan;
      readonly asOf: Timestamp | null; readonly snapshot: boolean; readonly slices: number; readonly streamed: StreamedSnapshot | null }
  | { readonly kind: 'write'; readonly epoch: number; readonly batch: Batch; readonly facts: TableFacts; readonly streamed: boolean }
  /** Rows below `upper` are encoded into files of the batch, whose span is still open. */
  | { readonly kind: 'write-section'; readonly epoch: number; readonly ordinal: number; readonly snapshotId: bigint; readonly upper: Frontier }
  | { readonly kind: 'write-list'; readonly epoch: number; readonly attempt: number; readonly base: CommitBase;
      readonly written: WrittenBatch; readonly timestampMs: bigint }
  /** `facts`: of the table that the files were written for; the request asserts them, and that main is at `head`. */
  | { readonly kind: 'post'; readonly epoch: number; readonly attempt: number; readonly facts: TableFacts;
      readonly head: bigint | null; readonly snapshot: Snapshot }
  | { readonly kind: 'set-timer'; readonly epoch: number; readonly timer: TimerName; readonly delayMs: number }
  /** Closes the subscription and drops the stash; batches already sealed go on. */
  | { readonly kind: 'close-source' }
  /** Gives everything of earlier epochs up: subscription, stash, spill, encoding, uploads. */
  | { readonly kind: 'abandon' }
  | { readonly kind: 'committed'; readonly batch: Batch; readonly added: AddedFiles; readonly attempts: number;
      readonly how: 'answered' | 'found' }
  | { readonly kind: 'note'; readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly event: string; readonly fields: Readonly<Record<string, string | number | bigint | boolean | null>> }
  /** The last effect of a sink's life. */
  | { readonly kind: 'end'; readonly reason: 'stopped' | 'complete' | 'halted'; readonly error: SinkError | null };

export type Event =
  | { readonly kind: 'start' }
  | { readonly kind: 'relation'; readonly epoch: number; readonly relation: Relation }
  | { readonly kind: 'table'; readonly epoch: number; readonly purpose: 'resume' | 'commit'; readonly outcome: LoadOutcome }
  | { readonly kind: 'table-created'; readonly epoch: number; readonly outcome: CreateOutcome }
  | { readonly kind: 'stash'; readonly epoch: number; readonly facts: StashFacts }
  | { readonly kind: 'progress'; readonly epoch: number; readonly frontier: Frontier }
  | { readonly kind: 'source-closed'; readonly epoch: number }
  | { readonly kind: 'source-failed'; readonly epoch: number; readonly error: SinkError }
  | { readonly kind: 'section-written'; readonly epoch: number }
  | { readonly kind: 'written'; readonly epoch: number; readonly written: WrittenBatch }
  | { readonly kind: 'list-written'; readonly epoch: number; readonly attempt: number; readonly snapshot: Snapshot }
  | { readonly kind: 'commit-answer'; readonly epoch: number; readonly attempt: number; readonly outcome: CommitOutcome }
  | { readonly kind: 'effect-failed'; readonly epoch: number; readonly effect: Effect['kind']; readonly error: SinkError }
  /** An upload or a read failed and is tried again; nothing is decided by it, it is what the sink waits for. */
  | { readonly kind: 'storage-retry'; readonly epoch: number; readonly error: SinkError }
  | { readonly kind: 'timer'; readonly epoch: number; readonly timer: TimerName }
  | { readonly kind: 'stop' };

/** What a step may use of the world: drawn by the driver before each step, so that the step itself is a function. */
export interface StepInputs {
  readonly nowMs: number;
  /** Uniform in [0, 1). */
  readonly fraction: number;
  /** A fresh random snapshot id. */
  readonly snapshotId: bigint;
}
