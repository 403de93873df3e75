/** What goes to disk comes back: the same rows in the same order, whatever the sizes of their chunks beside the window that is read. */
import { mkdtempSync, rmSync, truncateSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type RowChunk, bytesOfChunks, chunkBytes, contiguousStarts } from '../../../src/batch/row-chunk.ts';
import { createSpillStore } from '../../../src/io/spill-store.ts';

const root = mkdtempSync(join(tmpdir(), 'mz-sink-spill-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function chunkOf(rows: number, rowBytes: number, seed: number): RowChunk {
  const ends = Uint32Array.from({ length: rows }, (_, row) => (row + 1) * rowBytes);
  return {
    rowCount: rows, bytes: Uint8Array.from({ length: rows * rowBytes }, (_, at) => (at * 31 + seed) & 0xff), starts: contiguousStarts(ends), ends,
    times: BigUint64Array.from({ length: rows }, (_, row) => BigInt(seed * 1000 + row)), diffs: BigInt64Array.from({ length: rows }, (_, row) => BigInt(row - 5)),
    keyHashes: Uint32Array.from({ length: rows }, (_, row) => row ^ seed), minTime: BigInt(seed * 1000), maxTime: BigInt(seed * 1000 + rows),
  };
}

async function readAll(chunks: AsyncIterable<RowChunk>): Promise<RowChunk[]> {
  const all: RowChunk[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

interface Row {
  readonly text: string;
  readonly time: bigint | undefined;
  readonly diff: bigint | undefined;
  readonly keyHash: number | undefined;
}

function rowsOf(chunks: readonly RowChunk[]): readonly Row[] {
  return chunks.flatMap(({ rowCount, bytes, starts, ends, times, diffs, keyHashes }) => Array.from({ length: rowCount }, (_, row) => ({
    text: Buffer.from(bytes.subarray(starts[row], ends[row])).toString('latin1'), time: times[row], diff: diffs[row], keyHash: keyHashes[row],
  })));
}

const MIB = 1024 * 1024;

test.each([
  ['many small ones', Array.from({ length: 3_000 }, (_, seed) => chunkOf(1 + seed % 200, seed % 60, seed))],
  ['one larger than the window', [chunkOf(3, 1_000_000, 1)]],
  ['large ones between small ones', [chunkOf(2, 5, 1), chunkOf(2, 700_000, 2), chunkOf(1, 0, 3), chunkOf(40_000, 40, 4), chunkOf(7, 9, 5)]],
])('GIVEN a partition of %s WHEN it is read THEN it holds the rows that were written, in order, in few chunks of a buffer each', async (name, chunks) => {
  const store = createSpillStore(join(root, name.replaceAll(' ', '-')));
  for (const chunk of chunks) await store.append('p', chunk);
  const read = await readAll(store.read('p'));
  expect(rowsOf(read)).toEqual(rowsOf(chunks));
  const sizes = read.map(chunkBytes);
  expect(sizes.slice(0, -1).every((size) => size >= MIB)).toBe(true);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(bytesOfChunks(chunks));
  for (const { minTime, maxTime, rowCount, times } of read) {
    expect(Array.from(times).every((time) => minTime <= time && time <= maxTime)).toBe(true);
    expect(times.length).toBe(rowCount);
  }
  await store.removeAll();
});

test('GIVEN chunks that are views of a larger buffer WHEN they are spilled THEN only their rows are written', async () => {
  const store = createSpillStore(join(root, 'views'));
  const whole = chunkOf(100, 10, 1);
  const view: RowChunk = { ...whole, bytes: whole.bytes.subarray(0, 30), starts: whole.starts.subarray(0, 3), ends: whole.ends.subarray(0, 3), times: whole.times.subarray(0, 3), diffs: whole.diffs.subarray(0, 3), keyHashes: whole.keyHashes.subarray(0, 3), rowCount: 3 };
  await store.append('p', view);
  expect(statSync(join(root, 'views', 'p.spill')).size).toBe(32 + 3 * 28 + 30);
  expect((await readAll(store.read('p')))[0]?.bytes).toEqual(whole.bytes.slice(0, 30));
  await store.removeAll();
});

test('GIVEN a spill file that lost its end WHEN it is read THEN that is named and nothing of it comes out', async () => {
  const store = createSpillStore(join(root, 'cut'));
  await store.append('p', chunkOf(10, 10, 1));
  await store.append('p', chunkOf(10, 10, 2));
  const [file] = readdirSync(join(root, 'cut'));
  truncateSync(join(root, 'cut', file ?? ''), 32 + 10 * 38 + 50);
  const read: RowChunk[] = [];
  const reading = (async () => {
    for await (const chunk of store.read('p')) read.push(chunk);
  })();
  await expect(reading).rejects.toMatchObject({ code: 'spill-failed' });
  expect(read).toHaveLength(0);
  await store.removeAll();
});

test('GIVEN a folder that someone swept WHEN rows are spilled further THEN it is made anew, and what was open is read to its end', async () => {
  const directory = join(root, 'swept');
  const store = createSpillStore(directory);
  await store.append('old', chunkOf(2, 5, 1));
  rmSync(directory, { recursive: true });
  await Promise.all(['new-1', 'new-2'].map((partition) => store.append(partition, chunkOf(3, 5, 2))));
  expect(await readAll(store.read('old'))).toEqual([chunkOf(2, 5, 1)]);
  expect(await readAll(store.read('new-2'))).toEqual([chunkOf(3, 5, 2)]);
  expect(readdirSync(directory).toSorted()).toEqual(['new-1.spill', 'new-2.spill']);
  for (const partition of ['old', 'new-1', 'new-2', 'never-written']) await store.remove(partition);
  expect(readdirSync(directory)).toEqual([]);
  await store.removeAll();
});
