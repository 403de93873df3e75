/**
 * What every column of a batch has in common: it takes values as text bytes, holds them in typed arrays in
 * Arrow's layout, and hands them out as Arrow data without a copy.
 *
 * Invariant: after `append` or `appendNull` the length has grown by one, in every child of a struct too. A null
 * struct gives its required children a placeholder that counts as null in the metrics and is never read: the
 * parent's validity hides it.
 */
import type { Data } from 'apache-arrow/data';

import type { PrimitiveType } from '../../iceberg/types.ts';

/**
 * How the text of a value looks when it stands unquoted inside a container. `braced`: list, array, map, which
 * Materialize never quotes, commas and all. `record` and `range` are quoted when they hold anything special to the
 * container, which is not all that is special to them; older servers leave ranges bare.
 */
export type TextShape = 'plain' | 'braced' | 'record' | 'range';

export interface Column {
  readonly length: number;
  readonly shape: TextShape;
  /** Takes one value, COPY escapes already removed. Throws a ValueFault. */
  append(bytes: Uint8Array, start: number, end: number): void;
  appendNull(): void;
  /**
   * Takes the fields of the rows from `from` on for as long as they are plain: the usual form of the type, without NULL and escapes.
   * Moves the cursor of each row behind the tab that follows, and returns the first row not taken, whose cursor is where it was.
   * Never throws: what is not plain, `append` sees.
   */
  takePlainFields(block: FieldBlock, from: number): number;
  /** Forgets the values from `length` on, and whatever a failed append left behind. */
  truncate(length: number): void;
  /** Forgets all values and keeps the buffers: whoever took `toArrow` must be done with it. */
  reset(): void;
  /** Gives the buffers up for other columns: neither this column nor what `toArrow` gave may be used afterwards. */
  free(): void;
  /** Bytes held, as a measure of the batch. */
  rawBytes(): number;
  /** Views of the buffers. `required`: no validity is given out, since Parquet's column has none. */
  toArrow(required: boolean): Data;
  leaves(): readonly LeafColumn[];
}

/**
 * Rows of COPY text that are taken apart column by column. Row i has its next field at cursors[i] and ends at ends[i], exclusively;
 * a cursor behind that end has no field left. Tabs separate fields; what stands at ends[i] means nothing.
 */
export interface FieldBlock {
  bytes: Uint8Array;
  readonly cursors: Uint32Array;
  readonly ends: Uint32Array;
  rows: number;
}

export const TAB = 0x09;

export interface LeafMetrics {
  readonly values: number;
  readonly nulls: number;
  /** null where the type has no NaN. */
  readonly nans: number | null;
}

export interface LeafColumn extends Column {
  readonly fieldId: number;
  readonly type: PrimitiveType;
  /** False below lists and maps, where the spec has no bounds. */
  readonly bounded: boolean;
  /** Adds the values of the batch to the metrics of the file; once, before `reset`. */
  observe(): void;
  /** The metrics since the last call. */
  takeMetrics(): LeafMetrics;
}

/** What a leaf must know besides its values. */
export interface LeafSpec {
  readonly fieldId: number;
  readonly type: PrimitiveType;
  /** False below lists and maps, where the spec has no bounds. */
  readonly bounded: boolean;
}

/**
 * A value that can't be taken. `unrepresentable`: well-formed, but the column's type can't hold it.
 * `malformed`: not the text form that its type has. The reason never quotes the value.
 */
export class ValueFault extends Error {
  readonly kind: 'unrepresentable' | 'malformed';

  constructor(kind: 'unrepresentable' | 'malformed', reason: string) {
    super(reason);
    this.name = 'ValueFault';
    this.kind = kind;
  }
}

export function malformed(reason: string): never {
  throw new ValueFault('malformed', reason);
}

export function unrepresentable(reason: string): never {
  throw new ValueFault('unrepresentable', reason);
}

/** Counts what was written as NULL because its type could not hold it; one for all columns of a file. */
export interface NullingPolicy {
  readonly enabled: boolean;
  count: number;
}

/** A place for values: a column with the nullability of its field and the policy for what it can't hold. */
export interface Slot {
  readonly column: Column;
  readonly required: boolean;
  readonly policy: NullingPolicy;
}

/**
 * Appends a value to its slot. Under the nulling policy the innermost optional slot around an unrepresentable
 * value becomes NULL; a required one passes the fault on to the slot that encloses it.
 */
export function appendToSlot(slot: Slot, bytes: Uint8Array, start: number, end: number): void {
  if (slot.required || !slot.policy.enabled) {
    slot.column.append(bytes, start, end);
    return;
  }
  const mark = slot.column.length;
  try {
    slot.column.append(bytes, start, end);
  } catch (thrown) {
    if (!(thrown instanceof ValueFault) || thrown.kind !== 'unrepresentable') throw thrown;
    slot.column.truncate(mark);
    slot.column.appendNull();
    slot.policy.count += 1;
  }
}

export function appendNullToSlot(slot: Slot): void {
  if (slot.required) malformed('NULL where the relation says NOT NULL');
  slot.column.appendNull();
}
