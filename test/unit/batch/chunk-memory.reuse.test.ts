/** Memory that goes round: what may be written again, and when. */
import { expect, test } from 'vitest';
import { createChunkMemory } from '../../../src/batch/chunk-memory.ts';
import { type RowChunk, chunkBytes, isOfOneBuffer } from '../../../src/batch/row-chunk.ts';
import { createRowReader } from '../../../src/subscribe/row-reader.ts';

const textOf = ({ bytes, starts, ends }: RowChunk, row: number): string => Buffer.from(bytes.subarray(starts[row], ends[row])).toString();

function readerWith({ bytes, rows } = { bytes: 64, rows: 4 }) {
  const memory = createChunkMemory(1 << 20);
  const chunks: RowChunk[] = [];
  const reader = createRowReader({ columnCount: 1, keyColumns: [0] }, { rows: (chunk) => chunks.push(chunk), progress() {} }, { bytes, rows, memory });
  const feed = (text: string): void => {
    reader.take(Buffer.from(text), 0, text.length);
    reader.release();
  };
  return { chunks, feed, memory, reader };
}

test('GIVEN memory of a size WHEN it was given back THEN that size is handed out again, and no other', () => {
  const memory = createChunkMemory(1000);
  const first = memory.take(100);
  expect(memory.isLent(first)).toBe(true);
  const moved = structuredClone(first, { transfer: [first] });
  expect(memory.isLent(moved)).toBe(false);
  memory.giveBack(moved);
  expect(memory.take(200)).not.toBe(moved);
  expect(memory.take(100)).toBe(moved);
  expect(memory.isLent(moved)).toBe(true);
  expect(memory.take(100)).not.toBe(moved);
});

test('GIVEN more memory than may lie unused WHEN it comes back THEN it is let go', () => {
  const memory = createChunkMemory(250);
  const buffers = [new ArrayBuffer(100), new ArrayBuffer(100), new ArrayBuffer(100)];
  for (const buffer of buffers) memory.giveBack(buffer);
  const taken = [memory.take(100), memory.take(100), memory.take(100)];
  expect(taken.filter((buffer) => buffers.includes(buffer))).toHaveLength(2);
});

test('GIVEN memory full of a size WHEN others are asked for instead for long THEN they take its place, and not before', () => {
  const memory = createChunkMemory(250);
  memory.giveBack(new ArrayBuffer(200));
  const other = new ArrayBuffer(100);
  for (let take = 0; take < 900; take++) memory.take(100);
  memory.giveBack(other);
  expect(memory.take(100)).not.toBe(other);
  for (let take = 0; take < 200; take++) memory.take(100);
  memory.giveBack(other);
  expect(memory.take(100)).toBe(other);
});

test('GIVEN long rows and short ones in turn WHEN chunks come THEN none holds much more than its rows, and short rows make no crumbs', () => {
  const { chunks, feed } = readerWith({ bytes: 1 << 14, rows: 256 });
  for (let turn = 0; turn < 20; turn++) {
    for (let row = 0; row < 16; row++) feed(`1\tf\t1\t${'x'.repeat(2_000)}\n`);
    for (let row = 0; row < 2_000; row++) feed(`1\tf\t1\t${row}\n`);
  }
  expect(chunks.reduce((sum, { rowCount }) => sum + rowCount, 0)).toBeGreaterThan(20 * 2_000);
  for (const chunk of chunks) expect(chunkBytes(chunk)).toBeLessThanOrEqual(3 * (chunk.bytes.length + 28 * chunk.rowCount));
  // Eight or so of 256 short rows and two of long ones a turn.
  expect(chunks.length).toBeLessThan(20 * 14);
});

test('GIVEN a row longer than a chunk WHEN others follow THEN their chunks are of one buffer again, and go round', () => {
  const { chunks, feed, memory } = readerWith();
  feed(`1\tf\t1\t${'x'.repeat(500)}\n`);
  for (let row = 0; row < 40; row++) feed(`1\tf\t1\trow ${row}\n`);
  expect(chunks.slice(2, -1).every((chunk) => isOfOneBuffer(chunk) && memory.isLent(chunk.bytes.buffer))).toBe(true);
  expect(chunks.length).toBeGreaterThan(8);
});

test('GIVEN rows so long that few of them fill a chunk WHEN chunks follow THEN they have room for about so many', () => {
  const limits = { bytes: 1 << 14, rows: 1024 };
  const { chunks, feed } = readerWith(limits);
  for (let row = 0; row < 500; row++) feed(`1\tf\t1\t${'x'.repeat(100)}\n`);
  for (let row = 0; row < 5000; row++) feed(`1\tf\t1\t${row}\n`);
  feed('2\tt\t\\N\t\\N\n');
  const roomOf = ({ bytes }: RowChunk): number => (bytes.buffer.byteLength - limits.bytes) / 28;
  // 153 rows of 107 bytes fill the 16 KiB; a chunk is sized by the one before it.
  expect(roomOf(chunks[0]!)).toBe(1024);
  expect(roomOf(chunks[1]!)).toBe(256);
  expect(chunks[1]!.rowCount).toBe(153);
  expect(roomOf(chunks.at(-2)!)).toBe(1024);
  expect(chunks.at(-2)!.rowCount).toBe(1024);
});

test('GIVEN chunks that fill their memory WHEN later rows come THEN no chunk handed out changes', () => {
  const { chunks, feed } = readerWith();
  for (let row = 0; row < 40; row++) feed(`1\tf\t1\trow ${row}\n`);
  feed('2\tt\t\\N\t\\N\n');
  const texts = chunks.flatMap((chunk) => Array.from({ length: chunk.rowCount }, (_, row) => textOf(chunk, row)));
  expect(texts).toEqual(Array.from({ length: 40 }, (_, row) => `row ${row}`));
  expect(new Set(chunks.map((chunk) => chunk.bytes.buffer)).size).toBe(chunks.length);
});

test('GIVEN a chunk whose memory came back WHEN it is filled again THEN whoever kept the old chunk sees nothing of it', () => {
  const { chunks, feed, memory } = readerWith();
  for (let row = 0; row < 4; row++) feed(`1\tf\t1\tfirst ${row}\n`);
  feed('2\tt\t\\N\t\\N\n');
  const [first] = chunks;
  if (first === undefined || !memory.isLent(first.bytes.buffer)) throw new Error('a full chunk has lent memory');
  memory.giveBack(structuredClone(first.bytes.buffer, { transfer: [first.bytes.buffer] }));
  for (let row = 0; row < 40; row++) feed(`3\tf\t1\tlater ${row}\n`);
  expect(first.bytes.length).toBe(0);
});

test('GIVEN a chunk with few rows WHEN it is handed out THEN it has memory of their size', () => {
  const { chunks, feed, memory } = readerWith();
  feed('1\tf\t1\ta\n');
  feed('2\tt\t\\N\t\\N\n');
  expect(chunks[0]?.bytes.buffer.byteLength).toBe('1\tf\t1\ta\n'.length);
  expect(memory.isLent(chunks[0]!.bytes.buffer)).toBe(false);
});
