/**
 * Rows received but not yet part of a batch (②).
 *
 * In: chunks in the order of arrival. Out: at a seal, exactly the rows below the span's upper; the others stay.
 * Invariants: every row is in exactly one place (memory or one spilled partition), nothing is ever evicted or
 * merged away, and the bytes in memory are what `heldBytes` says. Spilling itself is the driver's effect; the
 * stash only says what to spill and remembers that there is something on disk.
 */
import { invariant } from '../errors.ts';
import { type Frontier, isClosed } from '../time/frontier.ts';
import { ChunkWriter, dealOut } from './deal-rows.ts';
import { type RowChunk, chunkBytes } from './row-chunk.ts';

export interface StashFacts {
  readonly rowCount: number;
  /** In memory. */
  readonly heldBytes: number;
  /** On disk, or on the way there. */
  readonly spilledBytes: number;
  /** Least time of any row, in memory or on disk; null when there is none. */
  readonly minTime: bigint | null;
}

export class Stash {
  #chunks: RowChunk[] = [];
  #heldBytes = 0;
  #rowsHeld = 0;
  #rowsSpilled = 0;
  #spilledBytes = 0;
  #minTime: bigint | null = null;
  #spilledMaxTime: bigint | null = null;

  append(chunk: RowChunk): void {
    if (chunk.rowCount === 0) return;
    this.#chunks.push(chunk);
    this.#heldBytes += chunkBytes(chunk);
    this.#rowsHeld += chunk.rowCount;
    if (this.#minTime === null || chunk.minTime < this.#minTime) this.#minTime = chunk.minTime;
  }

  facts(): StashFacts {
    return {
      rowCount: this.#rowsHeld + this.#rowsSpilled, heldBytes: this.#heldBytes, spilledBytes: this.#spilledBytes, minTime: this.#minTime,
    };
  }

  /** Hands out everything in memory, to be appended to the partitions on disk. */
  takeForSpill(): readonly RowChunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#spilledBytes += this.#heldBytes;
    this.#heldBytes = 0;
    this.#rowsSpilled += this.#rowsHeld;
    this.#rowsHeld = 0;
    for (const chunk of chunks) {
      if (this.#spilledMaxTime === null || chunk.maxTime > this.#spilledMaxTime) this.#spilledMaxTime = chunk.maxTime;
    }
    return chunks;
  }

  /**
   * Takes the rows below `upper` out of memory. With rows on disk, `spilled` says whether some of them may lie at
   * or above `upper`; the caller reads the partitions, splits them with `splitChunk` and appends the rest again.
   */
  seal(upper: Frontier): { readonly chunks: readonly RowChunk[]; readonly spilled: 'none' | 'all-below' | 'mixed' } {
    const taken: RowChunk[] = [];
    const kept: RowChunk[] = [];
    for (const chunk of this.#chunks) {
      const { below, above } = splitChunk(chunk, upper);
      if (below !== null) taken.push(below);
      if (above !== null) kept.push(above);
    }
    const spilled = this.#rowsSpilled === 0 ? 'none'
      : this.#spilledMaxTime !== null && !isClosed(this.#spilledMaxTime, upper) ? 'mixed' : 'all-below';
    this.#reset();
    for (const chunk of kept) this.append(chunk);
    return { chunks: taken, spilled };
  }

  clear(): void {
    this.#reset();
  }

  #reset(): void {
    this.#chunks = [];
    this.#heldBytes = 0;
    this.#rowsHeld = 0;
    this.#rowsSpilled = 0;
    this.#spilledBytes = 0;
    this.#minTime = null;
    this.#spilledMaxTime = null;
  }
}

/** Splits a chunk at a frontier. The usual case, a chunk wholly on one side, costs nothing. */
export function splitChunk(chunk: RowChunk, upper: Frontier): { below: RowChunk | null; above: RowChunk | null } {
  if (isClosed(chunk.maxTime, upper)) return { below: chunk, above: null };
  if (!isClosed(chunk.minTime, upper)) return { below: null, above: chunk };
  const isBelow = (row: number): boolean => isClosed(chunk.times[row] ?? 0n, upper);
  return { below: selectRows(chunk, isBelow), above: selectRows(chunk, (row) => !isBelow(row)) };
}

/** Deals the rows out by six bits of their key hash: `level` 0 takes the top six, level 1 the next six, and so on. */
export const PARTITIONS_PER_LEVEL = 64;
export const PARTITION_LEVELS = 5;

export function partitionOf(keyHash: number, level: number): number {
  return (keyHash >>> (26 - 6 * level)) & (PARTITIONS_PER_LEVEL - 1);
}

/**
 * One chunk, or null, for each part. A key's rows all land in the same part, so each part can be consolidated on its own.
 * Chunks dealt out together come out as few and large ones.
 */
export function partitionChunks(chunks: readonly RowChunk[], level: number): readonly (RowChunk | null)[] {
  invariant(level >= 0 && level < PARTITION_LEVELS, `no hash bits left at partition level ${level}`);
  return dealOut(chunks, PARTITIONS_PER_LEVEL, (keyHash) => partitionOf(keyHash, level));
}

function selectRows(chunk: RowChunk, wanted: (row: number) => boolean): RowChunk | null {
  let count = 0;
  let size = 0;
  for (let row = 0; row < chunk.rowCount; row++) {
    if (!wanted(row)) continue;
    count++;
    size += chunk.ends[row]! - chunk.starts[row]!;
  }
  if (count === 0) return null;
  const writer = new ChunkWriter(count, size);
  for (let row = 0; row < chunk.rowCount; row++) if (wanted(row)) writer.copy(chunk, row);
  return writer.finish();
}
