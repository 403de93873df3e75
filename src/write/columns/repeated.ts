/** Columns that hold any number of items per value: lists, arrays and maps. */
import { type Data, makeData } from 'apache-arrow/data';
import { type List, type Map_, Struct } from 'apache-arrow/type';

import { invariant } from '../../errors.ts';
import {
  type Column, type FieldBlock, type LeafColumn, type Slot, appendNullToSlot, appendToSlot, malformed,
} from './column.ts';
import type { Int32Column } from './integers.ts';
import type { BytesColumn } from './bytes.ts';
import { giveBack, grownInt32 } from './array-memory.ts';
import { FIRST_CAPACITY } from './leaf.ts';
import {
  CLOSE_BRACE, COMMA, EQUALS, GREATER, OPEN_BRACE, OPEN_BRACKET, QUOTE, Unquoted, isNullWord, plainEnd, quotedEnd,
  unquotedEnd,
} from './scan.ts';
import { Validity } from './validity.ts';

/** Lengths and nulls of values made of items: Arrow's offsets, one more than values. */
class Offsets {
  length = 0;
  readonly validity = new Validity();
  #ends = new Int32Array(FIRST_CAPACITY + 1);

  /** Ends the value whose items go up to `end`. */
  push(end: number): void {
    if (this.length + 1 >= this.#ends.length) this.#ends = grownInt32(this.#ends, this.#ends.length * 2);
    this.length += 1;
    this.#ends[this.length] = end;
  }

  pushNull(end: number): void {
    this.validity.setNull(this.length);
    this.push(end);
  }

  /** Number of items up to the value of that index. */
  itemsBefore(length: number): number {
    return this.#ends[length] ?? 0;
  }

  truncate(length: number): void {
    this.validity.truncate(length, this.length);
    this.length = length;
  }

  reset(): void {
    this.validity.reset();
    this.length = 0;
  }

  free(): void {
    giveBack(this.#ends);
  }

  toArrow(required: boolean): {
    length: number; nullCount: number; nullBitmap: Uint8Array | null; valueOffsets: Int32Array;
  } {
    const nullCount = required ? 0 : this.validity.nullCount;
    const nullBitmap = required ? null : this.validity.toBitmap(this.length);
    return { length: this.length, nullCount, nullBitmap, valueOffsets: this.#ends.subarray(0, this.length + 1) };
  }
}

/** `{a,b}`; element NULL is the bare word. */
export class ListColumn implements Column {
  readonly shape = 'braced';
  readonly #type: List;
  readonly #element: Slot;
  readonly #offsets = new Offsets();
  readonly #unquoted = new Unquoted();

  constructor(type: List, element: Slot) {
    this.#type = type;
    this.#element = element;
  }

  get length(): number {
    return this.#offsets.length;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (bytes[start] !== OPEN_BRACE || end - start < 2) malformed('a list opens with a brace');
    let at = start + 1;
    if (bytes[at] !== CLOSE_BRACE) {
      at = this.appendItem(bytes, at, end);
      while (bytes[at] === COMMA) at = this.appendItem(bytes, at + 1, end);
    }
    if (bytes[at] !== CLOSE_BRACE || at + 1 !== end) malformed('a list closes with a brace');
    this.close();
  }

  /** Takes one item that starts at `at` and returns the position of what follows it. */
  appendItem(bytes: Uint8Array, at: number, end: number): number {
    const element = this.#element;
    if (bytes[at] === QUOTE) {
      const next = quotedEnd(bytes, at, end);
      this.#unquoted.take(bytes, at, next);
      appendToSlot(element, this.#unquoted.bytes, 0, this.#unquoted.length);
      return next;
    }
    const next = unquotedEnd(element.column.shape, bytes, at, end, COMMA, CLOSE_BRACE);
    if (isNullWord(bytes, at, next)) appendNullToSlot(element);
    else if (next === at) malformed('an empty item that is not quoted');
    else appendToSlot(element, bytes, at, next);
    return next;
  }

  /** Ends the value made of the items appended so far. */
  close(): void {
    this.#offsets.push(this.#element.column.length);
  }

  appendNull(): void {
    this.#offsets.pushNull(this.#element.column.length);
  }

  truncate(length: number): void {
    this.#offsets.truncate(length);
    this.#element.column.truncate(this.#offsets.itemsBefore(length));
  }

  reset(): void {
    this.#offsets.reset();
    this.#element.column.reset();
  }

  free(): void {
    this.#offsets.free();
    this.#element.column.free();
  }

  takePlainFields(_block: FieldBlock, from: number): number {
    return from;
  }

  rawBytes(): number {
    return this.length * 4 + this.#element.column.rawBytes();
  }

  toArrow(required: boolean): Data {
    const child = this.#element.column.toArrow(this.#element.required);
    return makeData({ type: this.#type, child, ...this.#offsets.toArrow(required) });
  }

  leaves(): readonly LeafColumn[] {
    return this.#element.column.leaves();
  }
}

/**
 * Parses an array `{{1,2},{3,4}}`, bounds `[2:3]=` in front allowed, into the flat list of its elements and the
 * number of its dimensions. The elements are never braced themselves: SQL has no arrays of lists or maps.
 *
 * The flat list is right only if the array is rectangular, so that is checked: of anything else it would be a
 * plausible list of another value.
 */
export function appendArray(
  items: ListColumn, dimensions: Int32Column, bytes: Uint8Array, start: number, end: number,
): void {
  const shape = new ArrayShape();
  let at = start;
  if (bytes[at] === OPEN_BRACKET) at = boundsEnd(bytes, at, end);
  if (bytes[at] !== OPEN_BRACE) malformed('an array opens with a brace');
  do {
    const byte = bytes[at];
    if (byte === OPEN_BRACE) shape.open();
    else if (byte === CLOSE_BRACE) shape.close();
    else if (byte === COMMA) shape.comma();
    else shape.element();
    at = byte === OPEN_BRACE || byte === CLOSE_BRACE || byte === COMMA ? at + 1 : items.appendItem(bytes, at, end);
  } while (at < end && shape.depth > 0);
  if (shape.depth !== 0 || at !== end) malformed('the braces of an array do not match');
  items.close();
  dimensions.appendNumber(shape.deepest);
}

/** Behind the `=` of `[2:3][1:2]=`. */
function boundsEnd(bytes: Uint8Array, start: number, end: number): number {
  const next = plainEnd(bytes, start, end, EQUALS, EQUALS);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.min(next - start, MAX_BOUNDS_BYTES));
  if (!/^(?:\[-?\d+:-?\d+\])+$/.test(text.toString('latin1')) || next === end) malformed('the bounds of an array expected');
  return next + 1;
}

const MAX_BOUNDS_BYTES = 1024;

/** Follows the braces of one array and refuses what no array has: gaps, ragged rows, elements at several depths. */
class ArrayShape {
  depth = 0;
  /** Dimensions: the depth of the elements, 0 while there are none. */
  deepest = 0;
  #expectsItem = true;
  /** By depth: items of the open braces, and of each that was closed. */
  readonly #counts: number[] = [];
  readonly #lengths: number[] = [];

  open(): void {
    if (!this.#expectsItem || (this.deepest > 0 && this.depth >= this.deepest)) malformed('a brace within an array');
    this.depth += 1;
    this.#counts[this.depth] = 0;
  }

  close(): void {
    const count = this.#counts[this.depth] ?? 0;
    if (this.#expectsItem && (count > 0 || this.deepest > 0)) malformed('an item of an array is missing');
    const length = this.#lengths[this.depth] ?? count;
    if (length !== count) malformed('the rows of an array differ in length');
    this.#lengths[this.depth] = length;
    this.depth -= 1;
    this.#endItem();
  }

  comma(): void {
    if (this.#expectsItem) malformed('an item of an array is missing');
    this.#expectsItem = true;
  }

  element(): void {
    if (!this.#expectsItem) malformed('a comma between the items of an array expected');
    if (this.deepest > 0 && this.depth !== this.deepest) malformed('the items of an array are at different depths');
    this.deepest = this.depth;
    this.#endItem();
  }

  #endItem(): void {
    this.#counts[this.depth] = (this.#counts[this.depth] ?? 0) + 1;
    this.#expectsItem = false;
  }
}

/** `{a=>1,b=>2}`; keys are text and never NULL, a value NULL is the bare word. */
export class MapColumn implements Column {
  readonly shape = 'braced';
  readonly #type: Map_;
  readonly #key: BytesColumn;
  readonly #value: Slot;
  readonly #offsets = new Offsets();
  readonly #unquoted = new Unquoted();

  constructor(type: Map_, key: BytesColumn, value: Slot) {
    this.#type = type;
    this.#key = key;
    this.#value = value;
  }

  get length(): number {
    return this.#offsets.length;
  }

  append(bytes: Uint8Array, start: number, end: number): void {
    if (bytes[start] !== OPEN_BRACE || end - start < 2) malformed('a map opens with a brace');
    let at = start + 1;
    if (bytes[at] !== CLOSE_BRACE) {
      at = this.#appendEntry(bytes, at, end);
      while (bytes[at] === COMMA) at = this.#appendEntry(bytes, at + 1, end);
    }
    if (bytes[at] !== CLOSE_BRACE || at + 1 !== end) malformed('a map closes with a brace');
    this.#offsets.push(this.#key.length);
  }

  #appendEntry(bytes: Uint8Array, at: number, end: number): number {
    const arrow = this.#appendKey(bytes, at, end);
    if (bytes[arrow] !== EQUALS || bytes[arrow + 1] !== GREATER) malformed('=> expected behind a key');
    const start = arrow + 2;
    if (bytes[start] === QUOTE) {
      const next = quotedEnd(bytes, start, end);
      this.#unquoted.take(bytes, start, next);
      appendToSlot(this.#value, this.#unquoted.bytes, 0, this.#unquoted.length);
      return next;
    }
    const next = unquotedEnd(this.#value.column.shape, bytes, start, end, COMMA, CLOSE_BRACE);
    if (isNullWord(bytes, start, next)) appendNullToSlot(this.#value);
    else if (next === start) malformed('an empty value that is not quoted');
    else appendToSlot(this.#value, bytes, start, next);
    return next;
  }

  #appendKey(bytes: Uint8Array, at: number, end: number): number {
    if (bytes[at] !== QUOTE) {
      const next = plainEnd(bytes, at, end, EQUALS, EQUALS);
      this.#key.append(bytes, at, next);
      return next;
    }
    const next = quotedEnd(bytes, at, end);
    this.#unquoted.take(bytes, at, next);
    this.#key.append(this.#unquoted.bytes, 0, this.#unquoted.length);
    return next;
  }

  appendNull(): void {
    this.#offsets.pushNull(this.#key.length);
  }

  truncate(length: number): void {
    this.#offsets.truncate(length);
    const entries = this.#offsets.itemsBefore(length);
    this.#key.truncate(entries);
    this.#value.column.truncate(entries);
  }

  reset(): void {
    this.#offsets.reset();
    this.#key.reset();
    this.#value.column.reset();
  }

  free(): void {
    this.#offsets.free();
    this.#key.free();
    this.#value.column.free();
  }

  takePlainFields(_block: FieldBlock, from: number): number {
    return from;
  }

  rawBytes(): number {
    return this.length * 4 + this.#key.rawBytes() + this.#value.column.rawBytes();
  }

  toArrow(required: boolean): Data {
    const children = [this.#key.toArrow(true), this.#value.column.toArrow(this.#value.required)];
    const entries = this.#type.children[0]?.type;
    invariant(entries instanceof Struct, 'a map holds a struct of entries');
    const child = makeData({ type: entries, length: this.#key.length, nullCount: 0, nullBitmap: null, children });
    return makeData({ type: this.#type, child, ...this.#offsets.toArrow(required) });
  }

  leaves(): readonly LeafColumn[] {
    return [...this.#key.leaves(), ...this.#value.column.leaves()];
  }
}
