/**
 * Columns of structs: records, ranges, and arrays (a struct of items and dimensions). Fields are decoded in the
 * order of their text and handed to Arrow in the order of the table, which may be another one.
 */
import { type Data, makeData } from 'apache-arrow/data';
import type { Struct } from 'apache-arrow/type';

import { invariant } from '../../errors.ts';
import {
  type Column, type FieldBlock, type LeafColumn, type Slot, type TextShape, appendNullToSlot, appendToSlot, malformed,
} from './column.ts';
import { Int32Column } from './integers.ts';
import { BoolColumn } from './numbers.ts';
import { ListColumn, appendArray } from './repeated.ts';
import {
  CLOSE_BRACKET, CLOSE_PAREN, COMMA, OPEN_BRACKET, OPEN_PAREN, QUOTE, Unquoted, quotedEnd, unquotedEnd,
} from './scan.ts';
import { Validity } from './validity.ts';

abstract class StructColumn implements Column {
  abstract readonly shape: TextShape;
  length = 0;
  /** In the order of the text. */
  protected readonly slots: readonly Slot[];
  readonly #type: Struct;
  /** Position among `slots` of each child of the Arrow type. */
  readonly #order: readonly number[];
  readonly #validity = new Validity();

  constructor(type: Struct, slots: readonly Slot[], order: readonly number[]) {
    invariant(type.children.length === slots.length && order.length === slots.length, 'a column for each struct field');
    this.#type = type;
    this.slots = slots;
    this.#order = order;
  }

  abstract append(bytes: Uint8Array, start: number, end: number): void;

  /** Required children take a placeholder too; the struct's own validity hides it. */
  appendNull(): void {
    for (const slot of this.slots) slot.column.appendNull();
    this.#validity.setNull(this.length);
    this.length += 1;
  }

  truncate(length: number): void {
    for (const slot of this.slots) slot.column.truncate(length);
    this.#validity.truncate(length, this.length);
    this.length = length;
  }

  reset(): void {
    for (const slot of this.slots) slot.column.reset();
    this.#validity.reset();
    this.length = 0;
  }

  free(): void {
    for (const slot of this.slots) slot.column.free();
  }

  takePlainFields(_block: FieldBlock, from: number): number {
    return from;
  }

  rawBytes(): number {
    return this.slots.reduce((sum, slot) => sum + slot.column.rawBytes(), 0);
  }

  toArrow(required: boolean): Data {
    const children = this.#order.map((index) => {
      const slot = this.slots[index];
      invariant(slot !== undefined, 'the order of a struct names its columns');
      return slot.column.toArrow(slot.required);
    });
    const nullCount = required ? 0 : this.#validity.nullCount;
    const nullBitmap = required ? null : this.#validity.toBitmap(this.length);
    return makeData({ type: this.#type, length: this.length, nullCount, nullBitmap, children });
  }

  leaves(): readonly LeafColumn[] {
    return this.slots.flatMap((slot) => slot.column.leaves());
  }
}

/** `(1,abc)`: nothing between commas is NULL, `""` is the empty string. */
export class RecordColumn extends StructColumn {
  readonly shape = 'record';
  readonly #unquoted = new Unquoted();

  append(bytes: Uint8Array, start: number, end: number): void {
    if (bytes[start] !== OPEN_PAREN || end - start < 2) malformed('a record opens with a parenthesis');
    let at = start + 1;
    for (let index = 0; index < this.slots.length; index++) {
      if (index > 0 && bytes[at++] !== COMMA) malformed('a record has fewer fields than its type');
      const slot = this.slots[index];
      if (slot !== undefined) at = appendStructItem(slot, this.#unquoted, bytes, at, end, CLOSE_PAREN, CLOSE_PAREN);
    }
    if (bytes[at] !== CLOSE_PAREN || at + 1 !== end) malformed('a record does not end with its last field');
    this.length += 1;
  }
}

/** One field of a record or bound of a range; returns the position of what follows it. */
function appendStructItem(
  slot: Slot, unquoted: Unquoted, bytes: Uint8Array, at: number, end: number, closing: number, otherClosing: number,
): number {
  if (bytes[at] === QUOTE) {
    const next = quotedEnd(bytes, at, end);
    unquoted.take(bytes, at, next);
    appendToSlot(slot, unquoted.bytes, 0, unquoted.length);
    return next;
  }
  const { shape } = slot.column;
  let next = unquotedEnd(shape, bytes, at, end, COMMA, closing);
  if (otherClosing !== closing) next = Math.min(next, unquotedEnd(shape, bytes, at, end, COMMA, otherClosing));
  if (next === at) appendNullToSlot(slot);
  else appendToSlot(slot, bytes, at, next);
  return next;
}

const EMPTY_RANGE = [0x65, 0x6d, 0x70, 0x74, 0x79];

/** `[1,10)`, `(,1)`, `empty`: a bound that is not there is NULL. Slots: lower, upper, and the three flags. */
export class RangeColumn extends StructColumn {
  readonly shape = 'range';
  readonly #unquoted = new Unquoted();

  append(bytes: Uint8Array, start: number, end: number): void {
    const [lower, upper] = this.slots;
    invariant(lower !== undefined && upper !== undefined, 'a range has two bounds');
    if (end - start === 5 && EMPTY_RANGE.every((byte, index) => bytes[start + index] === byte)) {
      lower.column.appendNull();
      upper.column.appendNull();
      this.#appendFlags(false, false, true);
      return;
    }
    const opening = bytes[start];
    const closing = bytes[end - 1];
    if (opening !== OPEN_BRACKET && opening !== OPEN_PAREN) malformed('a range opens with a bracket');
    if (end - start < 3) malformed('a range has two bounds');
    if (closing !== CLOSE_BRACKET && closing !== CLOSE_PAREN) malformed('a range closes with a bracket');
    let at = appendStructItem(lower, this.#unquoted, bytes, start + 1, end - 1, COMMA, COMMA);
    if (bytes[at++] !== COMMA) malformed('a range has two bounds');
    at = appendStructItem(upper, this.#unquoted, bytes, at, end - 1, CLOSE_PAREN, CLOSE_BRACKET);
    if (at !== end - 1) malformed('a range does not end with its upper bound');
    this.#appendFlags(opening === OPEN_BRACKET, closing === CLOSE_BRACKET, false);
  }

  #appendFlags(...flags: readonly [boolean, boolean, boolean]): void {
    flags.forEach((flag, index) => {
      const column = this.slots[index + 2]?.column;
      invariant(column instanceof BoolColumn, 'the flags of a range are booleans');
      column.appendBool(flag);
    });
    this.length += 1;
  }
}

/** A SQL array. Slots: items, dimensions. */
export class ArrayColumn extends StructColumn {
  readonly shape = 'braced';

  append(bytes: Uint8Array, start: number, end: number): void {
    const items = this.slots[0]?.column;
    const dimensions = this.slots[1]?.column;
    invariant(items instanceof ListColumn && dimensions instanceof Int32Column, 'an array is items and dimensions');
    appendArray(items, dimensions, bytes, start, end);
    this.length += 1;
  }
}
