/**
 * What happened to the relation: rows and when they changed. In: a seed's wishes. Out: changes by time, consolidated
 * as Materialize consolidates them (never +1 and -1 of one row at one time), and the relation as of any moment. This
 * is the truth that tables are held against, and it shares no code with the sink.
 */
import type { Random } from './random.ts';

/** A row is its COPY text `id \t v`; its first column is the key. */
export interface Change {
  readonly time: bigint;
  readonly row: string;
  readonly diff: number;
}

export type Multiset = ReadonlyMap<string, number>;

export interface HistoryWishes {
  readonly mode: 'upsert' | 'append';
  /** At most one row a key; append mode has no key. */
  readonly uniqueKeys: boolean;
  readonly startTime: bigint;
  readonly durationMs: number;
  readonly initialRows: number;
  /** Times at which something changes. */
  readonly steps: number;
  readonly keys: number;
  /** One of the times gets this many changes; 0 for none. */
  readonly hugeChanges: number;
  readonly longestValue: number;
  /** The share of numeric values that are none; null: values are text. */
  readonly notANumberShare: number | null;
  /** The share of the duration, in the middle, in which nothing changes. */
  readonly idleShare: number;
}

export interface History {
  /** Sorted by time. */
  readonly changes: readonly Change[];
  readonly lastChangeTime: bigint;
  /** Rows with time at or above `from` and below `to`; null: without end. */
  between(from: bigint, to: bigint | null): readonly Change[];
  /** The relation with all changes below `frontier`. */
  relationBefore(frontier: bigint | null): Multiset;
}

export function addTo(counts: Map<string, number>, row: string, diff: number): void {
  const sum = (counts.get(row) ?? 0) + diff;
  if (sum === 0) counts.delete(row);
  else counts.set(row, sum);
}

const LARGEST_LONG = 0x7fff_ffff_ffff_ffffn;

/**
 * A change as a row of a change log: a diff of n is n rows of diff 1, and the column of times ends at the largest long.
 */
export function addChange(rows: Map<string, number>, { time, row, diff }: Change): void {
  addTo(rows, `${diff < 0 ? -1 : 1}@${time > LARGEST_LONG ? LARGEST_LONG : time} ${row}`, Math.abs(diff));
}

export function keyOf(row: string): string {
  const tab = row.indexOf('\t');
  return tab < 0 ? row : row.slice(0, tab);
}

export function generateHistory(random: Random, wishes: HistoryWishes): History {
  const isKeyed = wishes.mode === 'upsert' && wishes.uniqueKeys;
  const model = isKeyed ? keyedModel(random, wishes) : multisetModel(random, wishes);
  const changes: Change[] = [];
  const emit = (time: bigint, count: number): void => {
    const net = new Map<string, number>();
    for (let index = 0; index < count; index++) model(net);
    for (const [row, diff] of random.shuffled([...net])) changes.push({ time, row, diff });
  };
  emit(wishes.startTime, wishes.initialRows);
  const hugeAt = wishes.hugeChanges === 0 ? -1 : random.below(wishes.steps);
  for (const [index, offset] of stepOffsets(random, wishes).entries()) {
    emit(wishes.startTime + BigInt(offset), index === hugeAt ? wishes.hugeChanges : random.between(1, 4));
  }
  return historyOf(changes, wishes.startTime);
}

/** Distinct and ascending; often close together, as changes are that hurry after a cause. */
function stepOffsets(random: Random, wishes: HistoryWishes): readonly number[] {
  const offsets = new Set<number>();
  const idleFrom = wishes.durationMs * (0.5 - wishes.idleShare / 2);
  const idleTo = wishes.durationMs * (0.5 + wishes.idleShare / 2);
  let last = 1;
  while (offsets.size < wishes.steps) {
    const near = random.chance(0.4);
    let offset = near ? last + random.between(1, 20) : random.between(1, wishes.durationMs);
    if (offset > idleFrom && offset < idleTo) {
      offset = Math.round(offset < wishes.durationMs / 2 ? idleFrom : idleTo) + random.below(50);
    }
    offsets.add(offset);
    last = offset;
  }
  return [...offsets].sort((a, b) => a - b);
}

/** numeric knows it, decimal does not. */
export const NOT_A_NUMBER = 'NaN';

/** The row as a table has it whose sink writes NULL for what the column can't hold. */
export function rowWithNull(row: string): string {
  return isNotRepresentable(row) ? `${keyOf(row)}\t\\N` : row;
}

export function isNotRepresentable(row: string): boolean {
  return row.endsWith(`\t${NOT_A_NUMBER}`);
}

type Model = (net: Map<string, number>) => void;

/** One row a key at the most: insert, update, delete, insert again, change back, and changes of the key itself. */
function keyedModel(random: Random, wishes: HistoryWishes): Model {
  const current = new Map<string, string>();
  const past = new Map<string, string>();
  const put = (net: Map<string, number>, key: string, value: string): void => {
    const before = current.get(key);
    if (before !== undefined) addTo(net, `${key}\t${before}`, -1);
    addTo(net, `${key}\t${value}`, 1);
    if (before !== undefined) past.set(key, before);
    current.set(key, value);
  };
  const remove = (net: Map<string, number>, key: string): string | null => {
    const before = current.get(key);
    if (before === undefined) return null;
    addTo(net, `${key}\t${before}`, -1);
    past.set(key, before);
    current.delete(key);
    return before;
  };
  return (net) => {
    const key = String(random.below(wishes.keys));
    const choice = random.fraction();
    if (choice < 0.2) remove(net, key);
    else if (choice < 0.35) put(net, key, past.get(key) ?? value(random, wishes));
    else if (choice < 0.45) {
      const moved = remove(net, key);
      if (moved !== null) put(net, String(random.below(wishes.keys)), moved);
    } else put(net, key, value(random, wishes));
  };
}

/** Equal rows many times over, as a relation without a key may hold. */
function multisetModel(random: Random, wishes: HistoryWishes): Model {
  const current = new Map<string, number>();
  return (net) => {
    const rows = [...current.keys()];
    if (rows.length > 0 && random.chance(0.4)) {
      const row = random.pick(rows);
      const fewer = random.between(1, current.get(row) ?? 1);
      addTo(net, row, -fewer);
      addTo(current, row, -fewer);
      return;
    }
    const row = rows.length > 0 && random.chance(0.3) ? random.pick(rows)
      : `${random.below(wishes.keys)}\t${value(random, wishes)}`;
    const more = random.chance(0.3) ? random.between(2, 5) : 1;
    addTo(net, row, more);
    addTo(current, row, more);
  };
}

/** `zq` or 97531086 marks a row's own value, so that one in a log line is found. */
function value(random: Random, wishes: HistoryWishes): string {
  const { notANumberShare } = wishes;
  if (notANumberShare !== null) {
    return random.chance(notANumberShare) ? NOT_A_NUMBER : `97531086.${random.between(1, 9)}${random.between(1, 9)}`;
  }
  const length = random.chance(0.1) ? random.below(wishes.longestValue) : 0;
  return `zq${random.below(50)}${'x'.repeat(length)}`;
}

function historyOf(changes: readonly Change[], startTime: bigint): History {
  const firstAtOrAfter = (time: bigint): number => {
    let low = 0;
    let high = changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((changes[middle]?.time ?? 0n) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const between = (from: bigint, to: bigint | null): readonly Change[] =>
    changes.slice(firstAtOrAfter(from), to === null ? changes.length : firstAtOrAfter(to));
  return {
    changes,
    lastChangeTime: changes.at(-1)?.time ?? startTime,
    between,
    relationBefore(frontier) {
      const rows = new Map<string, number>();
      for (const change of between(0n, frontier)) addTo(rows, change.row, change.diff);
      return rows;
    },
  };
}
