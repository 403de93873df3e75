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
import { type ChunkLimits, type RowShape, createRowReader } from './row-reader.ts';
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

export function createSubscriptionStream(
  shape: RowShape,
  onEvent: (event: SubscriptionEvent) => void,
  limits?: ChunkLimits,
): SubscriptionStream {
  let state: 'starting' | 'copying' | 'copied' | 'over' = 'starting';

  function emit(event: SubscriptionEvent): void {
    if (state !== 'over') onEvent(event);
  }

  function finish(event: SubscriptionEvent): void {
    if (state === 'over') return;
    state = 'over';
    onEvent(event);
  }

  function fail(error: SinkError): void {
    finish({ kind: 'failed', error });
  }

  function unexpected(what: string): void {
    fail(new SinkError('source-protocol', `Materialize sent ${what} while the subscription was ${state}.`));
  }

  const rows = createRowReader(shape, {
    rows: (chunk) => emit({ kind: 'rows', chunk }),
    progress: (frontier) => emit({ kind: 'progress', frontier }),
  }, limits);

  function copyOutResponse(bytes: Uint8Array, start: number, end: number): void {
    if (state !== 'starting') return unexpected('a second CopyOutResponse');
    if (end - start < 3 || bytes[start] !== 0) return unexpected('a COPY that is not in text form');
    const columns = ((bytes[start + 1]! << 8) | bytes[start + 2]!) - SUBSCRIBE_COLUMNS;
    if (columns !== shape.columnCount) {
      return fail(new SinkError('relation-changed',
        `The relation has ${columns} columns now and had ${shape.columnCount} when it was looked up.`));
    }
    state = 'copying';
  }

  function message(type: number, bytes: Uint8Array, start: number, end: number): void {
    if (state === 'over') return;
    switch (type) {
      case MESSAGE.noticeResponse:
        return emit(noticeEvent(readMessageFields(bytes, start, end)));
      case MESSAGE.errorResponse:
        return fail(serverError(readMessageFields(bytes, start, end)));
      case MESSAGE.copyOutResponse:
        return copyOutResponse(bytes, start, end);
      case MESSAGE.copyDone:
        if (state !== 'copying') return unexpected('CopyDone');
        rows.finish();
        // A consumer may have stopped the stream on the last rows.
        if (!isOver()) state = 'copied';
        return;
      case MESSAGE.commandComplete:
        if (state !== 'copied') return unexpected(`the completion of ${readText(bytes, start, end).slice(0, 40)}`);
        return finish({ kind: 'closed' });
      case MESSAGE.parameterStatus:
      case MESSAGE.notificationResponse:
      case MESSAGE.backendKeyData:
        return;
      default:
        return unexpected(`a message of type ${type}`);
    }
  }

  function isOver(): boolean {
    return state === 'over';
  }

  const frames = createFrameReader({
    copyData(bytes, start, end) {
      if (state === 'copying') rows.take(bytes, start, end);
      else if (state !== 'over') unexpected('CopyData');
    },
    message,
  });

  function push(chunk: Uint8Array): void {
    if (state === 'over') return;
    try {
      frames.push(chunk);
    } catch (thrown) {
      // Only what the readers say about the bytes is the server's fault; a consumer's error is not for us to hide.
      if (!(thrown instanceof SinkError) || thrown.code !== 'source-protocol') throw thrown;
      fail(thrown);
    }
  }

  function disconnected(why: string): void {
    fail(new SinkError('source-disconnected', `The connection to Materialize ended: ${why}.`, { cause: why }));
  }

  return { push, disconnected, stop: () => { state = 'over'; }, isOver };
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
