/**
 * Bounds of pages and column chunks (parquet-format: `Statistics`, `ColumnOrder`, PageIndex.md): the smallest and
 * the largest value in the order that readers assume for the type, in the PLAIN encoding without length.
 *
 * Invariant: lower <= every value <= upper, or there are no bounds. Where a NaN is there are none: the format leaves
 * it out of the order, but engines that sort it above everything (DuckDB, Spark) skip by the bounds even then and would
 * lose the row. Zeros take the sign that covers both; long byte arrays are cut, the upper bound upwards, and what can't
 * be cut has no bound.
 */
import { invariant } from '../errors.ts';
import { truncateLower, truncateUpper } from '../iceberg/truncate.ts';
import type { PrimitiveType } from '../iceberg/types.ts';
import { physicalType } from './schema.ts';
import { ByteWriter } from './byte-writer.ts';
import { encodePlain } from './plain.ts';
import type { BitValues, BytesValues, DecimalValues, FixedValues, Values, WordValues } from './values.ts';

/** `bytes`: unsigned, from the left. `signed`: big-endian two's complement of one length. */
export type Order = 'boolean' | 'int32' | 'int64' | 'float' | 'double' | 'bytes' | 'signed';

export interface Bounds {
  readonly lower: Uint8Array;
  readonly upper: Uint8Array;
}

/** Longer bounds are cut to this many bytes; parquet-mr's default for the page index. */
const BOUND_BYTES = 64;
/** What is looked at of a value to cut it: whether it is longer, and where a character ends. */
const LOOKED_AT_BYTES = BOUND_BYTES + 4;

export function orderOf(type: PrimitiveType): Order {
  const physical = physicalType(type);
  if (physical === 'fixed') return type.kind === 'decimal' ? 'signed' : 'bytes';
  return physical;
}

/**
 * Bounds of `values[from..to)`, of byte arrays as much as `cutBounds` wants to see; null when there are none. `numbers`: those of the
 * values in a dictionary, when they have any, so that of equal byte arrays only one is compared.
 */
export function boundsOf(
  values: Values, order: Order, from: number, to: number, numbers: Int32Array | null = null,
): Bounds | null {
  if (from === to) return null;
  switch (values.form) {
    case 'bits': return bitBounds(values, from, to);
    case 'words':
      if (order === 'int32') return int32Bounds(values, from, to);
      return order === 'int64' ? int64Bounds(values, from, to) : floatBounds(values, order, from, to);
    case 'decimal': return decimalBounds(values, from, to);
    case 'fixed': return fixedBounds(values, from, to);
    case 'bytes': return bytesBounds(values, from, to, numbers);
  }
}

/** Null is nothing so far. */
export function mergeBounds<B extends Bounds | null>(order: Order, left: B, right: B): Bounds | B {
  if (left === null || right === null) return left ?? right;
  return {
    lower: compareBounds(order, left.lower, right.lower) <= 0 ? left.lower : right.lower,
    upper: compareBounds(order, left.upper, right.upper) >= 0 ? left.upper : right.upper,
  };
}

/** What is known of a leaf in one row group. */
export interface ChunkBounds {
  readonly fieldId: number;
  readonly type: PrimitiveType;
  readonly bounds: Bounds | null;
  readonly hasValues: boolean;
}

/** Bounds of the leaves in a whole file: none where a row group has values but no bounds. */
export function fileBounds(chunks: readonly ChunkBounds[]): ReadonlyMap<number, Bounds> {
  const merged = new Map<number, Bounds | null>();
  for (const { fieldId, type, bounds, hasValues } of chunks) {
    if (!hasValues) continue;
    const known = merged.get(fieldId);
    if (bounds === null || known === null) merged.set(fieldId, null);
    else merged.set(fieldId, known === undefined ? bounds : mergeBounds(orderOf(type), known, bounds));
  }
  return new Map([...merged].flatMap(([fieldId, bounds]) => (bounds === null ? [] : [[fieldId, bounds] as const])));
}

/** Compares two encoded values: below, at or above 0. */
export function compareBounds(order: Order, left: Uint8Array, right: Uint8Array): number {
  if (order === 'bytes') return Buffer.compare(left, right);
  if (order === 'signed') {
    return ((left[0] ?? 0) ^ 0x80) - ((right[0] ?? 0) ^ 0x80) || Buffer.compare(left, right);
  }
  const a = numberOf(order, left);
  const b = numberOf(order, right);
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

function numberOf(order: Order, encoded: Uint8Array): number | bigint {
  const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength);
  switch (order) {
    case 'boolean': return view.getUint8(0);
    case 'int32': return view.getInt32(0, true);
    case 'int64': return view.getBigInt64(0, true);
    case 'float': return view.getFloat32(0, true);
    case 'double': return view.getFloat64(0, true);
    case 'bytes': case 'signed':
      invariant(false, 'byte strings are compared as they are');
  }
}

/** A bound of a string or binary column in at most 64 bytes; a text stays one. */
export function cutBounds(bounds: Bounds, type: PrimitiveType): Bounds | null {
  if (type.kind !== 'string' && type.kind !== 'binary') return bounds;
  const isText = type.kind === 'string';
  const upper = truncateUpper(bounds.upper, BOUND_BYTES, isText);
  return upper === null ? null : { lower: truncateLower(bounds.lower, BOUND_BYTES, isText), upper };
}

function bitBounds(values: BitValues, from: number, to: number): Bounds {
  let sawTrue = false;
  let sawFalse = false;
  for (let index = from; index < to && !(sawTrue && sawFalse); index++) {
    if (((values.bits[index >> 3] ?? 0) >> (index & 7) & 1) === 1) sawTrue = true;
    else sawFalse = true;
  }
  return { lower: Uint8Array.of(sawFalse ? 0 : 1), upper: Uint8Array.of(sawTrue ? 1 : 0) };
}

function int32Bounds({ words }: WordValues, from: number, to: number): Bounds {
  let min = words[from] ?? 0;
  let max = min;
  for (let index = from + 1; index < to; index++) {
    const value = words[index] ?? 0;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return { lower: wordBytes(Int32Array.of(min)), upper: wordBytes(Int32Array.of(max)) };
}

/** Compares the high words, and the low ones where those are equal: a BigInt a value would be an object each. */
function int64Bounds({ words }: WordValues, from: number, to: number): Bounds {
  let minLow = (words[from * 2] ?? 0) >>> 0;
  let minHigh = words[from * 2 + 1] ?? 0;
  let maxLow = minLow;
  let maxHigh = minHigh;
  for (let at = from * 2 + 2; at < to * 2; at += 2) {
    const low = (words[at] ?? 0) >>> 0;
    const high = words[at + 1] ?? 0;
    if (high < minHigh || (high === minHigh && low < minLow)) {
      minLow = low;
      minHigh = high;
    }
    if (high > maxHigh || (high === maxHigh && low > maxLow)) {
      maxLow = low;
      maxHigh = high;
    }
  }
  return { lower: wordBytes(Int32Array.of(minLow, minHigh)), upper: wordBytes(Int32Array.of(maxLow, maxHigh)) };
}

function floatBounds(values: WordValues, order: Order, from: number, to: number): Bounds | null {
  const { buffer, byteOffset } = values.words;
  const FloatArray = order === 'float' ? Float32Array : Float64Array;
  const floats = new FloatArray(buffer as ArrayBuffer, byteOffset, values.count);
  let min = Infinity;
  let max = -Infinity;
  for (let index = from; index < to; index++) {
    const value = floats[index] ?? 0;
    if (Number.isNaN(value)) return null;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  const lower = FloatArray.of(min === 0 ? -0 : min);
  const upper = FloatArray.of(max === 0 ? 0 : max);
  return { lower: wordBytes(lower), upper: wordBytes(upper) };
}

function wordBytes(words: Int32Array | Float32Array | Float64Array): Uint8Array {
  return new Uint8Array(words.buffer);
}

function decimalBounds(values: DecimalValues, from: number, to: number): Bounds {
  const { words } = values;
  let min = from;
  let max = from;
  for (let index = from + 1; index < to; index++) {
    if (compareDecimals(words, index, min) < 0) min = index;
    else if (compareDecimals(words, index, max) > 0) max = index;
  }
  const encoded = (index: number): Uint8Array => {
    const out = new ByteWriter(values.width);
    encodePlain(out, values, index, index + 1);
    return out.view();
  };
  return { lower: encoded(min), upper: encoded(max) };
}

/** The sign is in the highest word; the others are unsigned. */
function compareDecimals(words: Int32Array, left: number, right: number): number {
  const top = (words[left * 4 + 3] ?? 0) - (words[right * 4 + 3] ?? 0);
  if (top !== 0) return top;
  for (let word = 2; word >= 0; word--) {
    const difference = ((words[left * 4 + word] ?? 0) >>> 0) - ((words[right * 4 + word] ?? 0) >>> 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function fixedBounds({ data, width }: FixedValues, from: number, to: number): Bounds {
  let min = from * width;
  let max = min;
  for (let at = (from + 1) * width; at < to * width; at += width) {
    if (compareFixed(data, width, at, min) < 0) min = at;
    else if (compareFixed(data, width, at, max) > 0) max = at;
  }
  return { lower: data.slice(min, min + width), upper: data.slice(max, max + width) };
}

function compareFixed(data: Uint8Array, width: number, left: number, right: number): number {
  for (let byte = 0; byte < width; byte++) {
    const difference = (data[left + byte] ?? 0) - (data[right + byte] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function bytesBounds(
  { data, offsets }: BytesValues, from: number, to: number, numbers: Int32Array | null,
): Bounds {
  const seen = numbers === null ? null : new Uint8Array(largest(numbers, from, to) + 1);
  let min = from;
  let max = from;
  for (let index = from + 1; index < to; index++) {
    if (numbers !== null && seen !== null) {
      const number = numbers[index] ?? 0;
      if (seen[number] === 1) continue;
      seen[number] = 1;
    }
    if (compareBytes(data, offsets, index, min) < 0) min = index;
    else if (compareBytes(data, offsets, index, max) > 0) max = index;
  }
  return { lower: beginning(data, offsets, min), upper: beginning(data, offsets, max) };
}

/** Of a value of hundreds of megabytes, no second copy is made to keep 64 bytes of it. */
function beginning(data: Uint8Array, offsets: Int32Array, index: number): Uint8Array {
  const start = offsets[index] ?? 0;
  return data.slice(start, Math.min(offsets[index + 1] ?? 0, start + LOOKED_AT_BYTES));
}

function largest(numbers: Int32Array, from: number, to: number): number {
  let max = 0;
  for (let index = from; index < to; index++) max = Math.max(max, numbers[index] ?? 0);
  return max;
}

function compareBytes(data: Uint8Array, offsets: Int32Array, left: number, right: number): number {
  let leftAt = offsets[left] ?? 0;
  let rightAt = offsets[right] ?? 0;
  const leftEnd = offsets[left + 1] ?? 0;
  const rightEnd = offsets[right + 1] ?? 0;
  for (; leftAt < leftEnd && rightAt < rightEnd; leftAt++, rightAt++) {
    const difference = (data[leftAt] ?? 0) - (data[rightAt] ?? 0);
    if (difference !== 0) return difference;
  }
  return (leftEnd - leftAt) - (rightEnd - rightAt);
}
