/**
 * The Encoder port over worker threads. Chunks go to the workers and files come back by transfer, not by copy.
 *
 * Small spans stay on one worker, so that a small commit is one data and one delete file; a session that has
 * taken SPREAD_BYTES goes on over all of them. A consolidated group holds whole keys and may go to any worker;
 * a large one is split by key hash first. A worker that dies fails its sessions and is replaced by the next use.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import type { ChunkMemory } from '../batch/chunk-memory.ts';
import { type RowChunk, chunkBuffers, chunkBytes } from '../batch/row-chunk.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { EncodeSession, EncodeSummary, Encoder, FileReceiver, RowGroup } from '../sink/ports.ts';
import type { WritePlan } from '../write/plan.ts';
import type { WrittenFile, WrittenPart } from '../write/table-file.ts';
import { splitChunk } from '../write/split-rows.ts';
import type { FromWorker, ToWorker } from './encode-worker.ts';

export interface EncodePoolOptions {
  /** Default: one less than the processors, at least one. */
  readonly workers?: number;
  /** Bytes of chunks from which on a session uses more than one worker. */
  readonly spreadBytes?: number;
  /** Bytes of wasm memory, which never shrinks, above which an idle worker is replaced. */
  readonly recycleHeapBytes?: number;
  /** Takes back the memory of chunks when the workers are done with them. */
  readonly chunkMemory?: ChunkMemory;
  /** The worker's entry; tests give one that dies. */
  readonly entry?: URL;
}

const SPREAD_BYTES = 32 * 1024 * 1024;
const RECYCLE_HEAP_BYTES = 768 * 1024 * 1024;
/** Groups of a session at one worker: one at work, one waiting, so that the worker never idles. */
const GROUPS_PER_LANE = 2;

/** A place for a worker; the worker itself comes with the first use and after a death. */
interface Lane {
  readonly entry: URL;
  worker: Worker | null;
  /** What each session on this lane wants to hear, by session id. */
  readonly listeners: Map<number, LaneListener>;
}

interface LaneListener {
  onMessage(message: FromWorker): void;
  onDeath(error: SinkError): void;
}

export function openEncodePool(options: EncodePoolOptions = {}): Encoder {
  const count = Math.max(1, options.workers ?? availableParallelism() - 1);
  const spreadBytes = options.spreadBytes ?? SPREAD_BYTES;
  const recycleHeapBytes = options.recycleHeapBytes ?? RECYCLE_HEAP_BYTES;
  const chunkMemory = options.chunkMemory ?? null;
  const entry = options.entry ?? defaultEntry();
  const lanes: readonly Lane[] = Array.from({ length: count }, () => ({ entry, worker: null, listeners: new Map() }));
  let nextSession = 1;
  let closed = false;

  return {
    open(plan, receiver) {
      const id = nextSession++;
      if (closed) throw new SinkError('encode-failed', 'the encode pool is closed');
      return new PooledSession({ id, plan, receiver, lanes, spreadBytes, recycleHeapBytes, chunkMemory });
    },
    async close() {
      closed = true;
      await Promise.all(lanes.map(async (lane) => {
        const worker = lane.worker;
        if (worker === null) return;
        failLane(lane, worker, 'the encode pool is closed');
        await worker.terminate();
      }));
    },
  };
}

/** It has the extension of this file: .ts in development, .js when compiled. */
function defaultEntry(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./encode-worker.${extension}`, import.meta.url);
}

function startWorker(lane: Lane): Worker {
  const worker = new Worker(lane.entry);
  worker.on('message', (message: FromWorker) => lane.listeners.get(message.session)?.onMessage(message));
  worker.on('error', (thrown: unknown) => {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    failLane(lane, worker, `an encode worker died: ${cause}`);
  });
  worker.on('exit', (code) => failLane(lane, worker, `an encode worker ended with code ${code}`));
  lane.worker = worker;
  return worker;
}

/** A worker reports its death twice (error, exit), and one replaced on purpose reports it late. */
function failLane(lane: Lane, worker: Worker, message: string): void {
  if (lane.worker !== worker) return;
  lane.worker = null;
  const listeners = [...lane.listeners.values()];
  lane.listeners.clear();
  for (const listener of listeners) listener.onDeath(new SinkError('encode-failed', message));
}

function send(lane: Lane, message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
  (lane.worker ?? startWorker(lane)).postMessage(message, transfer);
}

interface SessionContext {
  readonly id: number;
  readonly plan: WritePlan;
  readonly receiver: FileReceiver;
  readonly lanes: readonly Lane[];
  readonly spreadBytes: number;
  readonly recycleHeapBytes: number;
  readonly chunkMemory: ChunkMemory | null;
}

/** What a session has at a lane. */
interface LaneUse {
  readonly lane: Lane;
  groups: number;
  /** Resolved and renewed with each group done. */
  groupDone: PromiseWithResolvers<void>;
  readonly finished: PromiseWithResolvers<EncodeSummary>;
}

class PooledSession implements EncodeSession {
  readonly #context: SessionContext;
  readonly #uses = new Map<Lane, LaneUse>();
  readonly #files = new Set<Promise<void>>();
  #error: SinkError | null = null;
  #ended = false;
  #bytesTaken = 0;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  async write(group: RowGroup): Promise<void> {
    this.#check();
    const { lanes, spreadBytes } = this.#context;
    const bytes = group.chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0);
    this.#bytesTaken += bytes;
    if (group.consolidate && bytes > spreadBytes && lanes.length > 1) {
      const parts = await splitGroup(group, lanes.length);
      this.#check();
      await Promise.all(lanes.map((lane, index) => this.#give(this.#use(lane), parts[index] ?? [], true)));
      return;
    }
    const lane = this.#bytesTaken > spreadBytes ? leastBusy(lanes, this.#uses) : homeLane(lanes, this.#uses);
    await this.#give(this.#use(lane), group.chunks, group.consolidate);
  }

  async finish(): Promise<EncodeSummary> {
    this.#check();
    const uses = [...this.#uses.values()];
    for (const { lane } of uses) send(lane, { kind: 'finish', session: this.#context.id });
    const summaries = await Promise.all(uses.map((use) => use.finished.promise));
    // A worker posts its files before `finished`, so the receiver has been given all of them by now.
    this.#check();
    this.#ended = true;
    return summaries.reduce(add, NOTHING);
  }

  abort(): void {
    if (!this.#ended) this.#release();
  }

  #fail(reason: SinkError): void {
    if (this.#ended) return;
    this.#error = reason;
    this.#release();
  }

  /** Lets go of all lanes and wakes everyone who waits; they find the error by `#check`. */
  #release(): void {
    this.#ended = true;
    const { id } = this.#context;
    for (const use of this.#uses.values()) {
      use.lane.listeners.delete(id);
      if (use.lane.worker !== null) send(use.lane, { kind: 'abort', session: id });
      use.groupDone.resolve();
      use.finished.resolve(NOTHING);
    }
  }

  #check(): void {
    if (this.#error !== null) throw this.#error;
    if (this.#ended) throw new SinkError('encode-failed', 'the encode session has ended');
  }

  /** What the session has at the lane; opens it there at the first use. */
  #use(lane: Lane): LaneUse {
    const known = this.#uses.get(lane);
    if (known !== undefined) return known;
    const { id, plan } = this.#context;
    const use: LaneUse = {
      lane, groups: 0, groupDone: Promise.withResolvers<void>(), finished: Promise.withResolvers<EncodeSummary>(),
    };
    this.#uses.set(lane, use);
    lane.listeners.set(id, {
      onMessage: (message) => this.#receive(use, message), onDeath: (error) => this.#fail(error),
    });
    send(lane, { kind: 'open', session: id, plan });
    return use;
  }

  async #give(use: LaneUse, chunks: readonly RowChunk[], consolidate: boolean): Promise<void> {
    const { id, chunkMemory } = this.#context;
    const isLent = (chunk: RowChunk): boolean => chunkMemory?.isLent(chunk.bytes.buffer) ?? false;
    const owned = chunks.map((chunk) => (isLent(chunk) ? chunk : ownBuffers(chunk)));
    use.groups += 1;
    const transferred = owned.flatMap((chunk) => [...chunkBuffers(chunk)]);
    const lent = transferred.filter((buffer) => chunkMemory?.isLent(buffer) ?? false);
    send(use.lane, { kind: 'group', session: id, chunks: owned, consolidate, lent }, transferred);
    while (use.groups >= GROUPS_PER_LANE && !this.#ended) await use.groupDone.promise;
    this.#check();
  }

  #receive(use: LaneUse, message: FromWorker): void {
    switch (message.kind) {
      case 'group-done':
        for (const buffer of message.lent) this.#context.chunkMemory?.giveBack(buffer);
        use.groups -= 1;
        use.groupDone.resolve();
        use.groupDone = Promise.withResolvers<void>();
        return;
      case 'part':
        this.#handOver(() => this.#takePart(use, message.written));
        return;
      case 'file':
        this.#handOver(() => this.#takeFile(use, message.written));
        return;
      case 'finished':
        use.lane.listeners.delete(this.#context.id);
        if (message.heapBytes > this.#context.recycleHeapBytes) recycle(use.lane);
        use.finished.resolve(message.summary);
        return;
      case 'failed':
        this.#fail(new SinkError(message.code, message.message, message.detail));
        // A panic may have left the wasm memory in any state: better a new one.
        if (message.code === 'encode-failed') recycle(use.lane);
        return;
    }
  }

  async #takePart(use: LaneUse, written: WrittenPart): Promise<void> {
    const { buffer } = written.bytes;
    await this.#context.receiver.takePart({ ...written, fileId: this.#fileId(use, written.fileId) });
    if (buffer instanceof ArrayBuffer) this.#reply(use, { kind: 'part-taken', session: this.#context.id, buffer }, [buffer]);
  }

  async #takeFile(use: LaneUse, written: WrittenFile): Promise<void> {
    const fileId = written.fileId === null ? null : this.#fileId(use, written.fileId);
    await this.#context.receiver.takeFile({ ...written, fileId });
    this.#reply(use, { kind: 'file-taken', session: this.#context.id });
  }

  /** Each worker counts its own files. */
  #fileId(use: LaneUse, idAtWorker: number): number {
    const { lanes } = this.#context;
    return idAtWorker * lanes.length + lanes.indexOf(use.lane);
  }

  /** After the end too: the worker wants its buffers back. */
  #reply(use: LaneUse, message: ToWorker, transfer: readonly ArrayBuffer[] = []): void {
    if (use.lane.worker !== null) send(use.lane, message, transfer);
  }

  /** What can't be handed over fails the session; `finish` waits for all of it. */
  #handOver(run: () => Promise<void>): void {
    const taken: Promise<void> = run()
      .catch((thrown: unknown) => this.#fail(asSinkError(thrown, 'encode-failed', 'a finished file could not be handed over')))
      .finally(() => this.#files.delete(taken));
    this.#files.add(taken);
  }
}

const NOTHING: EncodeSummary = { dataRows: 0, deletedKeys: 0, nulledValues: 0 };

function add(left: EncodeSummary, right: EncodeSummary): EncodeSummary {
  return {
    dataRows: left.dataRows + right.dataRows,
    deletedKeys: left.deletedKeys + right.deletedKeys,
    nulledValues: left.nulledValues + right.nulledValues,
  };
}

/** A new session starts where the fewest others are, and stays there while it is small. */
function homeLane(lanes: readonly Lane[], uses: ReadonlyMap<Lane, LaneUse>): Lane {
  const [home] = uses.keys();
  return home ?? lanes.reduce((best, lane) => (lane.listeners.size < best.listeners.size ? lane : best));
}

function leastBusy(lanes: readonly Lane[], uses: ReadonlyMap<Lane, LaneUse>): Lane {
  const load = (lane: Lane): number => uses.get(lane)?.groups ?? 0;
  return lanes.reduce((best, lane) => (load(lane) < load(best) ? lane : best));
}

/** Only an idle worker may go: another session's rows live in its memory. */
function recycle(lane: Lane): void {
  const worker = lane.worker;
  if (worker === null || lane.listeners.size > 0) return;
  lane.worker = null;
  void worker.terminate();
}

/** Splitting copies the rows on this thread, so it pauses for timers after each chunk. */
async function splitGroup(group: RowGroup, parts: number): Promise<readonly (readonly RowChunk[])[]> {
  const split = Array.from({ length: parts }, (): RowChunk[] => []);
  for (const chunk of group.chunks) {
    splitChunk(chunk, parts).forEach((part, index) => {
      if (part !== null) split[index]?.push(part);
    });
    await nextTurn();
  }
  return split;
}

/**
 * A view of a larger buffer is copied: transferring the buffer would take away from under other chunks what they
 * still hold.
 */
function ownBuffers(chunk: RowChunk): RowChunk {
  return {
    ...chunk,
    bytes: ownBuffer(chunk.bytes), starts: ownBuffer(chunk.starts), ends: ownBuffer(chunk.ends),
    times: ownBuffer(chunk.times), diffs: ownBuffer(chunk.diffs), keyHashes: ownBuffer(chunk.keyHashes),
  };
}

interface BufferView<T> {
  readonly buffer: ArrayBufferLike;
  readonly byteLength: number;
  slice(): T;
}

function ownBuffer<T extends BufferView<T>>(view: T): T {
  const whole = view.buffer instanceof ArrayBuffer && view.byteLength === view.buffer.byteLength;
  return whole ? view : view.slice();
}
