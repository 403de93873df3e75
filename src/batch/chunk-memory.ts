/**
 * Memory of chunks that goes round: filled from the wire, handed to a worker by transfer, and back by transfer.
 *
 * New memory costs more than the rows put into it: the kernel hands out zeroed pages, and V8 collects everything each
 * time that enough of it was dropped. Why reuse is safe: a buffer comes back only from a worker, by a transfer, and a
 * transfer detaches every view that anyone still holds. Whatever does not come back is collected like any other memory.
 */
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
  const spare: ArrayBuffer[] = [];
  const lent = new WeakSet<ArrayBufferLike>();
  let spareBytes = 0;
  return {
    take(byteLength) {
      const index = spare.findLastIndex((buffer) => buffer.byteLength === byteLength);
      const buffer = (index < 0 ? undefined : spare.splice(index, 1)[0]) ?? new ArrayBuffer(byteLength);
      if (index >= 0) spareBytes -= byteLength;
      lent.add(buffer);
      return buffer;
    },
    isLent: (buffer): buffer is ArrayBuffer => lent.has(buffer),
    giveBack(buffer) {
      if (spareBytes + buffer.byteLength > spareBytesMax) return;
      spareBytes += buffer.byteLength;
      spare.push(buffer);
    },
  };
}
