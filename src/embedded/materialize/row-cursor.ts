/**
 * Rows that are taken in portions: by FETCH from a cursor, by Execute with a row limit from a portal. In: messages
 * of rows, and of notices between them. Out: portions, in order.
 *
 * Invariants: every message is given out once; an error of the source comes behind all rows before it; what nobody
 * takes counts as backlog of the stream, so that a client that stops fetching falls behind like one that stops reading.
 */
import type { RunningStream, StreamEnd, StreamSink } from './subscription-stream.ts';
import { StatementError, type WireError } from './wire-frames.ts';

/** How long to wait when fewer rows are ready than were asked for. */
export type RowPatience =
  | { readonly kind: 'until-all' }
  | { readonly kind: 'until-one' }
  | { readonly kind: 'for'; readonly timeoutMs: number };

export interface RowPortion {
  readonly messages: readonly Uint8Array[];
  readonly rows: number;
  /** The source is over and everything was given out. */
  readonly ended: boolean;
}

export interface RowCursor {
  /** Up to `limit` rows, null for all. Throws a StatementError when the source failed and no row is left. */
  take(limit: number | null, patience: RowPatience): Promise<RowPortion>;
  /** Ends the source; a `take` that waits fails with `error`. */
  stop(error: WireError): void;
}

const DATA_ROW = 'D'.charCodeAt(0);

/** Below this a stream that waits for the cursor goes on. */
const LOW_WATER_BYTES = 512 * 1024;

/** A cursor over rows that exist already. */
export function cursorOverRows(rows: readonly Uint8Array[]): RowCursor {
  let at = 0;
  return {
    take(limit) {
      const messages = rows.slice(at, limit === null ? rows.length : at + limit);
      at += messages.length;
      return Promise.resolve({ messages, rows: messages.length, ended: at === rows.length });
    },
    stop: () => undefined,
  };
}

/** A cursor over a stream; `start` begins it and gets the place where its messages go. */
export function cursorOverStream(start: (sink: StreamSink) => RunningStream): RowCursor {
  const ready: Uint8Array[] = [];
  let readyRows = 0;
  let readyBytes = 0;
  let end: StreamEnd | null = null;
  let wakers: (() => void)[] = [];
  const wake = (): void => {
    const woken = wakers;
    wakers = [];
    for (const resolve of woken) resolve();
  };
  const changed = (): Promise<void> => new Promise((resolve) => wakers.push(resolve));
  const sink: StreamSink = {
    send(block) {
      for (const message of splitMessages(block)) {
        ready.push(message);
        if (message[0] === DATA_ROW) readyRows++;
      }
      readyBytes += block.length;
      wake();
    },
    pendingBytes: () => readyBytes,
    async drained() {
      while (readyBytes > LOW_WATER_BYTES && end === null) await changed();
    },
  };
  const running = start(sink);
  void running.ended.then((ended) => {
    end = ended;
    wake();
  });
  const giveOut = (limit: number | null): RowPortion => {
    const messages: Uint8Array[] = [];
    let rows = 0;
    while (ready.length > 0 && (rows !== limit || ready[0]?.[0] !== DATA_ROW)) {
      const message = ready.shift();
      if (message === undefined) break;
      messages.push(message);
      readyBytes -= message.length;
      if (message[0] === DATA_ROW) rows++;
    }
    readyRows -= rows;
    wake();
    return { messages, rows, ended: end !== null && ready.length === 0 };
  };
  const satisfied = (limit: number | null, patience: RowPatience): boolean => {
    if (end !== null || (limit !== null && readyRows >= limit)) return true;
    return patience.kind === 'until-one' && readyRows > 0;
  };
  return {
    async take(limit, patience) {
      const timer = patience.kind === 'for' ? deadline(patience.timeoutMs) : null;
      while (!satisfied(limit, patience) && timer?.passed() !== true) {
        await (timer === null ? changed() : Promise.race([changed(), timer.promise]));
      }
      timer?.clear();
      // The rest of a batch follows its first row within the same turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      const portion = giveOut(limit);
      if (portion.rows === 0 && portion.ended && end?.kind === 'error') throw new StatementError(end.error);
      return portion;
    },
    stop: (error) => running.stop(error),
  };
}

function* splitMessages(block: Uint8Array): Generator<Uint8Array> {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  for (let at = 0; at < block.length; ) {
    const next = at + 1 + view.getInt32(at + 1);
    yield block.subarray(at, next);
    at = next;
  }
}

interface Deadline {
  readonly promise: Promise<void>;
  passed(): boolean;
  clear(): void;
}

function deadline(timeoutMs: number): Deadline {
  let passed = false;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    passed = true;
    resolve();
  }, timeoutMs);
  return { promise, passed: () => passed, clear: () => clearTimeout(timer) };
}
