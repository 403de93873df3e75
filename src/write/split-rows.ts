/**
 * Splits chunks by key hash, so that several workers can each consolidate whole keys. All rows of a key land in
 * the same part, in their order; a part without rows gets no chunk.
 */
import { BYTES_PER_ROW, layChunk } from '../batch/lay-chunk.ts';
import type { RowChunk } from '../batch/row-chunk.ts';

/** The chunk's rows by part; each part owns its buffer. */
export function splitChunk(chunk: RowChunk, parts: number): readonly (RowChunk | null)[] {
  const counts = new Uint32Array(parts);
  const sizes = new Float64Array(parts);
  for (let row = 0; row < chunk.rowCount; row++) {
    const start = chunk.starts[row] ?? 0;
    const end = chunk.ends[row] ?? 0;
    const part = partOf(chunk.keyHashes[row] ?? 0, parts);
    counts[part] = (counts[part] ?? 0) + 1;
    sizes[part] = (sizes[part] ?? 0) + end - start;
  }
  const split = Array.from({ length: parts }, (_, part) => emptyChunk(counts[part] ?? 0, sizes[part] ?? 0));
  const filled = new Uint32Array(parts);
  const offsets = new Float64Array(parts);
  for (let row = 0; row < chunk.rowCount; row++) {
    const start = chunk.starts[row] ?? 0;
    const end = chunk.ends[row] ?? 0;
    const part = partOf(chunk.keyHashes[row] ?? 0, parts);
    const target = split[part];
    if (target !== undefined) {
      const at = filled[part] ?? 0;
      const offset = offsets[part] ?? 0;
      target.bytes.set(chunk.bytes.subarray(start, end), offset);
      target.starts[at] = offset;
      target.ends[at] = offset + end - start;
      target.times[at] = chunk.times[row] ?? 0n;
      target.diffs[at] = chunk.diffs[row] ?? 0n;
      target.keyHashes[at] = chunk.keyHashes[row] ?? 0;
      filled[part] = at + 1;
      offsets[part] = offset + end - start;
    }
  }
  const { minTime, maxTime } = chunk;
  return split.map((part) => (part.rowCount === 0 ? null : { ...part, minTime, maxTime }));
}

/** Mixed once more: the spill may have split by the same hash, and then its bits are alike within a group. */
function partOf(hash: number, parts: number): number {
  return (Math.imul(hash, 0x9e37_79b1) >>> 16) % parts;
}

/** Its times are those of the whole chunk: bounds, not necessarily met. */
function emptyChunk(rows: number, size: number): Omit<RowChunk, 'minTime' | 'maxTime'> {
  return { ...layChunk(new ArrayBuffer(rows * BYTES_PER_ROW + size), rows, size), rowCount: rows };
}
