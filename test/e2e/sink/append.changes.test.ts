import { describe, expect, test } from 'vitest';
import { columns } from '../harness/model.ts';
import { rowsOf } from '../harness/judge.ts';
import { START, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;

describe('GIVEN an append sink', () => {
  test('WHEN rows are inserted, updated and deleted THEN the table is the exact change log at every snapshot', async () => {
    await using stage = await openStage();
    const model = stage.createModel('log', columns('a integer not null', 'b text'));
    model.commit(at(0), [[['1', 'one']], [['2', 'two']], [['3', 'three']]]);
    stage.run({ from: 'log', table: 'log', mode: 'append' });
    await stage.waitForFrontier('log', at(0) + 1n);
    model.commit(at(2), [[['2', 'two'], -1], [['1', 'one'], -1], [['1', 'ONE']]]);
    await stage.waitForFrontier('log', at(2) + 1n);
    model.change(at(4), [[['9', 'comes']]]);
    model.change(at(4) + 1n, [[['9', 'comes'], -1]]);
    model.advance(at(6));
    const now = await stage.waitForFrontier('log', at(6));
    expect(now.snapshots).toHaveLength(3);
    await stage.expectEquals('log', model, { mode: 'append' });
    const rows = await rowsOf(stage.lake, 'log');
    expect(rows.filter(({ a }) => a === 9).map(({ _mz_diff: diff, _mz_timestamp: time }) => [diff, time]).toSorted()).toEqual(
      [[-1, Number(at(4) + 1n)], [1, Number(at(4))]].toSorted(),
    );
  });

  test('WHEN a change has a diff beyond one THEN there is a row for each', async () => {
    await using stage = await openStage();
    const model = stage.createModel('many', columns('a integer', 'b text'));
    model.commit(at(0), [[['1', 'x'], 5], [[null, null], 2]]);
    stage.run({ from: 'many', table: 'many', mode: 'append' });
    await stage.waitForFrontier('many', at(0) + 1n);
    model.commit(at(2), [[['1', 'x'], -3], [['2', 'y'], 1000]]);
    await stage.waitForFrontier('many', at(2) + 1n);
    await stage.expectEquals('many', model, { mode: 'append' });
    expect(await rowsOf(stage.lake, 'many')).toHaveLength(7 + 3 + 1000);
  });

  test('WHEN rows are wider than one network read and of every length THEN none is cut', async () => {
    await using stage = await openStage();
    const model = stage.createModel('wide', columns('id integer not null', 'v text'));
    model.commit(at(0), Array.from({ length: 60 }, (_, id) => [[String(id), 'w'.repeat(id * 3001)]] as const));
    stage.run({ from: 'wide', table: 'wide', mode: 'append' });
    await stage.waitForFrontier('wide', at(0) + 1n);
    await stage.expectEquals('wide', model, { mode: 'append' });
  });
});
