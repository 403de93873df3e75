/** Machine and driver together on a world in memory: spans, resume, lost answers, draining, stopping. */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { runSink } from '../../../src/sink/driver.ts';
import { type MemoryWorld, memoryWorld, settled } from '../../doubles/memory-world.ts';
import { LIMITS, TINY, insert, remove, settings, started } from '../../doubles/started-sink.ts';
import { readTable } from '../../doubles/read-json-table.ts';

const frontiers = (world: MemoryWorld): string[] => world.catalog.table().metadata.snapshots.map((s) => s.summary['mz-frontier'] ?? '-');

describe('GIVEN a fresh table', () => {
  test('THEN the snapshot is committed by itself, just after its as of', async () => {
    const { world } = await started();
    expect(await readTable(world)).toEqual(['1\ta', '2\tb']);
    expect(frontiers(world)).toEqual(['[1001]']);
    expect(world.source.requests[0]).toMatchObject({ asOf: null, snapshot: true, keyColumns: [0] });
  });

  test('WHEN the progress is still at the as of THEN nothing is committed, its rows may be incomplete', async () => {
    const world = memoryWorld();
    runSink(settings(), world.ports, LIMITS);
    await settled();
    world.source.progress(1_000n);
    world.source.rows(insert('1\ta', 1_000n));
    await settled();
    expect(world.catalog.commits).toBe(0);
  });

  test('WHEN later rows come before the snapshot is closed THEN they wait for a span of their own', async () => {
    const world = memoryWorld();
    runSink(settings(), world.ports, LIMITS);
    await settled();
    world.source.progress(1_000n);
    world.source.rows(insert('1\ta', 1_000n), remove('1\ta', 1_500n), insert('1\tz', 1_500n));
    world.source.progress(5_000n);
    await settled();
    expect(frontiers(world)).toEqual(['[1001]', '[5000]']);
    const [first] = world.catalog.table().metadata.snapshots;
    expect(await readTable(world, first?.snapshotId)).toEqual(['1\ta']);
    expect(await readTable(world)).toEqual(['1\tz']);
  });

  test('WHEN the snapshot holds a retraction THEN it is read again and consolidated instead of streamed', async () => {
    const world = memoryWorld();
    const sink = runSink(settings(), world.ports, LIMITS);
    await settled();
    for (let attempt = 0; attempt < 2; attempt++) {
      world.source.progress(1_000n);
      world.source.rows(insert('1\ta', 1_000n), remove('1\ta', 1_000n), insert('1\tb', 1_000n));
      await settled();
      world.source.progress(1_001n);
      await world.clock.advance(1_000);
    }
    expect(sink.state().phase).toBe('running');
    expect(await readTable(world)).toEqual(['1\tb']);
  });

  test('WHEN the input is finite THEN its end is recorded and a restart adds nothing', async () => {
    const world = memoryWorld();
    const sink = runSink(settings(), world.ports, LIMITS);
    await settled();
    world.source.progress(1_000n);
    world.source.rows(insert('1\ta', 1_000n));
    world.source.play({ kind: 'closed' });
    expect(await sink.done).toMatchObject({ reason: 'complete' });
    expect(frontiers(world)).toEqual(['[]']);
    const again = memoryWorld(world);
    expect(await runSink(settings(), again.ports, LIMITS).done).toMatchObject({ reason: 'complete' });
    expect(world.catalog.commits).toBe(1);
  });
});

describe('GIVEN a running upsert sink', () => {
  test('WHEN a key is updated, deleted, inserted and changed back THEN each snapshot is the relation at its frontier', async () => {
    const { world } = await started();
    world.source.rows(remove('1\ta', 1_500n), insert('1\taa', 1_500n), insert('3\tc', 1_600n), remove('2\tb', 1_700n));
    world.source.progress(2_001n);
    await settled();
    expect(await readTable(world)).toEqual(['1\taa', '3\tc']);
    world.source.rows(remove('3\tc', 2_500n), insert('3\tx', 2_500n), remove('3\tx', 2_600n), insert('3\tc', 2_600n), insert('2\tb', 2_700n));
    world.source.progress(3_001n);
    await settled();
    expect(await readTable(world)).toEqual(['1\taa', '2\tb', '3\tc']);
    expect(world.catalog.table().metadata.snapshots.at(-1)?.summary).toMatchObject({ 'operation': 'append', 'added-records': '1' });
  });

  test('WHEN the interval has not passed in source time THEN rows wait, however long it takes', async () => {
    const { world } = await started();
    world.source.rows(insert('9\tz', 1_500n));
    world.source.progress(2_000n);
    await world.clock.advance(60_000);
    expect(world.catalog.commits).toBe(1);
    world.source.progress(2_001n);
    await settled();
    expect(world.catalog.commits).toBe(2);
  });

  test('WHEN commits are slow THEN the next span is wider instead of a queue growing', async () => {
    const { world } = await started();
    world.catalog.onCommit.push('lost-before');
    world.source.rows(insert('3\tc', 1_100n));
    world.source.progress(3_000n);
    await settled();
    for (let time = 4_000n; time <= 20_000n; time += 1_000n) {
      world.source.rows(insert(`${time}\tx`, time - 500n));
      world.source.progress(time);
      await settled();
    }
    await world.clock.advance(60_000);
    // One committing, one written, and the rest of the way in a single span.
    expect(frontiers(world)).toEqual(['[1001]', '[3000]', '[4000]', '[20000]']);
    expect(await readTable(world)).toHaveLength(2 + 1 + 17);
  });

  test('WHEN nothing changes THEN a heartbeat keeps the frontier fresh, no more often than asked', async () => {
    const { world } = await started();
    for (let second = 1; second <= 700; second++) {
      world.source.progress(1_001n + BigInt(second) * 1_000n);
      await world.clock.advance(1_000);
    }
    expect(world.catalog.commits).toBe(1 + 2);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb']);
  }, 30_000);

  test('WHEN rows exceed the memory budget by far THEN they go through the spill and none is lost', async () => {
    const { world } = await started({}, TINY);
    const rows = Array.from({ length: 500 }, (_, i) => insert(`${i + 10}\tv${i}`, 1_500n));
    for (const row of rows) world.source.rows(row);
    for (let i = 0; i < 250; i++) world.source.rows(remove(`${i + 10}\tv${i}`, 1_600n), insert(`${i + 10}\tw${i}`, 1_600n));
    world.source.rows(insert('later\tx', 9_000n));
    world.source.progress(5_000n);
    await world.clock.advance(100);
    const table = await readTable(world);
    expect(table).toHaveLength(502);
    expect(table.filter((row) => row.includes('\tw'))).toHaveLength(250);
    expect(world.source.pauses).toBeGreaterThan(0);
    expect(world.source.resumes).toBe(world.source.pauses);
    world.source.progress(10_000n);
    await world.clock.advance(100);
    expect(await readTable(world)).toContain('later\tx');
  });
});

describe('GIVEN an answer that does not come', () => {
  test('WHEN the commit was applied THEN it is found in the table and not sent again', async () => {
    const { world } = await started();
    world.catalog.onCommit.push('lost-after');
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(1_000);
    expect(world.catalog.commits).toBe(2);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
    expect(world.log.find((line) => line.event === 'committed' && line.fields['how'] === 'found')).toBeDefined();
  });

  test('WHEN loading fails afterwards too THEN there is no step forward until the table is seen', async () => {
    const { world } = await started();
    world.catalog.onCommit.push('lost-after');
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    world.catalog.onLoad.push();
    await settled();
    world.catalog.onLoad.push(new SinkError('catalog-unreachable', 'planned'), new SinkError('catalog-unreachable', 'planned'));
    await world.clock.advance(60_000);
    expect(world.catalog.commits).toBe(2);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN it was a conflict, reset or refusal for the moment THEN files are written once and the list anew', async () => {
    const { world } = await started();
    world.catalog.onCommit.push('conflict', 'lost-before', 'conflict');
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(60_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
    expect([...world.store.objects.keys()].filter((path) => path.includes('-00001-data-'))).toHaveLength(1);
    expect([...world.store.objects.keys()].filter((path) => /snap-.*-00001\.avro$/.test(path))).toHaveLength(4);
  });
});

describe('GIVEN a source that ends early', () => {
  test('THEN the sink resumes below its frontier without a snapshot, and loses and doubles nothing', async () => {
    const { world } = await started();
    world.source.rows(insert('3\tc', 1_500n));
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'reset') });
    await world.clock.advance(10_000);
    expect(world.source.requests.at(-1)).toMatchObject({ asOf: 1_000n, snapshot: false });
    world.source.progress(1_000n);
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(1_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN a sealed batch is on its way THEN it is finished before the restart', async () => {
    const { world } = await started();
    world.catalog.onCommit.push('lost-before');
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await settled();
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'reset') });
    await world.clock.advance(30_000);
    expect(frontiers(world)).toEqual(['[1001]', '[3000]']);
    expect(world.source.requests.at(-1)).toMatchObject({ asOf: 2_999n, snapshot: false });
  });

  test('WHEN one read of the socket brings both a progress and the end THEN the sealed batch has its rows', async () => {
    const { world } = await started();
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'reset') });
    await world.clock.advance(30_000);
    expect(frontiers(world)).toEqual(['[1001]', '[3000]']);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN history is compacted THEN it halts with that name instead of trying for ever', async () => {
    const { world, sink } = await started();
    world.source.play({ kind: 'failed', error: new SinkError('history-compacted', 'planned') });
    expect(await sink.done).toMatchObject({ reason: 'halted', error: { code: 'history-compacted' } });
    await world.clock.advance(1_000_000);
    expect(world.source.requests).toHaveLength(1);
  });

  test('WHEN the relation fails to evaluate THEN the table stays at the last good frontier until it recovers', async () => {
    const { world, sink } = await started();
    world.source.rows(insert('3\tc', 1_500n));
    world.source.play({ kind: 'failed', error: new SinkError('source-evaluation-error', 'division by zero') });
    await world.clock.advance(1);
    expect(sink.state().lastError?.code).toBe('source-evaluation-error');
    expect(frontiers(world)).toEqual(['[1001]']);
    await world.clock.advance(60_000);
    world.source.progress(1_000n);
    world.source.rows(insert('4\td', 1_700n));
    world.source.progress(4_000n);
    await world.clock.advance(1_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '4\td']);
    expect(sink.state().lastError).toBeNull();
  });
});

describe('GIVEN storage that fails', () => {
  test('WHEN it is unreachable for a while THEN the upload is repeated, the rows are not read again', async () => {
    const { world } = await started();
    for (let i = 0; i < 20; i++) world.store.onPut.push(new SinkError('storage-unreachable', 'planned'));
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(20 * 60_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
    expect(world.source.requests).toHaveLength(1);
  });

  test('WHEN it is forbidden THEN the sink halts and says so', async () => {
    const { world, sink } = await started();
    world.store.onPut.push(new SinkError('storage-forbidden', 'planned'));
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    expect(await sink.done).toMatchObject({ reason: 'halted', error: { code: 'storage-forbidden' } });
  });
});

describe('GIVEN two copies of one sink', () => {
  test('WHEN both commit the same span THEN one wins and the other goes on from the table', async () => {
    const { world } = await started();
    const other = memoryWorld(world);
    runSink(settings(), other.ports, LIMITS);
    await settled();
    other.source.progress(1_000n);
    for (const copy of [world, other]) copy.source.rows(insert('3\tc', 1_500n));
    for (const copy of [world, other]) copy.source.progress(3_000n);
    await settled();
    await world.clock.advance(1_000);
    await other.clock.advance(1_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
    expect(frontiers(world)).toEqual(['[1001]', '[3000]']);
  });
});

describe('GIVEN a newer version of a sink that runs', () => {
  test('THEN it fences the older one off before there is any new time to race for, and goes on with its rows', async () => {
    const { world, sink: older } = await started();
    const other = memoryWorld(world);
    const newer = runSink(settings({ identity: { sinkId: 's', version: 1n, takeOver: false } }), other.ports, LIMITS);
    await settled();
    expect(frontiers(world)).toEqual(['[1001]', '[1001]']);
    other.source.progress(1_000n);
    // The older one hears of new times first.
    for (const source of [world.source, other.source]) {
      source.rows(insert('3\tc', 1_500n));
      source.progress(3_000n);
      await settled();
    }
    expect(await older.done).toMatchObject({ reason: 'halted', error: { code: 'fenced' } });
    expect(newer.state()).toMatchObject({ phase: 'running', committed: [3_000n] });
    expect(frontiers(world)).toEqual(['[1001]', '[1001]', '[3000]']);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });
});

describe('GIVEN a stop', () => {
  test('WHEN a commit is on its way THEN its answer is awaited', async () => {
    const { world, sink } = await started();
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    sink.stop();
    sink.stop();
    expect(await sink.done).toMatchObject({ reason: 'stopped' });
    const rows = await readTable(world);
    expect(rows.slice(0, 2)).toEqual(['1\ta', '2\tb']);
  });

  test('WHEN storage says nothing to an upload THEN the end waits some seconds for it and no longer', async () => {
    const { world, sink } = await started();
    world.store.put = () => new Promise(() => undefined);
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await settled();
    sink.stop();
    let isOver = false;
    void sink.done.then(() => { isOver = true; });
    await world.clock.advance(4_000);
    expect(isOver).toBe(false);
    await world.clock.advance(4_000);
    expect(isOver).toBe(true);
  });

  test('WHEN nothing is on its way THEN it ends at once and a restart resumes', async () => {
    const { world, sink } = await started();
    world.source.rows(insert('3\tc', 1_500n));
    sink.stop();
    await sink.done;
    const again = memoryWorld(world);
    runSink(settings(), again.ports, LIMITS);
    await settled();
    expect(again.source.requests[0]).toMatchObject({ asOf: 1_000n, snapshot: false });
  });
});

describe('GIVEN an append sink', () => {
  test('THEN the table is the change log, the snapshot included', async () => {
    const { world } = await started({ mode: 'append', keyColumns: [] });
    world.source.rows(remove('1\ta', 1_500n), insert('1\tz', 1_500n), insert('5\te', 1_600n, 3n));
    world.source.progress(3_000n);
    await settled();
    expect(await readTable(world)).toEqual(['-1@1500 1\ta', '1@1000 1\ta', '1@1000 2\tb', '1@1500 1\tz', '3@1600 5\te']);
  });
});
