/**
 * A subscription that reads its first step in slices, for a relation whose step exceeds `max_result_size`: one connection
 * for each, merged by subscribe/merge-slices, and one connection for all that follows.
 *
 * One as of for all: every connection is logged in before the first SUBSCRIBE goes out. Without a time given the
 * first slice lets the server choose it; its first progress tells the time as soon as the server has registered the
 * SUBSCRIBE, long before rows, and the others are sent in the same turn of the event loop. Until the first slice has
 * been sent its whole step the server keeps that time readable for it, and a compaction window of a second and more
 * beyond. AS OF is exact: a slice that comes too late is refused, never served another time, and all start over.
 *
 * So all slices run side by side. A later round of them would need its time held by a SUBSCRIBE that goes on without
 * progress, which there is no way to ask for.
 *
 * When all slices are past their first step, a SUBSCRIBE of the whole relation without snapshot takes over. It begins at
 * the merged frontier - 1, which the slowest slice holds readable, and the slices go on until it has.
 */
import type { ChunkMemory } from '../batch/chunk-memory.ts';
import { splitChunk } from '../batch/stash.ts';
import { SinkError } from '../errors.ts';
import type { SourceEvent, SubscribeRequest, Subscription } from '../sink/ports.ts';
import { type SliceMerge, createSliceMerge } from '../subscribe/merge-slices.ts';
import { DEFAULT_LIMITS } from '../subscribe/row-reader.ts';
import type { ChunkLimits } from '../subscribe/row-scratch.ts';
import type { Slice } from '../subscribe/subscribe-sql.ts';
import type { Timestamp } from '../time/timestamp.ts';

/** What one connection asks for. */
export interface SubscribePart {
  readonly slice: Slice | null;
  readonly asOf: Timestamp | null;
  readonly snapshot: boolean;
}

/** A connection that is logged in and idle. */
export interface IdleConnection {
  /** Sends the SUBSCRIBE; once. */
  start(part: SubscribePart, onEvent: (event: SourceEvent) => void): Subscription;
  /** Closes it, whether started or not. */
  close(): Promise<void>;
}

/**
 * How many rows a connection gathers into a chunk. What is being gathered is in no budget, so slices share what one
 * connection would take, down to chunks that are still worth their while.
 */
export function chunkLimitsOf(slice: Slice | null, memory?: ChunkMemory): ChunkLimits {
  const share = slice?.count ?? 1;
  const bytes = Math.max(Math.floor(DEFAULT_LIMITS.bytes / share), 1 << 16);
  const rows = Math.max(Math.floor(DEFAULT_LIMITS.rows / share), 1024);
  return memory === undefined ? { bytes, rows } : { bytes, rows, memory };
}

interface SlicedSubscription {
  readonly open: () => Promise<IdleConnection>;
  readonly request: SubscribeRequest;
  readonly columns: readonly string[];
  readonly onEvent: (event: SourceEvent) => void;
  readonly merge: SliceMerge;
  /** By input: slices first, then the followers, of which at most one is wanted. */
  readonly connections: (IdleConnection | null)[];
  readonly running: (Subscription | null)[];
  /** Slices before this one have been sent. */
  slicesSent: number;
  following: boolean;
  paused: boolean;
}

/**
 * Resolves once all connections stand and the first SUBSCRIBE was sent. Rejects, with no connection left, when one of
 * them can't be made.
 */
export async function subscribeInSlices(
  open: () => Promise<IdleConnection>,
  request: SubscribeRequest,
  columns: readonly string[],
  onEvent: (event: SourceEvent) => void,
): Promise<Subscription> {
  const connections: (IdleConnection | null)[] = [...await openAll(open, request.slices)];
  const merge = createSliceMerge(request.slices, request.asOf !== null, splitChunk, {
    event: (event) => deliver(sliced, event),
    finished: (input) => void closeInput(sliced, input),
  });
  const sliced: SlicedSubscription = {
    open, request, columns, onEvent, merge, connections, running: [], slicesSent: 0, following: false, paused: false,
  };
  sendSlices(sliced, request.asOf === null ? 1 : request.slices, request.asOf);
  return {
    pause() {
      sliced.paused = true;
      for (const subscription of sliced.running) subscription?.pause();
    },
    resume() {
      sliced.paused = false;
      for (const subscription of sliced.running) subscription?.resume();
    },
    async close() {
      merge.stop();
      await closeAll(sliced);
    },
  };
}

async function openAll(open: () => Promise<IdleConnection>, count: number): Promise<readonly IdleConnection[]> {
  const attempts = await Promise.allSettled(Array.from({ length: count }, open));
  const opened = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  const failure = attempts.find((attempt) => attempt.status === 'rejected');
  if (failure === undefined) return opened;
  await Promise.all(opened.map((connection) => connection.close()));
  throw failure.reason;
}

function sendSlices(sliced: SlicedSubscription, upTo: number, asOf: Timestamp | null): void {
  const { request, columns } = sliced;
  while (sliced.slicesSent < upTo && !sliced.merge.isOver()) {
    const index = sliced.slicesSent++;
    start(sliced, index, { slice: { index, count: request.slices, columns }, asOf, snapshot: request.snapshot });
  }
}

function start(sliced: SlicedSubscription, input: number, part: SubscribePart): void {
  const connection = sliced.connections[input];
  if (connection === null || connection === undefined) return;
  try {
    const subscription = connection.start(part, (event) => sliced.merge.take(input, event));
    sliced.running[input] = subscription;
    if (sliced.paused) subscription.pause();
  } catch (thrown) {
    if (!(thrown instanceof SinkError)) throw thrown;
    // The idle connection broke; said as if the server had ended it a moment later.
    sliced.merge.take(input, { kind: 'failed', error: thrown });
  }
}

/** What the merge gives. The other slices are sent before anyone is told of the as of: the server waits for nobody. */
function deliver(sliced: SlicedSubscription, event: SourceEvent): void {
  if (event.kind === 'progress') sendSlices(sliced, sliced.request.slices, sliced.merge.asOf());
  const isEnd = event.kind === 'closed' || event.kind === 'failed';
  if (isEnd) void closeAll(sliced);
  sliced.onEvent(event);
  if (event.kind === 'progress') void follow(sliced);
}

/** Never rejects: without a follower the slices go on, and the next progress tries again. */
async function follow(sliced: SlicedSubscription): Promise<void> {
  const { merge } = sliced;
  if (sliced.following || merge.followerAsOf() === null) return;
  sliced.following = true;
  const connection = await sliced.open().catch((thrown: unknown) => {
    const words = thrown instanceof Error ? thrown.message : String(thrown);
    const code = thrown instanceof SinkError ? thrown.code : '';
    if (!merge.isOver()) sliced.onEvent({ kind: 'notice', severity: 'WARNING', code, message: `the slices go on: ${words}` });
    return null;
  });
  const asOf = merge.followerAsOf();
  if (connection === null || asOf === null) {
    sliced.following = false;
    await connection?.close();
    return;
  }
  const input = merge.addFollower(asOf);
  sliced.connections[input] = connection;
  start(sliced, input, { slice: null, asOf, snapshot: false });
}

async function closeInput(sliced: SlicedSubscription, input: number): Promise<void> {
  if (input >= sliced.request.slices) sliced.following = false;
  const subscription = sliced.running[input];
  const connection = sliced.connections[input];
  sliced.running[input] = null;
  sliced.connections[input] = null;
  // The subscription first: it must fall silent before its socket goes.
  await subscription?.close();
  await connection?.close();
}

async function closeAll(sliced: SlicedSubscription): Promise<void> {
  await Promise.all([...sliced.connections.keys()].map((input) => closeInput(sliced, input)));
}
