/**
 * Rows as they came from SUBSCRIBE: the COPY text of the relation's columns, with time, diff and key hash
 * beside the bytes. No JavaScript object and no string per row exists until a worker decodes survivors.
 *
 * Row i occupies bytes[starts[i] .. ends[i]): the relation's columns joined by tabs, still COPY-escaped, without the
 * line's newline and without the SUBSCRIBE columns before them. What lies between two rows means nothing: a chunk that
 * comes from the wire holds it as it was received, since one copy of many rows costs less than one of each.
 */
export interface RowChunk {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly times: BigUint64Array;
  readonly diffs: BigInt64Array;
  /** 32-bit hash of the raw bytes of the key columns; 0 where there is no key. */
  readonly keyHashes: Uint32Array;
  readonly rowCount: number;
  readonly minTime: bigint;
  readonly maxTime: bigint;
}

/** Whether all arrays lie in one buffer. Then it is this chunk's alone: nobody makes two chunks of one buffer. */
export function isOfOneBuffer({ bytes, times }: RowChunk): boolean {
  return bytes.buffer === times.buffer;
}

/** What holding the chunk costs: the budget counts all its buffers, and the whole of one that holds all its arrays. */
export function chunkBytes(chunk: RowChunk): number {
  const { bytes, starts, ends, times, diffs, keyHashes } = chunk;
  if (isOfOneBuffer(chunk)) return bytes.buffer.byteLength;
  return bytes.byteLength + starts.byteLength + ends.byteLength + times.byteLength + diffs.byteLength + keyHashes.byteLength;
}

export function bytesOfChunks(chunks: readonly RowChunk[]): number {
  return chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0);
}

/** The buffers behind a chunk, each once: one that is shared, or one for each array. */
export function chunkBuffers({ bytes, starts, ends, times, diffs, keyHashes }: RowChunk): ReadonlySet<ArrayBuffer> {
  const buffers = new Set<ArrayBuffer>();
  for (const { buffer } of [bytes, starts, ends, times, diffs, keyHashes]) if (buffer instanceof ArrayBuffer) buffers.add(buffer);
  return buffers;
}

/** The starts of rows that stand one behind the other from 0 on. */
export function contiguousStarts(ends: Uint32Array): Uint32Array {
  const starts = new Uint32Array(ends.length);
  if (ends.length > 1) starts.set(ends.subarray(0, -1), 1);
  return starts;
}
