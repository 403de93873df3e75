/**
 * The initial snapshot on its way into files while it arrives: rows in as fast as the source sends them, out as fast as
 * the encoder takes them. What lies between is held in memory up to a bound and on disk beyond it, because the
 * source must never be made to wait: Materialize drops a client that reads too slowly.
 *
 * Order does not matter (the rows of one span are a multiset), so memory is drained before disk.
 */
import { type RowChunk, chunkBytes } from '../batch/row-chunk.ts';
import type { RowGroup, SpillStore } from './ports.ts';

export class StreamPump {
  readonly #spill: SpillStore;
  readonly #write: (group: RowGroup) => Promise<void>;
  readonly #heldBytesMax: number;
  readonly #onRelief: () => void;
  #queue: RowChunk[] = [];
  #heldBytes = 0;
  #segment = 0;
  #segmentChunks = 0;
  #spilling: Promise<void> = Promise.resolve();
  #closed = false;
  #abandoned = false;
  #wake: (() => void) | null = null;
  readonly #done: Promise<void>;

  /** `onRelief` is called whenever less is held than before. */
  constructor(spill: SpillStore, heldBytesMax: number, write: (group: RowGroup) => Promise<void>, onRelief: () => void) {
    this.#spill = spill;
    this.#heldBytesMax = heldBytesMax;
    this.#write = write;
    this.#onRelief = onRelief;
    this.#done = this.#run();
    // The failure is reported by finish(); until someone asks for it, it must not count as unhandled.
    this.#done.catch(() => undefined);
  }

  /** Rejects as soon as the encoder refuses rows, not only when the snapshot has ended; resolves with it otherwise. */
  get failed(): Promise<void> {
    return this.#done;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  push(chunk: RowChunk): void {
    if (this.#abandoned) return;
    const bytes = chunkBytes(chunk);
    this.#heldBytes += bytes;
    if (this.#heldBytes <= this.#heldBytesMax) {
      this.#queue.push(chunk);
    } else {
      const partition = `stream-${this.#segment}`;
      this.#segmentChunks++;
      this.#spilling = this.#spilling.then(async () => {
        if (!this.#abandoned) await this.#spill.append(partition, chunk);
        this.#spill.letGo(chunk);
        this.#release(bytes);
      });
      this.#spilling.catch(() => undefined);
    }
    this.#wake?.();
  }

  /**
   * No more rows; resolves when the encoder has taken all of them, rejects with the first failure. Either way nothing is on its
   * way to disk any more: an append behind the removal of the spill files would make one that nobody removes.
   */
  async finish(): Promise<void> {
    this.#closed = true;
    this.#wake?.();
    try {
      await this.#done;
    } finally {
      await this.#spilling.catch(() => undefined);
    }
  }

  abandon(): void {
    this.#abandoned = true;
    this.#queue = [];
    this.#wake?.();
  }

  #release(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#onRelief();
  }

  async #run(): Promise<void> {
    while (!this.#abandoned) {
      const chunk = this.#queue.shift();
      if (chunk !== undefined) {
        // Counted first: the encoder takes the buffers themselves, and what is left behind has no size.
        const bytes = chunkBytes(chunk);
        await this.#give(chunk);
        this.#release(bytes);
      } else if (this.#segmentChunks > 0) {
        await this.#drainSegment();
      } else if (this.#closed) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    }
  }

  async #drainSegment(): Promise<void> {
    const partition = `stream-${this.#segment}`;
    this.#segment++;
    this.#segmentChunks = 0;
    await this.#spilling;
    for await (const chunk of this.#spill.read(partition)) {
      if (this.#abandoned) return;
      await this.#give(chunk);
    }
    await this.#spill.remove(partition);
  }

  async #give(chunk: RowChunk): Promise<void> {
    await this.#write({ chunks: [chunk], consolidate: false });
  }
}
