/**
 * Rows of chunks dealt out into new chunks by their key hash. All rows of a key come into the same part, in their order.
 *
 * Counted first and copied then, so that each part is one buffer of just its size.
 */
import { invariant } from '../errors.ts';
import { BYTES_PER_ROW, layChunk } from './lay-chunk.ts';
import type { RowChunk } from './row-chunk.ts';

/** One chunk, or null where there are no rows, for each part. `partOf` gives a whole number below `parts`. */
export function dealOut(chunks: readonly RowChunk[], parts: number, partOf: (keyHash: number) => number): readonly (RowChunk | null)[] {
  const counts = new Uint32Array(parts);
  const sizes = new Uint32Array(parts);
  for (const chunk of chunks) {
    for (let row = 0; row < chunk.rowCount; row++) {
      const part = partOf(chunk.keyHashes[row]!);
      counts[part]!++;
      sizes[part]! += chunk.ends[row]! - chunk.starts[row]!;
    }
  }
  const writers = Array.from(counts, (count, part) => (count === 0 ? null : new ChunkWriter(count, sizes[part]!)));
  for (const chunk of chunks) {
    for (let row = 0; row < chunk.rowCount; row++) writers[partOf(chunk.keyHashes[row]!)]!.copy(chunk, row);
  }
  return writers.map((writer) => (writer === null ? null : writer.finish()));
}

/** Copies single rows into a new chunk of known size. */
export class ChunkWriter {
  readonly #to: ReturnType<typeof layChunk>;
  #rows = 0;
  #offset = 0;
  #minTime: bigint | null = null;
  #maxTime = 0n;

  constructor(rowCount: number, byteCount: number) {
    this.#to = layChunk(new ArrayBuffer(rowCount * BYTES_PER_ROW + byteCount), rowCount, byteCount);
  }

  copy(from: RowChunk, row: number): void {
    const start = from.starts[row]!;
    const end = from.ends[row]!;
    const to = this.#to;
    to.bytes.set(from.bytes.subarray(start, end), this.#offset);
    const at = this.#rows++;
    to.starts[at] = this.#offset;
    this.#offset += end - start;
    const time = from.times[row]!;
    to.ends[at] = this.#offset;
    to.times[at] = time;
    to.diffs[at] = from.diffs[row]!;
    to.keyHashes[at] = from.keyHashes[row]!;
    if (this.#minTime === null || time < this.#minTime) this.#minTime = time;
    if (time > this.#maxTime) this.#maxTime = time;
  }

  finish(): RowChunk {
    invariant(this.#rows === this.#to.ends.length && this.#offset === this.#to.bytes.length, 'a chunk was not filled as counted');
    return { ...this.#to, rowCount: this.#rows, minTime: this.#minTime ?? 0n, maxTime: this.#maxTime };
  }
}
