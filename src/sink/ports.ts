/**
 * The ports: everything the driver needs from the world. `io/` implements them for production, the tests
 * and the simulator implement them with faults. Expected outcomes are values; a port rejects only with
 * a SinkError, whose disposition says what follows.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import type { SinkError } from '../errors.ts';
import type { DataFile, FileContent } from '../iceberg/data-file.ts';
import type { Requirement, TableMetadata, Update } from '../iceberg/metadata.ts';
import type { Schema } from '../iceberg/types.ts';
import type { Relation } from '../relation/relation.ts';
import type { Frontier } from '../time/frontier.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { WritePlan } from '../write/plan.ts';

// --- Source ① --------------------------------------------------------------------------------------

export interface SubscribeRequest {
  readonly relation: Relation;
  readonly cluster: string | null;
  /** null at the first start: the server picks a readable time. On resume: frontier - 1. */
  readonly asOf: Timestamp | null;
  readonly snapshot: boolean;
  /** Indices of the columns whose bytes are hashed; with none there are no hashes. */
  readonly keyColumns: readonly number[];
  /**
   * 1: one SUBSCRIBE. More: the first step is read in so many at one as of, for a server that refuses a step so large;
   * what follows comes out of one again. What is delivered is the same.
   */
  readonly slices: number;
}

/**
 * What a subscription delivers, in order. `progress`: no further change below the frontier. The first
 * progress is the as of itself and closes nothing at it. `closed`: the input is complete (normal end).
 * `failed`: the stream ended otherwise; everything not yet closed by progress must be dropped.
 */
export type SourceEvent =
  | { readonly kind: 'rows'; readonly chunk: RowChunk }
  | { readonly kind: 'progress'; readonly frontier: Frontier }
  | { readonly kind: 'notice'; readonly severity: string; readonly code: string; readonly message: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: SinkError };

export interface Subscription {
  /**
   * Stops reading from the socket until `resume`. Only for as long as local disk can't keep up with the source: what is
   * not read piles up at the server, which drops a client whose backlog passes its limit.
   */
  pause(): void;
  resume(): void;
  /** Stops delivering and closes the connection; resolves when the socket is gone. Idempotent. */
  close(): Promise<void>;
}

export interface Source {
  /** Looks the relation up in the catalog of Materialize. Rejects with relation-missing and the like. */
  discover(): Promise<Relation>;
  /**
   * Starts COPY (SUBSCRIBE …). `onEvent` is called synchronously in order, and never after `close()` was called.
   * All rows of a network read are delivered in few chunks, and always before a later progress.
   */
  subscribe(request: SubscribeRequest, onEvent: (event: SourceEvent) => void): Promise<Subscription>;
  close(): Promise<void>;
}

// --- Storage ---------------------------------------------------------------------------------------

export type PutOutcome = 'stored' | 'exists';

/** A piece of an object that is written while it comes into being; all but the last of 5 MiB at least. */
export interface ObjectPart {
  /** Counted from 0. */
  readonly index: number;
  /** Where it begins in the object. */
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/**
 * One object in parts. Nothing of it is visible before `finish`, and then all of it is. Every call may be repeated after
 * a failure whose disposition is retry; parts may be on their way side by side.
 */
export interface ObjectUpload {
  /** Resolves when storage has confirmed the part; its bytes are not used after. Rejects with upload-lost when they must all be sent again. */
  put(part: ObjectPart): Promise<void>;
  /** All parts are confirmed: makes the object of them. */
  finish(): Promise<PutOutcome>;
  /** Lets go of the parts; an object that is finished stays. Best effort, never rejects. */
  abort(): Promise<void>;
}

export interface ObjectStore {
  /** Begins an object whose size is not known yet. No request before the first part. */
  open(location: string): ObjectUpload;
  /** Writes a whole object at an absolute location, with If-None-Match: * where the store honours it. */
  put(location: string, bytes: Uint8Array): Promise<PutOutcome>;
  /** Reads a whole object. Rejects with storage-object-missing when there is none. */
  get(location: string): Promise<Uint8Array>;
  /** Deletes if present; a missing object is fine. Only ever called for objects that no commit can refer to. */
  delete(location: string): Promise<void>;
}

// --- Catalog ---------------------------------------------------------------------------------------

export interface TableIdentifier {
  readonly namespace: readonly string[];
  readonly name: string;
}

export interface LoadedTable {
  readonly metadata: TableMetadata;
  readonly metadataLocation: string | null;
}

export type LoadOutcome =
  | { readonly kind: 'loaded'; readonly table: LoadedTable }
  | { readonly kind: 'missing' };

export interface CreateTableRequest {
  readonly name: string;
  readonly schema: Schema;
  readonly properties: Readonly<Record<string, string>>;
}

export type CreateOutcome =
  | { readonly kind: 'created'; readonly table: LoadedTable }
  | { readonly kind: 'exists' };

/**
 * - committed: the catalog said so.
 * - conflict: 409. Not proof that we failed: an earlier transmission may have landed.
 * - refused: another definite 4xx; the catalog did not and will not apply this request.
 * - unknown: 5xx, timeout, reset, abort, unreadable answer. Load the table and decide again.
 */
export type CommitOutcome =
  | { readonly kind: 'committed' }
  | { readonly kind: 'conflict'; readonly message: string }
  | { readonly kind: 'refused'; readonly error: SinkError }
  | { readonly kind: 'unknown'; readonly message: string };

export interface Catalog {
  listNamespaces(): Promise<readonly string[][]>;
  loadTable(table: TableIdentifier): Promise<LoadOutcome>;
  createTable(namespace: readonly string[], request: CreateTableRequest): Promise<CreateOutcome>;
  /** Exactly one transport attempt. Never rejects for an HTTP or network reason; those are outcomes. */
  commit(
    table: TableIdentifier,
    requirements: readonly Requirement[],
    updates: readonly Update[],
    idempotencyKey: string,
  ): Promise<CommitOutcome>;
}

// --- Encoder ③ -------------------------------------------------------------------------------------

/**
 * Rows to be written together.
 * `consolidate`: the group holds every row of its keys in the span; the net change per key is written. Without
 * it each row with a positive diff is written as it stands (streamed snapshot), or, in append mode, each change.
 */
export interface RowGroup {
  readonly chunks: readonly RowChunk[];
  readonly consolidate: boolean;
}

/** The next part of a file that is still being encoded. */
export interface EncodedPart {
  /** Names the file within its session. */
  readonly fileId: number;
  readonly content: FileContent;
  readonly bytes: Uint8Array;
}

export interface EncodedFile {
  readonly file: Omit<DataFile, 'path'>;
  /** The whole file, or with a `fileId` what comes after the parts of that id. */
  readonly bytes: Uint8Array;
  readonly fileId: number | null;
}

export interface EncodeSummary {
  readonly dataRows: number;
  readonly deletedKeys: number;
  /** Values written as NULL under `rowErrorPolicy: 'null'`. */
  readonly nulledValues: number;
}

/** One span being encoded. Files go to the receiver as they fill, the last ones during `finish`. */
export interface EncodeSession {
  /** Resolves when the group is taken in and more may be given (backpressure). The chunks must not be used after. */
  write(group: RowGroup): Promise<void>;
  /** Resolves when the receiver has been given all files, which may still be on their way into storage. */
  finish(): Promise<EncodeSummary>;
  /** Drops everything; the receiver is given nothing more. Idempotent. */
  abort(): void;
}

/** Takes what is encoded. Both resolve once storage has it; a rejection fails the session. */
export interface FileReceiver {
  /** Parts of a file come in order, without waiting for each other. The bytes are the encoder's again afterwards. */
  takePart(part: EncodedPart): Promise<void>;
  takeFile(file: EncodedFile): Promise<void>;
}

export interface Encoder {
  /** Encoding waits for the receiver when too much is on its way. */
  open(plan: WritePlan, receiver: FileReceiver): EncodeSession;
  close(): Promise<void>;
}

// --- The rest --------------------------------------------------------------------------------------

export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  nowMs(): number;
  /** Calls back once after at least `delayMs`; the returned function cancels. */
  after(delayMs: number, callback: () => void): () => void;
}

export interface Entropy {
  /** A uniformly random positive 63-bit integer: snapshot ids. */
  snapshotId(): bigint;
  uuid(): string;
  /** Uniform in [0, 1): jitter. */
  fraction(): number;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Log {
  write(level: LogLevel, event: string, fields: Readonly<Record<string, string | number | bigint | boolean | null>>): void;
}

/** Spilled rows on local disk: append-only partition files of one stash. */
export interface SpillStore {
  append(partition: string, chunk: RowChunk): Promise<void>;
  /** The memory of a chunk that nobody looks at any more: all of its rows are on disk. */
  letGo(chunk: RowChunk): void;
  /** Reads a partition back chunk by chunk, in the order of appending. */
  read(partition: string): AsyncIterable<RowChunk>;
  remove(partition: string): Promise<void>;
  removeAll(): Promise<void>;
}
