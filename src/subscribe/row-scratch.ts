/**
 * Where rows gather until they make a chunk. In: stretches of received bytes, and times, diffs and hashes written by
 * the row reader. Out: RowChunks.
 *
 * Invariant: nothing handed out is ever written again, and the memory budget counts what is really held. A scratch that
 * is well filled goes out itself and another takes its place; of one with a few rows a copy of just those goes out.
 *
 * Times and diffs are written as two 32-bit halves: a bigint for each row would cost more than the row's parse.
 */
import type { ChunkMemory } from '../batch/chunk-memory.ts';
import type { RowChunk } from '../batch/row-chunk.ts';
import { invariant } from '../errors.ts';

export interface ChunkLimits {
  /** A chunk is handed out before it would exceed this; a longer row makes a chunk of its own. */
  readonly bytes: number;
  /** Rows of a chunk at most. Where rows are so long that fewer fill its bytes, a chunk has room for fewer. */
  readonly rows: number;
  /** Where the memory of chunks comes from; without it, it is new. */
  readonly memory?: ChunkMemory;
}

/** One buffer, as the arrays of a chunk. */
interface Arrays {
  /** Another buffer where a row needed more. */
  bytes: Uint8Array;
  starts: Uint32Array;
  ends: Uint32Array;
  keyHashes: Uint32Array;
  times: BigUint64Array;
  /** The same memory as `times`: low half at 2i, high half at 2i + 1. */
  timeHalves: Uint32Array;
  diffs: BigInt64Array;
  diffHalves: Uint32Array;
}

export interface RowScratch extends Arrays {
  readonly limits: ChunkLimits;
  rowCount: number;
  /** Bytes copied so far. */
  used: number;
  /** Rows not copied yet lie in source[sourceStart..sourceEnd), which goes to bytes[used..). */
  source: Uint8Array | null;
  sourceStart: number;
  sourceEnd: number;
  /** From an index in `source` to the one in `bytes`. */
  shift: number;
}

const TWO_32 = 0x1_0000_0000;
const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

export function createRowScratch(limits: ChunkLimits): RowScratch {
  invariant(LITTLE_ENDIAN, 'halves of 64-bit numbers are written for a little-endian machine');
  return { limits, ...newArrays(limits, limits.rows), rowCount: 0, used: 0, source: null, sourceStart: 0, sourceEnd: 0, shift: 0 };
}

const BYTES_PER_ROW = 2 * 8 + 3 * 4;
/** Of its bytes a chunk may leave unused what is beyond this, to save as much room for rows. */
const NEARLY_FULL = 0.85;

/** 64-bit arrays first, since they begin at multiples of 8. */
function newArrays({ bytes, memory }: ChunkLimits, rows: number): Arrays {
  const length = rows * BYTES_PER_ROW + bytes;
  const buffer = memory?.take(length) ?? new ArrayBuffer(length);
  return {
    times: new BigUint64Array(buffer, 0, rows),
    timeHalves: new Uint32Array(buffer, 0, rows * 2),
    diffs: new BigInt64Array(buffer, rows * 8, rows),
    diffHalves: new Uint32Array(buffer, rows * 8, rows * 2),
    starts: new Uint32Array(buffer, rows * 16, rows),
    ends: new Uint32Array(buffer, rows * 20, rows),
    keyHashes: new Uint32Array(buffer, rows * 24, rows),
    bytes: new Uint8Array(buffer, rows * BYTES_PER_ROW, bytes),
  };
}

/** True when a row within source[start..end) needs the rows before it taken away first. */
export function isFull(scratch: RowScratch, source: Uint8Array, start: number, end: number): boolean {
  const { rowCount, bytes, used } = scratch;
  if (rowCount === 0) return false;
  if (rowCount === scratch.keyHashes.length) return true;
  const stretch = scratch.source === source ? end - scratch.sourceStart : pending(scratch) + end - start;
  return used + stretch > bytes.length;
}

/** Makes source[start..end) part of what will be copied, with room for it. The scratch is not full. */
export function reach(scratch: RowScratch, source: Uint8Array, start: number, end: number): void {
  if (scratch.source !== source) {
    settle(scratch);
    scratch.source = source;
    scratch.sourceStart = start;
    scratch.sourceEnd = start;
    scratch.shift = scratch.used - start;
  }
  const needed = end + scratch.shift;
  if (needed <= scratch.bytes.length) return;
  const grown = new Uint8Array(needed);
  grown.set(scratch.bytes.subarray(0, scratch.used));
  scratch.bytes = grown;
}

/** Copies what was only pointed at; the source may change afterwards. */
export function settle(scratch: RowScratch): void {
  const { source } = scratch;
  if (source === null) return;
  const length = pending(scratch);
  if (length > 0) {
    scratch.bytes.set(source.subarray(scratch.sourceStart, scratch.sourceEnd), scratch.used);
    scratch.used += length;
  }
  scratch.source = null;
}

function pending(scratch: RowScratch): number {
  return scratch.source === null ? 0 : scratch.sourceEnd - scratch.sourceStart;
}

/** Writes an integer of at most 53 bits in two's complement at index `row`. */
export function writeHalves(halves: Uint32Array, row: number, value: number): void {
  halves[row * 2] = value;
  halves[row * 2 + 1] = Math.floor(value / TWO_32);
}

/**
 * Room for rows of about that length: as many as allowed, or a half, quarter and so on of it that nearly fills the bytes.
 * Unused room counts as held, and was a seventh of a chunk of rows of 100 bytes. Halves, so that there are few sizes
 * of buffers to go round.
 */
function rowsToCome({ bytes, rows }: ChunkLimits, bytesPerRow: number): number {
  const enough = bytes / bytesPerRow * NEARLY_FULL;
  let room = rows;
  while (room % 2 === 0 && room / 2 >= enough) room /= 2;
  return room;
}

/** The gathered rows as a chunk of their own memory, leaving the scratch empty; null when there are none. */
export function takeChunk(scratch: RowScratch): RowChunk | null {
  settle(scratch);
  const { rowCount, used, limits } = scratch;
  if (rowCount === 0) return null;
  // Of what is allowed, and not of the room there is: after long rows that is room for few, and a few short ones don't fill a buffer.
  const isWellFilled = used * 2 >= limits.bytes || rowCount * 2 >= limits.rows;
  const goesItself = isWellFilled && scratch.bytes.buffer === scratch.times.buffer;
  const chunk = goesItself ? viewOf(scratch) : copyOf(scratch);
  const hadTooLittleRoom = !isWellFilled && rowCount === scratch.keyHashes.length;
  // A row that was too long has moved the bytes out of the buffer; behind it chunks go themselves again.
  const isHugeRowOver = scratch.bytes.buffer !== scratch.times.buffer && used <= limits.bytes;
  if (goesItself || hadTooLittleRoom || isHugeRowOver) Object.assign(scratch, newArrays(limits, rowsToCome(limits, used / rowCount)));
  // Nor must it make the scratch huge for as long as its like follow.
  else if (scratch.bytes.length > limits.bytes * 4) scratch.bytes = new Uint8Array(limits.bytes);
  scratch.rowCount = 0;
  scratch.used = 0;
  return chunk;
}

function viewOf({ rowCount, used, bytes, starts, ends, times, diffs, keyHashes }: RowScratch): RowChunk {
  const rows = <T extends Uint32Array | BigUint64Array | BigInt64Array>(array: T): T => array.subarray(0, rowCount) as T;
  return {
    bytes: bytes.subarray(0, used), starts: rows(starts), ends: rows(ends), times: rows(times), diffs: rows(diffs),
    keyHashes: rows(keyHashes), rowCount, ...timeBounds(times, rowCount),
  };
}

function copyOf({ rowCount, used, bytes, starts, ends, times, diffs, keyHashes }: RowScratch): RowChunk {
  return {
    bytes: bytes.slice(0, used), starts: starts.slice(0, rowCount), ends: ends.slice(0, rowCount), times: times.slice(0, rowCount),
    diffs: diffs.slice(0, rowCount), keyHashes: keyHashes.slice(0, rowCount), rowCount, ...timeBounds(times, rowCount),
  };
}

/** Least and greatest of some times, compared by halves: reading a 64-bit element would make a bigint of each. */
function timeBounds(times: BigUint64Array, rowCount: number): { readonly minTime: bigint; readonly maxTime: bigint } {
  const halves = new Uint32Array(times.buffer, times.byteOffset, rowCount * 2);
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
