/** The project's targets (ratios within one run on one machine), read off the saved figures. */
import type { SavedOutcome } from './outcome.ts';
import { rounded } from './statistics.ts';
import type { TableRow } from './table-text.ts';

export type SavedOutcomes = ReadonlyMap<string, SavedOutcome>;

interface Target {
  readonly what: string;
  readonly must: number;
  readonly goal: number;
  readonly sense: 'at least' | 'at most';
  readonly unit: string;
  /** null: not measured. */
  readonly measured: number | null;
}

/** Rows of the first section whose title begins so. */
function rowsOf(outcomes: SavedOutcomes, names: readonly string[], title: string): readonly TableRow[] {
  for (const name of names) {
    const section = outcomes.get(name)?.sections.find((one) => one.title.startsWith(title));
    if (section !== undefined) return section.rows;
  }
  return [];
}

function valuesOf(rows: readonly TableRow[], column: string): readonly number[] {
  return rows.map((row) => row[column]).filter((cell) => typeof cell === 'number' && Number.isFinite(cell)).map(Number);
}

function highest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function lowest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values);
}

function last(values: readonly number[]): number | null {
  return values.at(-1) ?? null;
}

const EQUAL_LEVELS = ['throughput-zstd-3', 'throughput-zstd-1', 'throughput'];

function targetsOf(outcomes: SavedOutcomes): readonly Target[] {
  const peers = (phase: string, writer: string): readonly TableRow[] =>
    rowsOf(outcomes, EQUAL_LEVELS, `${phase}:`).filter((row) => String(row['writer']).startsWith(writer));
  const others = (phase: string): readonly TableRow[] =>
    rowsOf(outcomes, ['throughput', ...EQUAL_LEVELS], `${phase}:`).filter((row) => row['writer'] !== 'this sink');
  const own = (phase: string, column: string): readonly number[] =>
    valuesOf(rowsOf(outcomes, EQUAL_LEVELS, `${phase}:`).filter((row) => row['writer'] === 'this sink'), column);
  const cpu = 'we ÷ it, CPU';
  const ownMb = own('upsert, all', 'MB written')[0];
  const javaMb = valuesOf(peers('upsert, all', 'Iceberg Java, 1'), 'MB written')[0];
  const fresh = rowsOf(outcomes, ['interval'], 'Freshness');
  const freshS3 = rowsOf(outcomes, ['interval-s3'], 'Freshness');
  const age = rowsOf(outcomes, ['age'], 'One upsert table');
  const ratioOfEnds = (column: string): number | null => {
    const values = valuesOf(age, column);
    return values.length < 2 ? null : rounded((values.at(-1) ?? 0) / (values[0] ?? 1));
  };
  const least = { sense: 'at least', unit: '×' } as const;
  const most = { sense: 'at most', unit: '×' } as const;
  const loopDelays = [...own('append', 'loop delay p99 ms'), ...own('upsert, all', 'loop delay p99 ms'),
    ...valuesOf(rowsOf(outcomes, ['memory'], 'Memory'), 'loop delay p99 ms')];
  return [
    { what: 'append, lines per CPU-second, ÷ Iceberg Java', must: 2, goal: 2, ...least, measured: lowest(valuesOf(peers('append', 'Iceberg Java'), cpu)) },
    { what: 'append, lines per CPU-second, ÷ iceberg-rust', must: 0.9, goal: 1.1, ...least, measured: lowest(valuesOf(peers('append', 'iceberg-rust'), cpu)) },
    { what: 'append, wall, ÷ Iceberg Java with 2 threads', must: 1, goal: 2, ...least, measured: lowest(valuesOf(peers('append', 'Iceberg Java, 2'), 'we ÷ it, wall')) },
    { what: 'upsert, snapshot per CPU-second, ÷ the best peer', must: 2, goal: 3, ...least, measured: lowest(valuesOf(others('snapshot'), cpu)) },
    { what: 'upsert, changes per CPU-second, ÷ the best peer', must: 1.5, goal: 3, ...least, measured: lowest(valuesOf(others('changes'), cpu)) },
    { what: 'upsert, peak RSS', must: 512, goal: 350, sense: 'at most', unit: 'MiB', measured: highest(own('upsert, all', 'peak RSS MiB')) },
    { what: 'upsert, bytes written, ÷ Iceberg Java', must: 1.02, goal: 0.9, ...most, measured: ownMb === undefined || javaMb === undefined ? null : rounded(ownMb / javaMb, 3) },
    { what: 'event-loop delay p99 at full load', must: 20, goal: 5, sense: 'at most', unit: 'ms', measured: highest(loopDelays) },
    { what: 'freshness p50 ÷ floor, local files, worst interval', must: 1.5, goal: 1.2, ...most, measured: highest(valuesOf(fresh, 'p50 ÷ floor')) },
    { what: 'freshness p99 ÷ floor, local files, worst interval', must: 3, goal: 2, ...most, measured: highest(valuesOf(fresh, 'p99 ÷ floor')) },
    { what: 'freshness p50 ÷ floor, S3, worst interval', must: 1.5, goal: 1.2, ...most, measured: highest(valuesOf(freshS3, 'p50 ÷ floor')) },
    { what: 'freshness p99 ÷ floor, S3, worst interval', must: 3, goal: 2, ...most, measured: highest(valuesOf(freshS3, 'p99 ÷ floor')) },
    { what: 'oldest ÷ youngest table: time of a commit beside the catalog', must: 1.2, goal: 1.05, ...most, measured: last(valuesOf(age, 'beside it ÷ young')) },
    { what: 'oldest ÷ youngest table: manifests and lists, bytes', must: 1.2, goal: 1.05, ...most, measured: ratioOfEnds('manifests and lists KiB') },
    { what: 'oldest ÷ youngest table: catalog requests', must: 1.2, goal: 1.05, ...most, measured: ratioOfEnds('catalog requests') },
    { what: 'peak RSS, every case of `memory`', must: 512, goal: 350, sense: 'at most', unit: 'MiB', measured: highest(valuesOf(rowsOf(outcomes, ['memory'], 'Memory'), 'peak RSS MiB')) },
    { what: 'RSS over the soak, last quarter ÷ first', must: 1.1, goal: 1.05, ...most, measured: highest(valuesOf(rowsOf(outcomes, ['soak'], 'Soak'), 'last ÷ first')) },
    { what: 'idle sink, alone in its process', must: 0.1, goal: 0.1, sense: 'at most', unit: '% of a core', measured: highest(valuesOf(rowsOf(outcomes, ['many'], 'Idle'), '% a sink')) },
    { what: 'idle sinks, catalog requests between heartbeats', must: 0, goal: 0, sense: 'at most', unit: 'a second', measured: highest(valuesOf(rowsOf(outcomes, ['many'], 'Idle'), 'catalog requests/s')) },
    { what: 'small commits beside a huge sink, freshness p50 ÷ alone', must: 2, goal: 1.2, ...most, measured: highest(valuesOf(rowsOf(outcomes, ['many'], 'Fairness'), 'p50 ÷ alone')) },
  ];
}

export function targetRows(outcomes: SavedOutcomes): readonly TableRow[] {
  return targetsOf(outcomes).map(({ what, must, goal, sense, unit, measured }) => {
    const reaches = (limit: number): boolean => measured !== null && (sense === 'at least' ? measured >= limit : measured <= limit);
    const verdict = measured === null ? 'not measured' : reaches(goal) ? 'goal met' : reaches(must) ? 'met' : '**missed**';
    return { 'what': what, 'must': `${sense} ${must} ${unit}`, 'goal': `${goal} ${unit}`, 'measured': measured === null ? '' : `${measured} ${unit}`, 'verdict': verdict };
  });
}
