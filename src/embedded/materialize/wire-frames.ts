/**
 * Messages of the Postgres v3 protocol, both ways. In: values. Out: whole messages as bytes; and the other way
 * round, a byte stream cut anywhere becomes whole frontend messages.
 *
 * Invariant: a length field always counts itself and the body, never the tag (protocol chapter "Message Formats").
 */

/** One column of a RowDescription; `typmod` -1 when the type carries none. */
export interface WireField {
  readonly name: string;
  readonly typeOid: number;
  readonly typmod: number;
}

export interface WireError {
  /** ERROR keeps the session, FATAL ends it. */
  readonly severity?: 'ERROR' | 'FATAL' | 'NOTICE' | 'WARNING';
  readonly sqlstate: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

/** An error that a statement ends with, on its way to an ErrorResponse. */
export class StatementError extends Error {
  readonly wire: WireError;

  constructor(wire: WireError) {
    super(wire.message);
    this.name = 'StatementError';
    this.wire = wire;
  }
}

export function failStatement(sqlstate: string, message: string, more: Partial<WireError> = {}): never {
  throw new StatementError({ ...more, sqlstate, message });
}

export type TransactionStatus = 'I' | 'T' | 'E';

export function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function cstring(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf8');
}

/** A tagged message from its body parts. */
export function wireMessage(tag: string, ...parts: readonly Uint8Array[]): Buffer {
  const bodyBytes = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from(tag, 'latin1'), int32(bodyBytes + 4), ...parts]);
}

export const authenticationOk = (): Buffer => wireMessage('R', int32(0));
export const authenticationCleartext = (): Buffer => wireMessage('R', int32(3));
export const parseComplete = (): Buffer => wireMessage('1');
export const bindComplete = (): Buffer => wireMessage('2');
export const closeComplete = (): Buffer => wireMessage('3');
export const noData = (): Buffer => wireMessage('n');
export const emptyQuery = (): Buffer => wireMessage('I');
export const portalSuspended = (): Buffer => wireMessage('s');
export const copyDone = (): Buffer => wireMessage('c');

export function parameterStatus(name: string, value: string): Buffer {
  return wireMessage('S', cstring(name), cstring(value));
}

export function backendKeyData(pid: number, secret: number): Buffer {
  return wireMessage('K', int32(pid), int32(secret));
}

export function readyForQuery(status: TransactionStatus): Buffer {
  return wireMessage('Z', Buffer.from(status, 'latin1'));
}

export function commandComplete(tag: string): Buffer {
  return wireMessage('C', cstring(tag));
}

/** COPY of `columns` columns, the format for the whole and for each one; csv is announced as text. */
export function copyOutResponse(columns: number, binary: boolean): Buffer {
  const format = int16(binary ? 1 : 0);
  return wireMessage('H', format.subarray(1), int16(columns), ...Array.from({ length: columns }, () => format));
}

/** `binary` says which columns go in binary format; nothing for all of them in text. */
export function rowDescription(fields: readonly WireField[], binary: readonly boolean[] = []): Buffer {
  const parts: Buffer[] = [int16(fields.length)];
  fields.forEach((field, i) => {
    // Table id and attribute number are always 0.
    parts.push(cstring(field.name), int32(0), int16(0), int32(field.typeOid), int16(typlen(field.typeOid)));
    parts.push(int32(field.typmod), int16(binary[i] === true ? 1 : 0));
  });
  return wireMessage('T', ...parts);
}

/** The fields of a RowDescription message; none for NoData. */
export function fieldsOfDescription(message: Buffer): WireField[] {
  if (message[0] !== 'T'.charCodeAt(0)) return [];
  const read = readBody(message.subarray(5));
  return Array.from({ length: read.int16() }, () => {
    const name = read.cstring();
    const rest = read.bytes(18);
    return { name, typeOid: rest.readInt32BE(6), typmod: rest.readInt32BE(12) };
  });
}

export function dataRow(values: readonly (Uint8Array | null)[]): Buffer {
  const parts: Uint8Array[] = [int16(values.length)];
  for (const value of values) {
    if (value === null) parts.push(int32(-1));
    else parts.push(int32(value.length), value);
  }
  return wireMessage('D', ...parts);
}

export function errorResponse(error: WireError): Buffer {
  return wireMessage('E', noticeBody(error, error.severity ?? 'ERROR'));
}

export function noticeResponse(notice: WireError): Buffer {
  return wireMessage('N', noticeBody(notice, notice.severity ?? 'NOTICE'));
}

function noticeBody(error: WireError, severity: string): Buffer {
  const fields: [string, string | undefined][] = [
    ['S', severity],
    ['C', error.sqlstate],
    ['M', error.message],
    ['D', error.detail],
    ['H', error.hint],
  ];
  const parts = fields.flatMap(([code, text]) => (text === undefined ? [] : [cstring(`${code}${text}`)]));
  return Buffer.concat([...parts, Buffer.from([0])]);
}

const FIXED_LENGTHS: ReadonlyMap<number, number> = new Map([
  [16, 1], [18, 1], [19, 64], [20, 8], [21, 2], [23, 4], [24, 4], [26, 4], [700, 4], [701, 8], [1082, 4],
  [1083, 8], [1114, 8], [1184, 8], [1186, 16], [2205, 4], [2206, 4], [2950, 16], [16460, 2], [16462, 4],
  [16464, 8], [16552, 8],
]);

/** Length of the type's values in bytes; -1 when it varies. */
export function typlen(typeOid: number): number {
  return FIXED_LENGTHS.get(typeOid) ?? -1;
}

export interface FrontendMessage {
  /** Empty for the untagged start-up packet. */
  readonly tag: string;
  readonly body: Buffer;
}

export interface FrontendReader {
  /** Whole messages that `bytes` completed. Throws a StatementError on an impossible length. */
  push(bytes: Buffer): FrontendMessage[];
  /** After the start-up packet every message is tagged. */
  expectTagged(): void;
  /** Bytes that came after the last whole message; used when TLS takes over. */
  takeRest(): Buffer;
}

const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

export function createFrontendReader(): FrontendReader {
  let rest: Buffer = Buffer.alloc(0);
  let tagBytes = 0;
  const takeOne = (): FrontendMessage | null => {
    if (rest.length < tagBytes + 4) return null;
    const length = rest.readInt32BE(tagBytes);
    if (length < 4 || length > MAX_MESSAGE_BYTES) {
      failStatement('08P01', 'invalid message length', { severity: 'FATAL' });
    }
    const end = tagBytes + length;
    if (rest.length < end) return null;
    const found = { tag: rest.toString('latin1', 0, tagBytes), body: rest.subarray(tagBytes + 4, end) };
    rest = rest.subarray(end);
    return found;
  };
  return {
    push(bytes) {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const messages: FrontendMessage[] = [];
      for (let next = takeOne(); next !== null; next = takeOne()) {
        messages.push(next);
        // What follows a start-up packet depends on what it was; the caller says when to go on.
        if (tagBytes === 0) break;
      }
      return messages;
    },
    expectTagged() {
      tagBytes = 1;
    },
    takeRest() {
      const taken = rest;
      rest = Buffer.alloc(0);
      return taken;
    },
  };
}

/** Reads the fields of a frontend message in order. */
export interface BodyReader {
  cstring(): string;
  int16(): number;
  int32(): number;
  bytes(length: number): Buffer;
  /** What is left, unread. */
  rest(): Buffer;
}

export function readBody(body: Buffer): BodyReader {
  let at = 0;
  return {
    cstring() {
      const end = body.indexOf(0, at);
      if (end < 0) failStatement('08P01', 'unterminated string in message');
      const text = body.toString('utf8', at, end);
      at = end + 1;
      return text;
    },
    int16() {
      at += 2;
      return body.readInt16BE(at - 2);
    },
    int32() {
      at += 4;
      return body.readInt32BE(at - 4);
    },
    bytes(length) {
      at += length;
      return body.subarray(at - length, at);
    },
    rest: () => body.subarray(at),
  };
}
