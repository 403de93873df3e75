/** All benchmarks by name. */
import { AGE_USAGE, benchAge } from './age.ts';
import { CATCH_UP_USAGE, benchCatchUp } from './catch-up.ts';
import { INTERVAL_USAGE, benchInterval } from './interval.ts';
import { MANY_USAGE, benchMany } from './many.ts';
import { MEMORY_USAGE, benchMemory } from './memory.ts';
import { MICRO_USAGE, benchMicro } from './micro.ts';
import type { Outcome } from './outcome.ts';
import { REPORT_USAGE, writeReport } from './report.ts';
import { ALL_USAGE, SMOKE_USAGE, runAll, runSmoke } from './series.ts';
import { SOAK_USAGE, benchSoak } from './soak.ts';
import { THROUGHPUT_USAGE, benchThroughput } from './throughput.ts';

export type Benchmark =
  | { readonly kind: 'single'; readonly usage: string; readonly run: (args: readonly string[], smoke: boolean) => Promise<Outcome> }
  /** Runs others, each of which is recorded by itself. */
  | { readonly kind: 'series'; readonly usage: string; readonly run: (args: readonly string[]) => Promise<void> };

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  throughput: { kind: 'single', usage: THROUGHPUT_USAGE, run: benchThroughput },
  interval: { kind: 'single', usage: INTERVAL_USAGE, run: benchInterval },
  age: { kind: 'single', usage: AGE_USAGE, run: benchAge },
  memory: { kind: 'single', usage: MEMORY_USAGE, run: benchMemory },
  'catch-up': { kind: 'single', usage: CATCH_UP_USAGE, run: benchCatchUp },
  many: { kind: 'single', usage: MANY_USAGE, run: benchMany },
  soak: { kind: 'single', usage: SOAK_USAGE, run: benchSoak },
  micro: { kind: 'single', usage: MICRO_USAGE, run: benchMicro },
  smoke: { kind: 'series', usage: SMOKE_USAGE, run: runSmoke },
  all: { kind: 'series', usage: ALL_USAGE, run: runAll },
  report: { kind: 'series', usage: REPORT_USAGE, run: writeReport },
};

export function findBenchmark(name: string): Benchmark | null {
  return BENCHMARKS[name] ?? null;
}

export function usageText(): string {
  const lines = Object.values(BENCHMARKS).map(({ usage }) => `  ${usage}`);
  return ['usage: npm run bench -- NAME [options] [--smoke]', ...lines].join('\n');
}
