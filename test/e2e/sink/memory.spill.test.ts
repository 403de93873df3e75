import { describe, expect, test } from 'vitest';
import { readdir } from 'node:fs/promises';
import { columns } from '../harness/model.ts';
import { START, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const KEYS = 110_000;

describe('GIVEN many keys in one span', () => {
  test('WHEN 110,000 keys are inserted and 100 of them updated in the same commit THEN the table has 110,000 rows', async () => {
    await using stage = await openStage();
    const model = stage.createModel('large', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.advance(at(0) + 1n);
    stage.run({ from: 'large', table: 'large', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('large', at(0));
    model.change(at(1), Array.from({ length: KEYS }, (_, id) => [[String(id), 'first']] as const));
    model.change(at(1) + 10n, Array.from({ length: 100 }, (_, index) => {
      const id = String(index * 1_000);
      return [[[id, 'first'], -1] as const, [[id, 'second'], 1] as const];
    }).flat());
    model.advance(at(3));
    const now = await stage.waitForFrontier('large', at(3), 60_000);
    expect(now.snapshots.at(-1)?.summary).toMatchObject({ 'added-records': String(KEYS) });
    expect(now.snapshots).toHaveLength(2);
    await stage.expectEquals('large', model, { mode: 'upsert' });
  });

  test.each(['upsert', 'append'] as const)('WHEN a span is larger than the memory budget in %s mode THEN it goes through disk, is right, and leaves nothing there', async (mode) => {
    await using stage = await openStage();
    const model = stage.createModel('spilling', columns('id bigint not null', 'v text'), { keys: [[0]] });
    const value = (round: number): string => `${'some text that takes its room '.repeat(4)}${round}`;
    model.advance(at(0) + 1n);
    const sink = stage.run(
      { from: 'spilling', table: 'spilling', mode, ...(mode === 'upsert' ? { key: '(id)' } : {}) }, { memoryBudgetBytes: 16 * 1024 * 1024 },
    );
    await stage.waitForFrontier('spilling', at(0));
    // About 18 MB of rows in one span, sent at once and inside of the commit interval, so that they wait; a quarter of the
    // budget may wait in memory.
    for (let round = 0; round < 4; round += 1) {
      model.commit(at(0) + BigInt(10 + round), Array.from({ length: 20_000 }, (_, id) => [
        ...(round === 0 ? [] : [[[String(id), value(round - 1)], -1] as const]), [[String(id), value(round)], 1] as const,
      ]).flat());
    }
    let spilled = false;
    const watching = setInterval(() => {
      void readdir(stage.spillDir, { recursive: true }).then((names) => { spilled ||= names.length > 2; }, () => undefined);
    }, 2);
    await eventually('rows are on disk', () => spilled);
    model.advance(at(3));
    await stage.waitForFrontier('spilling', at(3), 90_000);
    clearInterval(watching);
    await stage.expectEquals('spilling', model, { mode });
    await sink.stop();
    expect(spilled).toBe(true);
    const left = async (): Promise<string[]> => (await readdir(stage.spillDir, { recursive: true, withFileTypes: true }).catch(() => []))
      .filter((entry) => entry.isFile()).map((entry) => entry.name);
    await eventually('the spill files are gone', async () => (await left()).length === 0);
  });
});
