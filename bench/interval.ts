/**
 * Commit intervals under a steady stream: how fresh the table is, and what it costs to keep it so.
 *
 * Freshness of a commit: from the moment the source closed a time (it sends the progress) until a reader that polls the
 * catalog sees a snapshot with that frontier. A row waits up to the interval besides. Times are of the machine's clock.
 * The reader begins to poll when a commit arrives at the catalog, so that it neither disturbs nor misses.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startDaemon } from './daemon.ts';
import { type Floor, type FloorTimes, floorOf, measureFloor, warmUp } from './floor.ts';
import { type Lake, type StoreKind, openLake, sinkSql } from './lake.ts';
import type { Outcome } from './outcome.ts';
import { seeTable } from './reader.ts';
import { type Source, startSource } from './source.ts';
import { median, percentile, rounded } from './statistics.ts';
import { lineChart } from './svg.ts';
import type { TableRow } from './table-text.ts';

export const INTERVAL_USAGE = `interval [--intervals 1,2,5,15,60] [--rate 20000] [--rates 1000,5000] [--seconds 60] [--tick 1000] [--store files|s3]
    [--delays 200,2000,10000] [--delay-intervals 1,15] [--delay-seconds 90]`;

interface Options {
  readonly intervalsS: readonly number[];
  readonly linesPerS: number;
  /** Other rates, each at the first interval: what of the freshness is the work on rows. */
  readonly otherRates: readonly number[];
  readonly seconds: number;
  /** Before anything is counted: a daemon runs for months, and its code is compiled in the first seconds and commits. */
  readonly warmUpSeconds: number;
  readonly warmUpCommits: number;
  readonly tickMs: number;
  readonly store: StoreKind;
  readonly delaysMs: readonly number[];
  readonly delayIntervalsS: readonly number[];
  readonly delaySeconds: number;
}

/** A snapshot as the reader met it. */
interface Sighting {
  readonly frontierMs: number;
  /** When the source closed the times before it. */
  readonly closedAtMs: number;
  readonly atMs: number;
}

interface IntervalRun {
  readonly sightings: readonly Sighting[];
  readonly linesPerS: number;
  readonly intervalS: number;
  readonly delayMs: number;
  readonly seconds: number;
  readonly cpuShare: number;
  readonly perCommit: { readonly loads: number; readonly commits: number; readonly otherRequests: number; readonly storeRequests: number | null;
    readonly metadataKib: number; readonly files: number; readonly lines: number };
  readonly floor: Floor | null;
  readonly loopDelayP99Ms: number;
  readonly peakRssMib: number;
}

export async function benchInterval(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const options = parseOptions(args, smoke);
  const runs: IntervalRun[] = [];
  for (const intervalS of options.intervalsS) runs.push(await runInterval(options, intervalS, 0, options.seconds));
  const atRates: IntervalRun[] = [];
  for (const linesPerS of options.otherRates) {
    atRates.push(await runInterval({ ...options, linesPerS }, options.intervalsS[0] ?? 1, 0, options.seconds));
  }
  const delayed: IntervalRun[] = [];
  for (const delayMs of options.delaysMs) {
    for (const intervalS of options.delayIntervalsS) delayed.push(await runInterval(options, intervalS, delayMs, options.delaySeconds));
  }
  const rate = `${options.linesPerS.toLocaleString('en-US')} lines/s of updates, upsert; source ticks every ${options.tickMs} ms; store: ${options.store}`;
  const sections = [{
    title: `Freshness by commit interval: ${rate}`, rows: runs.map(freshnessRow),
    notes: ['Floor: the round trips of a commit done bare against the same servers and seen by the same reader, half of them before and half after, what can go side by side doing so; in turn: one after the other.'],
  }, { title: `What a commit takes: ${rate}`, rows: runs.map(costRow) }];
  if (atRates.length > 0) {
    const byRate = [...atRates, ...runs.slice(0, 1)].toSorted((a, b) => a.linesPerS - b.linesPerS);
    sections.push({
      title: `By rate, at an interval of ${options.intervalsS[0] ?? 1} s; store: ${options.store}`, notes: [],
      rows: byRate.map((run) => ({ 'lines/s': run.linesPerS, ...freshnessRow(run), 'CPU % of a core': rounded(run.cpuShare * 100, 1) })),
    });
  }
  if (delayed.length > 0) {
    sections.push({
      title: `A slow catalog: ${rate}`, rows: delayed.map(delayRow),
      notes: ['Lag: age of the newest frontier in the table just before the next snapshot shows. It stays bounded when the second half is not worse than the first.'],
    });
  }
  return { ...(options.store === 's3' ? { variant: 's3' } : {}), sections, pictures: pictures(runs, delayed, options), details: { runs, atRates, delayed } };
}

function parseOptions(args: readonly string[], smoke: boolean): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'intervals': { type: 'string' }, 'rate': { type: 'string' }, 'rates': { type: 'string' }, 'seconds': { type: 'string' }, 'tick': { type: 'string' }, 'store': { type: 'string' },
      'delays': { type: 'string' }, 'delay-intervals': { type: 'string' }, 'delay-seconds': { type: 'string' },
    },
  });
  const list = (text: string | undefined, full: string, short: string): number[] =>
    (text ?? (smoke ? short : full)).split(',').filter((word) => word !== '').map(Number);
  return {
    intervalsS: list(values.intervals, '1,2,5,15,60', '1'),
    linesPerS: Number(values.rate ?? (smoke ? 5_000 : 20_000)),
    otherRates: list(values.rates, '1000,5000', ''),
    seconds: Number(values.seconds ?? (smoke ? 5 : 60)),
    warmUpSeconds: smoke ? 0 : 10,
    warmUpCommits: smoke ? 0 : 2,
    tickMs: Number(values.tick ?? 1000),
    store: values.store === 's3' ? 's3' : 'files',
    delaysMs: list(values.delays, '200,2000,10000', '200'),
    delayIntervalsS: list(values['delay-intervals'], '1,15', '1'),
    delaySeconds: Number(values['delay-seconds'] ?? (smoke ? 4 : 90)),
  };
}

const TABLE = 'bench';
const SNAPSHOT_ROWS = 100_000;
/** Before and after the run each, since how fast the machine is changes by the minute. */
const FLOOR_ROUNDS = 10;

async function runInterval(options: Options, intervalS: number, delayMs: number, seconds: number): Promise<IntervalRun> {
  const lake = await openLake({ store: options.store, commitDelayMs: delayMs });
  await warmUp(lake);
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  const source = await startSource({
    relations: [{
      name: TABLE, shape: 'peers', startMs,
      steps: [
        { kind: 'snapshot', rows: SNAPSHOT_ROWS },
        { kind: 'steady', linesPerS: options.linesPerS, keys: SNAPSHOT_ROWS, tickMs: options.tickMs },
      ],
    }],
  }, lake.folder);
  const daemon = startDaemon({
    definitions: lake.connectionSql + sinkSql(TABLE, 'upsert', `${intervalS}s`), materializeUrl: source.url, folder: lake.folder,
  });
  try {
    const watch = watchTable(lake, source);
    await daemon.committed(() => true);
    const ofSnapshot = await writtenBy(lake);
    // The first span behind it begins at some time of the source's.
    await daemon.committed(({ records }) => records > 0, 1);
    const warm = sleep(Math.max(options.warmUpSeconds, options.warmUpCommits * intervalS) * 1000);
    const floorBefore = delayMs === 0 ? await bareCommits(lake, ofSnapshot) : null;
    await warm;
    await daemon.loopDelay();
    const before = { requests: lake.requests(), store: lake.storeRequests(), commits: daemon.commits.length, cost: daemon.cost(), avro: await lake.files('.avro') };
    watch.sightings.length = 0;
    const begunMs = performance.now();
    // At least four commits, however long the interval.
    await sleep(Math.max(seconds, intervalS * 4 + 1) * 1000);
    const elapsedS = (performance.now() - begunMs) / 1000;
    const cost = daemon.cost();
    const requests = lake.requests();
    const commits = daemon.commits.slice(before.commits);
    const count = Math.max(1, commits.length);
    const avro = await lake.files('.avro');
    const { p99Ms } = await daemon.loopDelay();
    const storeRequests = lake.store === 's3' ? rounded((lake.storeRequests() - before.store) / count) : null;
    const cpuShare = (cost.cpuS - before.cost.cpuS) / elapsedS;
    const sightings = watch.sightings.slice();
    watch.stop();
    await daemon.stop();
    return {
      sightings, linesPerS: options.linesPerS, intervalS, delayMs, seconds: elapsedS, cpuShare, loopDelayP99Ms: p99Ms, peakRssMib: cost.peakRssMib,
      perCommit: {
        loads: rounded((requests.loads - before.requests.loads) / count), commits: rounded((requests.commits - before.requests.commits) / count),
        otherRequests: rounded((requests.others - before.requests.others) / count), storeRequests,
        metadataKib: rounded((avro.bytes - before.avro.bytes) / count / 1024, 1),
        files: rounded(commits.reduce((sum, { dataFiles, deleteFiles }) => sum + dataFiles + deleteFiles, 0) / count),
        lines: Math.round(commits.reduce((sum, { records, deletes }) => sum + records + deletes, 0) / count),
      },
      floor: floorBefore === null ? null : floorOf([floorBefore, await bareCommits(lake, ofSnapshot)]),
    };
  } finally {
    await daemon.stop();
    await source.stop();
    await lake.close();
  }
}

interface Written {
  readonly parquet: { readonly bytes: number; readonly count: number };
  readonly avro: { readonly bytes: number; readonly count: number };
}

async function writtenBy(lake: Lake): Promise<Written> {
  return { parquet: await lake.files('.parquet'), avro: await lake.files('.avro') };
}

/** With objects of the sizes that the sink's have had on average since then. */
async function bareCommits(lake: Lake, since: Written): Promise<FloorTimes> {
  const now = await writtenBy(lake);
  const meanOf = (kind: keyof Written): number => (
    Math.round((now[kind].bytes - since[kind].bytes) / Math.max(1, now[kind].count - since[kind].count))
  );
  const [file, avro] = [meanOf('parquet'), meanOf('avro')];
  return await measureFloor(lake, { files: [file, file], manifests: [avro, avro], list: avro }, FLOOR_ROUNDS);
}

/** Looks at the table from the moment a commit arrives until the table has changed. */
function watchTable(lake: Lake, source: Source): { readonly sightings: Sighting[]; stop(): void } {
  const sightings: Sighting[] = [];
  let seen = 0;
  let isLooking = false;
  let isStopped = false;
  const look = async (): Promise<void> => {
    let frontier = 0;
    const atMs = await seeTable(lake, TABLE, (text) => {
      frontier = Math.max(0, ...[...text.matchAll(/"mz-frontier"\s*:\s*"\[?(\d+)/g)].map(([, digits]) => Number(digits)));
      return frontier > seen;
    }, () => isStopped);
    if (atMs === null) return;
    seen = frontier;
    const closed = source.closed.findLast((report) => report.frontier === String(frontier));
    sightings.push({ frontierMs: frontier, closedAtMs: closed?.atMs ?? frontier, atMs });
  };
  lake.onCommit = () => {
    if (isLooking) return;
    isLooking = true;
    look().catch(() => undefined).finally(() => { isLooking = false; });
  };
  return { sightings, stop: () => { isStopped = true; } };
}

function freshness({ sightings }: IntervalRun): readonly number[] {
  return sightings.map(({ closedAtMs, atMs }) => atMs - closedAtMs);
}

function freshnessRow(run: IntervalRun): TableRow {
  const values = freshness(run);
  const of = (share: number): number => rounded(percentile(values, share), 1);
  const floor = run.floor?.p50Ms ?? NaN;
  return {
    'interval s': run.intervalS, 'commits': values.length, 'p50 ms': of(0.5), 'p90 ms': of(0.9), 'p99 ms': of(0.99), 'max ms': of(1),
    'floor p50 ms': floor, 'floor in turn ms': run.floor?.inTurnP50Ms ?? null, 'p50 ÷ floor': rounded(of(0.5) / floor), 'p99 ÷ floor': rounded(of(0.99) / floor),
  };
}

function costRow(run: IntervalRun): TableRow {
  const { perCommit } = run;
  return {
    'interval s': run.intervalS, 'lines': perCommit.lines, 'files': perCommit.files, 'metadata KiB': perCommit.metadataKib, 'loads': perCommit.loads,
    'posts': perCommit.commits, 'other catalog requests': perCommit.otherRequests, 'store requests': perCommit.storeRequests,
    'CPU % of a core': rounded(run.cpuShare * 100, 1), 'peak RSS MiB': run.peakRssMib, 'loop delay p99 ms': run.loopDelayP99Ms,
  };
}

/** Age of what a reader sees, just before it gets better. */
function lags({ sightings }: IntervalRun): readonly number[] {
  return sightings.slice(1).map(({ atMs }, index) => atMs - (sightings[index]?.frontierMs ?? 0));
}

function delayRow(run: IntervalRun): TableRow {
  const values = lags(run);
  const half = Math.ceil(values.length / 2);
  return {
    'delay s': run.delayMs / 1000, 'interval s': run.intervalS, 'commits': run.sightings.length, 'lines a commit': run.perCommit.lines,
    'freshness p50 s': rounded(median(freshness(run)) / 1000), 'lag p50 s': rounded(median(values) / 1000),
    'lag max s, 1st half': rounded(Math.max(...values.slice(0, half)) / 1000), 'lag max s, 2nd half': rounded(Math.max(...values.slice(half)) / 1000),
    'peak RSS MiB': run.peakRssMib,
  };
}

function pictures(runs: readonly IntervalRun[], delayed: readonly IntervalRun[], options: Options): NonNullable<Outcome['pictures']> {
  const suffix = options.store === 's3' ? '-s3' : '';
  const title = 'Freshness behind the close of a time, by commit interval';
  const line = (label: string, of: (run: IntervalRun) => number) => ({ label, points: runs.map((run) => [run.intervalS, of(run)] as const) });
  const made = [{
    name: `interval-freshness${suffix}`, title,
    svg: lineChart({
      title, xLabel: 'commit interval, s', yLabel: 'ms', logX: true,
      series: [
        line('p50', (run) => percentile(freshness(run), 0.5)), line('p99', (run) => percentile(freshness(run), 0.99)),
        line('floor', (run) => run.floor?.p50Ms ?? 0),
      ],
    }),
  }];
  if (delayed.length === 0) return made;
  const slow = 'Lag over time with a slow catalog';
  const series = delayed.map((run) => ({
    label: `${run.delayMs / 1000} s a commit, interval ${run.intervalS} s`,
    points: lags(run).map((lag, index) => [((run.sightings[index + 1]?.atMs ?? 0) - (run.sightings[0]?.atMs ?? 0)) / 1000, lag / 1000] as const),
  }));
  return [...made, { name: `interval-slow-catalog${suffix}`, title: slow, svg: lineChart({ title: slow, xLabel: 'seconds', yLabel: 'lag, s', series: series.slice(0, 3) }) }];
}
