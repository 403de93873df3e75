/** What many runs did, for the report. */
import type { RunResult } from './simulate.ts';

export interface Tally {
  add(result: RunResult): void;
  readonly numbers: Record<'runs' | 'steps' | 'commits' | 'kills' | 'caughtUp', number>;
  readonly faults: Map<string, number>;
  readonly events: Map<string, number>;
  readonly halts: Map<string, number>;
}

export function createTally(): Tally {
  const numbers = { runs: 0, steps: 0, commits: 0, kills: 0, caughtUp: 0 };
  const faults = new Map<string, number>();
  const events = new Map<string, number>();
  const halts = new Map<string, number>();
  const count = (map: Map<string, number>, key: string, by: number): void => {
    map.set(key, (map.get(key) ?? 0) + by);
  };
  return {
    numbers, faults, events, halts,
    add(result) {
      numbers.runs++;
      numbers.steps += result.steps;
      numbers.commits += result.commits;
      numbers.kills += result.kills;
      if (result.hasCaughtUp) numbers.caughtUp++;
      for (const [kind, times] of result.faults) count(faults, kind, times);
      for (const [kind, times] of result.events) count(events, kind, times);
      for (const code of result.halts) count(halts, code, 1);
    },
  };
}

export function tallyText(tally: Tally, seconds: number): string {
  const { runs, steps, commits, kills, caughtUp } = tally.numbers;
  const list = (map: ReadonlyMap<string, number>): string =>
    [...map].sort(([, a], [, b]) => b - a).map(([key, times]) => `${key} ${times}`).join(', ') || 'none';
  return [
    `${runs} seeds in ${seconds.toFixed(1)} s (${(runs / seconds).toFixed(0)} a second), ${steps} events, `
    + `${commits} commits judged, `
    + `${kills} kills, ${caughtUp} tables caught up`,
    `faults: ${list(tally.faults)}`,
    `events: ${list(tally.events)}`,
    `halts: ${list(tally.halts)}`,
  ].join('\n');
}
