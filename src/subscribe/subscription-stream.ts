/**
 * One subscription from the bytes of its socket: what the server sends after `COPY (SUBSCRIBE …) TO STDOUT` went
 * out. In: chunks cut anywhere, and the end of the socket. Out: events in order, ending with at most one `closed`
 * or `failed`, after which nothing follows.
 *
 * The server's side of the conversation: CopyOutResponse, CopyData…, CopyDone, CommandComplete, ReadyForQuery;
 * NoticeResponse and ParameterStatus anywhere between; ErrorResponse instead of the rest at any time.
 * Only CommandComplete after CopyDone makes the input complete. A socket that ends earlier, however politely, is a
 * failure: taking it for the end would close times whose rows never came.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError } from '../errors.ts';
import type { Frontier } from '../time/frontier.ts';
import { type RowReader, type RowShape, createRowReader } from './row-reader.ts';
import type { ChunkLimits } from './row-scratch.ts';
import { classifyServerError } from './source-errors.ts';
import { MESSAGE, createFrameReader, readMessageFields, readText } from './wire-frames.ts';

export type SubscriptionEvent =
  | { readonly kind: 'rows'; readonly chunk: RowChunk }
  | { readonly kind: 'progress'; readonly frontier: Frontier }
  | { readonly kind: 'notice'; readonly severity: string; readonly code: string; readonly message: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly error: SinkError };

export interface SubscriptionStream {
  /** Takes the next bytes of the socket. What `onEvent` throws comes through. */
  push(chunk: Uint8Array): void;
  /** The socket ended; `why` in words. Fails the subscription unless it is over. */
  disconnected(why: string): void;
  /** No event after this. */
  stop(): void;
  /** True once `closed` or `failed` was given, or `stop` called. */
  isOver(): boolean;
}

/** mz_timestamp, mz_progressed, mz_diff. */
const SUBSCRIBE_COLUMNS = 3;

interface StreamState {
  phase: 'starting' | 'copying' | 'copied' | 'over';
  readonly shape: RowShape;
  readonly onEvent: (event: SubscriptionEvent) => void;
}

/** A stream for one SUBSCRIBE that was sent on an idle session. `onEvent` is called during `push`, in order. */
export function createSubscriptionStream(
  shape: RowShape,
  onEvent: (event: SubscriptionEvent) => void,
  limits?: ChunkLimits,
): SubscriptionStream {
  const state: StreamState = { phase: 'starting', shape, onEvent };
  const rows = createRowReader(shape, {
    rows: (chunk) => emit(state, { kind: 'rows', chunk }),
    progress: (frontier) => emit(state, { kind: 'progress', frontier }),
  }, limits);
  const frames = createFrameReader({
    copyData(bytes, start, end) {
      if (state.phase === 'copying') rows.take(bytes, start, end);
      else unexpected(state, 'CopyData');
    },
    released: () => rows.release(),
    message: (type, bytes, start, end) => takeMessage(state, rows, type, bytes, start, end),
  });
  return {
    push(chunk) {
      if (state.phase === 'over') return;
      try {
        frames.push(chunk);
      } catch (thrown) {
        // Only what the readers say about the bytes is the server's fault; a consumer's error is not for us to hide.
        if (!(thrown instanceof SinkError) || thrown.code !== 'source-protocol') throw thrown;
        fail(state, thrown);
      }
    },
    disconnected(why) {
      fail(state, new SinkError('source-disconnected', `The connection to Materialize ended: ${why}.`, { cause: why }));
    },
    stop() {
      state.phase = 'over';
    },
    isOver: () => state.phase === 'over',
  };
}

function takeMessage(
  state: StreamState,
  rows: RowReader,
  type: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): void {
  switch (type) {
    case MESSAGE.noticeResponse:
      return emit(state, noticeEvent(readMessageFields(bytes, start, end)));
    case MESSAGE.errorResponse:
      return fail(state, serverError(readMessageFields(bytes, start, end)));
    case MESSAGE.copyOutResponse:
      return takeCopyOutResponse(state, bytes, start, end);
    case MESSAGE.copyDone:
      if (state.phase !== 'copying') return unexpected(state, 'CopyDone');
      rows.finish();
      // A consumer may have stopped the stream on the last rows.
      if (state.phase === 'copying') state.phase = 'copied';
      return;
    case MESSAGE.commandComplete:
      if (state.phase !== 'copied') return unexpected(state, `CommandComplete ${tagText(bytes, start, end)}`);
      return finish(state, { kind: 'closed' });
    case MESSAGE.parameterStatus:
    case MESSAGE.notificationResponse:
    case MESSAGE.backendKeyData:
      return;
    default:
      return unexpected(state, `a message of type ${type}`);
  }
}

function takeCopyOutResponse(state: StreamState, bytes: Uint8Array, start: number, end: number): void {
  if (state.phase !== 'starting') return unexpected(state, 'a second CopyOutResponse');
  if (end - start < 3 || bytes[start] !== 0) return unexpected(state, 'a COPY that is not in text form');
  const columns = ((bytes[start + 1]! << 8) | bytes[start + 2]!) - SUBSCRIBE_COLUMNS;
  const { columnCount } = state.shape;
  if (columns !== columnCount) {
    return fail(state, new SinkError('relation-changed',
      `The relation has ${columns} columns now and had ${columnCount} when it was looked up.`));
  }
  state.phase = 'copying';
}

function emit(state: StreamState, event: SubscriptionEvent): void {
  if (state.phase !== 'over') state.onEvent(event);
}

/** Gives the last event. The phase changes first: the consumer may call back into the stream. */
function finish(state: StreamState, event: SubscriptionEvent): void {
  if (state.phase === 'over') return;
  state.phase = 'over';
  state.onEvent(event);
}

function fail(state: StreamState, error: SinkError): void {
  finish(state, { kind: 'failed', error });
}

function unexpected(state: StreamState, what: string): void {
  fail(state, new SinkError('source-protocol', `Materialize sent ${what} while the subscription was ${state.phase}.`));
}

/** A command tag such as `COPY 7`, of a length fit for a message. */
function tagText(bytes: Uint8Array, start: number, end: number): string {
  return readText(bytes, start, end).slice(0, 40);
}

function noticeEvent(fields: ReadonlyMap<string, string>): SubscriptionEvent {
  return {
    kind: 'notice',
    severity: fields.get('V') ?? fields.get('S') ?? 'NOTICE',
    code: fields.get('C') ?? '',
    message: fields.get('M') ?? '',
  };
}

function serverError(fields: ReadonlyMap<string, string>): SinkError {
  return classifyServerError({ sqlState: fields.get('C') ?? '', message: fields.get('M') ?? '' }, 'stream');
}
