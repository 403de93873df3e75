import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import { type EncodePoolOptions, openEncodePool } from '../../../src/io/encode-pool.ts';
import type { EncodeSession, Encoder } from '../../../src/sink/ports.ts';
import { wholeFiles } from '../../doubles/whole-files.ts';
import { chunkOf, column, planOf } from './rows.ts';

const plan = planOf([column('id', 'bigint', false), column('name', 'text')], { keyColumns: [0] });

/** Sleeps as a busy thread would: nothing else happens on it. Says in `deletedKeys` which thread it is and in `dataRows` how many groups came. */
const SLOW_GROUP_MS = 400;
const ENTRY = new URL(`data:text/javascript,${encodeURIComponent(`
  import { parentPort, threadId } from 'node:worker_threads';
  const groups = new Map();
  parentPort.on('message', ({ kind, session, chunks }) => {
    if (kind === 'group') {
      groups.set(session, (groups.get(session) ?? 0) + 1);
      const bytes = chunks.reduce((sum, chunk) => sum + chunk.bytes.byteLength, 0);
      if (bytes > 1000) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${SLOW_GROUP_MS});
      parentPort.postMessage({ kind: 'group-done', session, lent: [] });
    } else if (kind === 'finish') {
      const summary = { dataRows: groups.get(session) ?? 0, deletedKeys: threadId, nulledValues: 0 };
      parentPort.postMessage({ kind: 'finished', session, summary, heapBytes: 0 });
    }
  });
`)}`);

const SMALL = 'x';
const LARGE = 'x'.repeat(2000);

function open(options: EncodePoolOptions = {}): Encoder & AsyncDisposable {
  const pool = openEncodePool({ workers: 1, bulkBytes: 1000, entry: ENTRY, ...options });
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.close() });
}

function begin(pool: Encoder): EncodeSession {
  return pool.open(plan, wholeFiles(() => {}));
}

async function write(session: EncodeSession, name: string): Promise<void> {
  await session.write({ chunks: [chunkOf([{ row: `1\t${name}` }])], consolidate: false });
}

/** One session from beginning to end; the thread it was on. */
async function threadOf(pool: Encoder, name: string): Promise<number> {
  const session = begin(pool);
  await write(session, name);
  return (await session.finish()).deletedKeys;
}

describe('GIVEN a pool of one worker', () => {
  test('WHEN a lone sink writes its snapshot and then small and large spans THEN all are on one thread', async () => {
    await using pool = open();
    const threads = [];
    for (const name of [LARGE, SMALL, LARGE, SMALL]) threads.push(await threadOf(pool, name));
    expect(new Set(threads).size).toBe(1);
  });

  test('WHEN it is told to start at once THEN the first session finds its thread there, large or small', async () => {
    for (const name of [SMALL, LARGE]) {
      await using early = open({ startNow: true });
      await using other = open();
      // Threads are numbered as they start.
      const later = await threadOf(other, SMALL);
      expect(await threadOf(early, name)).toBeLessThan(later);
    }
  });

  test('WHEN a session of many groups grows large alone THEN it stays on its thread', async () => {
    await using pool = open();
    const session = begin(pool);
    for (const name of [SMALL, LARGE, LARGE]) await write(session, name);
    expect(await session.finish()).toMatchObject({ dataRows: 3, deletedKeys: await threadOf(pool, SMALL) });
  });

  test('WHEN a bulk session keeps its thread busy THEN a small one is done long before', async () => {
    await using pool = open();
    const bulk = begin(pool);
    let isEnough = false;
    const writing = (async () => {
      while (!isEnough) await write(bulk, LARGE);
      return await bulk.finish();
    })();
    // The thread of the small one starts meanwhile, and that may take as long as a group.
    const small = await threadOf(pool, SMALL);
    const begunMs = performance.now();
    await threadOf(pool, SMALL);
    const tookMs = performance.now() - begunMs;
    isEnough = true;
    expect((await writing).deletedKeys).not.toBe(small);
    expect(tookMs).toBeLessThan(SLOW_GROUP_MS / 2);
  });

  test('WHEN two sessions are bulk THEN they share one thread and the other stays free for small ones', async () => {
    await using pool = open();
    const [first, second] = [begin(pool), begin(pool)];
    await Promise.all([write(first, LARGE), write(second, LARGE)]);
    const small = await threadOf(pool, SMALL);
    const [left, right] = await Promise.all([first.finish(), second.finish()]);
    expect(left.deletedKeys).toBe(right.deletedKeys);
    expect(small).not.toBe(left.deletedKeys);
  });

  test('WHEN small sinks met on a thread lately THEN it stays theirs and the bulk one starts another', async () => {
    await using pool = open();
    const [first, second] = [begin(pool), begin(pool)];
    await Promise.all([write(first, SMALL), write(second, SMALL)]);
    const [left, right] = await Promise.all([first.finish(), second.finish()]);
    expect(left.deletedKeys).toBe(right.deletedKeys);
    const bulk = await threadOf(pool, LARGE);
    expect(bulk).not.toBe(left.deletedKeys);
    expect(await threadOf(pool, SMALL)).toBe(left.deletedKeys);
  });

  test('WHEN a session grows large beside a small one THEN it goes on elsewhere and both end', async () => {
    await using pool = open();
    const [growing, small] = [begin(pool), begin(pool)];
    await Promise.all([write(growing, SMALL), write(small, SMALL)]);
    await write(growing, LARGE);
    const { dataRows, deletedKeys } = await growing.finish();
    const smallEnd = await small.finish();
    expect(dataRows).toBe(2);
    // Of two threads: the sum of their numbers.
    expect(deletedKeys).toBeGreaterThan(smallEnd.deletedKeys);
    expect(await threadOf(pool, SMALL)).toBe(smallEnd.deletedKeys);
  });
});

describe('GIVEN workers that end when they idled', () => {
  test('WHEN both idle THEN one ends, the last goes on, and the next bulk session starts a new one', async () => {
    await using pool = open({ idleEndMs: 100 });
    const both = async (): Promise<readonly number[]> => {
      const bulk = begin(pool);
      await write(bulk, LARGE);
      const small = await threadOf(pool, SMALL);
      return [(await bulk.finish()).deletedKeys, small];
    };
    const before = await both();
    expect(new Set(before).size).toBe(2);
    await sleep(400);
    const after = await both();
    expect(new Set(after).size).toBe(2);
    expect(new Set([...before, ...after]).size).toBe(3);
  });

  test('WHEN the only worker idles THEN it goes on, for the next commit should not wait for a start', async () => {
    await using pool = open({ idleEndMs: 20 });
    const before = await threadOf(pool, SMALL);
    await sleep(100);
    expect(await threadOf(pool, SMALL)).toBe(before);
  });

  test('WHEN a worker has a session that does nothing THEN it does not end under it', async () => {
    await using pool = open({ idleEndMs: 20 });
    const bulk = begin(pool);
    await write(bulk, LARGE);
    const small = begin(pool);
    await write(small, SMALL);
    await sleep(200);
    await write(bulk, SMALL);
    expect(await bulk.finish()).toMatchObject({ dataRows: 2 });
    expect(await small.finish()).toMatchObject({ dataRows: 1 });
  });
});
