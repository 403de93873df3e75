/** What happened in a run, counted. */
export interface Tally {
  readonly startedMs: number;
  rounds: number;
  /** By what they were aimed at. */
  readonly kills: Map<string, number>;
  /** Other things done to processes. */
  readonly events: Map<string, number>;
  readonly faults: Map<string, number>;
  /** What the sinks themselves said: restarts, retries, halts, by code. */
  readonly answers: Map<string, number>;
  tables: number;
  snapshots: number;
  /** Rows compared, over all snapshots. */
  rows: number;
  changes: number;
  differences: string[];
}

export function createTally(nowMs: number): Tally {
  return {
    startedMs: nowMs, rounds: 0, kills: new Map(), events: new Map(), faults: new Map(), answers: new Map(),
    tables: 0, snapshots: 0, rows: 0, changes: 0, differences: [],
  };
}

export function count(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

export function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, each) => sum + each, 0);
}

function list(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return sorted.map(([name, times]) => `${name} ${times}`).join(', ');
}

export function formatTally(tally: Tally, nowMs: number): string {
  const minutes = ((nowMs - tally.startedMs) / 60_000).toFixed(1);
  return [
    `${tally.rounds} rounds in ${minutes} min, ${total(tally.kills)} kills, ${total(tally.faults)} faults, ${tally.snapshots} commits judged in `
    + `${tally.tables} tables, ${tally.changes} rows changed, ${tally.rows} rows compared, ${tally.differences.length} differences`,
    `kills: ${list(tally.kills)}`,
    `events: ${list(tally.events)}`,
    `faults: ${list(tally.faults)}`,
    `the sinks said: ${list(tally.answers)}`,
  ].join('\n');
}
