/**
 * A leaf's values that are there, side by side and in Parquet's physical form: what is null or above nothing is
 * left out. Everything behind this file sees dense values only.
 *
 * The forms: `bits` booleans, low bit first; `words` little-endian values of one or two 32-bit words (also floats,
 * whose bits are all that counts here); `decimal` integers of four such words, big-endian only in the file; `fixed`
 * bytes of one length; `bytes` with Arrow's offsets.
 */
import type { Data } from 'apache-arrow/data';

import type { PrimitiveType } from '../iceberg/types.ts';
import type { Slots } from './levels.ts';
import { fixedLength, physicalType } from './schema.ts';

export interface BitValues { readonly form: 'bits'; readonly count: number; readonly bits: Uint8Array }
export interface WordValues {
  readonly form: 'words';
  readonly count: number;
  readonly words: Int32Array;
  /** Words of a value. */
  readonly width: 1 | 2;
}
export interface DecimalValues {
  readonly form: 'decimal';
  readonly count: number;
  /** Two's complement in four words, low first. */
  readonly words: Int32Array;
  /** Bytes of a value in the file. */
  readonly width: number;
}
export interface FixedValues {
  readonly form: 'fixed';
  readonly count: number;
  readonly data: Uint8Array;
  /** Bytes of a value. */
  readonly width: number;
}
export interface BytesValues {
  readonly form: 'bytes';
  readonly count: number;
  readonly data: Uint8Array;
  readonly offsets: Int32Array;
}
export type Values = BitValues | WordValues | DecimalValues | FixedValues | BytesValues;

export function presentValues(type: PrimitiveType, data: Data, slots: Slots): Values {
  const positions = rangeOrScattered(slots);
  switch (physicalType(type)) {
    case 'boolean': return bitValues(data.values as Uint8Array, positions);
    case 'int32': return wordValues(data, type.kind === 'decimal' ? 4 : 1, 1, positions);
    case 'int64': return wordValues(data, type.kind === 'decimal' ? 4 : 2, 2, positions);
    case 'float': return wordValues(data, 1, 1, positions);
    case 'double': return wordValues(data, 2, 2, positions);
    case 'bytes': return bytesValues(data.values as Uint8Array, data.valueOffsets as Int32Array, positions);
    case 'fixed':
      if (type.kind === 'decimal') return decimalValues(wordsOf(data), fixedLength(type), positions);
      return fixedValues(data.values as Uint8Array, fixedLength(type), positions);
  }
}

/** The positions from `first` on, or those of `scattered`. */
interface Positions {
  readonly count: number;
  readonly first: number;
  readonly scattered: Int32Array | null;
}

/** Items of lists lie one behind the other, so places that were computed are mostly a range after all. */
function rangeOrScattered({ count, positions }: Slots): Positions {
  if (positions === null || count === 0) return { count, first: 0, scattered: null };
  const first = positions[0] ?? 0;
  // They ascend, so the ends tell whether there is a gap.
  const isRange = (positions[count - 1] ?? 0) - first === count - 1;
  return { count, first, scattered: isRange ? null : positions };
}

function wordsOf(data: Data): Int32Array {
  const { buffer, byteOffset, byteLength } = data.values as Uint8Array;
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}

/** Values of `stride` words, the lowest `width` of which hold all of it. */
function wordValues(data: Data, stride: 1 | 2 | 4, width: 1 | 2, positions: Positions): WordValues {
  const source = wordsOf(data);
  const { count, first, scattered } = positions;
  if (scattered === null && stride === width) {
    return { form: 'words', count, width, words: source.subarray(first * width, (first + count) * width) };
  }
  const words = new Int32Array(count * width);
  for (let index = 0, to = 0; index < count; index++) {
    const at = (scattered === null ? first + index : scattered[index] ?? 0) * stride;
    words[to++] = source[at] ?? 0;
    if (width === 2) words[to++] = source[at + 1] ?? 0;
  }
  return { form: 'words', count, width, words };
}

function decimalValues(source: Int32Array, width: number, positions: Positions): DecimalValues {
  const { count, first, scattered } = positions;
  if (scattered === null) return { form: 'decimal', count, width, words: source.subarray(first * 4, (first + count) * 4) };
  const words = new Int32Array(count * 4);
  for (let index = 0; index < count; index++) {
    const at = (scattered[index] ?? 0) * 4;
    for (let word = 0; word < 4; word++) words[index * 4 + word] = source[at + word] ?? 0;
  }
  return { form: 'decimal', count, width, words };
}

function fixedValues(source: Uint8Array, width: number, positions: Positions): FixedValues {
  const { count, first, scattered } = positions;
  if (scattered === null) {
    return { form: 'fixed', count, width, data: source.subarray(first * width, (first + count) * width) };
  }
  const data = new Uint8Array(count * width);
  for (let index = 0; index < count; index++) {
    const at = (scattered[index] ?? 0) * width;
    for (let byte = 0; byte < width; byte++) data[index * width + byte] = source[at + byte] ?? 0;
  }
  return { form: 'fixed', count, width, data };
}

/** What lies under a null takes no bytes in our own columns; should it ever, the values are moved together. */
function bytesValues(data: Uint8Array, source: Int32Array, positions: Positions): BytesValues {
  const { count, first, scattered } = positions;
  if (scattered === null) return { form: 'bytes', count, data, offsets: source.subarray(first, first + count + 1) };
  const offsets = new Int32Array(count + 1);
  let end = source[scattered[0] ?? 0] ?? 0;
  offsets[0] = end;
  for (let index = 0; index < count; index++) {
    const at = scattered[index] ?? 0;
    if (source[at] !== end) return movedTogether(data, source, scattered, count);
    end = source[at + 1] ?? 0;
    offsets[index + 1] = end;
  }
  return { form: 'bytes', count, data, offsets };
}

function movedTogether(source: Uint8Array, sourceOffsets: Int32Array, scattered: Int32Array, count: number): BytesValues {
  const offsets = new Int32Array(count + 1);
  for (let index = 0; index < count; index++) {
    const at = scattered[index] ?? 0;
    offsets[index + 1] = (offsets[index] ?? 0) + (sourceOffsets[at + 1] ?? 0) - (sourceOffsets[at] ?? 0);
  }
  const data = new Uint8Array(offsets[count] ?? 0);
  for (let index = 0; index < count; index++) {
    const at = scattered[index] ?? 0;
    data.set(source.subarray(sourceOffsets[at], sourceOffsets[at + 1]), offsets[index]);
  }
  return { form: 'bytes', count, data, offsets };
}

function bitValues(source: Uint8Array, positions: Positions): BitValues {
  const { count, first, scattered } = positions;
  if (scattered === null && first === 0) return { form: 'bits', count, bits: source };
  const bits = new Uint8Array((count + 7) >> 3);
  for (let index = 0; index < count; index++) {
    const at = scattered === null ? first + index : scattered[index] ?? 0;
    if (((source[at >> 3] ?? 0) >> (at & 7) & 1) === 1) bits[index >> 3] = (bits[index >> 3] ?? 0) | (1 << (index & 7));
  }
  return { form: 'bits', count, bits };
}

/** Bytes of `values[from..to)` in the PLAIN encoding. */
export function plainSize(values: Values, from: number, to: number): number {
  switch (values.form) {
    case 'bits': return (to - from + 7) >> 3;
    case 'words': return (to - from) * values.width * 4;
    case 'decimal': case 'fixed': return (to - from) * values.width;
    case 'bytes': return (values.offsets[to] ?? 0) - (values.offsets[from] ?? 0) + (to - from) * 4;
  }
}

