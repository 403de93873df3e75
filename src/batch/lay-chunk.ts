/**
 * Chunks with all their arrays in one buffer, and several chunks as one.
 *
 * Dealing out makes many chunks of few rows. Each costs as much to read, hand to a worker and free as one of ten thousand rows, and
 * a chunk of six buffers six times as much as one of one.
 */
import type { RowChunk } from './row-chunk.ts';

/** Bytes of a row beside its text: time and diff of 8, start, end and key hash of 4. */
export const BYTES_PER_ROW = 28;

type Arrays = Omit<RowChunk, 'rowCount' | 'minTime' | 'maxTime'>;

/** The arrays in a buffer of `rowCount * BYTES_PER_ROW + byteCount` bytes. Those of 64 bits first, since they begin at multiples of 8. */
export function layChunk(buffer: ArrayBuffer, rowCount: number, byteCount: number): Arrays {
  return {
    times: new BigUint64Array(buffer, 0, rowCount),
    diffs: new BigInt64Array(buffer, rowCount * 8, rowCount),
    starts: new Uint32Array(buffer, rowCount * 16, rowCount),
    ends: new Uint32Array(buffer, rowCount * 20, rowCount),
    keyHashes: new Uint32Array(buffer, rowCount * 24, rowCount),
    bytes: new Uint8Array(buffer, rowCount * BYTES_PER_ROW, byteCount),
  };
}

/** The rows of all chunks in their order, copied. At least one chunk; together less than 4 GiB of text. */
export function joinChunks(chunks: readonly RowChunk[]): RowChunk {
  const rowCount = chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0);
  const byteCount = chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
  const joined = layChunk(new ArrayBuffer(rowCount * BYTES_PER_ROW + byteCount), rowCount, byteCount);
  let row = 0;
  let offset = 0;
  for (const chunk of chunks) {
    joined.times.set(chunk.times.subarray(0, chunk.rowCount), row);
    joined.diffs.set(chunk.diffs.subarray(0, chunk.rowCount), row);
    joined.keyHashes.set(chunk.keyHashes.subarray(0, chunk.rowCount), row);
    joined.bytes.set(chunk.bytes, offset);
    for (let index = 0; index < chunk.rowCount; index++) {
      joined.starts[row + index] = chunk.starts[index]! + offset;
      joined.ends[row + index] = chunk.ends[index]! + offset;
    }
    row += chunk.rowCount;
    offset += chunk.bytes.length;
  }
  return {
    ...joined, rowCount,
    minTime: chunks.reduce((least, { minTime }) => (minTime < least ? minTime : least), chunks[0]?.minTime ?? 0n),
    maxTime: chunks.reduce((greatest, { maxTime }) => (maxTime > greatest ? maxTime : greatest), 0n),
  };
}
