/**
 * The Encoder port over worker threads. Chunks go to the workers and files come back by transfer, not by copy.
 *
 * Small spans stay on one worker, so that a small commit is one data and one delete file; a session that has
 * taken SPREAD_BYTES goes on over several. A consolidated group holds whole keys and may go to any worker;
 * a large one is split by key hash first. A worker that dies fails its sessions and is replaced by the next use.
 * From BULK_BYTES on a session works apart from small ones (encode-lanes.ts); what it wrote beside them before stays there
 * and makes one file more.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { availableParallelism } from 'node:os';

import type { ChunkMemory } from '../batch/chunk-memory.ts';
import { type RowChunk, bytesOfChunks, chunkBuffers, isOfOneBuffer } from '../batch/row-chunk.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { EncodeSession, EncodeSummary, Encoder, FileReceiver, RowGroup } from '../sink/ports.ts';
import type { WritePlan } from '../write/plan.ts';
import type { WrittenFile, WrittenPart } from '../write/table-file.ts';
import { splitChunk } from '../write/split-rows.ts';
import { type Lane, type LaneListener, bulkLanes, closeLane, createLanes, endIdle, enter, leave, send, smallLane, startWorker } from './encode-lanes.ts';
import type { FromWorker, ToWorker } from './encode-worker.ts';

export interface EncodePoolOptions {
  /**
   * Threads for bulk sessions, and for small ones; one less than the processors by default, at least one. Both at once
   * take one more.
   */
  readonly workers?: number;
  /** Bytes of chunks from which on small sessions keep away from a session. */
  readonly bulkBytes?: number;
  /** Bytes of chunks from which on a session uses more than one worker. */
  readonly spreadBytes?: number;
  /** Bytes of wasm memory, which never shrinks, above which an idle worker is replaced. */
  readonly recycleHeapBytes?: number;
  /** A worker that had no session for so long ends, unless it is the last. */
  readonly idleEndMs?: number;
  /** Starts a worker now instead of with the first rows, which would wait for it. */
  readonly startNow?: boolean;
  /** Takes back the memory of chunks when the workers are done with them. */
  readonly chunkMemory?: ChunkMemory;
  /** The worker's entry; tests give one that dies. */
  readonly entry?: URL;
}

const SPREAD_BYTES = 32 * 1024 * 1024;
/** A worker takes some 0.1 s for so much, which is what a small commit may have to wait. */
const BULK_BYTES = 8 * 1024 * 1024;
const IDLE_END_MS = 60_000;
const RECYCLE_HEAP_BYTES = 768 * 1024 * 1024;
/** Groups of a session at one worker: one at work, one waiting, so that the worker never idles. */
const GROUPS_PER_LANE = 2;

export function openEncodePool(options: EncodePoolOptions = {}): Encoder {
  const workers = Math.max(1, options.workers ?? availableParallelism() - 1);
  const lanes = createLanes(workers, options.entry ?? defaultEntry(), options.idleEndMs ?? IDLE_END_MS);
  const spreadBytes = options.spreadBytes ?? SPREAD_BYTES;
  const shared = {
    lanes,
    bulkBytes: Math.min(options.bulkBytes ?? BULK_BYTES, spreadBytes),
    spreadBytes,
    recycleHeapBytes: options.recycleHeapBytes ?? RECYCLE_HEAP_BYTES,
    chunkMemory: options.chunkMemory ?? null,
  };
  const [first] = lanes;
  if (options.startNow === true && first !== undefined) startWorker(first);
  let nextSession = 1;
  let closed = false;

  return {
    open(plan, receiver) {
      const id = nextSession++;
      if (closed) throw new SinkError('encode-failed', 'the encode pool is closed');
      return new PooledSession({ id, plan, receiver, ...shared });
    },
    async close() {
      closed = true;
      await Promise.all(lanes.map((lane) => closeLane(lane, 'the encode pool is closed')));
    },
  };
}

/** It has the extension of this file: .ts in development, .js when compiled. */
function defaultEntry(): URL {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new URL(`./encode-worker.${extension}`, import.meta.url);
}

interface SessionContext {
  readonly id: number;
  readonly plan: WritePlan;
  readonly receiver: FileReceiver;
  readonly lanes: readonly Lane[];
  readonly bulkBytes: number;
  readonly spreadBytes: number;
  readonly recycleHeapBytes: number;
  readonly chunkMemory: ChunkMemory | null;
}

/** What a session has at a lane. */
interface LaneUse {
  readonly lane: Lane;
  readonly listener: LaneListener;
  groups: number;
  /** Resolved and renewed with each group done. */
  groupDone: PromiseWithResolvers<void>;
  readonly finished: PromiseWithResolvers<EncodeSummary>;
}

class PooledSession implements EncodeSession {
  readonly #context: SessionContext;
  readonly #uses = new Map<Lane, LaneUse>();
  #error: SinkError | null = null;
  #ended = false;
  #bytesTaken = 0;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  async write(group: RowGroup): Promise<void> {
    this.#check();
    const { id, lanes, bulkBytes, spreadBytes } = this.#context;
    const bytes = bytesOfChunks(group.chunks);
    this.#bytesTaken += bytes;
    if (this.#bytesTaken <= bulkBytes) {
      await this.#give(this.#use(this.#uses.keys().next().value ?? smallLane(lanes)), group.chunks, group.consolidate);
      return;
    }
    const bulk = bulkLanes(lanes, id);
    if (group.consolidate && bytes > spreadBytes && bulk.length > 1) {
      const uses = bulk.map((lane) => this.#useInBulk(lane));
      const parts = await splitGroup(group, bulk.length);
      this.#check();
      await Promise.all(uses.map((use, index) => this.#give(use, parts[index] ?? [], true)));
      return;
    }
    const isSpread = this.#bytesTaken > spreadBytes;
    const lane = isSpread ? leastBusy(bulk, this.#uses) : bulk.find((known) => this.#uses.has(known)) ?? emptiest(bulk);
    await this.#give(this.#useInBulk(lane), group.chunks, group.consolidate);
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
    const { id, lanes } = this.#context;
    for (const use of this.#uses.values()) {
      leave(lanes, use.lane, id);
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
    const listener: LaneListener = {
      bulk: false, onMessage: (message) => this.#receive(use, message), onDeath: (error) => this.#fail(error),
    };
    const use: LaneUse = {
      lane, listener, groups: 0, groupDone: Promise.withResolvers<void>(), finished: Promise.withResolvers<EncodeSummary>(),
    };
    this.#uses.set(lane, use);
    enter(lane, id, listener);
    send(lane, { kind: 'open', session: id, plan });
    return use;
  }

  #useInBulk(lane: Lane): LaneUse {
    const use = this.#use(lane);
    use.listener.bulk = true;
    return use;
  }

  async #give(use: LaneUse, chunks: readonly RowChunk[], consolidate: boolean): Promise<void> {
    const { id, chunkMemory } = this.#context;
    const owned = chunks.map((chunk) => (isOfOneBuffer(chunk) ? chunk : ownBuffers(chunk)));
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
        leave(this.#context.lanes, use.lane, this.#context.id);
        if (message.heapBytes > this.#context.recycleHeapBytes) endIdle(use.lane);
        use.finished.resolve(message.summary);
        return;
      case 'failed':
        this.#fail(new SinkError(message.code, message.message, message.detail));
        // A panic may have left the wasm memory in any state: better a new one.
        if (message.code === 'encode-failed') endIdle(use.lane);
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

  /** What can't be handed over fails the session; after its end, the receiver that rejected it is the one who knows. */
  #handOver(run: () => Promise<void>): void {
    run().catch((thrown: unknown) => this.#fail(asSinkError(thrown, 'encode-failed', 'a finished file could not be handed over')));
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

function emptiest(lanes: readonly Lane[]): Lane {
  return lanes.reduce((best, lane) => (lane.listeners.size < best.listeners.size ? lane : best));
}

function leastBusy(lanes: readonly Lane[], uses: ReadonlyMap<Lane, LaneUse>): Lane {
  const load = (lane: Lane): number => uses.get(lane)?.groups ?? 0;
  return lanes.reduce((best, lane) => (load(lane) < load(best) ? lane : best));
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
