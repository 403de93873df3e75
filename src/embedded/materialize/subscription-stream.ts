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

export function startStream(
  world: World,
  relation: StandInRelation,
  cluster: string,
  cursor: SubscriptionCursor,
  shape: RowShape,
  limits: StreamLimits,
  outbox: Outbox,
): RunningStream {
  const queue: QueuedMessage[] = [];
  let backlogBytes = 0;
  let rowsSent = 0;
  let sending = false;
  let complete = false;
  let stopped: WireError | null = null;
  let failure: WireError | null = null;
  let wake = (): void => undefined;

  const hasReplica = (name: string): boolean => (world.clusters.get(name) ?? 0) > 0;
  const enqueue = (message: QueuedMessage): void => {
    queue.push(message);
    backlogBytes += message.costBytes;
    if (backlogBytes > limits.maxBufferedBytes && (sending || queue.length > 1)) {
      queue.length = 0;
      failure ??= fellBehind(backlogBytes, limits.maxBufferedBytes);
    }
    wake();
  };
  const pull = (): void => {
    if (complete || failure !== null || stopped !== null) return;
    // Without a replica nobody computes, neither the relation nor the stream: it stalls, it does not fail.
    if (!hasReplica(cluster) || !hasReplica(relation.cluster ?? DEFAULT_CLUSTER)) return;
    const generate = cursor.sentBelow === null && cursor.snapshot ? relation.generateSnapshot : undefined;
    const batch = takeBatch(cursor, relation.history);
    if (batch === null) return;
    const size = sizeOfBatch(shape, batch);
    if (size.bytes > limits.maxResultBytes) {
      failure = { sqlstate: 'XX000', message: `total result exceeds max size of ${formatByteSize(limits.maxResultBytes)}` };
      return wake();
    }
    complete = batch.last;
    if (generate !== undefined) {
      const generated = countedBlocks(generate, cursor.asOf, shape.progress, (rows) => (rowsSent += rows));
      enqueue({ blocks: generated, costBytes: MESSAGE_COST_BYTES });
    }
    rowsSent += size.rows;
    enqueue({ blocks: batchBlocks(shape, batch), costBytes: size.bytes + MESSAGE_COST_BYTES });
  };
  const subscriber: RelationSubscriber = {
    changed: pull,
    fail(error) {
      failure ??= error;
      wake();
    },
    notice: (notice) => enqueue({ blocks: [noticeResponse(notice)], costBytes: MESSAGE_COST_BYTES }),
    hold: () => holdOf(cursor),
  };
  const stopSignal = Promise.withResolvers<void>();

  const send = async (message: QueuedMessage): Promise<void> => {
    for (const block of message.blocks) {
      if (stopped !== null) return;
      outbox.send(block);
      if (outbox.pendingBytes() > SEND_AHEAD_BYTES) await Promise.race([outbox.drained(), stopSignal.promise]);
    }
  };
  const pump = async (): Promise<StreamEnd> => {
    for (;;) {
      if (stopped !== null) return { kind: 'error', error: stopped };
      const message = queue.shift();
      if (message !== undefined) {
        backlogBytes -= message.costBytes;
        sending = true;
        await send(message);
        sending = false;
      } else if (failure !== null) {
        return { kind: 'error', error: failure };
      } else if (complete) {
        return { kind: 'complete', rows: rowsSent };
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  };

  if (shape.progress) {
    rowsSent++;
    enqueue({ blocks: [progressFrame(shape, cursor.asOf)], costBytes: MESSAGE_COST_BYTES });
  }
  // Started before the first batch exists, so that a big snapshot is the message being sent, not backlog.
  const ended = pump().finally(() => relation.subscribers.delete(subscriber));
  relation.subscribers.add(subscriber);
  if (relation.error !== null) subscriber.fail({ sqlstate: 'XX000', message: relation.error });
  pull();
  return {
    ended,
    stop(error) {
      stopped ??= error;
      stopSignal.resolve();
      wake();
    },
  };
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
