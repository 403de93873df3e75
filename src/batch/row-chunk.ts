/**
 * Rows as they came from SUBSCRIBE: the COPY text of the relation's columns, with time, diff and key hash
 * beside the bytes. No JavaScript object and no string per row exists until a worker decodes survivors.
 *
 * Row i occupies bytes[ends[i-1] ?? 0 .. ends[i]): the relation's columns joined by tabs, still COPY-escaped,
 * without the line's newline and without the SUBSCRIBE columns before them.
 */
export interface RowChunk {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
  readonly times: BigUint64Array;
  readonly diffs: BigInt64Array;
  /** 32-bit hash of the raw bytes of the key columns (the whole row where there is no key). */
  readonly keyHashes: Uint32Array;
  readonly rowCount: number;
  readonly minTime: bigint;
  readonly maxTime: bigint;
}

/** What holding the chunk costs: the budget counts all its buffers, not only the text. */
export function chunkBytes(chunk: RowChunk): number {
  return chunk.bytes.byteLength + chunk.ends.byteLength + chunk.times.byteLength + chunk.diffs.byteLength + chunk.keyHashes.byteLength;
}
