/**
 * Many sinks in one daemon: 1, 10 and 100, idle and busy; and whether one with a huge snapshot delays the commits of the
 * others.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CommitLine, type Daemon, startDaemon } from './daemon.ts';
import { type Lake, openLake, sinkSql } from './lake.ts';
import type { Outcome } from './outcome.ts';
import { socketCount, threadsCpuS } from './process-cost.ts';
import { type Source, startSource } from './source.ts';
import type { RelationScript } from './source-script.ts';
import { percentile, rounded } from './statistics.ts';
import { lineChart } from './svg.ts';
import type { TableRow } from './table-text.ts';

export const MANY_USAGE = `many [--sinks 1,10,100] [--seconds 8] [--rate 2000] [--interval 5] [--huge-rows 3000000] [--fair-sinks 20]:
    rate: lines per second of all busy sinks together; some 10 s more than --seconds for each number of sinks, idle and busy`;

interface Options {
  readonly counts: readonly number[];
  readonly seconds: number;
  readonly linesPerS: number;
  readonly intervalS: number;
  readonly hugeRows: number;
  readonly fairSinks: number;
}

export async function benchMany(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'sinks': { type: 'string' }, 'seconds': { type: 'string' }, 'rate': { type: 'string' }, 'interval': { type: 'string' },
      'huge-rows': { type: 'string' }, 'fair-sinks': { type: 'string' },
    },
  });
  const options: Options = {
    counts: (values.sinks ?? (smoke ? '5' : '1,10,100')).split(',').filter((word) => word !== '').map(Number),
    seconds: Number(values.seconds ?? (smoke ? 3 : 8)), linesPerS: Number(values.rate ?? 2_000), intervalS: Number(values.interval ?? (smoke ? 1 : 5)),
    hugeRows: Number(values['huge-rows'] ?? (smoke ? 300_000 : 3_000_000)), fairSinks: Number(values['fair-sinks'] ?? (smoke ? 3 : 20)),
  };
  const idle: TableRow[] = [];
  const busy: TableRow[] = [];
  for (const count of options.counts) idle.push(await withSinks(options, count, 0, [], (world) => measure(world, options, false)));
  for (const count of options.counts) busy.push(await withSinks(options, count, options.linesPerS / count, [], (world) => measure(world, options, true)));
  const fair = options.fairSinks > 0 ? await fairness(options) : [];
  const title = 'CPU of the daemon by number of sinks';
  const points = (rows: readonly TableRow[]) => rows.map((row) => [Number(row['sinks']), Number(row['CPU % of a core'])] as const);
  return {
    sections: [
      { title: 'Idle: the source ticks each second and nothing changes', rows: idle },
      { title: `Busy: ${options.linesPerS.toLocaleString('en-US')} lines/s in all, commit interval ${options.intervalS} s`, rows: busy },
      { title: `Fairness: ${options.fairSinks} busy sinks, while another writes a snapshot of ${options.hugeRows.toLocaleString('en-US')} rows, then a span of half as many lines`, rows: fair },
    ],
    pictures: options.counts.length === 0 ? [] : [{
      name: 'many-cpu', title,
      svg: lineChart({ title, xLabel: 'sinks', yLabel: '% of a core', logX: true, series: [{ label: 'idle', points: points(idle) }, { label: 'busy', points: points(busy) }] }),
    }],
  };
}

interface World {
  readonly lake: Lake;
  readonly source: Source;
  readonly daemon: Daemon;
  readonly names: readonly string[];
}

const SNAPSHOT_ROWS = 1_000;

async function withSinks<T>(
  options: Options, count: number, linesPerS: number, others: readonly RelationScript[], use: (world: World) => Promise<T>,
): Promise<T> {
  const lake = await openLake({ store: 'files' });
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  const relations = Array.from({ length: count }, (_, index): RelationScript => ({
    name: `bench_${index}`, shape: 'peers', startMs,
    steps: [{ kind: 'snapshot', rows: SNAPSHOT_ROWS }, { kind: 'steady', linesPerS, keys: SNAPSHOT_ROWS, tickMs: 1000 }],
  }));
  const source = await startSource({ relations: [...relations, ...others] }, lake.folder);
  const sinks = [...relations, ...others].map(({ name }) => sinkSql(name, 'upsert', `${options.intervalS}s`));
  const daemon = startDaemon({ definitions: lake.connectionSql + sinks.join(''), materializeUrl: source.url, folder: lake.folder, watchLoop: linesPerS > 0 });
  try {
    const names = relations.map(({ name }) => name);
    for (const name of names) await daemon.committed(({ sink }) => sink === name);
    // What starting left behind is not part of the steady state; beside an idle one it is much, for V8 collects a few seconds later.
    await sleep(Math.min(linesPerS > 0 ? 1 : 6, options.seconds) * 1000);
    return await use({ lake, source, daemon, names });
  } finally {
    await daemon.stop();
    await source.stop();
    await lake.close();
  }
}

async function measure({ lake, source, daemon, names }: World, options: Options, isBusy: boolean): Promise<TableRow> {
  if (isBusy) await daemon.loopDelay();
  const before = { cpuS: threadsCpuS(daemon.pid), requests: lake.requests(), commits: daemon.commits.length, atMs: performance.now() };
  await sleep(options.seconds * 1000);
  const seconds = (performance.now() - before.atMs) / 1000;
  const cost = daemon.cost();
  const share = (threadsCpuS(daemon.pid) - before.cpuS) / seconds;
  const requests = lake.requests();
  const delays = freshnessOf(source, daemon.commits.slice(before.commits));
  const loopDelayP99Ms = isBusy ? (await daemon.loopDelay()).p99Ms : null;
  return {
    'sinks': names.length, 'CPU % of a core': rounded(share * 100, 3), '% a sink': rounded(share * 100 / names.length, 3), 'RSS MiB': cost.rssMib,
    'peak RSS MiB': cost.peakRssMib, 'sockets': socketCount(daemon.pid), 'commits/s': rounded(delays.length / seconds),
    'catalog requests/s': rounded((requests.loads + requests.commits + requests.others - before.requests.loads - before.requests.commits - before.requests.others) / seconds),
    'freshness p50 ms': delays.length === 0 ? null : rounded(percentile(delays, 0.5), 0), 'p99 ms': delays.length === 0 ? null : rounded(percentile(delays, 0.99), 0),
    'loop delay p99 ms': loopDelayP99Ms,
  };
}

/** From the close of a time in the source to the daemon's `committed` line that was read here. */
function freshnessOf(source: Source, commits: readonly CommitLine[]): readonly number[] {
  const closedAt = new Map(source.closed.map(({ relation, frontier, atMs }) => [`${relation} ${frontier}`, atMs]));
  return commits.flatMap(({ sink, frontierMs, atMs }) => {
    const closed = closedAt.get(`${sink} ${frontierMs}`);
    return closed === undefined ? [] : [performance.timeOrigin + atMs - closed];
  });
}

/** A snapshot, and then a span of half as many lines, each on a token. */
function hugeScript(rows: number): RelationScript {
  return {
    name: 'huge', shape: 'peers', startMs: 1_767_225_600_000,
    steps: [
      { kind: 'token' }, { kind: 'snapshot', rows },
      { kind: 'token' }, { kind: 'span', mix: 'update', lines: Math.floor(rows / 4) * 2, keys: rows, times: 10, spanMs: 10_000 },
    ],
  };
}

async function fairness(options: Options): Promise<readonly TableRow[]> {
  const linesPerS = options.linesPerS / options.fairSinks;
  return await withSinks(options, options.fairSinks, linesPerS, [hugeScript(options.hugeRows)], async ({ source, daemon }) => {
    const others = (from: number): readonly number[] => freshnessOf(source, daemon.commits.slice(from).filter(({ sink }) => sink !== 'huge'));
    await daemon.loopDelay();
    const from = daemon.commits.length;
    await sleep(Math.max(options.seconds, options.intervalS * 2) * 1000);
    const alone = others(from);
    const row = async (when: string, delays: readonly number[], hugeS: number | null): Promise<TableRow> => ({
      'commits of the small ones': when, 'commits': delays.length, 'freshness p50 ms': rounded(percentile(delays, 0.5), 0),
      'p99 ms': rounded(percentile(delays, 0.99), 0), 'max ms': rounded(percentile(delays, 1), 0),
      'p50 ÷ alone': rounded(percentile(delays, 0.5) / percentile(alone, 0.5)), 'p99 ÷ alone': rounded(percentile(delays, 0.99) / percentile(alone, 0.99)),
      'huge one took s': hugeS, 'loop delay p99 ms': (await daemon.loopDelay()).p99Ms, 'peak RSS MiB': daemon.cost().peakRssMib,
    });
    const beside = async (when: string): Promise<TableRow> => {
      const begun = { commits: daemon.commits.length, atMs: performance.now() };
      source.give(1, 'huge');
      const { atMs } = await daemon.committed(({ sink, records }) => sink === 'huge' && records > 0, begun.commits);
      return await row(when, others(begun.commits), rounded((atMs - begun.atMs) / 1000, 1));
    };
    return [await row('alone', alone, null), await beside('beside the snapshot'), await beside('beside the span')];
  });
}
