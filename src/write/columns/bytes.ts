/** Columns of strings, binary and fixed-size binary: text, char, bytea, uuid and all that is kept as text. */
import { isUtf8 } from 'node:buffer';

import { type Data, makeData } from 'apache-arrow/data';
import { Binary, FixedSizeBinary, Utf8 } from 'apache-arrow/type';

import { giveBack, grownBytes, grownInt32 } from './array-memory.ts';
import { type FieldBlock, type LeafSpec, TAB, malformed, unrepresentable } from './column.ts';
import { FIRST_CAPACITY, Leaf } from './leaf.ts';
import { BACKSLASH } from './scan.ts';

/**
 * `text`: the bytes as they are. `char`: one raw byte that need not be UTF-8, then it has no string form.
 * `hex`: `\x` and lower-case hex. `uuid`: the hyphenated form, kept as text.
 */
export type BytesForm = 'text' | 'char' | 'hex' | 'uuid';

/** Arrow's offsets are signed 32-bit; the file layer ends a batch long before. */
const MAX_COLUMN_BYTES = 0x7fff_ffff;
/** Below this a loop beats the call of `set`. */
const SHORT_COPY = 24;

/** Longer fields are copied faster by one native call, which `append` does once their end is known. */
const SHORT_FIELD = 64;

/** Values looked at when deciding on a dictionary. */
const DISTINCT_SAMPLE = 2048;

const HEX = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) HEX[value.toString(16).charCodeAt(0)] = value;

function hexByte(bytes: Uint8Array, at: number): number {
  const value = ((HEX[bytes[at] ?? 0] ?? -1) << 4) | (HEX[bytes[at + 1] ?? 0] ?? -1);
  if (value < 0) malformed('a hexadecimal digit expected');
  return value;
}

/** The hyphenated form of a uuid, which is kept as text and so never decoded. */
function checkUuid(bytes: Uint8Array, start: number, end: number): void {
  if (end - start !== 36) malformed('a uuid of 36 characters expected');
  for (let group = 0; group < 36; group++) {
    const byte = bytes[start + group] ?? 0;
    const isHyphen = group === 8 || group === 13 || group === 18 || group === 23;
    if (isHyphen ? byte !== 0x2d : (HEX[byte] ?? -1) < 0) malformed('a uuid of hexadecimal digits expected');
  }
}

export class BytesColumn extends Leaf {
  readonly #form: BytesForm;
  readonly #isText: boolean;
  #offsets = new Int32Array(FIRST_CAPACITY + 1);
  #data = new Uint8Array(FIRST_CAPACITY * 16);

  constructor(spec: LeafSpec, form: BytesForm) {
    super(spec);
    this.#form = form;
    this.#isText = form === 'text';
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    this.reserve();
    const from = this.#offsets[this.length] ?? 0;
    if (from + end - start > this.#data.length) this.#growData(from + end - start);
    const to = this.#isText ? this.#copy(bytes, start, end, from) : this.#take(bytes, start, end, from);
    this.length += 1;
    this.#offsets[this.length] = to;
  }

  #take(bytes: Uint8Array, start: number, end: number, from: number): number {
    if (this.#form === 'hex') return this.#copyHex(bytes, start, end, from);
    if (this.#form === 'char' && !isUtf8(bytes.subarray(start, end))) unrepresentable('not UTF-8, so not a string');
    if (this.#form === 'uuid') checkUuid(bytes, start, end);
    return this.#copy(bytes, start, end, from);
  }

  #copy(bytes: Uint8Array, start: number, end: number, from: number): number {
    const data = this.#data;
    if (end - start > SHORT_COPY) {
      data.set(bytes.subarray(start, end), from);
      return from + end - start;
    }
    let to = from;
    for (let at = start; at < end; at++) data[to++] = bytes[at] ?? 0;
    return to;
  }

  #copyHex(bytes: Uint8Array, start: number, end: number, from: number): number {
    const prefixed = end - start >= 2 && bytes[start] === 0x5c && bytes[start + 1] === 0x78;
    if (!prefixed || (end - start) % 2 !== 0) malformed('\\x and hex expected');
    let to = from;
    for (let at = start + 2; at < end; at += 2) this.#data[to++] = hexByte(bytes, at);
    return to;
  }

  override appendNull(): void {
    super.appendNull();
    this.#offsets[this.length] = this.#offsets[this.length - 1] ?? 0;
  }

  override takePlainFields(block: FieldBlock, from: number): number {
    if (!this.#isText) return from;
    const { bytes, cursors, ends, rows } = block;
    for (let row = from; row < rows; row++) {
      let at = cursors[row] ?? 0;
      const end = ends[row] ?? 0;
      if (at > end) return row;
      const limit = Math.min(end, at + SHORT_FIELD);
      this.reserve();
      let to = this.#offsets[this.length] ?? 0;
      if (to + limit - at > this.#data.length) this.#growData(to + limit - at);
      const data = this.#data;
      let byte = TAB;
      while (at < limit) {
        byte = bytes[at] ?? 0;
        if (byte === TAB || byte === BACKSLASH) break;
        data[to++] = byte;
        at += 1;
      }
      if (at < end && byte !== TAB) return row;
      this.length += 1;
      this.#offsets[this.length] = to;
      cursors[row] = at + 1;
    }
    return rows;
  }

  rawBytes(): number {
    return (this.#offsets[this.length] ?? 0) + this.length * 4;
  }

  /**
   * Throws row-malformed territory's ValueFault if a string column is not UTF-8: one check of the whole batch is
   * an order of magnitude cheaper than one per value, and the wire is UTF-8 by contract.
   */
  toArrow(required: boolean): Data {
    const data = this.#data.subarray(0, this.#offsets[this.length] ?? 0);
    const valueOffsets = this.#offsets.subarray(0, this.length + 1);
    const presence = this.presence(required);
    if (this.type.kind === 'binary') return makeData({ type: new Binary(), data, valueOffsets, ...presence });
    if (!isUtf8(data) || this.#dividesCharacter(data)) malformed('text that is not UTF-8');
    return makeData({ type: new Utf8(), data, valueOffsets, ...presence });
  }

  /**
   * Two values that are not UTF-8 may be together, when one ends with half a character and the next begins with the
   * other half: in valid text no value begins with a continuation byte.
   */
  #dividesCharacter(data: Uint8Array): boolean {
    for (let index = 1; index < this.length; index++) {
      if (((data[this.#offsets[index] ?? 0] ?? 0) & 0xc0) === 0x80) return true;
    }
    return false;
  }

  protected reserve(): void {
    if (this.length + 1 === this.#offsets.length) this.#offsets = grownInt32(this.#offsets, this.#offsets.length * 2);
  }

  free(): void {
    giveBack(this.#offsets);
    giveBack(this.#data);
  }

  #growData(needed: number): void {
    if (needed > MAX_COLUMN_BYTES) unrepresentable('the values of one batch exceed 2 GiB');
    this.#data = grownBytes(this.#data, Math.min(MAX_COLUMN_BYTES, Math.max(needed, this.#data.length * 2)));
  }

  /** Whether the first values of the batch repeat so much that a dictionary pays. */
  hasFewDistinct(): boolean {
    const sample = Math.min(this.length, DISTINCT_SAMPLE);
    const seen = new Set<string>();
    for (let index = 0; index < sample; index++) seen.add(Buffer.from(this.#value(index)).toString('latin1'));
    return seen.size * 2 < sample;
  }

  #value(index: number): Uint8Array {
    return this.#data.subarray(this.#offsets[index], this.#offsets[index + 1]);
  }
}

/** uuid as its 16 bytes: Iceberg's fixed(16) and uuid. parquet-wasm writes both as plain FIXED_LEN_BYTE_ARRAY(16). */
export class UuidColumn extends Leaf {
  #data = new Uint8Array(FIRST_CAPACITY * 16);

  append(bytes: Uint8Array, start: number, end: number): void {
    this.reserve();
    if (end - start !== 36) malformed('a uuid of 36 characters expected');
    let to = this.length * 16;
    for (let at = start; at < end; at += 2) {
      const group = at - start;
      if (group === 8 || group === 13 || group === 18 || group === 23) {
        if (bytes[at] !== 0x2d) malformed('a uuid with hyphens expected');
        at += 1;
      }
      this.#data[to++] = hexByte(bytes, at);
    }
    this.length += 1;
  }

  rawBytes(): number {
    return this.length * 16;
  }

  toArrow(required: boolean): Data {
    const data = this.#data.subarray(0, this.length * 16);
    return makeData({ type: new FixedSizeBinary(16), data, ...this.presence(required) });
  }

  protected reserve(): void {
    if (this.length * 16 === this.#data.length) this.#data = grownBytes(this.#data, this.#data.length * 2);
  }

  free(): void {
    giveBack(this.#data);
  }
}
