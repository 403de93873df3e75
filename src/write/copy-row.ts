/**
 * One row of COPY text into columns: fields split at tabs, `\N` as NULL, the COPY escapes undone where there are
 * any, and every fault turned into the named row error.
 *
 * Invariant: a raw tab always separates fields and a backslash always starts an escape, since COPY escapes both.
 */
import { SinkError } from '../errors.ts';
import { type Slot, ValueFault, appendNullToSlot, appendToSlot } from './columns/column.ts';
import type { WritePlan } from './plan.ts';

const TAB = 0x09;
const BACKSLASH = 0x5c;
const CAPITAL_N = 0x4e;

/** A slot for each column of the relation, in its order; null where this file leaves the column out. */
export type RowSlots = readonly (Slot | null)[];

export class RowDecoder {
  readonly #plan: WritePlan;
  readonly #slots: RowSlots;
  #unescaped = new Uint8Array(256);

  constructor(plan: WritePlan, slots: RowSlots) {
    this.#plan = plan;
    this.#slots = slots;
  }

  /** Appends the row to the columns. Throws SinkError row-not-representable, row-malformed or source-protocol (its width). */
  append(bytes: Uint8Array, start: number, end: number): void {
    const slots = this.#slots;
    let at = start;
    for (let index = 0; index < slots.length; index++) {
      if (at > end) throw this.#wrongWidth(index);
      const from = at;
      let escaped = false;
      let byte = 0;
      while (at < end && (byte = bytes[at] ?? 0) !== TAB) {
        if (byte === BACKSLASH) escaped = true;
        at += 1;
      }
      const slot = slots[index];
      if (slot !== null && slot !== undefined) this.#appendField(slot, index, bytes, from, at, escaped);
      at += 1;
    }
    if (at !== end + 1) throw this.#wrongWidth(slots.length + 1);
  }

  #appendField(slot: Slot, index: number, bytes: Uint8Array, from: number, to: number, escaped: boolean): void {
    try {
      if (!escaped) {
        appendToSlot(slot, bytes, from, to);
      } else if (to - from === 2 && bytes[from] === BACKSLASH && bytes[from + 1] === CAPITAL_N) {
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

  #wrongWidth(found: number): SinkError {
    const { relationName, columns } = this.#plan;
    return new SinkError(
      'source-protocol', `relation ${relationName}: a row has ${found > columns.length ? 'more' : 'fewer'} than `
      + `${columns.length} columns`,
    );
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
