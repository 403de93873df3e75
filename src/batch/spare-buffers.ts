/**
 * Buffers that nobody uses at the moment, by their size. What one holds when it is taken is arbitrary.
 *
 * New memory costs more than what is put into it: the kernel hands out zeroed pages, and V8 collects everything each time that
 * enough of it was made. Whoever keeps a buffer here vouches that nothing uses it any more.
 */
export interface SpareBuffers {
  /** A buffer of exactly that size, a new one where none is spare. */
  take(byteLength: number): ArrayBuffer;
  /** Beyond the bound it is dropped, and collected like any other memory. */
  keep(buffer: ArrayBuffer): void;
}

/** `bytesMax`: what may lie here unused. */
export function createSpareBuffers(bytesMax: number): SpareBuffers {
  const bySize = new Map<number, ArrayBuffer[]>();
  let bytes = 0;
  return {
    take(byteLength) {
      const buffer = bySize.get(byteLength)?.pop();
      if (buffer === undefined) return new ArrayBuffer(byteLength);
      bytes -= byteLength;
      return buffer;
    },
    keep(buffer) {
      const { byteLength } = buffer;
      if (bytes + byteLength > bytesMax) return;
      bytes += byteLength;
      const same = bySize.get(byteLength);
      if (same === undefined) bySize.set(byteLength, [buffer]);
      else same.push(buffer);
    },
  };
}
