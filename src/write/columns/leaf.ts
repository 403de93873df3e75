/**
 * The part that all leaf columns share: length, nulls and the running metrics. A leaf's values lie in typed
 * arrays that double when full; what lies under a null is whatever was there, Arrow never looks.
 */
import type { Data } from 'apache-arrow/data';

import type { PrimitiveType } from '../../iceberg/types.ts';
import type { FieldBlock, LeafColumn, LeafMetrics, LeafSpec } from './column.ts';
import { Validity } from './validity.ts';

export const FIRST_CAPACITY = 1024;

export abstract class Leaf implements LeafColumn {
  readonly fieldId: number;
  readonly type: PrimitiveType;
  readonly shape = 'plain';
  length = 0;
  protected readonly validity = new Validity();
  readonly bounded: boolean;
  protected nans: number | null = null;
  #values = 0;
  #nulls = 0;

  constructor(spec: LeafSpec) {
    this.fieldId = spec.fieldId;
    this.type = spec.type;
    this.bounded = spec.bounded;
  }

  abstract append(bytes: Uint8Array, start: number, end: number): void;
  abstract free(): void;
  abstract rawBytes(): number;
  abstract toArrow(required: boolean): Data;
  /** Makes room for one more value at `length`; called for nulls too. */
  protected abstract reserve(): void;

  /** Classes of which there are many values have loops of their own: in one shared by all, nothing could be inlined. */
  takePlainFields(_block: FieldBlock, from: number): number {
    return from;
  }

  appendNull(): void {
    this.reserve();
    this.validity.setNull(this.length);
    this.length += 1;
  }

  truncate(length: number): void {
    this.validity.truncate(length, this.length);
    this.length = length;
  }

  reset(): void {
    this.validity.reset();
    this.length = 0;
  }

  leaves(): readonly LeafColumn[] {
    return [this];
  }

  observe(): void {
    this.#values += this.length;
    this.#nulls += this.validity.nullCount;
  }

  takeMetrics(): LeafMetrics {
    const metrics = { values: this.#values, nulls: this.#nulls, nans: this.nans };
    this.#values = 0;
    this.#nulls = 0;
    if (this.nans !== null) this.nans = 0;
    return metrics;
  }

  /** Arrow's three ways of saying which values are there. */
  protected presence(required: boolean): { length: number; nullCount: number; nullBitmap: Uint8Array | null } {
    if (required) return { length: this.length, nullCount: 0, nullBitmap: null };
    return { length: this.length, nullCount: this.validity.nullCount, nullBitmap: this.validity.toBitmap(this.length) };
  }
}
