/** A relation ten times larger than what Materialize sends in one step, with both limits of the server enforced. */
import { setTimeout as sleep } from 'node:timers/promises';
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
    // A progress brings the follower; with it the slices go.
    await eventually('one connection is left', async () => {
      model.advance(at(2) + BigInt(Date.now() % 500));
      await sleep(20);
      return model.relation.subscribers.size === 1;
    }).catch(() => undefined);
    model.commit(at(3), [rowOf(ROWS + 1, 'newer')]);
    await stage.waitForFrontier(name, at(3) + 1n);
    expect(model.relation.subscribers.size).toBe(1);
    await stage.expectEquals(name, model, { mode });
    await sink.stop();
  });
});
