/**
 * Buffers that nobody uses at the moment, by their size. What one holds when it is taken is arbitrary.
 *
 * New memory costs more than what is put into it: the kernel hands out zeroed pages, and V8 collects everything each time that
 * enough of it was made. Whoever keeps a buffer here vouches that nothing uses it any more.
 *
 * Where there is no room for all, a size that nobody asked for lately makes room: what rows and columns need changes with the
 * relation. Sizes in use stay even so: those of one span are asked for in turn, and dropping the oldest would drop each before its turn.
 */
export interface SpareBuffers {
  /** A buffer of exactly that size, a new one where none is spare. */
  take(byteLength: number): ArrayBuffer;
  /** Beyond the bound something is dropped, and collected like any other memory. */
  keep(buffer: ArrayBuffer): void;
}

/** So many buffers were taken since, and none of that size. */
const FORGOTTEN_TAKES = 1_000;

interface OneSize {
  readonly buffers: ArrayBuffer[];
  takenAt: number;
}

/** `bytesMax`: what may lie here unused. */
export function createSpareBuffers(bytesMax: number): SpareBuffers {
  const bySize = new Map<number, OneSize>();
  let bytes = 0;
  let takes = 0;

  function dropForgotten(): void {
    for (const [byteLength, { buffers, takenAt }] of bySize) {
      if (takes - takenAt <= FORGOTTEN_TAKES) continue;
      bytes -= buffers.length * byteLength;
      bySize.delete(byteLength);
    }
  }

  return {
    take(byteLength) {
      takes += 1;
      const size = bySize.get(byteLength);
      if (size === undefined) return new ArrayBuffer(byteLength);
      size.takenAt = takes;
      const buffer = size.buffers.pop();
      if (buffer === undefined) return new ArrayBuffer(byteLength);
      bytes -= byteLength;
      return buffer;
    },
    keep(buffer) {
      const { byteLength } = buffer;
      if (bytes + byteLength > bytesMax) dropForgotten();
      if (bytes + byteLength > bytesMax) return;
      bytes += byteLength;
      const size = bySize.get(byteLength);
      if (size === undefined) bySize.set(byteLength, { buffers: [buffer], takenAt: takes });
      else size.buffers.push(buffer);
    },
  };
}
