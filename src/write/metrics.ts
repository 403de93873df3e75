/**
 * Iceberg's column metrics of one file (spec: "Data File Fields" and "Appendix D: Single-value serialization"): counts as
 * the columns kept them, bounds as the encoder found them for Parquet's own statistics, so that values are compared once.
 *
 * Invariant: lower <= every value <= upper in the order of the spec, also after truncation; where no such bound
 * can be had, there is none. A bound too tight would make readers skip rows, one too wide only costs a read.
 */
import { invariant } from '../errors.ts';
import type { FileMetrics } from '../iceberg/data-file.ts';
import { encodeSingleValue } from '../iceberg/single-value.ts';
import { incrementBytes, incrementString } from '../iceberg/truncate.ts';
import type { PrimitiveType } from '../iceberg/types.ts';
import type { ParquetFooter } from '../parquet/footer.ts';
import { physicalType } from '../parquet/schema.ts';
import type { LeafColumn } from './columns/column.ts';

/** Code points of a string bound, bytes of a binary one: Iceberg's default `truncate(16)`. */
const BOUND_LENGTH = 16;

/** Takes the metrics since the last file from all leaves; `footer` is that of the file. */
export function collectMetrics(leaves: readonly LeafColumn[], footer: ParquetFooter): FileMetrics {
  const valueCounts = new Map<number, bigint>();
  const nullValueCounts = new Map<number, bigint>();
  const nanValueCounts = new Map<number, bigint>();
  const lowerBounds = new Map<number, Uint8Array>();
  const upperBounds = new Map<number, Uint8Array>();
  for (const leaf of leaves) {
    const { fieldId, type } = leaf;
    const metrics = leaf.takeMetrics();
    valueCounts.set(fieldId, BigInt(metrics.values));
    nullValueCounts.set(fieldId, BigInt(metrics.nulls));
    if (metrics.nans !== null) nanValueCounts.set(fieldId, BigInt(metrics.nans));
    const bounds = footer.bounds.get(fieldId);
    // Parquet leaves NaN out of its order; engines that have it above everything would skip its row by such bounds.
    if (bounds === undefined || !leaf.bounded || !hasBounds(type) || (metrics.nans ?? 0) > 0) continue;
    lowerBounds.set(fieldId, lowerBound(type, bounds.lower));
    const upper = upperBound(type, bounds.upper);
    if (upper !== null) upperBounds.set(fieldId, upper);
  }
  return { columnSizes: footer.columnSizes, valueCounts, nullValueCounts, nanValueCounts, lowerBounds, upperBounds };
}

/**
 * Iceberg's uuid gets no bounds: Java compares them as signed longs and readers then skip equality deletes that
 * they should apply. Random ids would prune nothing anyway. fixed(16) is compared by unsigned bytes everywhere.
 */
function hasBounds(type: PrimitiveType): boolean {
  return type.kind !== 'uuid';
}

function lowerBound(type: PrimitiveType, plain: Uint8Array): Uint8Array {
  if (type.kind === 'string') return plain.slice(0, codePointsEnd(plain));
  return type.kind === 'binary' ? plain.slice(0, BOUND_LENGTH) : singleValue(type, plain);
}

function upperBound(type: PrimitiveType, plain: Uint8Array): Uint8Array | null {
  if (type.kind === 'string') {
    const end = codePointsEnd(plain);
    return end === plain.length ? plain : incrementString(plain.subarray(0, end));
  }
  if (type.kind !== 'binary') return singleValue(type, plain);
  return plain.length <= BOUND_LENGTH ? plain : incrementBytes(plain.subarray(0, BOUND_LENGTH));
}

/** Parquet's PLAIN form is that of the spec's appendix, save for decimals: those are big-endian and as short as can be. */
function singleValue(type: PrimitiveType, plain: Uint8Array): Uint8Array {
  if (type.kind !== 'decimal') return plain;
  const view = new DataView(plain.buffer, plain.byteOffset, plain.byteLength);
  switch (physicalType(type)) {
    case 'int32': return encodeSingleValue(type, BigInt(view.getInt32(0, true)));
    case 'int64': return encodeSingleValue(type, view.getBigInt64(0, true));
    default: {
      invariant(plain.length <= 16, 'a decimal has 16 bytes at most');
      const unsigned = plain.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
      return encodeSingleValue(type, BigInt.asIntN(plain.length * 8, unsigned));
    }
  }
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
