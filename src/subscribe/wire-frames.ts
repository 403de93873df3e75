/**
 * Messages of a Postgres backend out of the bytes of a socket. In: chunks, cut anywhere. Out: one call per whole
 * message, in order, with the range of its payload. A message: one type byte, an int32 length that counts itself,
 * the payload (PostgreSQL documentation, "Message Formats").
 *
 * CopyData is one row of the relation, millions a second: a message that lies wholly in a chunk is handed on as
 * a range of that chunk, without a copy and without an object. Only the one message that a cut divides is copied
 * together. Ranges are therefore valid for a short while only, see `released`.
 */
import { SinkError } from '../errors.ts';

/** Type bytes that a SUBSCRIBE can meet. */
export const MESSAGE = {
  authentication: 0x52, // R
  backendKeyData: 0x4b, // K
  commandComplete: 0x43, // C
  copyData: 0x64, // d
  copyDone: 0x63, // c
  copyOutResponse: 0x48, // H
  errorResponse: 0x45, // E
  noticeResponse: 0x4e, // N
  notificationResponse: 0x41, // A
  parameterStatus: 0x53, // S
  readyForQuery: 0x5a, // Z
} as const;

export interface FrameHandler {
  /** A CopyData payload: bytes[start..end), valid until `released`. */
  copyData(bytes: Uint8Array, start: number, end: number): void;
  /** The bytes of the payloads so far are about to be reused. Called before `push` returns, unless it throws. */
  released(): void;
  /** Any other message by its type byte; payload bytes[start..end), valid only during the call. */
  message(type: number, bytes: Uint8Array, start: number, end: number): void;
}

export interface FrameReader {
  /** Takes the next bytes. Throws source-protocol for a length no message has; the reader is of no use then. */
  push(chunk: Uint8Array): void;
  /** Bytes held of a message that has not come in whole. */
  partialBytes(): number;
}

/** Postgres itself can't build a longer message; a longer one means that the peer speaks something else. */
export const MAX_MESSAGE_BYTES = 0x3fff_ffff;

const HEADER_BYTES = 5;
/** A carry buffer grown beyond this by one large message is not kept for the next. */
const KEPT_CARRY_BYTES = 1 << 20;

export function createFrameReader(handler: FrameHandler, maxMessageBytes: number = MAX_MESSAGE_BYTES): FrameReader {
  let carry = new Uint8Array(4096);
  let carried = 0;

  /** Index one past the message whose header stands at `at`. */
  function messageEnd(bytes: Uint8Array, at: number): number {
    const length = ((bytes[at + 1]! << 24) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!) >>> 0;
    if (length < 4 || length > maxMessageBytes) {
      throw new SinkError('source-protocol', `The server announced a message of ${length} bytes; it may not speak ` +
        `the Postgres protocol (message type ${bytes[at]!}, allowed 4 to ${maxMessageBytes} bytes).`);
    }
    return at + 1 + length;
  }

  function dispatch(bytes: Uint8Array, at: number, end: number): void {
    const type = bytes[at]!;
    if (type === MESSAGE.copyData) handler.copyData(bytes, at + HEADER_BYTES, end);
    else handler.message(type, bytes, at + HEADER_BYTES, end);
  }

  /** Appends chunk[from..to) to the carry. It grows with what has arrived, never with what a header promises. */
  function keep(chunk: Uint8Array, from: number, to: number): void {
    const needed = carried + to - from;
    if (needed > carry.length) {
      const grown = new Uint8Array(Math.max(needed, carry.length * 2));
      grown.set(carry.subarray(0, carried));
      carry = grown;
    }
    carry.set(chunk.subarray(from, to), carried);
    carried = needed;
  }

  /** Completes the divided message from the head of `chunk` and returns how many bytes that took. */
  function completeCarried(chunk: Uint8Array): number {
    let used = 0;
    if (carried < HEADER_BYTES) {
      used = Math.min(HEADER_BYTES - carried, chunk.length);
      keep(chunk, 0, used);
      if (carried < HEADER_BYTES) return used;
    }
    const end = messageEnd(carry, 0);
    const more = Math.min(end - carried, chunk.length - used);
    keep(chunk, used, used + more);
    used += more;
    if (carried < end) return used;
    dispatch(carry, 0, end);
    handler.released();
    carried = 0;
    if (carry.length > KEPT_CARRY_BYTES) carry = new Uint8Array(4096);
    return used;
  }

  function push(chunk: Uint8Array): void {
    const length = chunk.length;
    let at = carried > 0 ? completeCarried(chunk) : 0;
    while (length - at >= HEADER_BYTES) {
      const end = messageEnd(chunk, at);
      if (end > length) break;
      dispatch(chunk, at, end);
      at = end;
    }
    handler.released();
    if (at < length) keep(chunk, at, length);
  }

  return { push, partialBytes: () => carried };
}

/**
 * The fields of an ErrorResponse or NoticeResponse by their letter: S or V severity, C SQLSTATE, M message,
 * D detail, H hint. Text that is cut short gives the fields that are whole.
 */
export function readMessageFields(bytes: Uint8Array, start: number, end: number): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let at = start;
  while (at < end && bytes[at] !== 0) {
    const stop = bytes.indexOf(0, at + 1);
    if (stop === -1 || stop >= end) break;
    fields.set(String.fromCharCode(bytes[at]!), readText(bytes, at + 1, stop));
    at = stop + 1;
  }
  return fields;
}

/** UTF-8 text of bytes[start..end), without a terminating zero. */
export function readText(bytes: Uint8Array, start: number, end: number): string {
  const stop = end > start && bytes[end - 1] === 0 ? end - 1 : end;
  return new TextDecoder().decode(bytes.subarray(start, stop));
}
