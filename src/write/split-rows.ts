/**
 * Splits chunks by key hash, so that several workers can each consolidate whole keys. All rows of a key land in
 * the same part, in their order; a part without rows gets no chunk.
 */
import { dealOut } from '../batch/deal-rows.ts';
import type { RowChunk } from '../batch/row-chunk.ts';

/** The chunk's rows by part; each part owns its buffer. */
export function splitChunk(chunk: RowChunk, parts: number): readonly (RowChunk | null)[] {
  return dealOut([chunk], parts, (keyHash) => partOf(keyHash, parts));
}

/** Mixed once more: the spill may have split by the same hash, and then its bits are alike within a group. */
function partOf(hash: number, parts: number): number {
  return (Math.imul(hash, 0x9e37_79b1) >>> 16) % parts;
}
