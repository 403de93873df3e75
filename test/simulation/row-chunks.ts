/** Rows as chunks, for seeds that leave the bytes of the wire out. */
import { type RowChunk, chunkBuffers, contiguousStarts } from '../../src/batch/row-chunk.ts';
import { type Change, keyOf } from './history.ts';
import { hashText } from './random.ts';

const encoder = new TextEncoder();

/** `hashMask` cuts the key hashes down, so that different keys have equal ones. */
export function chunkOf(changes: readonly Change[], hashMask: number, wholeRowIsKey: boolean): RowChunk {
  const rowCount = changes.length;
  const texts = changes.map((change) => encoder.encode(change.row));
  const bytes = new Uint8Array(texts.reduce((sum, text) => sum + text.length, 0));
  const ends = new Uint32Array(rowCount);
  const times = new BigUint64Array(rowCount);
  const diffs = new BigInt64Array(rowCount);
  const keyHashes = new Uint32Array(rowCount);
  let minTime = changes[0]?.time ?? 0n;
  let maxTime = minTime;
  let end = 0;
  for (const [index, change] of changes.entries()) {
    const text = texts[index] ?? new Uint8Array(0);
    bytes.set(text, end);
    end += text.length;
    ends[index] = end;
    times[index] = change.time;
    diffs[index] = BigInt(change.diff);
    keyHashes[index] = hashText(wholeRowIsKey ? change.row : keyOf(change.row)) & hashMask;
    if (change.time < minTime) minTime = change.time;
    if (change.time > maxTime) maxTime = change.time;
  }
  return { bytes, starts: contiguousStarts(ends), ends, times, diffs, keyHashes, rowCount, minTime, maxTime };
}

/** Of a row besides its text: where it starts and ends, time, diff and hash. */
const ROW_OVERHEAD_BYTES = 28;

/**
 * What the rows of a chunk take, wherever they are: the same before and after chunks are divided, unlike `chunkBytes`,
 * which counts what lies between the rows of a network read as well.
 */
export function bytesOfRows({ starts, ends, rowCount }: RowChunk): number {
  let bytes = rowCount * ROW_OVERHEAD_BYTES;
  for (let row = 0; row < rowCount; row++) bytes += (ends[row] ?? 0) - (starts[row] ?? 0);
  return bytes;
}

export function bytesOfRow({ starts, ends }: RowChunk, row: number): number {
  return ROW_OVERHEAD_BYTES + (ends[row] ?? 0) - (starts[row] ?? 0);
}

export function copyOfChunk(chunk: RowChunk): RowChunk {
  return {
    ...chunk,
    bytes: chunk.bytes.slice(), starts: chunk.starts.slice(), ends: chunk.ends.slice(), times: chunk.times.slice(), diffs: chunk.diffs.slice(),
    keyHashes: chunk.keyHashes.slice(),
  };
}

/** Takes the memory away, as handing it to a worker thread does: whoever still looks finds nothing. */
export function detach(chunk: RowChunk): void {
  for (const buffer of chunkBuffers(chunk)) if (!buffer.detached) buffer.transfer(0);
}

export function rowText(chunk: RowChunk, row: number): string {
  return decoder.decode(chunk.bytes.subarray(chunk.starts[row], chunk.ends[row]));
}

const decoder = new TextDecoder();
