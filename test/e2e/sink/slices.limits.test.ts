/** A relation ten times larger than what Materialize sends in one step, with both limits of the server enforced. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Change, columns } from '../harness/model.ts';
import type { InProcessSink } from '../harness/sink.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';

const MAX_RESULT_BYTES = 60_000;
const ROWS = 3_000;
const COLUMNS = columns('id bigint not null', 'name text', 'flag boolean', 'note text');
const KEYED = { keys: [[0]] };
const at = (second: number): bigint => START + BigInt(second) * 1_000n;

/** About 200 bytes a row; some values are NULL, and some hold what COPY escapes. */
const rowOf = (id: number, note: string): Change => [[
  String(id), id % 7 === 0 ? null : `näme\\\\${id}`, id % 3 === 0 ? null : id % 2 === 0 ? 't' : 'f', `${note}${'.'.repeat(170)}`,
]];
const snapshot = (): Change[] => Array.from({ length: ROWS }, (_, id) => rowOf(id, 'first'));

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ materialize: { maxResultBytes: MAX_RESULT_BYTES, maxBufferedBytes: 4 * MAX_RESULT_BYTES } });
});
afterAll(() => stage.close());

/** How many slices each try announced. */
const announced = (sink: InProcessSink): unknown[] => sink.log.filter(({ event }) => event === 'slicing').map(({ slices }) => slices);

describe.each(['upsert', 'append'] as const)('GIVEN a relation ten times as large as max_result_size, in %s mode', (mode) => {
  const sinkOf = (table: string, options?: string) => ({
    from: table, table, mode, ...(mode === 'upsert' ? { key: '(id)' } : {}), ...(options === undefined ? {} : { options }),
  });

  test('WHEN it is read THEN slices double until they fit, the snapshot is one commit, and changes follow over one connection', async () => {
    const name = `large_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), snapshot());
    const sink = stage.run(sinkOf(name));
    const first = await stage.waitForFrontier(name, at(0) + 1n, 60_000);
    expect(first.snapshots).toHaveLength(1);
    expect(announced(sink)).toEqual([2, 4, 8, 16]);
    expect(sink.log.find(({ event }) => event === 'slicing')?.['reason']).toMatch(/snapshot exceeded max_result_size/);
    model.commit(at(1), [rowOf(ROWS, 'new'), [rowOf(5, 'first')[0], -1], rowOf(5, 'second')]);
    await stage.waitForFrontier(name, at(1) + 1n);
    // The slices end at the time where the SUBSCRIBE that follows has begun, with the progress that passes it.
    await eventually('one connection is left', () => model.relation.subscribers.size === 1);
    model.commit(at(3), [rowOf(ROWS + 1, 'newer')]);
    await stage.waitForFrontier(name, at(3) + 1n);
    expect(model.relation.subscribers.size).toBe(1);
    await stage.expectEquals(name, model, { mode });
    await sink.stop();
  });

  test('WHEN the number of slices is given in advance THEN the first try reads it, in as many', async () => {
    const name = `told_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), snapshot());
    const sink = stage.run(sinkOf(name, 'SNAPSHOT SLICES = 23'));
    await eventually('all slices run', () => model.relation.subscribers.size === 23);
    const now = await stage.waitForFrontier(name, at(0) + 1n, 60_000);
    expect(now.snapshots).toHaveLength(1);
    expect(sink.log.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    await stage.expectEquals(name, model, { mode });
    await sink.stop();
  });

  test('WHEN one slice is cut in the middle THEN nothing of that try is in the table, and the next one begins with as many', async () => {
    const name = `cut_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.change(at(0), snapshot());
    model.advance(at(0));
    // The snapshot is not complete before the upper passes at(0): every slice has begun and waits.
    model.relation.history.upper = [at(0) - 1n];
    const sink = stage.run(sinkOf(name, 'SNAPSHOT SLICES = 20'));
    await eventually('all slices run', () => model.relation.subscribers.size === 20);
    [...model.relation.subscribers][7]?.fail({ sqlstate: '57014', message: 'canceling statement due to user request' });
    await eventually('it begins again', () => sink.log.some(({ event, code }) => event === 'restarting' && code === 'source-cancelled'));
    await eventually('all slices run again', () => model.relation.subscribers.size === 20);
    model.advance(at(0) + 1n);
    const now = await stage.waitForFrontier(name, at(0) + 1n, 60_000);
    expect(now.snapshots).toHaveLength(1);
    expect(announced(sink)).toEqual([]);
    await stage.expectEquals(name, model, { mode });
    await sink.stop();
  });

  test('WHEN the process is killed in the middle of the snapshot, and again after it THEN the table ends up equal', async () => {
    const name = `killed_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), snapshot());
    const first = stage.spawn(sinkOf(name));
    await eventually('it reads in slices', () => first.output().includes('"slicing"') && model.relation.subscribers.size > 1, 60_000);
    await first.kill();
    const second = stage.spawn(sinkOf(name, 'SNAPSHOT SLICES = 20'));
    await stage.waitForFrontier(name, at(0) + 1n, 60_000);
    await second.kill();
    // More changes than one step holds: the resumed sink catches up in slices too.
    model.commit(at(1), Array.from({ length: 1_000 }, (_, id) => rowOf(ROWS + id, 'later')));
    const third = stage.run(sinkOf(name));
    const now = await stage.waitForFrontier(name, at(1) + 1n, 60_000);
    expect(now.snapshots).toHaveLength(2);
    expect(announced(third)).toEqual([2, 4]);
    expect(third.log.find(({ event }) => event === 'slicing')?.['reason']).toMatch(/changes since the last commit/);
    await stage.expectEquals(name, model, { mode });
    await third.stop();
  });

  test('WHEN a running sink meets one step of changes that is too large THEN it resumes in slices and goes on over one connection', async () => {
    const name = `step_${mode}`;
    const model = stage.createModel(name, COLUMNS, KEYED);
    model.commit(at(0), [rowOf(1, 'small')]);
    const sink = stage.run(sinkOf(name));
    await stage.waitForFrontier(name, at(0) + 1n);
    model.commit(at(1), Array.from({ length: 1_000 }, (_, id) => rowOf(ROWS + id, 'bulk')));
    await stage.waitForFrontier(name, at(1) + 1n, 60_000);
    expect(sink.log.find(({ event }) => event === 'slicing')?.['reason']).toMatch(/one step of changes/);
    model.commit(at(3), [rowOf(2, 'small')]);
    await stage.waitForFrontier(name, at(3) + 1n);
    await stage.expectEquals(name, model, { mode });
    await sink.stop();
  });
});
