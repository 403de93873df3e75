/** Columns of 32 and 64 bit integers: int, long, date, time, timestamps. 64 bits are two words, low first. */
import { type Data, makeData } from 'apache-arrow/data';
import { DateDay, Int32, Int64, TimeMicrosecond, TimestampMicrosecond } from 'apache-arrow/type';

import { type FieldBlock, type LeafSpec, TAB } from './column.ts';
import { giveBack, grownInt32 } from './array-memory.ts';
import { FIRST_CAPACITY, Leaf } from './leaf.ts';
import { storeInt64 } from './number-text.ts';

/**
 * Stores the value whose text begins at `start` and is followed by something else, at the latest at `end`. Returns where the text
 * ends, or -1 for what isn't its usual form, whatever that is; `parse` decides about it.
 */
export type PlainText = (bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number) => number;

/** For types of which there are few values. */
export const notPlain: PlainText = () => -1;

/** How the values of a type read. */
export interface Int32Text {
  readonly parse: (bytes: Uint8Array, start: number, end: number) => number;
  readonly plain: PlainText;
}
export interface Int64Text {
  readonly parse: (bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number) => void;
  readonly plain: PlainText;
}

export class Int32Column extends Leaf {
  readonly #text: Int32Text;
  #values = new Int32Array(FIRST_CAPACITY);

  constructor(spec: LeafSpec, text: Int32Text) {
    super(spec);
    this.#text = text;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    this.appendNumber(this.#text.parse(bytes, start, end));
  }

  appendNumber(value: number): void {
    if (this.length === this.#values.length) this.reserve();
    this.#values[this.length] = value;
    this.length += 1;
  }

  /** The low words of 64-bit values `from` to `to`. */
  appendLowWords(words: Int32Array, from: number, to: number): void {
    for (let index = from; index < to; index++) this.appendNumber(words[index * 2] ?? 0);
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      const end = ends[row] ?? 0;
      if (this.length === this.#values.length) this.reserve();
      const next = this.#text.plain(bytes, cursors[row] ?? 0, end, this.#values, this.length);
      if (next < 0 || (next < end && bytes[next] !== TAB)) return row;
      this.length += 1;
      cursors[row] = next + 1;
    }
    return rows;
  }

  rawBytes(): number {
    return this.length * 4;
  }

  toArrow(required: boolean): Data {
    const data = this.#values.subarray(0, this.length);
    const presence = this.presence(required);
    if (this.type.kind === 'date') return makeData({ type: new DateDay(), data, ...presence });
    return makeData({ type: new Int32(), data, ...presence });
  }

  protected reserve(): void {
    if (this.length === this.#values.length) this.#values = grownInt32(this.#values, this.length * 2);
  }

  free(): void {
    giveBack(this.#values);
  }
}

export class Int64Column extends Leaf {
  readonly #text: Int64Text;
  #words = new Int32Array(FIRST_CAPACITY * 2);

  constructor(spec: LeafSpec, text: Int64Text) {
    super(spec);
    this.#text = text;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (this.length * 2 === this.#words.length) this.reserve();
    this.#text.parse(bytes, start, end, this.#words, this.length * 2);
    this.length += 1;
  }

  /** A value given as its two words. */
  appendWords(low: number, high: number): void {
    this.reserve();
    this.#words[this.length * 2] = low;
    this.#words[this.length * 2 + 1] = high;
    this.length += 1;
  }

  /** Values `from` to `to` of as many pairs of words. */
  appendAllWords(words: Int32Array, from: number, to: number): void {
    while ((this.length + to - from) * 2 > this.#words.length) this.#grow();
    this.#words.set(words.subarray(from * 2, to * 2), this.length * 2);
    this.length += to - from;
  }

  appendNumber(value: number): void {
    this.reserve();
    storeInt64(value, this.#words, this.length * 2);
    this.length += 1;
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      const end = ends[row] ?? 0;
      if (this.length * 2 === this.#words.length) this.reserve();
      const next = this.#text.plain(bytes, cursors[row] ?? 0, end, this.#words, this.length * 2);
      if (next < 0 || (next < end && bytes[next] !== TAB)) return row;
      this.length += 1;
      cursors[row] = next + 1;
    }
    return rows;
  }

  rawBytes(): number {
    return this.length * 8;
  }

  toArrow(required: boolean): Data {
    const data = new BigInt64Array(this.#words.buffer, 0, this.length);
    const presence = this.presence(required);
    const { kind } = this.type;
    if (kind === 'time') return makeData({ type: new TimeMicrosecond(), data, ...presence });
    if (kind === 'timestamp') return makeData({ type: new TimestampMicrosecond(null), data, ...presence });
    if (kind === 'timestamptz') return makeData({ type: new TimestampMicrosecond('UTC'), data, ...presence });
    return makeData({ type: new Int64(), data, ...presence });
  }

  protected reserve(): void {
    if (this.length * 2 === this.#words.length) this.#grow();
  }

  #grow(): void {
    this.#words = grownInt32(this.#words, this.#words.length * 2);
  }

  free(): void {
    giveBack(this.#words);
  }
}
