/**
 * Iceberg's column metrics of one file, from the values that were written (spec: "Data File Fields" and
 * "Appendix D: Single-value serialization"), not from the Parquet footer, whose statistics are cut and lossy.
 *
 * Invariant: lower <= every value <= upper in the order of the spec, also after truncation; where no such bound
 * can be had, there is none. A bound too tight would make readers skip rows, one too wide only costs a read.
 */
import type { FileMetrics } from '../iceberg/data-file.ts';
import { encodeSingleValue } from '../iceberg/single-value.ts';
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

/**
 * The smallest text above everything that starts with `prefix`: its last code point that can grow grows by one,
 * what follows is dropped. Surrogates are no characters and are skipped. Null when nothing can grow.
 */
export function incrementString(prefix: Uint8Array): Uint8Array | null {
  const points = Array.from(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(prefix), (character) =>
    character.codePointAt(0) ?? 0);
  for (let last = points.length - 1; last >= 0; last--) {
    const point = points[last] ?? 0;
    if (point === 0x10_ffff) continue;
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return new TextEncoder().encode(String.fromCodePoint(...points.slice(0, last), next));
  }
  return null;
}

/** As for text, with bytes. */
export function incrementBytes(prefix: Uint8Array): Uint8Array | null {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last -= 1;
  if (last < 0) return null;
  const grown = prefix.slice(0, last + 1);
  grown[last] = (grown[last] ?? 0) + 1;
  return grown;
}
