/**
 * SpillStore on local disk: one append-only file a partition, in a directory that belongs to this process alone.
 * Nothing here is durable state: after a crash the files are garbage, the table says where to resume.
 */
import { type FileHandle, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ChunkMemory, letGo } from '../batch/chunk-memory.ts';
import { BYTES_PER_ROW, joinChunks, layChunk } from '../batch/lay-chunk.ts';
import { type RowChunk, chunkBytes } from '../batch/row-chunk.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { SpillStore } from '../sink/ports.ts';
import { makeFolder } from './folder.ts';
import { systemCodeOf } from './system-code.ts';

const HEADER_BYTES = 32;

/**
 * `directory` is created when missing and its contents are removed by `removeAll`. Chunks that are let go return to `chunkMemory`
 * if they came from there.
 */
export function createSpillStore(directory: string, chunkMemory: ChunkMemory | null = null): SpillStore {
  const handles = new Map<string, FileHandle>();
  const pathOf = (partition: string): string => {
    if (!/^[a-z0-9-]+$/.test(partition)) throw new SinkError('invariant-broken', 'a spill partition has a name of its own form');
    return join(directory, `${partition}.spill`);
  };
  const handleOf = async (partition: string): Promise<FileHandle> => {
    const known = handles.get(partition);
    if (known !== undefined) return known;
    const handle = await openIn(directory, pathOf(partition));
    handles.set(partition, handle);
    return handle;
  };
  const remove = async (partition: string): Promise<void> => {
    const handle = handles.get(partition);
    if (handle === undefined) return;
    handles.delete(partition);
    await handle.close();
    await unlink(pathOf(partition)).catch(unlessMissing);
  };
  return {
    append: async (partition, chunk) => {
      try {
        const handle = await handleOf(partition);
        await writeFully(handle, encodeChunk(chunk));
      } catch (thrown) {
        throw asSinkError(thrown, 'spill-failed', `spilling ${chunk.rowCount} rows to ${directory}`);
      }
    },
    letGo: (chunk) => letGo(chunk, chunkMemory),
    read: (partition) => readChunks(handles.get(partition) ?? null),
    remove,
    removeAll: async () => {
      for (const partition of Array.from(handles.keys())) await remove(partition);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A large span makes thousands of files, so the folder is made only when it is missing: at first, or when someone swept it. */
async function openIn(directory: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'w+');
  } catch (thrown) {
    unlessMissing(thrown);
    await makeFolder(directory);
    return await open(path, 'w+');
  }
}

function unlessMissing(thrown: unknown): void {
  if (systemCodeOf(thrown) !== 'ENOENT') throw thrown;
}

/** One call for all buffers, since a call costs more than the bytes; short writes are rare and go on where they ended. */
async function writeFully(handle: FileHandle, buffers: readonly Uint8Array[]): Promise<void> {
  let rest = buffers.filter((buffer) => buffer.byteLength > 0);
  while (rest.length > 0) {
    let { bytesWritten } = await handle.writev(rest);
    if (bytesWritten === 0) throw new Error('the disk took no bytes');
    while (rest[0] !== undefined && bytesWritten >= rest[0].byteLength) {
      bytesWritten -= rest[0].byteLength;
      rest = rest.slice(1);
    }
    if (rest[0] !== undefined && bytesWritten > 0) rest = [rest[0].subarray(bytesWritten), ...rest.slice(1)];
  }
}

const bytesOf = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Behind the header the arrays in the order of `layChunk`, so that they are read as one. */
function encodeChunk(chunk: RowChunk): readonly Uint8Array[] {
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  header.setUint32(0, chunk.rowCount, true);
  header.setUint32(4, chunk.bytes.byteLength, true);
  header.setBigUint64(8, chunk.minTime, true);
  header.setBigUint64(16, chunk.maxTime, true);
  return [
    bytesOf(header), bytesOf(chunk.times.subarray(0, chunk.rowCount)), bytesOf(chunk.diffs.subarray(0, chunk.rowCount)),
    bytesOf(chunk.starts.subarray(0, chunk.rowCount)), bytesOf(chunk.ends.subarray(0, chunk.rowCount)),
    bytesOf(chunk.keyHashes.subarray(0, chunk.rowCount)), chunk.bytes,
  ];
}

/** Bytes read at once: a partition is made of many small chunks, and a read costs more than what it brings of one. */
const WINDOW_BYTES = 1024 * 1024;
/** Small chunks are joined up to here. Given one by one, a thousand of them keep the main thread for as long as a worker takes for the rows. */
const JOIN_BYTES = 1024 * 1024;

async function* readChunks(handle: FileHandle | null): AsyncIterable<RowChunk> {
  if (handle === null) return;
  let few: RowChunk[] = [];
  let bytes = 0;
  for await (const chunk of readWritten(handle)) {
    few.push(chunk);
    bytes += chunkBytes(chunk);
    if (bytes < JOIN_BYTES) continue;
    yield oneOf(few);
    few = [];
    bytes = 0;
  }
  if (few.length > 0) yield oneOf(few);
}

function oneOf(chunks: readonly RowChunk[]): RowChunk {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const joined = joinChunks(chunks);
  for (const chunk of chunks) letGo(chunk, null);
  return joined;
}

/** The chunks as they were appended. */
async function* readWritten(handle: FileHandle): AsyncIterable<RowChunk> {
  const { size } = await handle.stat();
  const read = windowedReads(handle, size);
  for (let left = size; left > 0;) {
    const header = new DataView((await read(HEADER_BYTES)).buffer);
    const rowCount = header.getUint32(0, true);
    const byteCount = header.getUint32(4, true);
    const length = rowCount * BYTES_PER_ROW + byteCount;
    yield {
      ...layChunk((await read(length)).buffer, rowCount, byteCount), rowCount,
      minTime: header.getBigUint64(8, true), maxTime: header.getBigUint64(16, true),
    };
    left -= HEADER_BYTES + length;
  }
}

/** Reads a file of `size` bytes from its beginning on: each call gives the next bytes, in a buffer of their own. */
function windowedReads(handle: FileHandle, size: number): (length: number) => Promise<Uint8Array<ArrayBuffer>> {
  const window = new Uint8Array(Math.min(size, WINDOW_BYTES));
  let from = 0;
  let to = 0;
  let position = 0;
  const readInto = async (target: Uint8Array, offset: number, length: number): Promise<number> => {
    const { bytesRead } = await handle.read(target, offset, length, position);
    if (bytesRead === 0) throw new SinkError('spill-failed', 'a spill file ended within a chunk');
    position += bytesRead;
    return bytesRead;
  };
  return async (length) => {
    const bytes = new Uint8Array(length);
    let filled = Math.min(length, to - from);
    bytes.set(window.subarray(from, from + filled));
    from += filled;
    while (filled < length) {
      const missing = length - filled;
      if (missing >= window.length) {
        filled += await readInto(bytes, filled, missing);
        continue;
      }
      to = await readInto(window, 0, window.length);
      from = Math.min(missing, to);
      bytes.set(window.subarray(0, from), filled);
      filled += from;
    }
    return bytes;
  };
}
