import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import { openEncodePool } from '../../../src/io/encode-pool.ts';
import type { EncodedFile } from '../../../src/sink/ports.ts';
import { type Judge, openJudge } from './duckdb.ts';
import { wholeFiles } from '../../doubles/whole-files.ts';
import { chunkOf, column, planOf } from './rows.ts';

const columns = [column('id', 'bigint', false), column('name', 'text')];
const plan = planOf(columns, { keyColumns: [0] });
const hashOf = (row: string): number => Math.imul(Number(row.split('\t')[0]), 0x9e37_79b1) >>> 0;

function inserts(from: number, to: number): RowChunk {
  return chunkOf(Array.from({ length: to - from }, (_, index) => ({ row: `${from + index}\tname ${from + index}` })), hashOf);
}

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

async function ids(files: readonly EncodedFile[]): Promise<readonly number[]> {
  const all: number[] = [];
  for (const { bytes } of files) {
    const rows = await judge.rows(bytes, 'select id from read_parquet($file)');
    for (const row of rows) all.push(Number(row['id']));
  }
  return all.toSorted((left, right) => left - right);
}

describe('GIVEN a pool of two workers', () => {
  test('WHEN a small span is encoded THEN it is one data file and one delete file, and the rows are right', async () => {
    await using pool = disposable(openEncodePool({ workers: 2 }));
    const files: EncodedFile[] = [];
    const session = pool.open(plan, wholeFiles((file) => { files.push(file); }));
    await session.write({ chunks: [inserts(0, 10)], consolidate: true });
    await session.write({ chunks: [chunkOf([{ row: '77\told', diff: -1n }, { row: '77\tnew' }], hashOf)], consolidate: true });
    const summary = await session.finish();
    expect(summary).toEqual({ dataRows: 11, deletedKeys: 1, nulledValues: 0 });
    expect(files.map(({ file }) => file.content).toSorted()).toEqual(['data', 'equality-deletes']);
    expect(await ids(files.filter(({ file }) => file.content === 'data'))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 77]);
  });

  test('WHEN a consolidated group is large THEN both workers share it by key and no key is lost or doubled', async () => {
    await using pool = disposable(openEncodePool({ workers: 2, spreadBytes: 1000 }));
    const files: EncodedFile[] = [];
    const session = pool.open(plan, wholeFiles((file) => { files.push(file); }));
    await session.write({ chunks: [inserts(0, 500), inserts(500, 1000)], consolidate: true });
    await session.finish();
    expect(files).toHaveLength(2);
    expect(await ids(files)).toEqual(Array.from({ length: 1000 }, (_, index) => index));
  });

  test('WHEN chunks are views of one larger buffer THEN the buffer stays usable for its other owner', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const chunk = inserts(0, 3);
    const slab = new Uint8Array(1000);
    slab.set(chunk.bytes, 100);
    const session = pool.open(plan, wholeFiles(() => {}));
    await session.write({ chunks: [{ ...chunk, bytes: slab.subarray(100, 100 + chunk.bytes.length) }], consolidate: true });
    expect(await session.finish()).toMatchObject({ dataRows: 3 });
    expect(slab.byteLength).toBe(1000);
  });

  test('WHEN a row cannot be represented THEN the error keeps its code across the thread', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const numeric = planOf([column('id', 'bigint', false), column('n', 'numeric')], { keyColumns: [0] });
    const session = pool.open(numeric, wholeFiles(() => {}));
    const failing = (async () => {
      await session.write({ chunks: [chunkOf([{ row: '1\tNaN' }])], consolidate: true });
      await session.finish();
    })();
    await expect(failing).rejects.toMatchObject({ name: 'SinkError', code: 'row-not-representable', message: expect.stringContaining('"n"') as string });
    const next = pool.open(numeric, wholeFiles(() => {}));
    await next.write({ chunks: [chunkOf([{ row: '1\t1.5' }])], consolidate: true });
    expect(await next.finish()).toMatchObject({ dataRows: 1 });
  });

  test('WHEN the snapshot retracts a row THEN the session fails with its own code', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const session = pool.open(plan, wholeFiles(() => {}));
    const failing = (async () => {
      await session.write({ chunks: [chunkOf([{ row: '1\ta', diff: -1n }])], consolidate: false });
      await session.finish();
    })();
    await expect(failing).rejects.toMatchObject({ code: 'snapshot-not-insert-only' });
  });

  test('WHEN taking a file over fails THEN the session fails with that error', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const session = pool.open(plan, wholeFiles(() => Promise.reject(new Error('upload refused'))));
    await session.write({ chunks: [inserts(0, 3)], consolidate: true });
    await expect(session.finish()).rejects.toMatchObject({ code: 'encode-failed', message: expect.stringContaining('upload refused') as string });
  });

  test('WHEN files are taken slowly THEN no more than two are out at once', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const tiny = planOf(columns, { keyColumns: [0], targetFileSizeBytes: 200 });
    let open = 0;
    let most = 0;
    let taken = 0;
    const session = pool.open(tiny, wholeFiles(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => { setTimeout(resolve, 5); });
      open -= 1;
      taken += 1;
    }));
    const chunks = Array.from({ length: 10 }, (_, index) => inserts(index * 40, index * 40 + 40));
    await session.write({ chunks, consolidate: true });
    await session.finish();
    // The last ones are given out and may still be on their way.
    expect(taken).toBeGreaterThan(4);
    expect(most).toBeLessThanOrEqual(2);
  });

  test('WHEN files are larger than a part THEN they leave in parts, few at a time, and hold every row', async () => {
    await using pool = disposable(openEncodePool({ workers: 2, spreadBytes: 1 }));
    const sizes: number[] = [];
    let open = 0;
    let most = 0;
    const whole = wholeFiles((file) => { files.push(file); });
    const files: EncodedFile[] = [];
    const session = pool.open(plan, {
      takeFile: (file) => whole.takeFile(file),
      takePart: async (part) => {
        sizes.push(part.bytes.length);
        open += 1;
        most = Math.max(most, open);
        await whole.takePart(part);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
        open -= 1;
      },
    });
    const random = (row: number): string => createHash('sha512').update(String(row)).digest('base64');
    for (let from = 0; from < 240_000; from += 20_000) {
      const chunk = chunkOf(Array.from({ length: 20_000 }, (_, at) => ({ row: `${from + at}\t${random(from + at)}${random(-from - at)}` })), hashOf);
      await session.write({ chunks: [chunk], consolidate: false });
    }
    await session.finish();
    expect(sizes.length).toBeGreaterThanOrEqual(2);
    expect(new Set(sizes)).toEqual(new Set([8 * 1024 * 1024]));
    expect(most).toBeLessThanOrEqual(8);
    expect(files).toHaveLength(2);
    for (const file of files) expect(BigInt(file.bytes.length)).toBe(file.file.fileSizeBytes);
    expect(await ids(files)).toEqual(Array.from({ length: 240_000 }, (_, id) => id));
  });

  test('WHEN a session is aborted THEN no file comes any more and the pool serves the next', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    let late = 0;
    const session = pool.open(plan, wholeFiles(() => { late += 1; }));
    await session.write({ chunks: [inserts(0, 50)], consolidate: true });
    session.abort();
    session.abort();
    await expect(session.finish()).rejects.toMatchObject({ code: 'encode-failed' });
    const next = pool.open(plan, wholeFiles(() => {}));
    await next.write({ chunks: [inserts(0, 5)], consolidate: true });
    expect(await next.finish()).toMatchObject({ dataRows: 5 });
    expect(late).toBe(0);
  });

  test('WHEN the plan is impossible THEN the session fails with the broken invariant and the pool lives on', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    const session = pool.open({ ...plan, columns: [] }, wholeFiles(() => {}));
    const failing = session.write({ chunks: [inserts(0, 3)], consolidate: true }).then(() => session.finish());
    await expect(failing).rejects.toMatchObject({ name: 'SinkError', code: 'invariant-broken' });
    const next = pool.open(plan, wholeFiles(() => {}));
    await next.write({ chunks: [inserts(0, 5)], consolidate: true });
    expect(await next.finish()).toMatchObject({ dataRows: 5 });
  });

  test('WHEN a worker dies THEN its session fails, and so does the next one that meets a dying worker', async () => {
    const entry = new URL(`data:text/javascript,${encodeURIComponent(
      "import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { throw new Error('boom'); });",
    )}`);
    await using pool = disposable(openEncodePool({ workers: 1, entry }));
    for (let round = 0; round < 2; round++) {
      const session = pool.open(plan, wholeFiles(() => {}));
      const failing = session.write({ chunks: [inserts(0, 3)], consolidate: true }).then(() => session.finish());
      await expect(failing).rejects.toMatchObject({ code: 'encode-failed', message: expect.stringContaining('boom') as string });
    }
  });

  test('WHEN a session ends with more wasm memory than allowed THEN the worker is replaced and work goes on', async () => {
    await using pool = disposable(openEncodePool({ workers: 1, recycleHeapBytes: 0 }));
    for (let round = 0; round < 3; round++) {
      const session = pool.open(plan, wholeFiles(() => {}));
      await session.write({ chunks: [inserts(0, 5)], consolidate: true });
      expect(await session.finish()).toMatchObject({ dataRows: 5 });
    }
  });

  test('WHEN nothing was written THEN the span has no file', async () => {
    await using pool = disposable(openEncodePool({ workers: 1 }));
    expect(await pool.open(plan, wholeFiles(() => {})).finish()).toEqual({ dataRows: 0, deletedKeys: 0, nulledValues: 0 });
  });
});

function disposable<T extends { close(): Promise<void> }>(thing: T): T & AsyncDisposable {
  return Object.assign(thing, { [Symbol.asyncDispose]: () => thing.close() });
}
