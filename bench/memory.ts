/**
 * Resident memory at the defaults of the command, where it is hardest to bound: a snapshot of fifty million rows, a span of
 * ten million distinct keys, one transaction of five million updates, rows of a hundred columns. Peak as the kernel saw it
 * (VmHWM), and a time line.
 */
import { parseArgs } from 'node:util';
import type { Outcome } from './outcome.ts';
import type { ShapeName } from './shapes.ts';
import { type SinkRun, runSinkOnce } from './sink-run.ts';
import type { SourceStep } from './source-script.ts';
import { rounded } from './statistics.ts';
import { lineChart } from './svg.ts';
import { sumTable } from './verify.ts';

export const MEMORY_USAGE = `memory [--cases snapshot,keys,transaction,wide,append] [--scale 1] [--memory-budget SIZE]: scale 0.1 is a tenth of all rows`;

interface Case {
  readonly name: string;
  readonly label: string;
  readonly mode: 'upsert' | 'append';
  readonly shape: ShapeName;
  readonly steps: readonly SourceStep[];
  readonly lines: number;
  /** Rows in the table at the end. */
  readonly rows: number;
}

const SMALL = 1_000;

function casesOf(scale: number): readonly Case[] {
  const million = (count: number): number => Math.max(2 * SMALL, Math.round(count * 1_000_000 * scale));
  const small = { kind: 'snapshot', rows: SMALL } as const;
  const span = { kind: 'span', spanMs: 10_000 } as const;
  const snapshot = million(50);
  const keys = million(10);
  const updates = million(5);
  const wide = million(2);
  const count = (value: number): string => `${rounded(value / 1e6)} M`;
  return [
    {
      name: 'snapshot', label: `snapshot of ${count(snapshot)} rows`, mode: 'upsert', shape: 'peers', lines: snapshot, rows: snapshot,
      steps: [{ kind: 'snapshot', rows: snapshot }],
    },
    {
      name: 'keys', label: `one span with ${count(keys)} distinct keys`, mode: 'upsert', shape: 'peers', lines: keys, rows: SMALL + keys,
      steps: [small, { ...span, mix: 'insert', lines: keys, keys: SMALL, times: 10 }],
    },
    {
      // Of the keys only the first are in the snapshot; the retraction of the others meets nothing, which costs the same.
      name: 'transaction', label: `one transaction of ${count(updates)} updates`, mode: 'upsert', shape: 'peers', lines: 2 * updates, rows: updates,
      steps: [small, { ...span, mix: 'update', lines: 2 * updates, keys: updates, times: 1 }],
    },
    {
      name: 'wide', label: `${count(wide)} rows of 100 columns, then ${count(wide / 4)} updates`, mode: 'upsert', shape: 'wide',
      lines: wide + 2 * Math.floor(wide / 4), rows: wide,
      steps: [{ kind: 'snapshot', rows: wide }, { ...span, mix: 'update', lines: 2 * Math.floor(wide / 4), keys: wide, times: 1 }],
    },
    {
      name: 'append', label: `append, one transaction of ${count(updates)} updates`, mode: 'append', shape: 'peers', lines: 2 * updates, rows: SMALL + 2 * updates,
      steps: [small, { ...span, mix: 'update', lines: 2 * updates, keys: updates, times: 1 }],
    },
  ];
}

export async function benchMemory(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({
    args: [...args], options: { 'cases': { type: 'string' }, 'scale': { type: 'string' }, 'memory-budget': { type: 'string' } },
  });
  const wanted = (values.cases ?? (smoke ? 'snapshot,transaction' : 'snapshot,keys,transaction,wide,append')).split(',');
  const cases = casesOf(Number(values.scale ?? (smoke ? 0.01 : 1))).filter(({ name }) => wanted.includes(name));
  const budget = values['memory-budget'];
  const runs: { readonly one: Case; readonly run: SinkRun }[] = [];
  for (const one of cases) runs.push({ one, run: await runCase(one, budget === undefined ? [] : ['--memory-budget', budget]) });
  const rows = runs.map(({ one, run }) => ({
    'case': one.label, 'peak RSS MiB': run.end.peakRssMib, 'at the end MiB': run.memory.at(-1)?.rssMib ?? null, 's': rounded(run.end.wallS, 1),
    'k lines/s': rounded(one.lines / run.end.wallS / 1000, 0), 'k lines/CPU-s': rounded(one.lines / run.end.cpuS / 1000, 0),
    'MB written': rounded(run.writtenBytes / 1e6, 0), 'files': run.writtenFiles,
    'loop delay p99 ms': run.loopDelay.p99Ms, 'max ms': run.loopDelay.maxMs,
  }));
  const title = 'Resident memory over time';
  const svg = lineChart({
    title, xLabel: 'seconds', yLabel: 'MiB', level: { label: 'target: 512 MiB', value: 512 },
    series: runs.map(({ one, run }) => ({ label: one.name, points: thinned(run.memory).map(({ atS, rssMib }) => [atS, rssMib] as const) })),
  });
  return {
    sections: [{ title: `Memory, ${budget === undefined ? 'default budget' : `budget ${budget}`}, local files`, rows, notes: ['Each table was read back by DuckDB and had its number of rows.'] }],
    pictures: [{ name: 'memory', title, svg }],
    details: runs.map(({ one, run }) => ({ case: one.name, memory: thinned(run.memory), loopDelay: run.loopDelay, complaints: run.complaints })),
  };
}

async function runCase(one: Case, args: readonly string[]): Promise<SinkRun> {
  return await runSinkOnce({
    store: 'files', mode: one.mode, commitInterval: '10s', zstdLevel: null, tokensAtStart: 0, profileFolder: null, arguments: args,
    sampleEveryMs: 200, script: { name: 'bench', shape: one.shape, startMs: 1_767_225_600_000, steps: one.steps },
    verify: async (lake) => {
      const { rows } = await sumTable(lake, 'bench');
      if (rows !== one.rows) throw new Error(`${one.label}: the table has ${rows} rows and should have ${one.rows}`);
    },
  });
}

const POINTS_MAX = 240;

/** The highest of neighbours, so that no peak is lost. */
export function thinned<T extends { readonly rssMib: number }>(samples: readonly T[]): readonly T[] {
  const step = Math.max(1, Math.ceil(samples.length / POINTS_MAX));
  return Array.from({ length: Math.ceil(samples.length / step) }, (_, index) =>
    samples.slice(index * step, (index + 1) * step).reduce((high, sample) => (sample.rssMib > high.rssMib ? sample : high)));
}
