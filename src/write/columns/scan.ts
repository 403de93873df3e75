/**
 * Finding one item in the text of a container, given the shape of the item's type. Splitting at commas would be
 * wrong: Materialize leaves lists, maps and arrays inside of other containers unquoted, commas and all.
 */
import { type TextShape, malformed } from './column.ts';

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_PAREN = 0x28;
export const CLOSE_PAREN = 0x29;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const EQUALS = 0x3d;
export const GREATER = 0x3e;

/** Position behind the closing quote of the quoted item whose opening quote is at `at`. */
export function quotedEnd(bytes: Uint8Array, at: number, end: number): number {
  let next = at + 1;
  while (next < end) {
    const byte = bytes[next];
    if (byte === BACKSLASH) {
      next += 2;
    } else if (byte !== QUOTE) {
      next += 1;
    } else if (bytes[next + 1] === QUOTE && next + 1 < end) {
      // A doubled quote is one quote (records). Elsewhere a quote is escaped by a backslash, and a closing one is
      // followed by a delimiter, so the two readings never meet.
      next += 2;
    } else {
      return next + 1;
    }
  }
  return malformed('a quoted item does not end');
}

/** Position behind an unquoted item that ends at one of two delimiters. */
export function plainEnd(bytes: Uint8Array, at: number, end: number, delimiter: number, other: number): number {
  let next = at;
  while (next < end && bytes[next] !== delimiter && bytes[next] !== other) next += 1;
  return next;
}

/** Position behind an unquoted item of the given shape. */
export function unquotedEnd(
  shape: TextShape, bytes: Uint8Array, at: number, end: number, delimiter: number, other: number,
): number {
  const first = bytes[at];
  if (shape === 'braced' && (first === OPEN_BRACE || first === OPEN_BRACKET)) return bracedEnd(bytes, at, end);
  if (shape === 'record' && first === OPEN_PAREN) return bracketedEnd(bytes, at, end, CLOSE_PAREN);
  if (shape === 'range' && (first === OPEN_PAREN || first === OPEN_BRACKET)) {
    return bracketedEnd(bytes, at, end, CLOSE_BRACKET);
  }
  return plainEnd(bytes, at, end, delimiter, other);
}

/** Behind the brace that closes a list, map or array, its `[2:3]=` in front included. */
function bracedEnd(bytes: Uint8Array, at: number, end: number): number {
  let depth = 0;
  let next = at;
  while (next < end) {
    const byte = bytes[next];
    if (byte === QUOTE) {
      next = quotedEnd(bytes, next, end);
      continue;
    }
    next += 1;
    if (byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACE && --depth === 0) return next;
  }
  return malformed('a closing brace expected');
}

/**
 * Behind what closes a record or range: a parenthesis, or for a range also the other closing. Braces mean nothing
 * here: a record that holds one is quoted in every container, and `]` is ordinary text in a record.
 */
function bracketedEnd(bytes: Uint8Array, at: number, end: number, otherClosing: number): number {
  let next = at + 1;
  while (next < end) {
    const byte = bytes[next];
    if (byte === QUOTE) next = quotedEnd(bytes, next, end);
    else if (byte === CLOSE_PAREN || byte === otherClosing) return next + 1;
    else next += 1;
  }
  return malformed('a closing bracket expected');
}

/** True for the bare word NULL, which is null in lists, maps and arrays, in capitals only. */
export function isNullWord(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start === 4 && bytes[start] === 0x4e && bytes[start + 1] === 0x55 && bytes[start + 2] === 0x4c
    && bytes[start + 3] === 0x4c;
}

/** The inside of quoted items, without the escapes. Each container owns one: nesting must not overwrite it. */
export class Unquoted {
  bytes = new Uint8Array(64);
  length = 0;

  /** Takes the item between the quotes at `start` and `end - 1`. */
  take(bytes: Uint8Array, start: number, end: number): void {
    if (this.bytes.length < end - start) this.bytes = new Uint8Array((end - start) * 2);
    let to = 0;
    for (let at = start + 1; at < end - 1; at++) {
      const byte = bytes[at];
      // Behind a backslash anything is itself; a quote here is the first of two.
      if (byte === BACKSLASH || byte === QUOTE) at += 1;
      this.bytes[to++] = bytes[at] ?? 0;
    }
    this.length = to;
  }
}
