/**
 * The net change of a span. Rows of any times come in, in any order; out go the rows that are there more often
 * at the end than at the start, and one delete for each key that lost a row.
 *
 * A relation is a multiset and a change is an addition to it, so the net change of a row is the sum of its diffs
 * whatever happened in between: changed and changed back is zero and leaves nothing. Rows are equal when their
 * COPY text is, since Materialize writes equal values equally; hashes only find candidates, bytes decide.
 *
 * Everything is typed arrays sized by the number of rows (about 30 bytes a row), without an object per row.
 */
import { SinkError, invariant } from '../errors.ts';
import type { RowChunk } from './row-chunk.ts';

/** Rows by chunk and index in it. Only the first `length` entries count. */
export interface RowList {
  readonly length: number;
  readonly chunks: Uint32Array;
  readonly rows: Uint32Array;
}

export interface NetChange {
  /** Rows with a net insertion; `copies[i]` is how many of them. */
  readonly inserts: RowList;
  readonly copies: Float64Array;
  /** For each key with a net retraction, one row that has this key. */
  readonly deletes: RowList;
}

const TAB = 0x09;

/**
 * @param chunks all rows of their keys in the span
 * @param keyColumns indices of the key columns; with none the whole row is the key
 * Throws row-not-representable if a sum of diffs exceeds 2^53.
 */
export function consolidate(chunks: readonly RowChunk[], keyColumns: readonly number[]): NetChange {
  const distinct = sumDiffs(chunks);
  let positive = 0;
  let negative = 0;
  for (let index = 0; index < distinct.length; index++) {
    const sum = distinct.sums[index] ?? 0;
    if (sum > 0) positive += 1;
    else if (sum < 0) negative += 1;
  }
  const inserts = emptyList(positive);
  const copies = new Float64Array(positive);
  const retracted = emptyList(negative);
  let nextInsert = 0;
  let nextRetracted = 0;
  for (let index = 0; index < distinct.length; index++) {
    const sum = distinct.sums[index] ?? 0;
    if (sum === 0) continue;
    const list = sum > 0 ? inserts : retracted;
    const at = sum > 0 ? nextInsert++ : nextRetracted++;
    list.chunks[at] = distinct.chunks[index] ?? 0;
    list.rows[at] = distinct.rows[index] ?? 0;
    if (sum > 0) copies[at] = sum;
  }
  return { inserts, copies, deletes: onePerKey(chunks, retracted, keyColumns) };
}

function emptyList(length: number): RowList {
  return { length, chunks: new Uint32Array(length), rows: new Uint32Array(length) };
}

/** At least half as many places again as entries: probes stay short, two or three on average. */
function tableSize(entries: number): number {
  return powerOfTwo(entries * 1.5);
}

function powerOfTwo(atLeast: number): number {
  let size = 16;
  while (size < atLeast) size *= 2;
  return size;
}

interface Distinct extends RowList {
  readonly sums: Float64Array;
}

/** A hash table of the distinct rows so far: places hold their index, -1 is free. */
interface RowTable {
  readonly places: Int32Array;
  /** Of each distinct row. */
  readonly hashes: Int32Array;
  readonly found: Distinct & { length: number };
}

/**
 * Far more probes than that are no accident: whoever may put a text into the relation can choose it so that all rows meet in one place, and
 * finding them would take the square of their number, in every attempt again. Such rows are found by V8's own hash of
 * their text, which nobody outside can foresee; it takes longer for rows as they usually are.
 */
const PROBES_PER_ROW = 32;
const PROBES_MIN = 4096;

/** Each distinct row once, with the sum of its diffs. What it returns is good until the next call. */
function sumDiffs(chunks: readonly RowChunk[]): Distinct {
  const table = emptyTable(chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0));
  const inTime = chunks.every((_, index) => sumChunk(table, chunks, index));
  return inTime ? table.found : sumByText(table.found, chunks);
}

/** Begins anew in `found`. */
function sumByText(found: RowTable['found'], chunks: readonly RowChunk[]): Distinct {
  found.length = 0;
  const indices = new Map<string, number>();
  for (const [chunkIndex, chunk] of chunks.entries()) {
    const words = diffWords(chunk);
    for (let row = 0; row < chunk.rowCount; row++) {
      const text = latin1(chunk, chunk.starts[row] ?? 0, chunk.ends[row] ?? 0);
      let index = indices.get(text);
      if (index === undefined) {
        index = enter(found, chunkIndex, row);
        indices.set(text, index);
      }
      found.sums[index] = addDiff(found.sums[index] ?? 0, words[row * 2] ?? 0, words[row * 2 + 1] ?? 0);
    }
  }
  return found;
}

/** The next distinct row. */
function enter(found: RowTable['found'], chunk: number, row: number): number {
  const index = found.length++;
  found.chunks[index] = chunk;
  found.rows[index] = row;
  found.sums[index] = 0;
  return index;
}

/** A character a byte: equal when the bytes are. */
function latin1({ bytes }: RowChunk, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
}

/** Rows of a table that is kept: 14 MB. */
const KEPT_ROWS_MAX = 1 << 19;
/**
 * The arrays of the table before, for the next one. A span of 300,000 rows needs 8 MB of them, and V8 collects everything each time
 * that some such were made. They never leave `consolidate`, which is synchronous, so no two calls of a thread use them at once.
 */
let kept: RowTable | null = null;

/** Room for so many rows. */
function emptyTable(rows: number): RowTable {
  const size = tableSize(rows);
  let table = kept;
  if (table === null || table.hashes.length < rows) {
    const room = rows > KEPT_ROWS_MAX ? rows : powerOfTwo(rows);
    table = {
      places: new Int32Array(tableSize(room)), hashes: new Int32Array(room),
      found: { ...emptyList(room), length: 0, sums: new Float64Array(room) },
    };
    if (rows <= KEPT_ROWS_MAX) kept = table;
  }
  // Beyond its end a typed array takes what is written and keeps nothing.
  invariant(table.hashes.length >= rows && table.places.length >= size, 'a table has room for all rows');
  table.found.length = 0;
  return { ...table, places: table.places.subarray(0, size).fill(-1) };
}

/** False: it takes too long. */
function sumChunk(table: RowTable, chunks: readonly RowChunk[], chunkIndex: number): boolean {
  const { places, hashes, found } = table;
  const chunk = chunks[chunkIndex];
  if (chunk === undefined) return true;
  const { bytes, starts, ends, rowCount } = chunk;
  const mask = places.length - 1;
  const words = diffWords(chunk);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let probes = PROBES_PER_ROW * rowCount + PROBES_MIN;
  for (let row = 0; row < rowCount; row++) {
    const start = starts[row] ?? 0;
    const end = ends[row] ?? 0;
    const hash = hashBytes(view, start, end);
    let place = hash & mask;
    let index = places[place] ?? -1;
    while (index >= 0 && !(hashes[index] === hash && sameRow(chunks, found, index, bytes, start, end))) {
      place = (place + 1) & mask;
      index = places[place] ?? -1;
      probes -= 1;
    }
    if (probes < 0) return false;
    if (index < 0) {
      index = enter(found, chunkIndex, row);
      places[place] = index;
      hashes[index] = hash;
    }
    found.sums[index] = addDiff(found.sums[index] ?? 0, words[row * 2] ?? 0, words[row * 2 + 1] ?? 0);
  }
  return true;
}

/** The diffs as pairs of words, low first: a BigInt per row would cost more than the rest of the loop. */
export function diffWords(chunk: RowChunk): Int32Array {
  return new Int32Array(chunk.diffs.buffer, chunk.diffs.byteOffset, chunk.rowCount * 2);
}

/** The diff of two words as a number. Throws row-not-representable beyond 2^53, where numbers are not exact. */
export function diffNumber(low: number, high: number): number {
  const diff = high * 0x1_0000_0000 + (low >>> 0);
  if (!Number.isSafeInteger(diff)) throw tooMany();
  return diff;
}

function addDiff(sum: number, low: number, high: number): number {
  const next = sum + diffNumber(low, high);
  if (!Number.isSafeInteger(next)) throw tooMany();
  return next;
}

function tooMany(): SinkError {
  return new SinkError('row-not-representable', 'a row changes its multiplicity by more than 2^53');
}

/** Murmur3's mixing over words of four bytes, unaligned: a view reads one in one step where it stands. */
export function hashBytes(view: DataView, start: number, end: number): number {
  let hash = end - start;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash, view.getInt32(at, true));
  let rest = 0;
  for (; at < end; at++) rest = (rest << 8) | view.getUint8(at);
  hash = mix(hash, rest);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

function mix(hash: number, word: number): number {
  let mixed = Math.imul(word, 0xcc9e_2d51);
  mixed = Math.imul((mixed << 15) | (mixed >>> 17), 0x1b87_3593);
  const next = hash ^ mixed;
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0xe654_6b64) | 0;
}

function sameRow(
  chunks: readonly RowChunk[], list: RowList, index: number, bytes: Uint8Array, start: number, end: number,
): boolean {
  const chunk = chunks[list.chunks[index] ?? 0];
  if (chunk === undefined) return false;
  const row = list.rows[index] ?? 0;
  return sameBytes(chunk.bytes, chunk.starts[row] ?? 0, chunk.ends[row] ?? 0, bytes, start, end);
}

function sameBytes(
  left: Uint8Array, leftStart: number, leftEnd: number, right: Uint8Array, rightStart: number, rightEnd: number,
): boolean {
  if (leftEnd - leftStart !== rightEnd - rightStart) return false;
  for (let offset = leftEnd - leftStart - 1; offset >= 0; offset--) {
    if (left[leftStart + offset] !== right[rightStart + offset]) return false;
  }
  return true;
}

/** The first of the rows of each key. */
function onePerKey(chunks: readonly RowChunk[], rows: RowList, keyColumns: readonly number[]): RowList {
  const mask = tableSize(rows.length) - 1;
  const table = new Int32Array(mask + 1).fill(-1);
  let probes = PROBES_PER_ROW * rows.length + PROBES_MIN;
  let length = 0;
  for (let index = 0; index < rows.length; index++) {
    const chunkIndex = rows.chunks[index] ?? 0;
    const row = rows.rows[index] ?? 0;
    const hash = chunks[chunkIndex]?.keyHashes[row] ?? 0;
    let place = hash & mask;
    let found = table[place] ?? -1;
    while (found >= 0 && !sameKey(chunks, rows, found, chunkIndex, row, hash, keyColumns)) {
      place = (place + 1) & mask;
      found = table[place] ?? -1;
      probes -= 1;
    }
    if (probes < 0) return onePerKeyText(chunks, rows, keyColumns, length, index);
    if (found >= 0) continue;
    table[place] = length;
    // In place: `length` never overtakes `index`.
    rows.chunks[length] = chunkIndex;
    rows.rows[length] = row;
    length += 1;
  }
  return { length, chunks: rows.chunks, rows: rows.rows };
}

/** The same for keys that meet in one place: goes on at `from`, behind which the first `length` rows are one of each key. */
function onePerKeyText(
  chunks: readonly RowChunk[], rows: RowList, keyColumns: readonly number[], length: number, from: number,
): RowList {
  const keyOf = (index: number): string => keyText(chunks[rows.chunks[index] ?? 0], rows.rows[index] ?? 0, keyColumns);
  const seen = new Set(Array.from({ length }, (_, index) => keyOf(index)));
  let next = length;
  for (let index = from; index < rows.length; index++) {
    const key = keyOf(index);
    if (seen.has(key)) continue;
    seen.add(key);
    rows.chunks[next] = rows.chunks[index] ?? 0;
    rows.rows[next] = rows.rows[index] ?? 0;
    next += 1;
  }
  return { length: next, chunks: rows.chunks, rows: rows.rows };
}

/** Fields hold no raw tab, so one between them keeps them apart. */
function keyText(chunk: RowChunk | undefined, row: number, keyColumns: readonly number[]): string {
  invariant(chunk !== undefined, 'a row lies in one of the chunks');
  const start = chunk.starts[row] ?? 0;
  const end = chunk.ends[row] ?? 0;
  if (keyColumns.length === 0) return latin1(chunk, start, end);
  return keyColumns.map((column) => {
    const field = fieldStart(chunk.bytes, start, end, column);
    return latin1(chunk, field, fieldEnd(chunk.bytes, field, end));
  }).join('\t');
}

function sameKey(
  chunks: readonly RowChunk[], rows: RowList, found: number, chunkIndex: number, row: number, hash: number,
  keyColumns: readonly number[],
): boolean {
  const left = chunks[rows.chunks[found] ?? 0];
  const right = chunks[chunkIndex];
  const leftRow = rows.rows[found] ?? 0;
  if (left === undefined || right === undefined || left.keyHashes[leftRow] !== hash) return false;
  const leftStart = left.starts[leftRow] ?? 0;
  const rightStart = right.starts[row] ?? 0;
  const leftEnd = left.ends[leftRow] ?? 0;
  const rightEnd = right.ends[row] ?? 0;
  if (keyColumns.length === 0) return sameBytes(left.bytes, leftStart, leftEnd, right.bytes, rightStart, rightEnd);
  return keyColumns.every((column) => {
    const leftField = fieldStart(left.bytes, leftStart, leftEnd, column);
    const rightField = fieldStart(right.bytes, rightStart, rightEnd, column);
    return sameBytes(
      left.bytes, leftField, fieldEnd(left.bytes, leftField, leftEnd),
      right.bytes, rightField, fieldEnd(right.bytes, rightField, rightEnd),
    );
  });
}

/** A raw tab always separates columns: COPY text escapes the others. */
function fieldStart(bytes: Uint8Array, start: number, end: number, column: number): number {
  let at = start;
  for (let left = column; left > 0 && at < end; at++) if (bytes[at] === TAB) left -= 1;
  return at;
}

function fieldEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && bytes[at] !== TAB) at += 1;
  return at;
}
