/**
 * Rows of `COPY (SUBSCRIBE … WITH (PROGRESS))` out of CopyData payloads. In: payload ranges with lines
 * `mz_timestamp \t mz_progressed \t mz_diff \t columns… \n`. Out: RowChunks of the relation's columns as raw COPY
 * text with time, diff and key hash beside them, and progress.
 *
 * Invariants:
 *  - Rows come out in order and all of them before a later progress; a half row never comes out.
 *  - Rows are gathered in scratch buffers that never leave; a chunk is an exactly sized copy of them. So nothing
 *    handed out is ever written again, and the memory budget counts what is really held. The copy costs about
 *    1 % of the parse.
 *  - Rows wait in the scratch until it is full or a progress comes. Waiting rows cost nothing: until a progress
 *    closes their time nobody may use them.
 *
 * One pass over the bytes counts the columns, copies and hashes. COPY text escapes tab and newline inside values,
 * so a raw tab always ends a column and a raw newline always ends a row.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError, invariant } from '../errors.ts';
import { type Frontier, frontierAt } from '../time/frontier.ts';
import { parseTimestamp } from '../time/timestamp.ts';

export interface RowShape {
  /** Columns of the relation, without the three that SUBSCRIBE puts before them. */
  readonly columnCount: number;
  /** 0-based columns whose bytes are hashed; all of them when empty. */
  readonly keyColumns: readonly number[];
}

export interface RowOutput {
  rows(chunk: RowChunk): void;
  progress(frontier: Frontier): void;
}

export interface ChunkLimits {
  /** A chunk is handed out before it would exceed this; a longer row makes a chunk of its own. */
  readonly bytes: number;
  readonly rows: number;
}

export interface RowReader {
  /** Takes one CopyData payload bytes[start..end). Throws source-protocol for a malformed row. */
  take(bytes: Uint8Array, start: number, end: number): void;
  /** The COPY is complete: hands out what waits. Throws source-protocol when half a row is left. */
  finish(): void;
}

const DEFAULT_LIMITS: ChunkLimits = { bytes: 1 << 20, rows: 16_384 };

const TAB = 0x09;
const NEWLINE = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const FALSE = 0x66; // f
const TRUE = 0x74; // t

/** Integers of up to 15 digits are exact as doubles; longer ones take the way through bigint. */
const EXACT_DIGITS = 15;
const TWO_32 = 0x1_0000_0000;
const INT64_MAX = 0x7fff_ffff_ffff_ffffn;
const INT64_MIN = -INT64_MAX - 1n;

const FNV_OFFSET = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;
/** Fed after each key column; no byte has this value, so ('a', 'bc') and ('ab', 'c') part ways. */
const COLUMN_END = 0x100;

/** Spreads every input bit over the word (the finaliser of MurmurHash3): partitions use a few bits of it. */
function mixed(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Scratch for one chunk. The 64-bit columns are written as two 32-bit halves: a bigint per row would cost more. */
function createScratch(limits: ChunkLimits) {
  invariant(LITTLE_ENDIAN, 'the row reader needs a little-endian machine');
  const times = new BigUint64Array(limits.rows);
  const diffs = new BigInt64Array(limits.rows);
  return {
    bytes: new Uint8Array(limits.bytes),
    ends: new Uint32Array(limits.rows),
    keyHashes: new Uint32Array(limits.rows),
    times,
    timeHalves: new Uint32Array(times.buffer),
    diffs,
    diffHalves: new Uint32Array(diffs.buffer),
    rowCount: 0,
    used: 0,
  };
}

export function createRowReader(shape: RowShape, output: RowOutput, limits: ChunkLimits = DEFAULT_LIMITS): RowReader {
  const { columnCount } = shape;
  const isKey = new Uint8Array(columnCount).fill(shape.keyColumns.length === 0 ? 1 : 0);
  for (const column of shape.keyColumns) {
    invariant(column >= 0 && column < columnCount, 'a key column lies outside the relation');
    isKey[column] = 1;
  }
  const progressTail = new TextEncoder().encode(`\\N${'\t\\N'.repeat(columnCount)}\n`);
  const scratch = createScratch(limits);
  let carry = new Uint8Array(0);
  let lines = 0;

  function malformed(what: string): never {
    throw new SinkError('source-protocol', `Line ${lines + 1} of the SUBSCRIBE is malformed: ${what}.`);
  }

  function flush(): void {
    const { rowCount, used } = scratch;
    if (rowCount === 0) return;
    scratch.rowCount = 0;
    scratch.used = 0;
    const times = scratch.times.slice(0, rowCount);
    const { minTime, maxTime } = timeBounds(times);
    const chunk: RowChunk = {
      bytes: scratch.bytes.slice(0, used),
      ends: scratch.ends.slice(0, rowCount),
      times,
      diffs: scratch.diffs.slice(0, rowCount),
      keyHashes: scratch.keyHashes.slice(0, rowCount),
      rowCount,
      minTime,
      maxTime,
    };
    // One huge row must not make every later chunk's scratch huge.
    if (scratch.bytes.length > limits.bytes * 4) scratch.bytes = new Uint8Array(limits.bytes);
    output.rows(chunk);
  }

  /** Makes room for one more row of at most `rowBytes` bytes. */
  function reserve(rowBytes: number): void {
    if (scratch.rowCount === limits.rows || scratch.used + rowBytes > scratch.bytes.length) flush();
    if (rowBytes > scratch.bytes.length) scratch.bytes = new Uint8Array(rowBytes);
  }

  /** Writes the time at `start` into the row being read; returns the index of the tab behind it. */
  function readTime(bytes: Uint8Array, start: number): number {
    let at = start;
    let value = 0;
    let byte = bytes[at]!;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      byte = bytes[++at]!;
    }
    if (at === start || byte !== TAB) malformed('mz_timestamp is not an unsigned integer');
    if (at - start > EXACT_DIGITS) {
      const time = parseTimestamp(asciiText(bytes, start, at)) ?? malformed('mz_timestamp exceeds 64 bits');
      scratch.times[scratch.rowCount] = time;
      return at;
    }
    const half = scratch.rowCount * 2;
    scratch.timeHalves[half] = value;
    scratch.timeHalves[half + 1] = value / TWO_32;
    return at;
  }

  /** The same for the diff; the caller checks what follows it. */
  function readDiff(bytes: Uint8Array, start: number): number {
    const negative = bytes[start] === MINUS;
    const first = negative ? start + 1 : start;
    let at = first;
    let value = 0;
    let byte = bytes[at]!;
    while (byte >= ZERO && byte <= NINE) {
      value = value * 10 + (byte - ZERO);
      byte = bytes[++at]!;
    }
    if (at === first || value === 0) malformed('mz_diff is not a non-zero integer');
    if (at - first > EXACT_DIGITS) {
      const diff = BigInt(asciiText(bytes, start, at));
      if (diff > INT64_MAX || diff < INT64_MIN) malformed('mz_diff exceeds 64 bits');
      scratch.diffs[scratch.rowCount] = diff;
      return at;
    }
    const signed = negative ? -value : value;
    const half = scratch.rowCount * 2;
    scratch.diffHalves[half] = signed;
    scratch.diffHalves[half + 1] = Math.floor(signed / TWO_32);
    return at;
  }

  /**
   * Copies the columns from `start` into the scratch, hashing the key columns, and returns the index of the newline.
   * Relies on a newline at or before the end of the payload, and on room for all up to it.
   */
  function readColumns(bytes: Uint8Array, start: number): number {
    const target = scratch.bytes;
    let to = scratch.used;
    let at = start;
    let hash = FNV_OFFSET;
    let byte = NEWLINE;
    for (let column = 0; column < columnCount; column++) {
      byte = bytes[at]!;
      if (isKey[column] === 1) {
        while (byte !== TAB && byte !== NEWLINE) {
          target[to++] = byte;
          hash = Math.imul(hash ^ byte, FNV_PRIME);
          byte = bytes[++at]!;
        }
        hash = Math.imul(hash ^ COLUMN_END, FNV_PRIME);
      } else {
        while (byte !== TAB && byte !== NEWLINE) {
          target[to++] = byte;
          byte = bytes[++at]!;
        }
      }
      if (byte === NEWLINE) {
        if (column !== columnCount - 1) malformed(`it has ${column + 1} columns instead of ${columnCount}`);
        break;
      }
      if (column === columnCount - 1) malformed(`it has more than ${columnCount} columns`);
      target[to++] = TAB;
      at++;
    }
    scratch.keyHashes[scratch.rowCount] = mixed(hash);
    scratch.used = to;
    return at;
  }

  function readProgress(bytes: Uint8Array, start: number, end: number, time: bigint): number {
    const stop = start + progressTail.length;
    if (stop > end) malformed('a progress line has too few columns');
    for (let i = 0; i < progressTail.length; i++) {
      if (bytes[start + i] !== progressTail[i]) malformed('a progress line carries values or other columns');
    }
    flush();
    output.progress(frontierAt(time));
    return stop;
  }

  /** Reads the line at `start` and returns the index behind it. Relies on bytes[end-1] being a newline. */
  function readLine(bytes: Uint8Array, start: number, end: number): number {
    reserve(end - start);
    let at = readTime(bytes, start);
    const progressed = bytes[at + 1];
    if ((progressed !== FALSE && progressed !== TRUE) || bytes[at + 2] !== TAB) {
      malformed('mz_progressed is not a boolean');
    }
    if (progressed === TRUE) {
      const stop = readProgress(bytes, at + 3, end, scratch.times[scratch.rowCount]!);
      lines++;
      return stop;
    }
    at = readDiff(bytes, at + 3);
    if (bytes[at] !== (columnCount === 0 ? NEWLINE : TAB)) malformed('mz_diff is followed by something else');
    at = readColumns(bytes, columnCount === 0 ? at : at + 1);
    scratch.ends[scratch.rowCount] = scratch.used;
    scratch.rowCount++;
    lines++;
    return at + 1;
  }

  function take(bytes: Uint8Array, start: number, end: number): void {
    if (end === start) return;
    if (carry.length > 0 || bytes[end - 1] !== NEWLINE) {
      takeDivided(bytes, start, end);
      return;
    }
    let at = start;
    while (at < end) at = readLine(bytes, at, end);
  }

  /**
   * Materialize sends one line per CopyData, but the protocol promises no such thing: a payload may end inside a
   * line. The rest waits here.
   */
  function takeDivided(bytes: Uint8Array, start: number, end: number): void {
    const joined = new Uint8Array(carry.length + end - start);
    joined.set(carry);
    joined.set(bytes.subarray(start, end), carry.length);
    const whole = joined.lastIndexOf(NEWLINE) + 1;
    carry = joined.slice(whole);
    let at = 0;
    while (at < whole) at = readLine(joined, at, whole);
  }

  function finish(): void {
    if (carry.length > 0) malformed('the COPY ended inside it');
    flush();
  }

  return { take, finish };
}

/** Least and greatest of some times, compared by halves: reading a 64-bit element would make a bigint of each. */
function timeBounds(times: BigUint64Array): { readonly minTime: bigint; readonly maxTime: bigint } {
  const halves = new Uint32Array(times.buffer);
  let least = 0;
  let greatest = 0;
  for (let i = 0; i < halves.length; i += 2) {
    const low = halves[i]!;
    const high = halves[i + 1]!;
    if (high < halves[least + 1]! || (high === halves[least + 1] && low < halves[least]!)) least = i;
    if (high > halves[greatest + 1]! || (high === halves[greatest + 1] && low > halves[greatest]!)) greatest = i;
  }
  return { minTime: times[least / 2]!, maxTime: times[greatest / 2]! };
}

function asciiText(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, Math.min(end, start + 64)));
}
