import { describe, expect, test } from 'vitest';
import { columns } from '../harness/model.ts';
import { rowsOf } from '../harness/judge.ts';
import { START, openStage } from '../harness/stage.ts';

const SECOND = 1000n;
const at = (seconds: number): bigint => START + BigInt(seconds) * SECOND;

describe('GIVEN an upsert sink on a keyed relation', () => {
  test('WHEN rows are updated, deleted, move to another key and come back over several commits THEN every snapshot is the relation at its frontier', async () => {
    await using stage = await openStage();
    const model = stage.createModel('accounts', columns('id bigint not null', 'name text', 'balance numeric'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'a', '1.5']], [['2', 'b', null]], [['3', null, '0']]]);
    stage.run({ from: 'accounts', table: 'accounts', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('accounts', at(0) + 1n);
    // Update, delete, insert.
    model.commit(at(2), [[['1', 'a', '1.5'], -1], [['1', 'A', '2']], [['2', 'b', null], -1], [['4', 'd', '4']]]);
    await stage.waitForFrontier('accounts', at(2) + 1n);
    // A key change is a delete of one key and an insert of another.
    model.commit(at(4), [[['4', 'd', '4'], -1], [['44', 'd', '4']]]);
    await stage.waitForFrontier('accounts', at(4) + 1n);
    // Re-insert of a deleted key, delete of a re-keyed one.
    model.commit(at(6), [[['2', 'back', '2']], [['44', 'd', '4'], -1]]);
    await stage.waitForFrontier('accounts', at(6) + 1n);
    const now = await stage.expectEquals('accounts', model, { mode: 'upsert' });
    expect(now.snapshots.map((snapshot) => snapshot.summary['mz-frontier'])).toEqual(
      [0, 2, 4, 6].map((second) => `[${at(second) + 1n}]`),
    );
  });

  test('WHEN a key changes and changes back within one span THEN nothing is written for it', async () => {
    await using stage = await openStage();
    const model = stage.createModel('flips', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'a']], [['2', 'b']]]);
    stage.run({ from: 'flips', table: 'flips', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('flips', at(0) + 1n);
    model.change(at(1), [[['1', 'a'], -1], [['1', 'x']]]);
    model.change(at(1) + 5n, [[['1', 'x'], -1], [['1', 'a']], [['9', 'short'], 1]]);
    model.change(at(2), [[['9', 'short'], -1]]);
    model.advance(at(3));
    const now = await stage.waitForFrontier('flips', at(3));
    expect(now.snapshots.at(-1)?.summary).not.toHaveProperty('added-data-files');
    expect(now.snapshots.at(-1)?.summary).not.toHaveProperty('added-delete-files');
    await stage.expectEquals('flips', model, { mode: 'upsert' });
  });

  test('WHEN many updates of one key fall into one wide span, at times in any order THEN the last one alone is there', async () => {
    await using stage = await openStage();
    const model = stage.createModel('hot', columns('id bigint not null', 'v integer'), { keys: [[0]] });
    model.commit(at(0), Array.from({ length: 50 }, (_, id) => [[String(id), '0']] as const));
    stage.run({ from: 'hot', table: 'hot', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('hot', at(0) + 1n);
    // All within one span: each time updates every key, the insertion before its retraction.
    for (let round = 1; round <= 20; round += 1) {
      model.change(at(1) + BigInt(round), Array.from({ length: 50 }, (_, id) => [
        [[String(id), String(round)], 1] as const, [[String(id), String(round - 1)], -1] as const,
      ]).flat());
    }
    model.advance(at(5));
    const now = await stage.waitForFrontier('hot', at(5));
    expect(now.snapshots.at(-1)?.summary).toMatchObject({ 'added-records': '50' });
    await stage.expectEquals('hot', model, { mode: 'upsert' });
  });

  test('WHEN the key is composite, behind nested columns, and may be NULL in every part THEN deletes still meet their rows', async () => {
    await using stage = await openStage();
    const model = stage.createModel('nested_before_key', columns(
      'payload record(f1: integer?,f2: text?)', 'tags text list', 'attributes map[text=>integer]', 'k1 integer', 'k2 text', 'v integer not null',
    ));
    const row = (k1: string | null, k2: string | null, v: string): [string, string, string, string | null, string | null, string] =>
      [`(${v},x)`, `{t${v}}`, `{a=>${v}}`, k1, k2, v];
    model.commit(at(0), [[row(null, null, '1')], [row('1', null, '2')], [row(null, 'k', '3')], [row('1', 'k', '4')]]);
    const sink = stage.run({ from: 'nested_before_key', table: 'nested', mode: 'upsert', key: '(k2, k1) NOT ENFORCED' });
    await stage.waitForFrontier('nested', at(0) + 1n);
    expect(sink.state().phase).toBe('running');
    model.commit(at(2), [[row(null, null, '1'), -1], [row(null, null, '10')], [row('1', null, '2'), -1], [row(null, 'k', '3'), -1], [row(null, 'k', '30')]]);
    const now = await stage.waitForFrontier('nested', at(2) + 1n);
    const values = async (snapshotId?: bigint): Promise<unknown[]> =>
      (await rowsOf(stage.lake, 'nested', snapshotId)).map(({ k1, k2, v, payload }) => [k1, k2, v, payload]).toSorted(byText);
    expect(await values()).toEqual([
      [null, null, 10, { f1: 10, f2: 'x' }], [null, 'k', 30, { f1: 30, f2: 'x' }], [1, 'k', 4, { f1: 4, f2: 'x' }],
    ].toSorted(byText));
    expect(await values(now.snapshots[0]?.snapshotId)).toEqual([
      [null, null, 1, { f1: 1, f2: 'x' }], [1, null, 2, { f1: 2, f2: 'x' }], [null, 'k', 3, { f1: 3, f2: 'x' }], [1, 'k', 4, { f1: 4, f2: 'x' }],
    ].toSorted(byText));
  });

  test('WHEN keys are text and bytea of many lengths THEN each delete removes its own row and no other', async () => {
    await using stage = await openStage();
    const model = stage.createModel('byte_keys', columns('b bytea not null', 't text not null', 'v integer'), { keys: [[0, 1]] });
    const keys = Array.from({ length: 120 }, (_, length) => {
      const bytes = Buffer.from(Array.from({ length }, (_unused, index) => (index * 37 + length) % 256));
      return [`\\\\x${bytes.toString('hex')}`, `${'é世😀a'.repeat(length).slice(0, length)}|${length}`] as const;
    });
    model.commit(at(0), keys.map(([b, t], index) => [[b, t, String(index)]] as const));
    stage.run({ from: 'byte_keys', table: 'byte_keys', mode: 'upsert', key: '(b, t)' });
    await stage.waitForFrontier('byte_keys', at(0) + 1n);
    model.commit(at(2), keys.flatMap(([b, t], index) => {
      if (index % 3 === 0) return [[[b, t, String(index)], -1] as const];
      return index % 3 === 1 ? [[[b, t, String(index)], -1] as const, [[b, t, String(-index)], 1] as const] : [];
    }));
    await stage.waitForFrontier('byte_keys', at(2) + 1n);
    await stage.expectEquals('byte_keys', model, { mode: 'upsert' });
  });

  test('WHEN the stand-in sends the same rows twice (a key that is not unique) THEN the multiplicity is kept', async () => {
    await using stage = await openStage();
    const model = stage.createModel('doubles', columns('id bigint not null', 'v text'));
    model.commit(at(0), [[['1', 'a'], 3], [['2', 'b'], 1]]);
    stage.run({ from: 'doubles', table: 'doubles', mode: 'upsert', key: '(id) NOT ENFORCED' });
    await stage.waitForFrontier('doubles', at(0) + 1n);
    await stage.expectEquals('doubles', model, { mode: 'upsert' });
  });
});

function byText(left: unknown, right: unknown): number {
  return JSON.stringify(left) < JSON.stringify(right) ? -1 : 1;
}
