/**
 * Rows of COPY text into columns: fields split at tabs, `\N` as NULL, the COPY escapes undone where there are any, and
 * every fault turned into the named row error.
 *
 * Rows gather into a block, which is taken column by column: each row has a cursor at its next field. A column's own loop reads the
 * fields that are plain and finds their ends on the way, so that most bytes are looked at once; the others are cut out here and
 * taken one by one. Going from column to column for every row would cost half as much again.
 *
 * Invariant: a raw tab always separates fields and a backslash always starts an escape, since COPY escapes both.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError } from '../errors.ts';
import { type FieldBlock, type Slot, TAB, ValueFault, appendNullToSlot, appendToSlot } from './columns/column.ts';
import { BACKSLASH } from './columns/scan.ts';
import type { WritePlan } from './plan.ts';

const CAPITAL_N = 0x4e;

/** A slot for each column of the relation, in its order; null where this file leaves the column out. */
export type RowSlots = readonly (Slot | null)[];

/** Rows of a block: their text stays in the nearest caches from the first column to the last. */
export const BLOCK_ROWS = 512;

export class RowDecoder {
  readonly #plan: WritePlan;
  readonly #slots: RowSlots;
  /** Up to the last that is not null. */
  readonly #slotsUsed: number;
  readonly #block: FieldBlock = {
    bytes: new Uint8Array(0), cursors: new Uint32Array(BLOCK_ROWS), ends: new Uint32Array(BLOCK_ROWS), rows: 0,
  };
  #unescaped = new Uint8Array(256);

  constructor(plan: WritePlan, slots: RowSlots) {
    this.#plan = plan;
    this.#slots = slots;
    this.#slotsUsed = slots.findLastIndex((slot) => slot !== null) + 1;
  }

  /** Takes a row, whose bytes must not change until `settle`. Throws what `settle` throws. */
  append(bytes: Uint8Array, start: number, end: number): void {
    const block = this.#block;
    if (block.rows === BLOCK_ROWS || bytes !== block.bytes) {
      this.settle();
      block.bytes = bytes;
    }
    block.cursors[block.rows] = start;
    block.ends[block.rows] = end;
    block.rows += 1;
  }

  /**
   * Takes rows `from` to `to` of a chunk, at most BLOCK_ROWS, and brings them into the columns. Returns the bytes of their text.
   * Throws what `settle` throws.
   */
  takeRows({ bytes, starts, ends }: RowChunk, from: number, to: number): number {
    this.settle();
    const block = this.#block;
    block.bytes = bytes;
    block.cursors.set(starts.subarray(from, to));
    block.ends.set(ends.subarray(from, to));
    block.rows = to - from;
    return this.#settleBlock();
  }

  /** The same for the rows of a chunk that a list names at `from` to `to`. */
  takeListedRows({ bytes, starts, ends }: RowChunk, list: Uint32Array, from: number, to: number): number {
    this.settle();
    const block = this.#block;
    block.bytes = bytes;
    for (let index = from; index < to; index++) {
      const row = list[index] ?? 0;
      block.cursors[index - from] = starts[row] ?? 0;
      block.ends[index - from] = ends[row] ?? 0;
    }
    block.rows = to - from;
    return this.#settleBlock();
  }

  #settleBlock(): number {
    const { cursors, ends, rows } = this.#block;
    let textBytes = 0;
    for (let row = 0; row < rows; row++) textBytes += (ends[row] ?? 0) - (cursors[row] ?? 0);
    this.settle();
    return textBytes;
  }

  /**
   * Brings the rows taken so far into the columns. Throws SinkError row-not-representable, row-malformed or
   * source-protocol (its width); the columns are of no use then.
   */
  settle(): void {
    const block = this.#block;
    if (block.rows === 0) return;
    try {
      for (let index = 0; index < this.#slotsUsed; index++) this.#takeColumn(index);
      // Rows of a delete file are not looked at behind their key: what is deleted was checked when it came, or is in no file.
      if (this.#slotsUsed === this.#slots.length) this.#checkWidths();
    } finally {
      block.rows = 0;
    }
  }

  #checkWidths(): void {
    const { cursors, ends, rows } = this.#block;
    for (let row = 0; row < rows; row++) if (cursors[row] !== (ends[row] ?? 0) + 1) throw this.#wrongWidth('more');
  }

  #takeColumn(index: number): void {
    const block = this.#block;
    const slot = this.#slots[index] ?? null;
    for (let row = 0; row < block.rows; row++) {
      if (slot !== null) row = slot.column.takePlainFields(block, row);
      if (row < block.rows) this.#takeField(slot, index, row);
    }
  }

  /** The next field of a row, whatever it looks like. */
  #takeField(slot: Slot | null, index: number, row: number): void {
    const { bytes, cursors, ends } = this.#block;
    const end = ends[row] ?? 0;
    const from = cursors[row] ?? 0;
    if (from > end) throw this.#wrongWidth('fewer');
    let at = from;
    let byte = 0;
    let escaped = false;
    while (at < end && (byte = bytes[at] ?? 0) !== TAB) {
      if (byte === BACKSLASH) escaped = true;
      at += 1;
    }
    cursors[row] = at + 1;
    if (slot !== null) this.#appendField(slot, index, from, at, escaped);
  }

  #appendField(slot: Slot, index: number, from: number, to: number, escaped: boolean): void {
    const { bytes } = this.#block;
    try {
      if (!escaped) {
        appendToSlot(slot, bytes, from, to);
      } else if (to - from === 2 && bytes[from + 1] === CAPITAL_N) {
        appendNullToSlot(slot);
      } else {
        // Before the buffer is named: unescaping may replace it by a larger one.
        const length = this.#unescape(bytes, from, to);
        appendToSlot(slot, this.#unescaped, 0, length);
      }
    } catch (thrown) {
      throw this.#rowError(thrown, index, to - from);
    }
  }

  /** Undoes the escapes into the buffer and returns the length. Materialize writes `\\ \t \n \r`, Postgres more. */
  #unescape(bytes: Uint8Array, from: number, to: number): number {
    if (this.#unescaped.length < to - from) this.#unescaped = new Uint8Array((to - from) * 2);
    const out = this.#unescaped;
    let length = 0;
    for (let at = from; at < to; at++) {
      let byte = bytes[at] ?? 0;
      if (byte === BACKSLASH && at + 1 < to) byte = unescapedByte(bytes[++at] ?? 0);
      out[length++] = byte;
    }
    return length;
  }

  #rowError(thrown: unknown, index: number, length: number): unknown {
    if (!(thrown instanceof ValueFault)) return thrown;
    return rowError(this.#plan, index, thrown, length);
  }

  #wrongWidth(found: 'more' | 'fewer'): SinkError {
    const { relationName, columns } = this.#plan;
    return new SinkError('source-protocol', `relation ${relationName}: a row has ${found} than ${columns.length} columns`);
  }
}

function unescapedByte(letter: number): number {
  switch (letter) {
    case 0x74: return 0x09;
    case 0x6e: return 0x0a;
    case 0x72: return 0x0d;
    case 0x62: return 0x08;
    case 0x66: return 0x0c;
    case 0x76: return 0x0b;
    default: return letter;
  }
}

/** Names relation, column, key columns, value length and reason; never the value. */
export function rowError(plan: WritePlan, index: number, fault: ValueFault, length: number | null): SinkError {
  const keys = plan.keyColumns.map((key) => `"${plan.columns[key]?.sourceName ?? ''}"`).join(', ');
  const key = keys === '' ? '' : `, key (${keys})`;
  const size = length === null ? '' : `, value of ${length} bytes`;
  const column = plan.columns[index]?.sourceName ?? '';
  const code = fault.kind === 'malformed' ? 'row-malformed' : 'row-not-representable';
  return new SinkError(code, `relation ${plan.relationName}, column "${column}"${key}${size}: ${fault.message}`);
}
