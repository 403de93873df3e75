/**
 * Rows of `COPY (SUBSCRIBE … WITH (PROGRESS))` out of CopyData payloads. In: payload ranges with lines
 * `mz_timestamp \t mz_progressed \t mz_diff \t columns… \n`. Out: RowChunks of the relation's columns as raw COPY
 * text with time, diff and key hash beside them, and progress.
 *
 * Invariants:
 *  - Rows come out in order and all of them before a later progress; a half row never comes out.
 *  - Rows wait in the scratch until it is full or a progress comes. Nothing is lost by waiting: until a progress
 *    closes their time nobody may use them.
 *
 * Of a row only its beginning and its key are read here; the rows of a network read are then copied as one stretch, with
 * the frames between them. How many columns there are is found by whoever decodes the row. COPY text escapes tab and
 * newline inside values, so a raw tab always ends a column and a raw newline always ends a row; that also bounds every
 * loop, for each range that is read ends with a newline.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError, invariant } from '../errors.ts';
import { type Frontier, frontierAt } from '../time/frontier.ts';
import { parseTimestamp } from '../time/timestamp.ts';
import {
  type ChunkLimits,
  type RowScratch,
  createRowScratch,
  isFull,
  reach,
  settle,
  takeChunk,
  writeHalves,
} from './row-scratch.ts';

export interface RowShape {
  /** Columns of the relation, without the three that SUBSCRIBE puts before them. */
  readonly columnCount: number;
  /** 0-based columns whose bytes are hashed; with none every hash is 0. */
  readonly keyColumns: readonly number[];
}

export interface RowOutput {
  rows(chunk: RowChunk): void;
  progress(frontier: Frontier): void;
}

export interface RowReader {
  /** Takes one CopyData payload bytes[start..end), which stays as it is until `release`. Throws source-protocol for a malformed row. */
  take(bytes: Uint8Array, start: number, end: number): void;
  /** The payloads taken so far are about to be overwritten: whatever is needed of them is copied. */
  release(): void;
  /** The COPY is complete: hands out what waits. Throws source-protocol when half a row is left. */
  finish(): void;
}

interface ReaderState {
  readonly columnCount: number;
  /** 1 for each column that is hashed. */
  readonly isKey: Uint8Array;
  /** Columns up to the last that is hashed; behind them tabs are only counted. */
  readonly keyedCount: number;
  /** What follows `mz_timestamp \t t \t` in a progress line: nothing but NULLs. */
  readonly progressTail: Uint8Array;
  readonly output: RowOutput;
  readonly scratch: RowScratch;
  /** The beginning of a line that a payload divided: `carried` bytes of a buffer that doubles. */
  carry: Uint8Array;
  carried: number;
  readonly maxLineBytes: number;
  /** The bytes that the two views are of. */
  viewed: Uint8Array | null;
  view: Buffer;
  words: DataView;
  readonly lastTime: LastTime;
  /** Lines read, for messages: a line has no other name that is not a value. */
  lines: number;
}

/** `mz_timestamp \t f \t` as the last row had it, and what it says: rows come in runs of one time, and comparing is cheaper than reading. */
interface LastTime {
  readonly text: DataView;
  /** Bytes of the text; 0 before the first row. */
  length: number;
  low: number;
  high: number;
}

/** Room for a timestamp of any length that is one. */
const TIME_TEXT_BYTES = 32;

/**
 * The longest line that payloads may divide. Materialize sends a line whole in one CopyData, which the framing bounds;
 * this is for a server that never ends one. Rows of a result of `max_result_size` (1 GiB by default) fit.
 */
export const MAX_LINE_BYTES = 0x3fff_ffff;

/** Of a chunk that one connection gathers. */
export const DEFAULT_LIMITS: ChunkLimits = { bytes: 1 << 20, rows: 16_384 };

const TAB = 0x09;
const NEWLINE = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;
const FALSE = 0x66; // f
const TRUE = 0x74; // t

/** Integers of up to 15 digits are exact as doubles; longer ones take the way through bigint. */
const EXACT_DIGITS = 15;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;
const INT64_MIN = -INT64_MAX - 1n;

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;
/** Fed after each key column; no byte has this value, so ('a', 'bc') and ('ab', 'c') part ways. */
const COLUMN_END = 0x100;

export function createRowReader(
  shape: RowShape, output: RowOutput, limits: ChunkLimits = DEFAULT_LIMITS, maxLineBytes: number = MAX_LINE_BYTES,
): RowReader {
  const { columnCount, keyColumns } = shape;
  const isKey = new Uint8Array(columnCount);
  for (const column of keyColumns) {
    invariant(column >= 0 && column < columnCount, 'a key column lies outside the relation');
    isKey[column] = 1;
  }
  const state: ReaderState = {
    columnCount,
    isKey,
    keyedCount: keyColumns.reduce((most, column) => Math.max(most, column + 1), 0),
    progressTail: new TextEncoder().encode(`\\N${'\t\\N'.repeat(columnCount)}\n`),
    output,
    scratch: createRowScratch(limits),
    carry: new Uint8Array(0),
    carried: 0,
    maxLineBytes,
    viewed: null,
    view: Buffer.alloc(0),
    words: new DataView(new ArrayBuffer(0)),
    lastTime: { text: new DataView(new ArrayBuffer(TIME_TEXT_BYTES)), length: 0, low: 0, high: 0 },
    lines: 0,
  };
  return {
    take: (bytes, start, end) => takePayload(state, bytes, start, end),
    release: () => settle(state.scratch),
    finish() {
      if (state.carried > 0) malformed(state, 'the COPY ended inside it');
      flush(state);
    },
  };
}

function takePayload(state: ReaderState, bytes: Uint8Array, start: number, end: number): void {
  if (end === start) return;
  if (state.carried > 0 || bytes[end - 1] !== NEWLINE) {
    takeDivided(state, bytes, start, end);
    return;
  }
  let at = start;
  while (at < end) at = readLine(state, bytes, at, end);
}

/**
 * Materialize sends one line per CopyData, but the protocol promises no such thing: a payload may end inside a
 * line. The rest waits in the carry, which is joined once, however many payloads a line comes in.
 */
function takeDivided(state: ReaderState, bytes: Uint8Array, start: number, end: number): void {
  let from = start;
  if (state.carried > 0) {
    const newline = bytes.indexOf(NEWLINE, start);
    from = newline === -1 || newline >= end ? end : newline + 1;
    keep(state, bytes, start, from);
    if (from === end && bytes[end - 1] !== NEWLINE) return;
    const { carry, carried } = state;
    state.carry = new Uint8Array(0);
    state.carried = 0;
    readLine(state, carry, 0, carried);
    settle(state.scratch);
  }
  const whole = bytes.subarray(from, end).lastIndexOf(NEWLINE) + 1 + from;
  let at = from;
  while (at < whole) at = readLine(state, bytes, at, whole);
  if (whole < end) keep(state, bytes, whole, end);
}

function keep(state: ReaderState, bytes: Uint8Array, from: number, to: number): void {
  const needed = state.carried + to - from;
  if (needed > state.maxLineBytes) malformed(state, `it goes on beyond ${state.maxLineBytes} bytes`);
  if (needed > state.carry.length) {
    const grown = new Uint8Array(Math.max(needed, state.carry.length * 2));
    grown.set(state.carry.subarray(0, state.carried));
    state.carry = grown;
  }
  state.carry.set(bytes.subarray(from, to), state.carried);
  state.carried = needed;
}

/** Reads the line at `start` and returns the index behind it. Relies on bytes[end-1] being a newline. */
function readLine(state: ReaderState, bytes: Uint8Array, start: number, end: number): number {
  const { columnCount, scratch } = state;
  if (isFull(scratch, bytes, start, end)) flush(state);
  reach(scratch, bytes, start, end);
  look(state, bytes);
  let at = start + repeatedTime(state, start, end);
  if (at === start) {
    at = readTime(state, bytes, start);
    const progressed = bytes[at + 1];
    if ((progressed !== FALSE && progressed !== TRUE) || bytes[at + 2] !== TAB) {
      malformed(state, 'mz_progressed is not a boolean');
    }
    at += 3;
    if (progressed === TRUE) return readProgress(state, bytes, at, end);
    rememberTime(state, start, at);
  }
  at = readDiff(state, bytes, at);
  if (bytes[at] !== (columnCount === 0 ? NEWLINE : TAB)) malformed(state, 'mz_diff is followed by something else');
  const columns = columnCount === 0 ? at : at + 1;
  at = readColumns(state, bytes, columns);
  scratch.starts[scratch.rowCount] = columns + scratch.shift;
  scratch.ends[scratch.rowCount] = at + scratch.shift;
  scratch.sourceEnd = at + 1;
  scratch.rowCount++;
  state.lines++;
  return at + 1;
}

/** Makes the views those of `bytes`. */
function look(state: ReaderState, bytes: Uint8Array): void {
  if (state.viewed === bytes) return;
  state.viewed = bytes;
  state.view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  state.words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** When the row at `start` begins as the last one did, takes the time from there and returns the bytes that are read by that; else 0. */
function repeatedTime({ words, lastTime, scratch }: ReaderState, start: number, end: number): number {
  const { text, length, low, high } = lastTime;
  if (length === 0 || start + length > end) return 0;
  let index = 0;
  for (; index + 4 <= length; index += 4) if (words.getInt32(start + index) !== text.getInt32(index)) return 0;
  for (; index < length; index++) if (words.getUint8(start + index) !== text.getUint8(index)) return 0;
  scratch.timeHalves[scratch.rowCount * 2] = low;
  scratch.timeHalves[scratch.rowCount * 2 + 1] = high;
  return length;
}

function rememberTime({ words, lastTime, scratch }: ReaderState, start: number, to: number): void {
  lastTime.length = to - start <= TIME_TEXT_BYTES ? to - start : 0;
  for (let index = 0; index < lastTime.length; index++) lastTime.text.setUint8(index, words.getUint8(start + index));
  lastTime.low = scratch.timeHalves[scratch.rowCount * 2] ?? 0;
  lastTime.high = scratch.timeHalves[scratch.rowCount * 2 + 1] ?? 0;
}

/** Writes the time at `start` into the row being read; returns the index of the tab behind it. */
function readTime(state: ReaderState, bytes: Uint8Array, start: number): number {
  const { scratch } = state;
  let at = start;
  let value = 0;
  let byte = bytes[at]!;
  while (byte >= ZERO && byte <= NINE) {
    value = value * 10 + (byte - ZERO);
    byte = bytes[++at]!;
  }
  if (at === start || byte !== TAB) malformed(state, 'mz_timestamp is not an unsigned integer');
  if (at - start <= EXACT_DIGITS) {
    writeHalves(scratch.timeHalves, scratch.rowCount, value);
  } else {
    scratch.times[scratch.rowCount] = parseTimestamp(asciiText(bytes, start, at))
      ?? malformed(state, 'mz_timestamp exceeds 64 bits');
  }
  return at;
}

/** The same for the diff; the caller checks what follows it. */
function readDiff(state: ReaderState, bytes: Uint8Array, start: number): number {
  const { scratch } = state;
  if (bytes[start] === ONE && bytes[start + 1] === TAB) {
    scratch.diffHalves[scratch.rowCount * 2] = 1;
    scratch.diffHalves[scratch.rowCount * 2 + 1] = 0;
    return start + 1;
  }
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let value = 0;
  let byte = bytes[at]!;
  while (byte >= ZERO && byte <= NINE) {
    value = value * 10 + (byte - ZERO);
    byte = bytes[++at]!;
  }
  if (at === first || value === 0) malformed(state, 'mz_diff is not a non-zero integer');
  if (at - first <= EXACT_DIGITS) {
    writeHalves(scratch.diffHalves, scratch.rowCount, isNegative ? -value : value);
  } else {
    const diff = BigInt(asciiText(bytes, start, at));
    if (diff > INT64_MAX || diff < INT64_MIN) malformed(state, 'mz_diff exceeds 64 bits');
    scratch.diffs[scratch.rowCount] = diff;
  }
  return at;
}

/** Hashes the key columns from `start` on, and returns the index of the newline that ends the row. */
function readColumns(state: ReaderState, bytes: Uint8Array, start: number): number {
  const { isKey, keyedCount, scratch } = state;
  let at = start;
  let hash = FNV_OFFSET;
  for (let column = 0; column < keyedCount; column++) {
    let byte = bytes[at]!;
    if (isKey[column] === 1) {
      while (byte !== TAB && byte !== NEWLINE) {
        hash = Math.imul(hash ^ byte, FNV_PRIME);
        byte = bytes[++at]!;
      }
      hash = Math.imul(hash ^ COLUMN_END, FNV_PRIME);
    } else {
      while (byte !== TAB && byte !== NEWLINE) byte = bytes[++at]!;
    }
    if (byte === NEWLINE) {
      if (column < state.columnCount - 1) malformed(state, `it has ${column + 1} columns instead of ${state.columnCount}`);
      break;
    }
    at++;
  }
  scratch.keyHashes[scratch.rowCount] = keyedCount === 0 ? 0 : mixed(hash);
  return newlineFrom(state, at);
}

/**
 * The first newline at or behind `at` of the bytes looked at; one at their end bounds the search. Buffer's native search costs a
 * third of a loop over the bytes, and a long row hardly more than a short one.
 */
function newlineFrom(state: ReaderState, at: number): number {
  return state.view.indexOf(NEWLINE, at);
}

/** Spreads every input bit over the word (the finaliser of MurmurHash3): partitions use a few bits of it. */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The rest of a progress line, whose time stands where the next row's would; returns the index behind it. */
function readProgress(state: ReaderState, bytes: Uint8Array, start: number, end: number): number {
  const { progressTail, scratch } = state;
  const stop = start + progressTail.length;
  if (stop > end) malformed(state, 'a progress line has too few columns');
  for (let i = 0; i < progressTail.length; i++) {
    if (bytes[start + i] !== progressTail[i]) malformed(state, 'a progress line carries values or other columns');
  }
  const time = scratch.times[scratch.rowCount]!;
  state.lines++;
  flush(state);
  state.output.progress(frontierAt(time));
  return stop;
}

function flush(state: ReaderState): void {
  const chunk = takeChunk(state.scratch);
  if (chunk !== null) state.output.rows(chunk);
}

function malformed(state: ReaderState, what: string): never {
  throw new SinkError('source-protocol', `Line ${state.lines + 1} of the SUBSCRIBE is malformed: ${what}.`);
}

/** The digits of a number; more than 64 of them are out of range however they go on. */
function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 64)));
}
