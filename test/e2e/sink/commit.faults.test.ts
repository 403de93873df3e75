/** Lost answers, other writers, forged progress and rollbacks: what happens around a commit (sections 8 and 13 of the reference). */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import { isCommit, isLoad } from '../harness/lake.ts';
import { type Model, columns } from '../harness/model.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';
import type { InProcessSink } from '../harness/sink.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());
afterEach(() => {
  stage.lake.fault = undefined;
});

interface Running {
  readonly name: string;
  readonly model: Model;
  readonly sink: InProcessSink;
  start(): InProcessSink;
}

/** One committed row at frontier at(0)+1, sink running. */
async function running(name: string, options?: string): Promise<Running> {
  const model = stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] });
  model.commit(at(0), [[['1', 'a']], [['2', 'b']]]);
  const start = (): InProcessSink => stage.run({
    from: name, table: name, mode: 'upsert', key: '(id)', ...(options === undefined ? {} : { options }),
  });
  const sink = start();
  await stage.waitForFrontier(name, at(0) + 1n);
  return { name, model, sink, start };
}

const progressOf = (name: string, frontier: bigint | null, version = 0, id = `${name}_sink`): Record<string, string> => ({
  operation: 'append', 'mz-frontier': frontier === null ? '[]' : `[${frontier}]`, 'mz-sink-id': id, 'mz-sink-version': String(version),
});

const badGateway = { status: 502, headers: {}, body: 'bad gateway' };

describe('GIVEN a commit whose answer is lost', () => {
  test.each<[string, Interception]>([
    ['applied, then 502', { kind: 'apply-then-answer', answer: badGateway }],
    ['applied, then reset', { kind: 'apply-then-reset' }],
    ['applied, then half an answer', { kind: 'apply-then-truncate' }],
    ['applied, then 409 by a proxy that sent it twice', { kind: 'apply-then-answer', answer: { status: 409, headers: {}, body: '{"error":{"message":"branch main has changed","type":"CommitFailedException","code":409}}' } }],
    ['not applied, 503', { kind: 'answer', answer: { status: 503, headers: {}, body: 'busy' } }],
    ['not applied, reset', { kind: 'reset' }],
  ])('WHEN it was %s THEN the rows are there exactly once and one snapshot was added', async (kind, interception) => {
    const name = `lost_${kind.replaceAll(/\W+/g, '_')}`;
    const { model, sink } = await running(name);
    let faults = 0;
    stage.lake.fault = (request) => (isCommit(request) && request.segments.at(-1) === name && faults++ === 0 ? interception : undefined);
    model.commit(at(2), [[['1', 'a'], -1], [['1', 'A']], [['3', 'c']]]);
    await stage.waitForFrontier(name, at(2) + 1n);
    model.commit(at(4), [[['4', 'd']]]);
    const now = await stage.waitForFrontier(name, at(4) + 1n);
    expect(now.snapshots).toHaveLength(3);
    expect(faults).toBeGreaterThan(0);
    expect(sink.state().phase).toBe('running');
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });

  test('WHEN the table cannot be loaded afterwards for a while THEN nothing is sent until it can', async () => {
    const { name, model } = await running('blind');
    let lost = false;
    let refusedLoads = 0;
    stage.lake.fault = (request) => {
      if (request.segments.at(-1) !== name) return undefined;
      if (isCommit(request) && !lost) {
        lost = true;
        return { kind: 'apply-then-reset' };
      }
      return isLoad(request) && lost && refusedLoads++ < 3 ? { kind: 'answer', answer: badGateway } : undefined;
    };
    const sent = stage.lake.commits.length;
    model.commit(at(2), [[['3', 'c']]]);
    await eventually('the loads were refused', () => refusedLoads >= 3);
    model.commit(at(4), [[['4', 'd']]]);
    const now = await stage.waitForFrontier(name, at(4) + 1n);
    expect(stage.lake.commits.slice(sent).filter((commit) => commit.table === name)).toHaveLength(2);
    expect(now.snapshots).toHaveLength(3);
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });
});

describe('GIVEN somebody else commits to the table', () => {
  test('WHEN a version 999 of the sink has committed THEN this one is fenced and commits nothing more', async () => {
    const { name, model, sink, start } = await running('fenced');
    await stage.lake.forge(name, progressOf(name, at(0) + 1n, 999));
    const sent = stage.lake.commits.length;
    model.commit(at(2), [[['3', 'c']]]);
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'fenced' } });
    expect(await start().ended()).toMatchObject({ reason: 'halted', error: { code: 'fenced' } });
    // What it sent on the table that it knew was refused; it learned of the newer version from that, and sent nothing after.
    expect(stage.lake.commits.slice(sent).filter((commit) => commit.table === name)).toHaveLength(1);
    expect((await stage.lake.table(name))?.snapshots.at(-1)?.summary['mz-sink-version']).toBe('999');
  });

  test.each([
    ['one millisecond inside of the span', 2n], ['in the middle of the span', 1000n],
  ])('WHEN the forged frontier lies %s THEN the sink resumes from there and sends no row below it', async (kind, offset) => {
    const name = `inside_${offset}`;
    const { model, sink } = await running(name);
    await stage.lake.forge(name, progressOf(name, at(0) + offset));
    model.commit(at(2), [[['3', 'c']]]);
    await stage.waitForFrontier(name, at(2) + 1n);
    expect(sink.logText(), kind).toContain('frontier-inside');
    await stage.expectEquals(name, model, { mode: 'upsert', onlyCurrent: true, structure: false });
  });

  test('WHEN the forged frontier lies beyond the span THEN the sink resumes there and waits for the source to get there', async () => {
    const { name, model, sink } = await running('beyond');
    await stage.lake.forge(name, progressOf(name, at(10)));
    model.commit(at(2), [[['3', 'skipped: somebody claims to have written it']]]);
    await eventually('it saw that the table is ahead', () => sink.logText().includes('frontier-beyond'));
    model.advance(at(10));
    model.commit(at(12), [[['4', 'd']]]);
    const now = await stage.waitForFrontier(name, at(12) + 1n);
    expect(now.snapshots.map((snapshot) => snapshot.summary['mz-frontier'])).toEqual(
      [at(0) + 1n, at(10), at(12) + 1n].map((t) => `[${t}]`),
    );
  });

  test.each([['equal to our upper', 2_001n], ['equal to our lower', 1n]])(
    'WHEN a foreign sink id has committed a frontier %s THEN the sink halts as foreign-sink', async (kind, offset) => {
      const name = `foreign_${offset}`;
      const { model, sink } = await running(name);
      await stage.lake.forge(name, progressOf(name, at(0) + offset, 0, 'another_sink'));
      model.commit(at(2), [[['3', 'c']]]);
      expect(await sink.ended(), kind).toMatchObject({ reason: 'halted', error: { code: 'foreign-sink' } });
    },
  );

  test('WHEN foreign snapshots that copy our keys race with every commit THEN no row is missing or doubled', async () => {
    const { name, model, sink } = await running('racing');
    let races = 0;
    let forging = false;
    stage.lake.fault = async (request) => {
      if (!isCommit(request) || request.segments.at(-1) !== name || forging || races >= 6) return undefined;
      forging = true;
      races += 1;
      const head = (await stage.lake.table(name))?.snapshots.at(-1);
      await stage.lake.forge(name, { operation: 'append', ...head?.summary });
      forging = false;
      return { kind: 'pass' };
    };
    for (let round = 1; round <= 3; round += 1) {
      model.commit(at(2 * round), [[[String(10 + round), 'x']], [['1', round === 1 ? 'a' : `v${round - 1}`], -1], [['1', `v${round}`]]]);
      await stage.waitForFrontier(name, at(2 * round) + 1n);
    }
    expect(races).toBeGreaterThanOrEqual(3);
    expect(sink.state().phase).toBe('running');
    await stage.expectEquals(name, model, { mode: 'upsert', structure: false });
  });

  test('WHEN a compaction (replace) lies on top THEN it is passed over, running and after a restart', async () => {
    const { name, model, sink, start } = await running('replaced');
    await stage.lake.forge(name, { operation: 'replace' });
    model.commit(at(2), [[['3', 'c']]]);
    await stage.waitForFrontier(name, at(2) + 1n);
    await sink.stop();
    await stage.lake.forge(name, { operation: 'replace' });
    start();
    model.commit(at(4), [[['4', 'd']]]);
    await stage.waitForFrontier(name, at(4) + 1n);
    const rows = (await stage.lake.table(name))?.snapshots.map((snapshot) => snapshot.operation);
    expect(rows?.filter((operation) => operation === 'replace')).toHaveLength(2);
  });

  test.each(['append', 'overwrite', 'delete'])('WHEN a foreign %s lies on top THEN the sink halts as foreign-writer, running and at a start', async (operation) => {
    const { model, sink, start, name } = await running(`foreign_${operation}`);
    await stage.lake.forge(name, { operation });
    model.commit(at(2), [[['3', 'c']]]);
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'foreign-writer' } });
    expect(await start().ended()).toMatchObject({ reason: 'halted', error: { code: 'foreign-writer' } });
  });

  test('WHEN all snapshots with our progress are expired THEN a start refuses instead of writing everything again', async () => {
    const { name, sink, start } = await running('expired');
    await sink.stop();
    const ours = (await stage.lake.table(name))?.snapshots.at(-1)?.snapshotId;
    await stage.lake.forge(name, { operation: 'replace' });
    expect(await stage.lake.commit(name, [`{"action":"remove-snapshots","snapshot-ids":[${ours}]}`])).toBe(200);
    expect(await start().ended()).toMatchObject({ reason: 'halted', error: { code: 'progress-missing' } });
  });
});

describe('GIVEN the table is rolled back', () => {
  test('WHEN main goes back two snapshots while the sink runs THEN it halts as frontier-behind; a restart resumes from the older state', async () => {
    const { name, model, sink, start } = await running('rolled_back');
    for (const second of [2, 4]) {
      model.commit(at(second), [[[String(second), 'x']]]);
      await stage.waitForFrontier(name, at(second) + 1n);
    }
    const first = (await stage.lake.table(name))?.snapshots[0]?.snapshotId ?? 0n;
    await stage.lake.rollBack(name, first);
    model.commit(at(6), [[['6', 'x']]]);
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'frontier-behind' } });
    start();
    await stage.waitForFrontier(name, at(6) + 1n);
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });

  test('WHEN main goes back while the sink is stopped THEN the start reads the changes in between again', async () => {
    const { name, model, sink, start } = await running('rolled_back_stopped');
    model.commit(at(2), [[['3', 'x']], [['1', 'a'], -1]]);
    await stage.waitForFrontier(name, at(2) + 1n);
    await sink.stop();
    await stage.lake.rollBack(name, (await stage.lake.table(name))?.snapshots[0]?.snapshotId ?? 0n);
    start();
    model.commit(at(4), [[['4', 'd']]]);
    await stage.waitForFrontier(name, at(4) + 1n);
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });
});

describe('GIVEN a sink recreated on the table of another', () => {
  test('WHEN the new one has another id THEN it refuses; with TAKE OVER it resumes', async () => {
    const { name, model, sink } = await running('recreated');
    await sink.stop();
    model.commit(at(2), [[['3', 'c']]]);
    const clause = { name: 'the_new_one', from: name, table: name, mode: 'upsert', key: '(id)' } as const;
    expect(await stage.run(clause).ended()).toMatchObject({ reason: 'halted', error: { code: 'foreign-sink' } });
    stage.run({ ...clause, options: 'TAKE OVER = true' });
    const now = await stage.waitForFrontier(name, at(2) + 1n);
    expect(now.snapshots.at(-1)?.summary['mz-sink-id']).toBe('the_new_one');
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });
});
