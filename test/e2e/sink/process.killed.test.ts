/** The daemon as a process of its own: killed at any moment, stopped by a signal, short of memory. */
import { describe, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '../../../src/embedded/auction/seeded-random.ts';
import { columns } from '../harness/model.ts';
import type { ChildSink } from '../harness/sink.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const MIB = 1024 * 1024;
const BUDGET_BYTES = 16 * MIB;
const COLUMNS = columns('id bigint not null', 'v text', 'n numeric');
const ROWS = 200_000;

const row = (id: number, round: number): readonly string[] => [String(id), `value ${round} of row ${id} with some text behind it`, `${round}.5`];

async function rows(stage: Stage, table: string): Promise<number> {
  return (await stage.lake.table(table))?.snapshots.length ?? 0;
}

describe.each(['upsert', 'append'] as const)('GIVEN the daemon in %s mode with a memory budget of 16 MiB', (mode) => {
  const clause = { from: 'big', table: 'big', mode, ...(mode === 'upsert' ? { key: '(id)' } : {}) };

  test('WHEN it is killed in the middle of a snapshot of 200,000 rows and restarted until done THEN the table is the relation', async () => {
    await using stage = await openStage();
    const model = stage.createModel('big', COLUMNS, { keys: [[0]] });
    model.commit(at(0), Array.from({ length: ROWS }, (_, id) => [row(id, 0)] as const));
    let peak = 0;
    for (const delayMs of [700, 1100, 1500]) {
      const child = stage.spawn(clause, { memoryBudgetBytes: BUDGET_BYTES });
      await sleep(delayMs);
      peak = Math.max(peak, child.peakRssBytes());
      await child.kill();
    }
    const last = stage.spawn(clause, { memoryBudgetBytes: BUDGET_BYTES });
    await stage.waitForFrontier('big', at(0) + 1n, 60_000);
    // A wide span beyond the budget, after the snapshot: rows go to disk.
    for (let part = 0; part < 4; part += 1) {
      model.change(at(1) + BigInt(part), Array.from({ length: ROWS / 4 }, (_, index) => {
        const id = part * (ROWS / 4) + index;
        return [[row(id, 0), -1], [row(id, 1), 1]] as const;
      }).flat());
    }
    model.advance(at(3));
    await sleep(400);
    peak = Math.max(peak, last.peakRssBytes());
    await last.kill();
    const again = stage.spawn(clause, { memoryBudgetBytes: BUDGET_BYTES });
    await stage.waitForFrontier('big', at(3), 90_000);
    peak = Math.max(peak, again.peakRssBytes());
    expect(peak).toBeLessThan(700 * MIB);
    await stage.expectEquals('big', model, { mode });
  });

  test('WHEN it is killed at random moments of a steady stream of updates THEN every snapshot is still the relation at its frontier', async () => {
    await using stage = await openStage();
    const model = stage.createModel('big', COLUMNS, { keys: [[0]] });
    const current = new Map<number, number>(Array.from({ length: 200 }, (_, id) => [id, 0]));
    model.commit(at(0), [...current].map(([id, round]) => [row(id, round)] as const));
    // The same moments of change in every run; the moments of the kills depend on the machine.
    const random = createRandom(mode === 'upsert' ? 7 : 11).fraction;
    let child: ChildSink = stage.spawn(clause);
    await stage.waitForFrontier('big', at(0) + 1n, 30_000);
    let killAt = Date.now() + 300;
    let kills = 0;
    for (let second = 1; second <= 120; second += 1) {
      const touched = new Set(Array.from({ length: 20 }, () => Math.floor(random() * 260)));
      model.commit(at(second), [...touched].flatMap((id) => {
        const old = current.get(id);
        const gone = old !== undefined && random() < 0.3;
        if (gone) current.delete(id);
        else current.set(id, second);
        return [...(old === undefined ? [] : [[row(id, old), -1] as const]), ...(gone ? [] : [[row(id, second), 1] as const])];
      }));
      await sleep(35);
      if (Date.now() < killAt) continue;
      await child.kill();
      kills += 1;
      child = stage.spawn(clause);
      // Long enough to start and commit, short enough to be killed at any step.
      killAt = Date.now() + 500 + random() * 700;
    }
    expect(kills).toBeGreaterThan(2);
    await stage.waitForFrontier('big', at(120) + 1n, 30_000);
    await stage.expectEquals('big', model, { mode });
  });
});

describe('GIVEN the daemon is asked to stop', () => {
  test('WHEN SIGTERM comes THEN it exits with 0, and the next one goes on where it was', async () => {
    await using stage = await openStage();
    const model = stage.createModel('stopped', COLUMNS, { keys: [[0]] });
    model.commit(at(0), [[row(1, 0)]]);
    const clause = { from: 'stopped', table: 'stopped', mode: 'upsert', key: '(id)' } as const;
    const child = stage.spawn(clause);
    await stage.waitForFrontier('stopped', at(0) + 1n);
    child.child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    model.commit(at(2), [[row(1, 0), -1], [row(2, 0)]]);
    stage.spawn(clause);
    await stage.waitForFrontier('stopped', at(2) + 1n);
    await stage.expectEquals('stopped', model, { mode: 'upsert' });
  });

  test('WHEN a sink halts THEN the exit code is 1 and the log names code and remedy', async () => {
    await using stage = await openStage();
    const model = stage.createModel('halting', columns('id bigint not null', 'n numeric'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'NaN']]]);
    const child = stage.spawn({ from: 'halting', table: 'halting', mode: 'append' });
    expect(await child.exited).toBe(1);
    expect(child.output()).toContain('row-not-representable');
    expect(child.output()).toContain('remedy');
  });
});

describe('GIVEN secrets in the definitions', () => {
  test('WHEN the credential is wrong THEN it is called unauthorized, and neither it nor the password is in any output', async () => {
    await using stage = await openStage({ materialize: { users: { materialize: 'pw-of-materialize-77' } } });
    const model = stage.createModel('hidden', COLUMNS, { keys: [[0]] });
    model.commit(at(0), [[row(1, 0)]]);
    const url = stage.materialize.url.replace('materialize@', 'materialize:pw-of-materialize-77@');
    const clause = { from: 'hidden', table: 'hidden', mode: 'append' } as const;
    const sql = stage.sql(clause).replace(stage.lake.clientSecret, 'wrong-secret-4711');
    for (const command of ['run', 'validate'] as const) {
      const child = stage.spawn(clause, { sql, materializeUrl: url, command, arguments: ['--log-level', 'debug'] });
      expect(await child.exited).toBe(1);
      if (command === 'run') expect(child.output()).toContain('catalog-unauthorized');
      expect(child.output()).not.toMatch(/wrong-secret-4711|pw-of-materialize-77/);
    }
    const refused = stage.spawn(clause, { materializeUrl: url.replace('-77', '-78'), arguments: ['--log-level', 'debug'] });
    expect(await refused.exited).toBe(1);
    expect(refused.output()).toContain('source-login-refused');
    expect(refused.output()).not.toMatch(/pw-of-materialize-78/);
    expect(refused.output()).not.toContain(stage.lake.clientSecret);
    const broken = stage.spawn(clause, { sql: stage.sql(clause).replace('MODE APPEND', 'MODE NOTHING'), materializeUrl: url });
    expect(await broken.exited).toBe(2);
    expect(broken.output()).not.toContain(stage.lake.clientSecret);
    await eventually('nothing was created', async () => (await rows(stage, 'hidden')) === 0);
  });
});
