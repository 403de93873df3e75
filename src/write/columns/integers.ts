/** Columns of 32 and 64 bit integers: int, long, date, time, timestamps. 64 bits are two words, low first. */
import {
  type Data, DateDay, Int32, Int64, TimeMicrosecond, TimestampMicrosecond, makeData,
} from 'apache-arrow';

import type { LeafSpec } from './column.ts';
import { FIRST_CAPACITY, Leaf } from './leaf.ts';
import { storeInt64 } from './number-text.ts';

export type ParseInt32 = (bytes: Uint8Array, start: number, end: number) => number;
export type ParseInt64 = (bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number) => void;

export class Int32Column extends Leaf {
  readonly #parse: ParseInt32;
  #values = new Int32Array(FIRST_CAPACITY);

  constructor(spec: LeafSpec, parse: ParseInt32) {
    super(spec);
    this.#parse = parse;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    this.appendNumber(this.#parse(bytes, start, end));
  }

  appendNumber(value: number): void {
    if (this.length === this.#values.length) this.reserve();
    this.#values[this.length] = value;
    this.length += 1;
  }

  appendAll(bytes: Uint8Array, starts: Uint32Array, ends: Uint32Array, isNull: Uint8Array | null, count: number): void {
    for (let index = 0; index < count; index++) {
      if (isNull !== null && isNull[index] === 1) this.appendNull();
      else this.append(bytes, starts[index] ?? 0, ends[index] ?? 0);
    }
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
    if (this.length < this.#values.length) return;
    const grown = new Int32Array(this.#values.length * 2);
    grown.set(this.#values);
    this.#values = grown;
  }
}

export class Int64Column extends Leaf {
  readonly #parse: ParseInt64;
  #words = new Int32Array(FIRST_CAPACITY * 2);

  constructor(spec: LeafSpec, parse: ParseInt64) {
    super(spec);
    this.#parse = parse;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (this.length * 2 === this.#words.length) this.reserve();
    this.#parse(bytes, start, end, this.#words, this.length * 2);
    this.length += 1;
  }

  /** A value given as its two words. */
  appendWords(low: number, high: number): void {
    this.reserve();
    this.#words[this.length * 2] = low;
    this.#words[this.length * 2 + 1] = high;
    this.length += 1;
  }

  appendNumber(value: number): void {
    this.reserve();
    storeInt64(value, this.#words, this.length * 2);
    this.length += 1;
  }

  appendAll(bytes: Uint8Array, starts: Uint32Array, ends: Uint32Array, isNull: Uint8Array | null, count: number): void {
    for (let index = 0; index < count; index++) {
      if (isNull !== null && isNull[index] === 1) this.appendNull();
      else this.append(bytes, starts[index] ?? 0, ends[index] ?? 0);
    }
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
    if (this.length * 2 < this.#words.length) return;
    const grown = new Int32Array(this.#words.length * 2);
    grown.set(this.#words);
    this.#words = grown;
  }
}
