/**
 * A sink that stands still says so and says what for (peer-faults 19): the watch over real machine and driver, in a world
 * in memory where one thing at a time hangs.
 */
import { describe, expect, test } from 'vitest';
import { watchSink } from '../../../src/cli/watchdog.ts';
import { SinkError } from '../../../src/errors.ts';
import type { SinkSettings } from '../../../src/sink/effects.ts';
import { type RunningSink, type SinkPorts, runSink } from '../../../src/sink/driver.ts';
import { type MemoryWorld, memoryWorld, settled } from '../../doubles/memory-world.ts';
import { LIMITS, insert, settings } from '../../doubles/started-sink.ts';

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

interface Watched {
  readonly world: MemoryWorld;
  readonly sink: RunningSink;
  readonly end: () => void;
  /** Reports of the watch so far, as `event waitsFor`. */
  reports(): readonly string[];
  last(event: string): Readonly<Record<string, unknown>>;
}

async function watched(change: (world: MemoryWorld) => Partial<SinkPorts> = () => ({}), over: Partial<SinkSettings> = {}): Promise<Watched> {
  const world = memoryWorld();
  const ports = { ...world.ports, ...change(world) };
  const sink = runSink(settings(over), ports, LIMITS);
  const end = watchSink(sink, world.clock, world.ports.log);
  await settled();
  const seen = () => world.log.filter(({ event }) => event === 'stalled' || event === 'stall-over' || event === 'source-silent');
  return {
    world, sink, end,
    reports: () => seen().map(({ event, fields }) => (typeof fields['waitsFor'] === 'string' ? `${event} ${fields['waitsFor']}` : event)),
    last: (event) => seen().findLast((entry) => entry.event === event)?.fields ?? {},
  };
}

/** The snapshot at as of 1000, whole. */
async function snapshot({ world }: Watched): Promise<void> {
  world.source.progress(1_000n);
  world.source.rows(insert('1\ta', 1_000n));
  world.source.progress(1_001n);
  await settled();
}

/** Progress each second, as Materialize sends it, for so many seconds. */
async function progressFor({ world }: Watched, seconds: number, from: bigint): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    world.source.progress(from + BigInt(second) * 1_000n);
    await world.clock.advance(1_000);
  }
}

describe('GIVEN a sink whose rows do not get into the table', () => {
  test('WHEN the source sends rows and no progress THEN it is stalled on source-progress, with frontier and number of rows, and silent', async () => {
    const it = await watched();
    await snapshot(it);
    it.world.source.rows(insert('2\tb', 1_500n), insert('3\tc', 1_600n));
    await it.world.clock.advance(75_000);
    expect(it.reports()).toEqual(expect.arrayContaining(['stalled source-progress', 'source-silent']));
    expect(it.last('stalled')).toMatchObject({ detail: 'progress of the relation beyond [1001], 2 rows wait', phase: 'running' });
    expect(it.last('source-silent')).toMatchObject({ observed: '[1001]', detail: expect.stringContaining('look at the cluster') as string });
  });

  test('WHEN the encoder hangs THEN it is stalled on encode-and-upload, with the span', async () => {
    const it = await watched(({ ports }) => ({
      encoder: { open: (plan, receiver) => ({ ...ports.encoder.open(plan, receiver), finish: never }), close: () => Promise.resolve() },
    }));
    await snapshot(it);
    await progressFor(it, 75, 2_000n);
    expect(it.reports()).toContain('stalled encode-and-upload');
    expect(it.last('stalled')).toMatchObject({ detail: expect.stringMatching(/the files of span .*1001.* to be encoded and uploaded/) as string });
  });

  test.each([
    ['the encoder hangs on it', true, 'stalled encode-and-upload', 'the rows below [1900] to be encoded, ahead of the close of their span'],
    ['the source says nothing more', false, 'stalled source-progress', 'progress of the relation beyond [1900], 0 rows wait, and those below [1900], encoded already'],
  ])('WHEN a span is encoded ahead of its close and %s THEN it is not silent about its rows', async (_what, hangs, report, detail) => {
    let sessions = 0;
    const it = await watched(({ ports }) => ({
      encoder: {
        open: (plan, receiver) => {
          sessions += 1;
          return { ...ports.encoder.open(plan, receiver), ...(hangs && sessions > 1 ? { finish: never } : {}) };
        },
        close: () => Promise.resolve(),
      },
    }), { sectionBytesMin: 1 });
    await snapshot(it);
    it.world.source.rows(insert('7\tg', 1_500n));
    it.world.source.progress(1_900n);
    for (let second = 0; second < 75; second++) await it.world.clock.advance(1_000);
    expect(it.sink.state().open?.isWriting).toBe(hangs);
    expect(it.reports()).toContain(report);
    expect(it.last('stalled')).toMatchObject({ detail });
  });

  test('WHEN an upload hangs THEN it is stalled on encode-and-upload', async () => {
    const it = await watched(({ store }) => ({
      store: { put: never, get: (location) => store.get(location), delete: () => Promise.resolve(), open: (location) => ({ ...store.open(location), put: never, finish: never }) },
    }));
    await snapshot(it);
    await progressFor(it, 75, 2_000n);
    expect(it.reports()).toContain('stalled encode-and-upload');
  });

  test('WHEN every answer of a commit is lost THEN it is stalled on commit, with attempt, span, code and remedy', async () => {
    const it = await watched();
    it.world.catalog.onCommit.push(...Array<'lost-before'>(500).fill('lost-before'));
    await snapshot(it);
    await progressFor(it, 75, 2_000n);
    expect(it.reports()).toContain('stalled commit');
    expect(it.last('stalled')).toMatchObject({
      detail: expect.stringMatching(/commit attempt \d+ of span .*1001.*\[commit-unknown\] reset before the request arrived/) as string,
      remedy: expect.stringContaining('The answer of a commit was lost') as string,
    });
  });

  test('WHEN others win every race THEN it is stalled on commit and names other writers', async () => {
    const it = await watched();
    it.world.catalog.onCommit.push(...Array<'conflict'>(500).fill('conflict'));
    await snapshot(it);
    await progressFor(it, 75, 2_000n);
    expect(it.last('stalled')).toMatchObject({
      waitsFor: 'commit', detail: expect.stringMatching(/commit attempt \d+ of span .*ensure no other writers are modifying the same table|loading the table|waiting for the answer/) as string,
    });
  });

  test('WHEN storage refuses the keys as expired for good THEN it is stalled on credentials', async () => {
    const it = await watched(({ store }) => {
      const refuse = (): Promise<never> => Promise.reject(new SinkError('storage-credentials-expired', 'put s3://b/t: ExpiredToken'));
      return { store: { put: refuse, get: (location) => store.get(location), delete: () => Promise.resolve(), open: (location) => ({ ...store.open(location), put: refuse, finish: refuse }) } };
    });
    await snapshot(it);
    await progressFor(it, 75, 2_000n);
    expect(it.reports()).toContain('stalled credentials');
    expect(it.last('stalled')).toMatchObject({ detail: expect.stringContaining('[storage-credentials-expired]') as string });
  });

  test.each([
    ['Materialize', 'materialize', (world: MemoryWorld): Partial<SinkPorts> => ({ source: { discover: never, subscribe: never, close: () => world.source.close() } })],
    ['the catalog', 'catalog', (world: MemoryWorld): Partial<SinkPorts> => ({
      catalog: {
        listNamespaces: never, loadTable: never, createTable: never, commit: (table, requirements, updates) => world.catalog.commit(table, requirements, updates),
      },
    })],
  ] as const)('WHEN %s never answers at the start THEN it is stalled on %s', async (_who, waitsFor, change) => {
    const it = await watched(change);
    await it.world.clock.advance(75_000);
    expect(it.reports()).toEqual([`stalled ${waitsFor}`]);
  });
});

describe('GIVEN the watch', () => {
  test('WHEN nothing waits and progress comes THEN it says nothing for an hour', async () => {
    const it = await watched();
    await snapshot(it);
    await progressFor(it, 3_600, 2_000n);
    expect(it.reports()).toEqual([]);
  }, 60_000);

  test('WHEN the stall lasts THEN it is told after a minute and then once a minute, and its end once', async () => {
    const it = await watched();
    it.world.catalog.onCommit.push(...Array<'lost-before'>(10_000).fill('lost-before'));
    await snapshot(it);
    await progressFor(it, 55, 2_000n);
    expect(it.reports()).toEqual([]);
    await progressFor(it, 190, 60_000n);
    expect(it.reports().length).toBeGreaterThanOrEqual(3);
    expect(it.reports().length).toBeLessThanOrEqual(4);
    it.world.catalog.onCommit.length = 0;
    await progressFor(it, 40, 260_000n);
    expect(it.reports().filter((report) => report === 'stall-over')).toHaveLength(1);
    expect(it.reports().at(-1)).toBe('stall-over');
  });

  test('WHEN the commit interval is long THEN ten intervals are no stall', async () => {
    const it = await watched(() => ({}), { commitIntervalMs: 60_000 });
    it.world.catalog.onCommit.push(...Array<'lost-before'>(10_000).fill('lost-before'));
    await snapshot(it);
    await progressFor(it, 590, 2_000n);
    expect(it.reports()).toEqual([]);
    await progressFor(it, 20, 600_000n);
    expect(it.reports()).toContain('stalled commit');
  });

  test('WHEN it is ended, or the sink has ended, THEN it says nothing more', async () => {
    const it = await watched();
    await snapshot(it);
    it.world.source.rows(insert('2\tb', 1_500n));
    it.end();
    await it.world.clock.advance(300_000);
    expect(it.reports()).toEqual([]);
    const other = await watched();
    await snapshot(other);
    other.world.source.rows(insert('2\tb', 1_500n));
    other.sink.stop();
    await other.world.clock.advance(300_000);
    expect(other.reports()).toEqual([]);
  });
});
