/**
 * A running SUBSCRIBE: from the events of a relation to bytes on a connection. In: a resolved subscription. Out:
 * messages into the outbox, and how the stream ended.
 *
 * Invariants: the first row with PROGRESS is the progress row at as_of, sent before any data; the server never
 * waits for a slow client: batches queue up, and a queue beyond the budget ends the stream (the batch that is being
 * sent is exempt, each queued one costs 1024 bytes more than its rows).
 */
import type { Timestamp } from '../../time/timestamp.ts';
import type { Outbox } from './outbox.ts';
import type { GenerateSnapshot } from './relation-definition.ts';
import { type RowShape, batchBlocks, progressFrame, sizeOfBatch } from './row-frames.ts';
import { type SubscriptionCursor, holdOf, takeBatch } from './subscription-batches.ts';
import { type WireError, noticeResponse } from './wire-frames.ts';
import { DEFAULT_CLUSTER, type RelationSubscriber, type StandInRelation, type World } from './world.ts';

export interface StreamLimits {
  /** `subscribe_max_buffered_bytes`. */
  readonly maxBufferedBytes: number;
  /** `max_result_size`: largest step of the frontier. */
  readonly maxResultBytes: number;
}

export type StreamEnd =
  | { readonly kind: 'complete'; readonly rows: number }
  | { readonly kind: 'error'; readonly error: WireError };

export interface RunningStream {
  readonly ended: Promise<StreamEnd>;
  /** Ends the stream with `error` at the next message boundary; also when the client is gone. */
  stop(error: WireError): void;
}

interface QueuedMessage {
  readonly blocks: Iterable<Uint8Array>;
  readonly costBytes: number;
}

const MESSAGE_COST_BYTES = 1024;

/** Where the messages of a stream go: a connection, or a cursor that is fetched from. */
export type StreamSink = Pick<Outbox, 'send' | 'pendingBytes' | 'drained'>;

export interface StreamSource {
  readonly world: World;
  readonly relation: StandInRelation;
  /** The session's; the relation may be computed on another one. */
  readonly cluster: string;
  readonly cursor: SubscriptionCursor;
  readonly shape: RowShape;
}

/** Starts to stream; what the subscription holds is given back when `ended` resolves. */
export function startStream(source: StreamSource, limits: StreamLimits, sink: StreamSink): RunningStream {
  const { relation, cursor, shape } = source;
  const stream: StreamState = {
    limits,
    sink,
    queue: [],
    backlogBytes: 0,
    rowsSent: 0,
    sending: false,
    complete: false,
    stopped: null,
    failure: null,
    stopSignal: Promise.withResolvers<void>(),
    wake: () => undefined,
  };
  const subscriber: RelationSubscriber = {
    changed: () => pullBatch(stream, source),
    fail(error) {
      stream.failure ??= error;
      stream.wake();
    },
    notice: (notice) => enqueue(stream, [noticeResponse(notice)], 0),
    hold: () => holdOf(cursor),
  };
  if (shape.progress) {
    stream.rowsSent++;
    enqueue(stream, [progressFrame(shape, cursor.asOf)], 0);
  }
  // Started before the first batch exists, so that a big snapshot is the message being sent, not backlog.
  const ended = pump(stream).finally(() => relation.subscribers.delete(subscriber));
  relation.subscribers.add(subscriber);
  if (relation.error !== null) subscriber.fail({ sqlstate: 'XX000', message: relation.error });
  subscriber.changed();
  return {
    ended,
    stop(error) {
      stream.stopped ??= error;
      stream.stopSignal.resolve();
      stream.wake();
    },
  };
}

interface StreamState {
  readonly limits: StreamLimits;
  readonly sink: StreamSink;
  readonly queue: QueuedMessage[];
  backlogBytes: number;
  rowsSent: number;
  /** A message is being sent: it is no backlog. */
  sending: boolean;
  /** The last batch is in the queue. */
  complete: boolean;
  /** Ends the stream at once. */
  stopped: WireError | null;
  /** Ends the stream behind what is queued. */
  failure: WireError | null;
  readonly stopSignal: PromiseWithResolvers<void>;
  /** Tells the pump that there is something to look at. */
  wake: () => void;
}

function enqueue(stream: StreamState, blocks: Iterable<Uint8Array>, rowBytes: number): void {
  const { queue, limits } = stream;
  const costBytes = rowBytes + MESSAGE_COST_BYTES;
  queue.push({ blocks, costBytes });
  stream.backlogBytes += costBytes;
  if (stream.backlogBytes > limits.maxBufferedBytes && (stream.sending || queue.length > 1)) {
    queue.length = 0;
    stream.failure ??= fellBehind(stream.backlogBytes, limits.maxBufferedBytes);
  }
  stream.wake();
}

/** Queues the next batch, if the relation has one. */
function pullBatch(stream: StreamState, source: StreamSource): void {
  const { world, relation, cluster, cursor, shape } = source;
  const hasReplica = (name: string): boolean => (world.clusters.get(name) ?? 0) > 0;
  if (stream.complete || stream.failure !== null || stream.stopped !== null) return;
  // Without a replica nobody computes, neither the relation nor the stream: it stalls, it does not fail.
  if (!hasReplica(cluster) || !hasReplica(relation.cluster ?? DEFAULT_CLUSTER)) return;
  const generate = cursor.sentBelow === null && cursor.snapshot ? relation.generateSnapshot : undefined;
  const batch = takeBatch(cursor, relation.history);
  if (batch === null) return;
  const size = sizeOfBatch(shape, batch);
  const { maxResultBytes } = stream.limits;
  if (size.bytes > maxResultBytes) {
    stream.failure = {
      sqlstate: 'XX000',
      message: `total result exceeds max size of ${formatByteSize(maxResultBytes)}`,
    };
    return stream.wake();
  }
  stream.complete = batch.last;
  if (generate !== undefined) {
    enqueue(stream, countedBlocks(generate, cursor.asOf, shape.progress, (rows) => (stream.rowsSent += rows)), 0);
  }
  stream.rowsSent += size.rows;
  enqueue(stream, batchBlocks(shape, batch), size.bytes);
}

/** Sends what is queued until the stream is over. */
async function pump(stream: StreamState): Promise<StreamEnd> {
  for (;;) {
    if (stream.stopped !== null) return { kind: 'error', error: stream.stopped };
    const message = stream.queue.shift();
    if (message !== undefined) {
      stream.backlogBytes -= message.costBytes;
      stream.sending = true;
      await send(stream, message);
      stream.sending = false;
    } else if (stream.failure !== null) {
      return { kind: 'error', error: stream.failure };
    } else if (stream.complete) {
      return { kind: 'complete', rows: stream.rowsSent };
    } else {
      await new Promise<void>((resolve) => (stream.wake = resolve));
    }
  }
}

async function send(stream: StreamState, message: QueuedMessage): Promise<void> {
  const { sink, stopSignal } = stream;
  for (const block of message.blocks) {
    if (stream.stopped !== null) return;
    sink.send(block);
    if (sink.pendingBytes() > SEND_AHEAD_BYTES) await Promise.race([sink.drained(), stopSignal.promise]);
  }
}

/** Bytes given to the socket before the pump waits for it. */
const SEND_AHEAD_BYTES = 1024 * 1024;

function fellBehind(backlogBytes: number, budgetBytes: number): WireError {
  const message =
    'SUBSCRIBE fell behind: the client did not read results fast enough, ' +
    `so its backlog reached ${backlogBytes} bytes, exceeding the ${budgetBytes} byte budget`;
  return { sqlstate: '53200', message };
}

function* countedBlocks(
  generate: GenerateSnapshot,
  asOf: Timestamp,
  progress: boolean,
  count: (rows: number) => void,
): Generator<Uint8Array> {
  for (const { bytes, rows } of generate({ asOf, progress })) {
    count(rows);
    yield bytes;
  }
}

/** Decimal units with one digit, as byte sizes are shown in messages. */
export function formatByteSize(bytes: number): string {
  for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['KB', 1e3]] as const) {
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}
