/**
 * Rows between the source and the encoder, within the memory budget (② on its world side).
 *
 * In: chunks as they arrive. Out: for a sealed span, groups that each hold every row of their keys.
 * Invariant: a row is in the stash, in one spilled partition or with the encoder, and nowhere twice. Beyond
 * `stashBytesMax` the stash goes to disk, dealt out by key hash, so that a span of any size is consolidated
 * part by part; a part that is still too large is dealt out again by the next bits of the hash.
 */
import { type RowChunk, bytesOfChunks, chunkBytes } from '../batch/row-chunk.ts';
import {
  PARTITIONS_PER_LEVEL, PARTITION_LEVELS, Stash, type StashFacts, partitionChunks, splitChunk,
} from '../batch/stash.ts';
import type { SinkMode } from '../write/plan.ts';
import type { Frontier } from '../time/frontier.ts';
import type { RowGroup, SpillStore } from './ports.ts';

export interface IntakeOptions {
  readonly mode: SinkMode;
  readonly spill: SpillStore;
  /** Bytes of rows held in memory before they go to disk. */
  readonly stashBytesMax: number;
  /** Bytes of one group; a spilled part beyond it is dealt out again. */
  readonly groupBytesMax: number;
  readonly onFacts: (facts: StashFacts) => void;
  /** Called whenever rows have left memory for disk. */
  readonly onRelief: () => void;
  /** A spill failed and rows are lost. Said at once: a source paused for want of room brings no seal that would find out. */
  readonly onFailure: (thrown: unknown) => void;
}

/** The rows of a span: taken out of memory, and where the rest of them is on disk. */
export interface SealedSpan {
  readonly upper: Frontier;
  readonly chunks: readonly RowChunk[];
  readonly spilled: 'none' | 'all-below' | 'mixed';
  readonly generation: number;
}

export class RowIntake {
  readonly #options: IntakeOptions;
  readonly #stash = new Stash();
  #generation = 0;
  #spilling: Promise<void> = Promise.resolve();
  #spillingBytes = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Bytes in memory: stashed and on the way to disk. */
  get heldBytes(): number {
    return this.#stash.facts().heldBytes + this.#spillingBytes;
  }

  append(chunk: RowChunk): void {
    this.#stash.append(chunk);
    if (this.#stash.facts().heldBytes > this.#options.stashBytesMax) this.#spillAll();
    this.#options.onFacts(this.#stash.facts());
  }

  /** Takes the rows below `upper` out; what comes in afterwards belongs to the next generation on disk. */
  seal(upper: Frontier): SealedSpan {
    const { chunks, spilled } = this.#stash.seal(upper);
    const generation = this.#generation;
    if (spilled !== 'none') this.#generation++;
    this.#options.onFacts(this.#stash.facts());
    return { upper, chunks, spilled, generation };
  }

  /** The groups of a sealed span; each may be taken over by the encoder. */
  async *groups(span: SealedSpan): AsyncGenerator<RowGroup> {
    const consolidate = this.#options.mode === 'upsert';
    if (span.spilled === 'none') {
      if (span.chunks.length > 0) yield { chunks: span.chunks, consolidate };
      return;
    }
    if (!consolidate) {
      if (span.chunks.length > 0) yield { chunks: span.chunks, consolidate };
      yield* this.#log(span);
      return;
    }
    // Keys have rows on disk and in memory: the rest joins its partitions, so that each is whole.
    this.#enqueueSpill(span.chunks, span.generation);
    await this.#spilling;
    for (let part = 0; part < PARTITIONS_PER_LEVEL; part++) {
      yield* this.#part(`g${span.generation}-${part}`, 1, span);
    }
  }

  clear(): void {
    this.#stash.clear();
  }

  /** Rejects with the failure of an earlier spill, if there was one. */
  async settled(): Promise<void> {
    await this.#spilling;
  }

  #spillAll(): void {
    this.#enqueueSpill(this.#stash.takeForSpill(), this.#generation);
  }

  #enqueueSpill(chunks: readonly RowChunk[], generation: number): void {
    this.#spillingBytes += bytesOfChunks(chunks);
    this.#spilling = this.#spilling.then(async () => {
      for (const batch of batchesOf(chunks)) {
        // Counted first: what was let go has no size.
        const bytes = bytesOfChunks(batch);
        await this.#spillBatch(batch, `g${generation}`, 0);
        this.#spillingBytes -= bytes;
        this.#options.onRelief();
      }
    });
    // A failed spill loses rows, so everything that waits for it fails with it; see `settled`.
    this.#spilling.catch((thrown: unknown) => this.#options.onFailure(thrown));
  }

  /** Puts the rows on disk and lets go of the chunks. */
  async #spillBatch(chunks: readonly RowChunk[], prefix: string, level: number): Promise<void> {
    const { mode, spill } = this.#options;
    if (mode === 'append') {
      for (const chunk of chunks) {
        await spill.append(`${prefix}-log`, chunk);
        spill.letGo(chunk);
      }
      return;
    }
    // Each goes to a file of its own, so they need not wait for each other; a failure waits for all: nothing writes on behind it.
    const parts = partitionChunks(chunks, level);
    for (const chunk of chunks) spill.letGo(chunk);
    const appends = parts.map(async (rows, part) => {
      if (rows === null) return;
      await spill.append(`${prefix}-${part}`, rows);
      spill.letGo(rows);
    });
    const failed = (await Promise.allSettled(appends)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  async *#log(span: SealedSpan): AsyncGenerator<RowGroup> {
    await this.#spilling;
    const partition = `g${span.generation}-log`;
    for await (const chunk of this.#options.spill.read(partition)) {
      const below = await this.#below(chunk, span);
      if (below !== null) yield { chunks: [below], consolidate: false };
    }
    await this.#options.spill.remove(partition);
  }

  /** One partition: whole if it fits, else dealt out by the next six bits of the hash, as long as there are any. */
  async *#part(partition: string, level: number, span: SealedSpan): AsyncGenerator<RowGroup> {
    const { spill, groupBytesMax } = this.#options;
    let chunks: RowChunk[] = [];
    let bytes = 0;
    let dealt = false;
    for await (const chunk of spill.read(partition)) {
      const below = await this.#below(chunk, span);
      if (below === null) continue;
      chunks.push(below);
      bytes += chunkBytes(below);
      if (bytes <= groupBytesMax || level >= PARTITION_LEVELS) continue;
      for (const batch of batchesOf(chunks)) await this.#spillBatch(batch, partition, level);
      chunks = [];
      bytes = 0;
      dealt = true;
    }
    if (dealt) for (const batch of batchesOf(chunks)) await this.#spillBatch(batch, partition, level);
    await spill.remove(partition);
    if (!dealt) {
      if (chunks.length > 0) yield { chunks, consolidate: true };
      return;
    }
    for (let part = 0; part < PARTITIONS_PER_LEVEL; part++) yield* this.#part(`${partition}-${part}`, level + 1, span);
  }

  /**
   * The rows of the span; later ones go back to where rows come in, and mostly to disk again. Disk gives faster than it
   * takes, and no pause of the source slows this down, so reading waits for what is on its way there.
   */
  async #below(chunk: RowChunk, span: SealedSpan): Promise<RowChunk | null> {
    if (span.spilled === 'all-below') return chunk;
    const { below, above } = splitChunk(chunk, span.upper);
    if (above === null) return below;
    this.append(above);
    if (this.#spillingBytes > 0) await this.#spilling;
    return below;
  }
}

/**
 * Dealt out together. A chunk that is dealt out comes back as 64 small ones, and each of those as 64 of a row or two: the
 * calls would then take minutes for what the disk does in a second. Not more either, for dealing out is done at one go.
 */
const DEAL_BYTES = 1024 * 1024;

function* batchesOf(chunks: readonly RowChunk[]): Generator<readonly RowChunk[]> {
  let batch: RowChunk[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    batch.push(chunk);
    bytes += chunkBytes(chunk);
    if (bytes < DEAL_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
