/**
 * Iceberg's column metrics of one file, from the values that were written (spec: "Data File Fields" and
 * "Appendix D: Single-value serialization"), not from the Parquet footer, whose statistics are cut and lossy.
 *
 * Invariant: lower <= every value <= upper in the order of the spec, also after truncation; where no such bound
 * can be had, there is none. A bound too tight would make readers skip rows, one too wide only costs a read.
 */
import type { FileMetrics } from '../iceberg/data-file.ts';
import { encodeSingleValue } from '../iceberg/single-value.ts';
import { incrementBytes, incrementString } from '../iceberg/truncate.ts';
import type { PrimitiveType } from '../iceberg/types.ts';
import type { BoundValue, LeafColumn } from './columns/column.ts';

/** Code points of a string bound, bytes of a binary one: Iceberg's default `truncate(16)`. */
const BOUND_LENGTH = 16;

/** Takes the metrics since the last file from all leaves. `columnSizes` come from the footer of the file. */
export function collectMetrics(
  leaves: readonly LeafColumn[], columnSizes: ReadonlyMap<number, bigint>,
): FileMetrics {
  const valueCounts = new Map<number, bigint>();
  const nullValueCounts = new Map<number, bigint>();
  const nanValueCounts = new Map<number, bigint>();
  const lowerBounds = new Map<number, Uint8Array>();
  const upperBounds = new Map<number, Uint8Array>();
  for (const leaf of leaves) {
    const metrics = leaf.takeMetrics();
    valueCounts.set(leaf.fieldId, BigInt(metrics.values));
    nullValueCounts.set(leaf.fieldId, BigInt(metrics.nulls));
    if (metrics.nans !== null) nanValueCounts.set(leaf.fieldId, BigInt(metrics.nans));
    if (metrics.lower !== null) lowerBounds.set(leaf.fieldId, lowerBound(leaf.type, metrics.lower));
    const upper = metrics.upper === null ? null : upperBound(leaf.type, metrics.upper);
    if (upper !== null) upperBounds.set(leaf.fieldId, upper);
  }
  return { columnSizes, valueCounts, nullValueCounts, nanValueCounts, lowerBounds, upperBounds };
}

function lowerBound(type: PrimitiveType, value: BoundValue): Uint8Array {
  if (!(value instanceof Uint8Array)) return encodeSingleValue(type, value);
  if (type.kind === 'string') return value.slice(0, codePointsEnd(value));
  return type.kind === 'binary' ? value.slice(0, BOUND_LENGTH) : value;
}

function upperBound(type: PrimitiveType, value: BoundValue): Uint8Array | null {
  if (!(value instanceof Uint8Array)) return encodeSingleValue(type, value);
  if (type.kind === 'string') {
    const end = codePointsEnd(value);
    return end === value.length ? value : incrementString(value.subarray(0, end));
  }
  if (type.kind !== 'binary' || value.length <= BOUND_LENGTH) return value;
  return incrementBytes(value.subarray(0, BOUND_LENGTH));
}

/** Where the 16th code point of a UTF-8 text ends. */
function codePointsEnd(text: Uint8Array): number {
  let seen = 0;
  for (let at = 0; at < text.length; at++) {
    const continuation = ((text[at] ?? 0) & 0xc0) === 0x80;
    if (!continuation && seen++ === BOUND_LENGTH) return at;
  }
  return text.length;
}
