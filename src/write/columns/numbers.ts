/** Columns of booleans, floats and decimals. */
import { type Data, makeData } from 'apache-arrow/data';
import { Bool, Decimal, Float32, Float64 } from 'apache-arrow/type';

import { invariant } from '../../errors.ts';
import { type FieldBlock, type LeafSpec, TAB, malformed } from './column.ts';
import { giveBack, grownBytes, grownFloats, grownInt32 } from './array-memory.ts';
import { FIRST_CAPACITY, Leaf } from './leaf.ts';
import { checkKept, parseDecimal, parseDouble, shortDecimal, shortDouble } from './number-text.ts';

const TRUE = 0x74; // t
const FALSE = 0x66; // f

/** Arrow keeps booleans as bits. */
export class BoolColumn extends Leaf {
  #bits = new Uint8Array(FIRST_CAPACITY);

  append(bytes: Uint8Array, start: number, end: number): void {
    const letter = bytes[start];
    if (end - start !== 1 || (letter !== TRUE && letter !== FALSE)) malformed('t or f expected');
    this.appendBool(letter === TRUE);
  }

  appendBool(value: boolean): void {
    this.reserve();
    const byte = this.length >> 3;
    const bit = 1 << (this.length & 7);
    this.#bits[byte] = value ? (this.#bits[byte] ?? 0) | bit : (this.#bits[byte] ?? 0) & ~bit;
    this.length += 1;
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      const at = cursors[row] ?? 0;
      const end = ends[row] ?? 0;
      const letter = bytes[at];
      const isPlain = at < end && (letter === TRUE || letter === FALSE) && (at + 1 === end || bytes[at + 1] === TAB);
      if (!isPlain) return row;
      this.appendBool(letter === TRUE);
      cursors[row] = at + 2;
    }
    return rows;
  }

  rawBytes(): number {
    return (this.length + 7) >> 3;
  }

  toArrow(required: boolean): Data {
    return makeData({ type: new Bool(), data: this.#bits.subarray(0, this.rawBytes()), ...this.presence(required) });
  }

  protected reserve(): void {
    if (this.length >> 3 === this.#bits.length) this.#bits = grownBytes(this.#bits, this.#bits.length * 2);
  }

  free(): void {
    giveBack(this.#bits);
  }
}

/**
 * float and double. A real goes text -> double -> float: two roundings, yet the right float, because the text is
 * the shortest one that names it and so lies much nearer to it than to the midpoint where the two could differ.
 */
export class FloatColumn extends Leaf {
  #values: Float32Array | Float64Array;
  readonly #isFloat: boolean;

  constructor(spec: LeafSpec) {
    super(spec);
    this.#isFloat = spec.type.kind === 'float';
    this.#values = this.#isFloat ? new Float32Array(FIRST_CAPACITY) : new Float64Array(FIRST_CAPACITY);
    this.nans = 0;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (this.length === this.#values.length) this.reserve();
    const value = parseDouble(bytes, start, end);
    this.#values[this.length] = value;
    if (this.#isFloat && Number.isFinite(value)) checkKept(Math.fround(value), value === 0);
    this.length += 1;
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      const end = ends[row] ?? 0;
      if (this.length === this.#values.length) this.reserve();
      const next = shortDouble(bytes, cursors[row] ?? 0, end, this.#values, this.length);
      if (next < 0 || (next < end && bytes[next] !== TAB)) return row;
      this.length += 1;
      cursors[row] = next + 1;
    }
    return rows;
  }

  override observe(): void {
    super.observe();
    let nans = 0;
    // What lies under a null may be a NaN of an earlier batch.
    for (let index = 0; index < this.length; index++) {
      const value = this.#values[index] ?? 0;
      if (Number.isNaN(value) && !this.validity.isNull(index)) nans += 1;
    }
    this.nans = (this.nans ?? 0) + nans;
  }

  rawBytes(): number {
    return this.length * this.#values.BYTES_PER_ELEMENT;
  }

  toArrow(required: boolean): Data {
    const presence = this.presence(required);
    return this.#values instanceof Float32Array
      ? makeData({ type: new Float32(), data: this.#values.subarray(0, this.length), ...presence })
      : makeData({ type: new Float64(), data: this.#values.subarray(0, this.length), ...presence });
  }

  protected reserve(): void {
    if (this.length === this.#values.length) this.#values = grownFloats(this.#values, this.length * 2);
  }

  free(): void {
    giveBack(this.#values);
  }
}

/** decimal(p,s) as 128-bit two's complement in four words, low first. */
export class DecimalColumn extends Leaf {
  readonly #precision: number;
  readonly #scale: number;
  #words = new Int32Array(FIRST_CAPACITY * 4);

  constructor(spec: LeafSpec) {
    super(spec);
    invariant(spec.type.kind === 'decimal', 'a decimal column has a decimal type');
    this.#precision = spec.type.precision;
    this.#scale = spec.type.scale;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (this.length * 4 === this.#words.length) this.reserve();
    parseDecimal(bytes, start, end, this.#precision, this.#scale, this.#words, this.length * 4);
    this.length += 1;
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      const end = ends[row] ?? 0;
      if (this.length * 4 === this.#words.length) this.reserve();
      const next = shortDecimal(bytes, cursors[row] ?? 0, end, this.#scale, this.#words, this.length * 4);
      if (next < 0 || (next < end && bytes[next] !== TAB)) return row;
      this.length += 1;
      cursors[row] = next + 1;
    }
    return rows;
  }

  rawBytes(): number {
    return this.length * 16;
  }

  toArrow(required: boolean): Data {
    const type = new Decimal(this.#scale, this.#precision, 128);
    const data = new Uint32Array(this.#words.buffer, 0, this.length * 4);
    return makeData({ type, data, ...this.presence(required) });
  }

  protected reserve(): void {
    if (this.length * 4 === this.#words.length) this.#words = grownInt32(this.#words, this.#words.length * 2);
  }

  free(): void {
    giveBack(this.#words);
  }
}
