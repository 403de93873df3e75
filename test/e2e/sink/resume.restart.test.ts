import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { rowsOf } from '../harness/judge.ts';
import { columns } from '../harness/model.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const COLUMNS = columns('id bigint not null', 'v text');
const KEYED = { keys: [[0]] };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe.each(['upsert', 'append'] as const)('GIVEN a sink in %s mode', (mode) => {
  const sinkOf = (name: string, options?: string) => ({
    from: name, table: name, mode, ...(mode === 'upsert' ? { key: '(id)' } : {}), ...(options === undefined ? {} : { options }),
  });

  test('WHEN it is stopped and started again THEN it goes on at the frontier and no row is lost or doubled', async () => {
    const name = `restart_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'a']], [['2', 'b']]]);
    const first = stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(0) + 1n);
    await first.stop();
    // One change exactly at the stored frontier: AS OF F would lose it, AS OF F-2 would double the snapshot.
    model.commit(at(0) + 1n, [[['3', 'at the frontier']]]);
    model.commit(at(2), [[['1', 'a'], -1], [['1', 'changed while stopped']]]);
    stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(2) + 1n);
    model.commit(at(4), [[['4', 'd']]]);
    await stage.waitForFrontier(name, at(4) + 1n);
    await stage.expectEquals(name, model, { mode });
  });

  test('WHEN the history since the frontier is compacted THEN it halts as history-compacted and the table stays', async () => {
    const name = `compacted_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'a']]]);
    const first = stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(0) + 1n);
    await first.stop();
    model.commit(at(10), [[['2', 'b']]]);
    stage.materialize.compact(model.relation, at(10));
    const end = await stage.run(sinkOf(name)).ended();
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'history-compacted' } });
    expect(end.error?.remedy).toContain('RETAIN HISTORY');
    expect((await stage.lake.table(name))?.snapshots).toHaveLength(1);
  });

  test('WHEN the history is compacted exactly to the frontier THEN the change there could be missed, so it halts; one before it goes on', async () => {
    for (const [offset, halts] of [[0n, true], [-1n, false]] as const) {
      const name = `edge_${mode}_${halts ? 'halts' : 'goes_on'}`;
      const model = stage.createModel(name, COLUMNS, KEYED);
      model.commit(at(0), [[['1', 'a']]]);
      const first = stage.run(sinkOf(name));
      const frontier = at(0) + 1n;
      await stage.waitForFrontier(name, frontier);
      await first.stop();
      model.commit(frontier, [[['2', 'b']]]);
      model.advance(at(3));
      stage.materialize.compact(model.relation, frontier + offset);
      const second = stage.run(sinkOf(name));
      if (halts) {
        expect(await second.ended()).toMatchObject({ error: { code: 'history-compacted' } });
      } else {
        await stage.waitForFrontier(name, at(3));
        await stage.expectEquals(name, model, { mode });
      }
    }
  });

  test('WHEN nothing happens for many intervals and then a row comes THEN it is committed and nothing was ever wrong', async () => {
    const name = `idle_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'a']]]);
    const sink = stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(0) + 1n);
    for (let second = 1; second <= 10; second += 1) model.advance(at(second));
    model.commit(at(11), [[['2', 'b']]]);
    const now = await stage.waitForFrontier(name, at(11) + 1n);
    expect(now.snapshots).toHaveLength(2);
    expect(sink.log.filter((entry) => entry.level === 'warn' || entry.level === 'error')).toEqual([]);
    await stage.expectEquals(name, model, { mode });
  });

  test('WHEN the relation is empty THEN the table exists with its frontier, and the first row arrives', async () => {
    const name = `empty_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.advance(at(1));
    stage.run(sinkOf(name));
    const now = await stage.waitForFrontier(name, at(1));
    expect(now.snapshots).toHaveLength(1);
    expect(await rowsOf(stage.lake, name)).toEqual([]);
    model.commit(at(3), [[['1', 'a']]]);
    await stage.waitForFrontier(name, at(3) + 1n);
    await stage.expectEquals(name, model, { mode });
  });

  test.each([0, 100])('WHEN the input is finite with %i rows THEN the table ends at [], and a restart adds no snapshot', async (count) => {
    const name = `finite_${mode}_${count}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), Array.from({ length: count }, (_, id) => [[String(id), 'v']] as const));
    stage.materialize.closeRelation(model.relation);
    const first = stage.run(sinkOf(name));
    expect(await first.ended()).toMatchObject({ reason: 'complete', error: null });
    const now = await stage.waitForFrontier(name, null);
    expect(await rowsOf(stage.lake, name)).toHaveLength(count);
    const second = stage.run(sinkOf(name));
    expect(await second.ended()).toMatchObject({ reason: 'complete', error: null });
    expect((await stage.lake.table(name))?.snapshots).toHaveLength(now.snapshots.length);
  });

  test('WHEN the input ends while the sink runs THEN the table ends at []', async () => {
    const name = `ends_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'a']]]);
    const sink = stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(0) + 1n);
    model.change(at(1), [[['2', 'b']]]);
    stage.materialize.closeRelation(model.relation);
    expect(await sink.ended()).toMatchObject({ reason: 'complete' });
    await stage.expectEquals(name, model, { mode });
  });

  test('WHEN it is idle THEN an empty heartbeat snapshot keeps the frontier fresh', async () => {
    const name = `heartbeat_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'a']]]);
    stage.run(sinkOf(name, "HEARTBEAT INTERVAL = '1s'"));
    await stage.waitForFrontier(name, at(0) + 1n);
    model.advance(at(30));
    const now = await stage.waitForFrontier(name, at(30));
    expect(now.snapshots.at(-1)?.summary).not.toHaveProperty('added-data-files');
    await stage.expectEquals(name, model, { mode });
  });

  test('WHEN SNAPSHOT = false THEN the rows that exist are left out and every later change is there', async () => {
    const name = `no_snapshot_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [[['1', 'old']]]);
    stage.run(sinkOf(name, 'SNAPSHOT = false'));
    await eventually('the table is created', async () => (await stage.lake.table(name)) !== null);
    await sleep(300);
    model.commit(at(2), [[['2', 'new']]]);
    await stage.waitForFrontier(name, at(2) + 1n);
    expect((await rowsOf(stage.lake, name)).map(({ id, v }) => [id, v])).toEqual([[2, 'new']]);
  });
});

describe('GIVEN two sinks in one file', () => {
  test('WHEN both run THEN each keeps its own table, and one that halts leaves the other running', async () => {
    const good = stage.createModel('pair_good', COLUMNS, KEYED);
    const bad = stage.createModel('pair_bad', columns('id bigint not null', 'n numeric'), KEYED);
    good.commit(at(0), [[['1', 'a']]]);
    bad.commit(at(0), [[['1', 'NaN']]]);
    stage.run([
      { name: 'bad', from: 'pair_bad', table: 'pair_bad', mode: 'upsert', key: '(id)' },
      { name: 'good', from: 'pair_good', table: 'pair_good', mode: 'append' },
    ]);
    await stage.waitForFrontier('pair_good', at(0) + 1n);
    good.commit(at(2), [[['2', 'b']]]);
    await stage.waitForFrontier('pair_good', at(2) + 1n);
    await stage.expectEquals('pair_good', good, { mode: 'append' });
    expect((await stage.lake.table('pair_bad'))?.snapshots).toEqual([]);
  });
});
