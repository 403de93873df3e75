/** What many runs did, for the report. */
import type { RunResult } from './simulate.ts';

/** Plain data, so that it goes from one process to another. */
export interface TallyCounts {
  readonly numbers: Readonly<Record<'runs' | 'steps' | 'commits' | 'sectioned' | 'kills' | 'caughtUp', number>>;
  readonly faults: ReadonlyMap<string, number>;
  readonly events: ReadonlyMap<string, number>;
  readonly halts: ReadonlyMap<string, number>;
}

export interface Tally {
  add(counts: TallyCounts): void;
  readonly counts: TallyCounts;
}

export function createTally(): Tally {
  const numbers = { runs: 0, steps: 0, commits: 0, sectioned: 0, kills: 0, caughtUp: 0 };
  const faults = new Map<string, number>();
  const events = new Map<string, number>();
  const halts = new Map<string, number>();
  return {
    counts: { numbers, faults, events, halts },
    add(counts) {
      numbers.runs += counts.numbers.runs;
      numbers.steps += counts.numbers.steps;
      numbers.commits += counts.numbers.commits;
      numbers.sectioned += counts.numbers.sectioned;
      numbers.kills += counts.numbers.kills;
      numbers.caughtUp += counts.numbers.caughtUp;
      addAll(faults, counts.faults);
      addAll(events, counts.events);
      addAll(halts, counts.halts);
    },
  };
}

function addAll(sums: Map<string, number>, counts: ReadonlyMap<string, number>): void {
  for (const [key, times] of counts) sums.set(key, (sums.get(key) ?? 0) + times);
}

export function countsOf(result: RunResult): TallyCounts {
  const halts = new Map<string, number>();
  for (const code of result.halts) halts.set(code, (halts.get(code) ?? 0) + 1);
  const { steps, commits, sectioned, kills, faults, events } = result;
  return { numbers: { runs: 1, steps, commits, sectioned, kills, caughtUp: result.hasCaughtUp ? 1 : 0 }, faults, events, halts };
}

export function tallyText({ counts }: Tally, seconds: number): string {
  const { runs, steps, commits, sectioned, kills, caughtUp } = counts.numbers;
  const list = (map: ReadonlyMap<string, number>): string =>
    [...map].sort(([nameA, a], [nameB, b]) => b - a || (nameA < nameB ? -1 : 1)).map(([key, times]) => `${key} ${times}`).join(', ') || 'none';
  return [
    `${runs} seeds in ${seconds.toFixed(1)} s (${(runs / seconds).toFixed(0)} a second), ${steps} events, `
    + `${commits} commits judged (${sectioned} of several sections), `
    + `${kills} kills, ${caughtUp} tables caught up`,
    `faults: ${list(counts.faults)}`,
    `events: ${list(counts.events)}`,
    `halts: ${list(counts.halts)}`,
  ].join('\n');
}
