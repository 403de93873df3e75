/**
 * Memory of chunks that goes round: filled from the wire, handed to a worker by transfer, and back by transfer; or freed at once.
 *
 * Why reuse is safe: a buffer comes back only by a transfer, and a transfer detaches every view that anyone still holds.
 */
import { type RowChunk, chunkBuffers } from './row-chunk.ts';
import { createSpareBuffers } from './spare-buffers.ts';

export interface ChunkMemory {
  /** A buffer of that size, holding anything. */
  take(byteLength: number): ArrayBuffer;
  /** Whether the buffer came from `take`, so that one chunk has it for itself. */
  isLent(buffer: ArrayBufferLike): buffer is ArrayBuffer;
  /** Takes back a buffer that arrived by transfer. */
  giveBack(buffer: ArrayBuffer): void;
}

/** `spareBytesMax`: what may lie here unused. */
export function createChunkMemory(spareBytesMax: number): ChunkMemory {
  const spare = createSpareBuffers(spareBytesMax);
  const lent = new WeakSet<ArrayBufferLike>();
  return {
    take(byteLength) {
      const buffer = spare.take(byteLength);
      lent.add(buffer);
      return buffer;
    },
    isLent: (buffer): buffer is ArrayBuffer => lent.has(buffer),
    giveBack: (buffer) => spare.keep(buffer),
  };
}

/**
 * Frees a chunk that nobody looks at any more; what was lent by `memory` goes back there. Left to the collector, a span that is
 * dealt out leaves its own size in garbage between two collections.
 */
export function letGo(chunk: RowChunk, memory: ChunkMemory | null): void {
  for (const buffer of chunkBuffers(chunk)) {
    if (buffer.detached) continue;
    // Transferred either way: whoever still has the chunk finds it empty instead of changing under its hands.
    if (memory?.isLent(buffer) === true) memory.giveBack(buffer.transfer());
    else buffer.transfer(0);
  }
}
