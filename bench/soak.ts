/**
 * Hours of a steady stream at the defaults: does resident memory stay where it was? One upsert and one append sink in one
 * daemon. The first tenth is warm-up, in which pools and caches fill; of the rest the last quarter is held against the first.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type LoopDelay, type Daemon, startDaemon } from './daemon.ts';
import { openLake, sinkSql } from './lake.ts';
import { thinned } from './memory.ts';
import type { Outcome } from './outcome.ts';
import { startSource } from './source.ts';
import type { RelationScript } from './source-script.ts';
import { median, percentile, rounded, slope } from './statistics.ts';
import { lineChart } from './svg.ts';

export const SOAK_USAGE = 'soak [--minutes 120] [--rate 2000] [--interval 5]: rate: lines per second of both sinks together';

interface Options {
  readonly minutes: number;
  readonly linesPerS: number;
  readonly intervalS: number;
}

interface Sample {
  /** From the first commits of both sinks on. */
  readonly atS: number;
  readonly rssMib: number;
  readonly cpuS: number;
}

interface SoakRun {
  readonly samples: readonly Sample[];
  readonly commits: number;
  readonly commitsRepeated: number;
  readonly peakRssMib: number;
  readonly loopDelay: LoopDelay;
  readonly complaints: readonly string[];
}

const WARM_UP_SHARE = 0.1;
const SNAPSHOT_ROWS = 100_000;
const SAMPLES_WANTED = 150;
const SAMPLE_S_MAX = 5;
const SINKS = [['soak_upsert', 'upsert'], ['soak_append', 'append']] as const;

export async function benchSoak(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({ args: [...args], options: { minutes: { type: 'string' }, rate: { type: 'string' }, interval: { type: 'string' } } });
  const options: Options = {
    minutes: Number(values.minutes ?? (smoke ? 0.15 : 120)), linesPerS: Number(values.rate ?? 2_000), intervalS: Number(values.interval ?? (smoke ? 1 : 5)),
  };
  const run = await soak(options);
  const { samples } = run;
  const endS = options.minutes * 60;
  const warm = samples.filter(({ atS }) => atS >= endS * WARM_UP_SHARE);
  const quarterS = endS * (1 - WARM_UP_SHARE) / 4;
  const first = warm.filter(({ atS }) => atS < endS * WARM_UP_SHARE + quarterS);
  const last = warm.filter(({ atS }) => atS >= endS - quarterS);
  const rss = (of: readonly Sample[]): number => rounded(median(of.map(({ rssMib }) => rssMib)), 1);
  const mibPerS = slope(warm.map(({ atS, rssMib }) => [atS, rssMib] as const));
  const title = 'Resident memory over a soak';
  return {
    sections: [{
      title: `Soak: ${options.minutes} min of ${options.linesPerS.toLocaleString('en-US')} lines/s, an upsert and an append sink, commit interval ${options.intervalS} s`,
      rows: [{
        'RSS MiB, first quarter': rss(first), 'last quarter': rss(last), 'last ÷ first': rounded(rss(last) / rss(first), 3),
        'MiB an hour': rounded(mibPerS * 3600, 1), 'lowest MiB': Math.min(...warm.map(({ rssMib }) => rssMib)),
        'p95 MiB': rounded(percentile(warm.map(({ rssMib }) => rssMib), 0.95), 0), 'peak RSS MiB': run.peakRssMib,
        'commits': run.commits, 'more than one attempt': run.commitsRepeated,
        'CPU % of a core, first quarter': cpuPercent(first), 'CPU %, last quarter': cpuPercent(last), 'loop delay p99 ms': run.loopDelay.p99Ms,
      }],
      notes: ['Medians of resident memory after the first tenth of the time; MiB an hour: least squares over all samples since. Default memory budget, local files.'],
    }],
    pictures: [{
      name: 'soak', title,
      svg: lineChart({
        title, xLabel: 'minutes', yLabel: 'MiB', series: [{ label: 'resident memory', points: thinned(samples).map(({ atS, rssMib }) => [atS / 60, rssMib] as const) }],
      }),
    }],
    details: { samples: thinned(samples), loopDelay: run.loopDelay, complaints: run.complaints },
  };
}

async function soak({ minutes, linesPerS, intervalS }: Options): Promise<SoakRun> {
  const lake = await openLake({ store: 'files' });
  const startMs = Math.floor(Date.now() / 1000) * 1000;
  const relations = SINKS.map(([name]): RelationScript => ({
    name, shape: 'peers', startMs,
    steps: [{ kind: 'snapshot', rows: SNAPSHOT_ROWS }, { kind: 'steady', linesPerS: linesPerS / SINKS.length, keys: SNAPSHOT_ROWS, tickMs: 1000 }],
  }));
  const source = await startSource({ relations }, lake.folder);
  const sinks = SINKS.map(([name, mode]) => sinkSql(name, mode, `${intervalS}s`));
  const daemon = startDaemon({ definitions: lake.connectionSql + sinks.join(''), materializeUrl: source.url, folder: lake.folder });
  try {
    for (const [name] of SINKS) await daemon.committed(({ sink, records }) => sink === name && records > 0);
    await daemon.loopDelay();
    const before = daemon.commits.length;
    const samples = await sample(daemon, minutes * 60);
    const commits = daemon.commits.slice(before);
    const loopDelay = await daemon.loopDelay();
    const { peakRssMib } = daemon.cost();
    const { complaints } = daemon;
    return { samples, commits: commits.length, commitsRepeated: commits.filter(({ attempts }) => attempts > 1).length, peakRssMib, loopDelay, complaints };
  } finally {
    await daemon.stop();
    await source.stop();
    await lake.close();
  }
}

/** Ends the soak when the daemon ended or a sink halted: hours of samples of nothing would look flat. */
async function sample(daemon: Daemon, seconds: number): Promise<readonly Sample[]> {
  const everyMs = Math.min(SAMPLE_S_MAX, seconds / SAMPLES_WANTED) * 1000;
  const samples: Sample[] = [];
  const begunMs = performance.now();
  for (;;) {
    const atS = (performance.now() - begunMs) / 1000;
    daemon.assertAlive();
    const { rssMib, cpuS } = daemon.cost();
    samples.push({ atS: rounded(atS, 1), rssMib, cpuS });
    if (atS >= seconds) return samples;
    await sleep(Math.min(everyMs, Math.max(1, (seconds - atS) * 1000)));
  }
}

function cpuPercent(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atS === first.atS) return NaN;
  return rounded((last.cpuS - first.cpuS) / (last.atS - first.atS) * 100, 1);
}
