import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { columns } from '../harness/model.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const COLUMNS = columns('id bigint not null', 'v text');

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe('GIVEN a relation that fails to evaluate', () => {
  test('WHEN a division by zero comes and goes THEN the error is named, nothing is committed past it, and the sink recovers by itself', async () => {
    const model = stage.createModel('failing', COLUMNS, { keys: [[0]], kind: 'materialized-view' });
    model.commit(at(0), [[['1', 'a']], [['2', 'b']]]);
    const sink = stage.run({ from: 'failing', table: 'failing', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('failing', at(0) + 1n);
    stage.materialize.setError(model.relation, 'division by zero');
    model.change(at(2), [[['3', 'c']]]);
    model.advance(at(3));
    await eventually('the error shows', () => sink.logText().includes('source-evaluation-error'));
    expect((await stage.lake.table('failing'))?.snapshots).toHaveLength(1);
    expect(sink.state().phase).not.toBe('halted');
    stage.materialize.setError(model.relation, null);
    await stage.waitForFrontier('failing', at(3), 40_000);
    await stage.expectEquals('failing', model, { mode: 'upsert' });
  });
});

describe('GIVEN a relation or a cluster that goes away', () => {
  test('WHEN the relation is dropped THEN the sink halts as relation-dropped', async () => {
    const model = stage.createModel('dropped', COLUMNS, { keys: [[0]] });
    model.commit(at(0), [[['1', 'a']]]);
    const sink = stage.run({ from: 'dropped', table: 'dropped', mode: 'append' });
    await stage.waitForFrontier('dropped', at(0) + 1n);
    stage.materialize.drop(model.relation);
    expect(await sink.ended()).toMatchObject({ reason: 'halted' });
    expect((await sink.ended()).error?.code).toMatch(/^relation-(dropped|missing)$/);
  });

  test('WHEN the relation does not exist THEN the sink halts as relation-missing and creates no table', async () => {
    const sink = stage.run({ from: 'nowhere', table: 'nowhere', mode: 'append' });
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'relation-missing' } });
    expect(await stage.lake.table('nowhere')).toBeNull();
  });
});

describe.each(['upsert', 'append'] as const)('GIVEN a connection in trouble, %s', (mode) => {
  test('WHEN the bytes come cut at every place THEN the table is still the relation', async () => {
    let random = 12_345;
    await using own = await openStage({
      materialize: {
        cut: (available) => {
          random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
          return Math.min(available, 1 + (random >>> 16) % 90);
        },
      },
    });
    const model = own.createModel('cut', COLUMNS, { keys: [[0]] });
    model.commit(at(0), Array.from({ length: 400 }, (_, id) => [[String(id), `v\\n${'x'.repeat(id % 50)}`]] as const));
    own.run({ from: 'cut', table: 'cut', mode, ...(mode === 'upsert' ? { key: '(id)' } : {}) });
    await own.waitForFrontier('cut', at(0) + 1n);
    model.commit(at(2), Array.from({ length: 200 }, (_, id) => [[String(id), `v\\n${'x'.repeat(id % 50)}`], -1] as const));
    await own.waitForFrontier('cut', at(2) + 1n);
    await own.expectEquals('cut', model, { mode });
  });

  test('WHEN connections are reset again and again THEN no change is lost or doubled', async () => {
    await using own = await openStage();
    const model = own.createModel('reset', COLUMNS, { keys: [[0]] });
    model.commit(at(0), Array.from({ length: 100 }, (_, id) => [[String(id), '0']] as const));
    const sink = own.run({ from: 'reset', table: 'reset', mode, ...(mode === 'upsert' ? { key: '(id)' } : {}) });
    await own.waitForFrontier('reset', at(0) + 1n);
    for (let second = 1; second <= 40; second += 1) {
      model.commit(at(second), Array.from({ length: 100 }, (_, id) => [
        [[String(id), String(second - 1)], -1] as const, [[String(id), String(second)], 1] as const,
      ]).flat());
      if (second % 7 === 0) own.materialize.killConnections();
      await sleep(second % 5 === 0 ? 120 : 20);
    }
    await own.waitForFrontier('reset', at(40) + 1n, 60_000);
    expect(sink.logText()).toContain('restarting');
    await own.expectEquals('reset', model, { mode });
  });
});
