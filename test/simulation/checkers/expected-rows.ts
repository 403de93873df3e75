/**
 * What a snapshot must hold, from the history alone: the first one everything below its frontier, each later one what
 * its parent held and the changes between the two frontiers. So it can also be said what is right on top of a table
 * that somebody rolled back or forged.
 */
import { type History, addChange, addTo, isNotRepresentable, keyOf, rowWithNull } from '../history.ts';

export type Rows = ReadonlyMap<string, number>;

/** null stands for the frontier `[]`, behind which nothing comes. */
export type Upper = bigint | null;

export interface Expected {
  readonly rows: Rows;
  /** Values among what was added that are NULL in the table and were something else that it can't hold. */
  readonly nulled: number;
}

/**
 * The net change of a span applied as an upsert table applies it: a key that lost a row loses all that earlier snapshots
 * gave it. Where keys are unique that is the row that was lost; where they are not, it is what the sink documents.
 */
export function applySpan(history: History, mode: 'upsert' | 'append', rows: Rows, from: Upper, to: Upper): Expected {
  if (from === null) return { rows, nulled: 0 };
  const next = new Map(rows);
  let nulled = 0;
  if (mode === 'append') {
    for (const change of history.between(from, to)) {
      if (isNotRepresentable(change.row)) nulled += Math.abs(change.diff);
      addChange(next, { ...change, row: rowWithNull(change.row) });
    }
    return { rows: next, nulled };
  }
  const net = new Map<string, number>();
  for (const { row, diff } of history.between(from, to)) addTo(net, row, diff);
  const lost = new Set([...net].filter(([, diff]) => diff < 0).map(([row]) => keyOf(row)));
  for (const row of rows.keys()) if (lost.has(keyOf(row))) next.delete(row);
  for (const [row, diff] of net) {
    if (diff <= 0) continue;
    if (isNotRepresentable(row)) nulled += diff;
    addTo(next, rowWithNull(row), diff);
  }
  return { rows: next, nulled };
}

/**
 * All that a span may come to that was encoded in so many sections: as if each had been committed by itself. Where keys are unique and
 * the table began with a snapshot that is the same whatever the cuts were.
 */
export function applySections(history: History, rows: Rows, from: Upper, to: Upper, sections: number): readonly Expected[] {
  const whole = applySpan(history, 'upsert', rows, from, to);
  if (from === null || sections === 1) return [whole];
  const times = [...new Set(history.between(from + 1n, to).map(({ time }) => time))];
  return [whole, ...times.flatMap((cut) => {
    const first = applySpan(history, 'upsert', rows, from, cut);
    return applySections(history, first.rows, cut, to, sections - 1).map((rest) => ({ ...rest, nulled: first.nulled + rest.nulled }));
  })];
}

export interface FirstSnapshot {
  readonly mode: 'upsert' | 'append';
  /** Whether the rows at the as of belong to it. */
  readonly snapshot: boolean;
  readonly asOf: bigint;
  readonly upper: Upper;
  readonly isConstant: boolean;
}

/** A fresh table after its first snapshot, if its subscription began at `asOf`. */
export function firstRows(history: History, { mode, snapshot, asOf, upper, isConstant }: FirstSnapshot): Expected {
  if (!snapshot) return applySpan(history, mode, new Map(), isConstant ? null : asOf + 1n, upper);
  const rows = new Map<string, number>();
  let nulled = 0;
  const begun = history.relationBefore(isConstant ? null : mode === 'upsert' ? upper : asOf + 1n);
  for (const [row, diff] of begun) {
    if (isNotRepresentable(row)) nulled += diff;
    if (mode === 'upsert') addTo(rows, rowWithNull(row), diff);
    else addChange(rows, { time: asOf, row: rowWithNull(row), diff });
  }
  if (mode === 'upsert') return { rows, nulled };
  const later = applySpan(history, mode, rows, asOf + 1n, upper);
  return { rows: later.rows, nulled: nulled + later.nulled };
}

/** What an upsert table that began with a snapshot holds of keys that were never there twice: the relation itself. */
export function ofUniqueKeys(history: History, upper: Upper, rows: Rows): Rows {
  const counts = new Map<string, number>();
  const doubled = new Set<string>();
  // Between two times, not within one: changes of one time are one change.
  for (const [, changes] of Map.groupBy(history.between(0n, upper), (change) => change.time)) {
    for (const { row, diff } of changes) addTo(counts, keyOf(row), diff);
    for (const { row } of changes) if ((counts.get(keyOf(row)) ?? 0) > 1) doubled.add(keyOf(row));
  }
  return new Map([...rows].filter(([row]) => !doubled.has(keyOf(row))));
}

/** The first difference in words, null when equal. */
export function difference(actual: Rows, expected: Rows): string | null {
  for (const [row, count] of expected) {
    const found = actual.get(row) ?? 0;
    if (found !== count) return `'${row}' is there ${found} times instead of ${count}`;
  }
  for (const [row, count] of actual) {
    if (!expected.has(row)) return `'${row}' is there ${count} times and should not be`;
  }
  return null;
}
