/** What a relation may bring at its extremes: huge values, many columns, keys of every type, and no room on disk. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { columns } from '../harness/model.ts';
import { START, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;

describe('GIVEN a relation with huge values', () => {
  test('WHEN a text has tens of millions of characters THEN it is written, updated and read like any other', async () => {
    await using stage = await openStage();
    const model = stage.createModel('huge', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'x'.repeat(10_000_000)]], [['2', 'y'.repeat(30_000_000)]]]);
    stage.run({ from: 'huge', table: 'huge', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('huge', at(0) + 1n, 60_000);
    model.commit(at(5), [[['1', 'x'.repeat(10_000_000)], -1], [['1', 'z'.repeat(5_000_000)]]]);
    const now = await stage.waitForFrontier('huge', at(5) + 1n, 60_000);
    expect(now.snapshots.at(-1)?.summary).toMatchObject({ 'added-records': '1', 'added-equality-deletes': '1', 'total-records': '3' });
  }, 120_000);
});

describe('GIVEN a relation with 500 columns', () => {
  const kinds = ['text', 'integer', 'numeric', 'timestamp', 'double precision'];
  const row = (id: number, round: number): string[] =>
    [String(id), ...Array.from({ length: 500 }, (_, index) => [`text ${round}`, String(round), `${round}.5`, '2020-01-01 00:00:00', '1.5'][index % 5] ?? '')];

  test('WHEN rows come and change THEN both modes are right at each snapshot', async () => {
    await using stage = await openStage();
    const all = columns('id bigint not null', ...Array.from({ length: 500 }, (_, index) => `c${index} ${kinds[index % 5]}`));
    const model = stage.createModel('wide', all, { keys: [[0]] });
    model.commit(at(0), Array.from({ length: 1000 }, (_, id) => [row(id, 0)] as const));
    stage.run([{ from: 'wide', table: 'wide', mode: 'upsert', key: '(id)' }, { from: 'wide', table: 'wide_log', mode: 'append' }]);
    for (const table of ['wide', 'wide_log']) await stage.waitForFrontier(table, at(0) + 1n, 60_000);
    model.commit(at(5), Array.from({ length: 100 }, (_, id) => [[row(id, 0), -1], [row(id, 1), 1]] as const).flat());
    for (const table of ['wide', 'wide_log']) await stage.waitForFrontier(table, at(5) + 1n, 60_000);
    await stage.expectEquals('wide', model, { mode: 'upsert' });
    await stage.expectEquals('wide_log', model, { mode: 'append' });
  }, 120_000);
});

describe('GIVEN a key of each type that may be one', () => {
  test.each([
    ['numeric', '1.5', '2', '-3'],
    ['jsonb', '{"a":1}', 'null', '[1]'],
    ['interval', '1 day', '00:00:01', '2 months'],
    ['timestamptz', '2020-01-01 00:00:00+00', '1960-01-01 00:00:00.5+00', '2021-01-01 00:00:00+00'],
    ['date', '2020-01-01', '1900-01-01', '2000-02-29'],
    ['time', '00:00:00', '23:59:59.5', '12:00:00'],
    ['uint8', '0', '18446744073709551615', '5'],
    ['character(5)', 'ab   ', 'cd   ', '     '],
    ['oid', '1', '4294967295', '7'],
    ['uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '00000000-0000-0000-0000-000000000001'],
  ])('WHEN it is %s THEN updates and deletes meet their rows', async (type, updated, deleted, kept) => {
    await using stage = await openStage();
    const model = stage.createModel('keyed', columns(`k ${type} not null`, 'v text'), { keys: [[0]] });
    model.commit(at(0), [[[updated, 'old']], [[deleted, 'gone']], [[kept, 'kept']]]);
    stage.run({ from: 'keyed', table: 'keyed', mode: 'upsert', key: '(k)' });
    await stage.waitForFrontier('keyed', at(0) + 1n);
    model.commit(at(5), [[[updated, 'old'], -1], [[updated, 'new']], [[deleted, 'gone'], -1]]);
    await stage.waitForFrontier('keyed', at(5) + 1n);
    await stage.expectEquals('keyed', model, { mode: 'upsert' });
  });
});

describe('GIVEN a spill directory that takes no files any more', () => {
  test('WHEN rows exceed the budget THEN the sink names it and tries again, and the table stays right', async () => {
    await using stage = await openStage();
    const model = stage.createModel('spilt', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'a']]]);
    const spillDir = join(stage.lake.directory, 'full');
    const child = stage.spawn({ from: 'spilt', table: 'spilt', mode: 'upsert', key: '(id)' }, { memoryBudgetBytes: 16 << 20, spillDir });
    await stage.waitForFrontier('spilt', at(0) + 1n);
    rmSync(spillDir, { recursive: true });
    writeFileSync(spillDir, 'a file where the folder was');
    model.commit(at(5), Array.from({ length: 100_000 }, (_, id) => [[String(id + 10), 'v'.repeat(100)], 1] as const));
    await eventually('the spill is named', () => child.output().includes('spill-failed') && child.output().includes('restarting'));
    expect((await stage.lake.table('spilt'))?.snapshots).toHaveLength(1);
  });
});
