/**
 * A restart with a day of history waiting: the sink has a table with a million keys, was stopped, and finds a hundred million
 * updates when it comes back. How long until the table is up to date, in how much memory and disk.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Daemon, startDaemon } from './daemon.ts';
import { type Lake, openLake, sinkSql } from './lake.ts';
import type { Outcome } from './outcome.ts';
import { sampleMemory } from './process-cost.ts';
import { type Source, startSource } from './source.ts';
import type { SourceStep } from './source-script.ts';
import { rounded } from './statistics.ts';
import { lineChart } from './svg.ts';
import { sumTable } from './verify.ts';

export const CATCH_UP_USAGE = `catch-up [--updates 100000000] [--keys 1000000] [--steps 24] [--interval 60s] [--memory-budget SIZE]:
    steps: in how many steps of its frontier the source gives the history`;

const TABLE = 'bench';
const DAY_MS = 86_400_000;

export async function benchCatchUp(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({
    args: [...args],
    options: { 'updates': { type: 'string' }, 'keys': { type: 'string' }, 'steps': { type: 'string' }, 'interval': { type: 'string' }, 'memory-budget': { type: 'string' } },
  });
  const updates = Number(values.updates ?? (smoke ? 300_000 : 100_000_000));
  const keys = Number(values.keys ?? (smoke ? 50_000 : 1_000_000));
  const steps = Number(values.steps ?? (smoke ? 4 : 24));
  const interval = values.interval ?? '60s';
  const span = {
    kind: 'updates', updates: Math.floor(updates / steps), keys, times: 1_000, spanMs: Math.floor(DAY_MS / steps),
  } as const;
  const lake = await openLake({ store: 'files' });
  const source = await startSource({
    relations: [{
      name: TABLE, shape: 'peers', startMs: 1_767_225_600_000,
      steps: [{ kind: 'snapshot', rows: keys }, { kind: 'token' }, { kind: 'resume-here' }, ...Array.from({ length: steps }, (): SourceStep => span)],
    }],
  }, lake.folder);
  const start = (): Daemon => startDaemon({
    definitions: lake.connectionSql + sinkSql(TABLE, 'upsert', interval), materializeUrl: source.url, folder: lake.folder,
    arguments: values['memory-budget'] === undefined ? [] : ['--memory-budget', values['memory-budget']],
  });
  try {
    const first = start();
    await first.committed(({ records }) => records > 0);
    await first.stop();
    return await catchUp({ lake, source, daemon: start(), lines: 2 * steps * span.updates, steps, keys });
  } finally {
    await source.stop();
    await lake.close();
  }
}

interface Restarted {
  readonly lake: Lake;
  readonly source: Source;
  readonly daemon: Daemon;
  readonly lines: number;
  readonly steps: number;
  readonly keys: number;
}

async function catchUp({ lake, source, daemon, lines, steps, keys }: Restarted): Promise<Outcome> {
  const sampler = sampleMemory(daemon.pid, 500);
  const disk = sampleDisk(join(lake.folder, 'spill'));
  try {
    // The snapshot of the first life closed one span.
    while (source.closed.length < 1 + steps) await sleepOrDie(daemon);
    const sourceDoneS = (performance.now() - daemon.startedMs) / 1000;
    const last = Number(source.closed.at(-1)?.frontier);
    const commit = await daemon.committed(({ frontierMs }) => frontierMs !== null && frontierMs >= last);
    const wallS = (commit.atMs - daemon.startedMs) / 1000;
    const loopDelay = await daemon.loopDelay();
    sampler.stop();
    await daemon.stop();
    const { rows } = await sumTable(lake, TABLE);
    if (rows !== keys) throw new Error(`the table has ${rows} rows and should have ${keys}`);
    const row = {
      'lines waiting': lines, 'keys': keys, 'caught up after s': rounded(wallS, 1), 'k lines/s': rounded(lines / wallS / 1000, 0),
      'k lines/CPU-s': rounded(lines / commit.cost.cpuS / 1000, 0), 'read from the source after s': rounded(sourceDoneS, 1), 'commits': daemon.commits.length,
      'peak RSS MiB': commit.cost.peakRssMib, 'peak spill MB': rounded(disk.peakBytes() / 1e6, 0), 'loop delay p99 ms': loopDelay.p99Ms,
    };
    const title = 'Catching up: resident memory';
    const points = sampler.samples.map(({ atS, rssMib }) => [atS, rssMib] as const);
    const svg = lineChart({ title, xLabel: 'seconds', yLabel: 'MiB', level: { label: 'target: 512 MiB', value: 512 }, series: [{ label: 'RSS', points }] });
    return {
      sections: [{ title: `Restart with ${lines.toLocaleString('en-US')} lines of history, which the source gives in ${steps} steps of its frontier`, rows: [row] }],
      pictures: [{ name: 'catch-up', title, svg }],
      details: { commits: daemon.commits, memory: sampler.samples, complaints: daemon.complaints },
    };
  } finally {
    sampler.stop();
    disk.stop();
    await daemon.stop();
  }
}

async function sleepOrDie(daemon: Daemon): Promise<void> {
  daemon.cost();
  await sleep(20);
}

function sampleDisk(folder: string): { peakBytes(): number; stop(): void } {
  let peak = 0;
  const timer = setInterval(() => {
    try {
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      peak = Math.max(peak, files.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0));
    } catch {
      // A file that is gone between the two calls: the next sample will do.
    }
  }, 500);
  return { peakBytes: () => peak, stop: () => clearInterval(timer) };
}
