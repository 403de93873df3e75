/**
 * What a snapshot must hold, from the history alone: the first one everything below its frontier, each later one what
 * its parent held and the changes between the two frontiers. So it can also be said what is right on top of a table
 * that somebody rolled back or forged.
 */
import { type History, addChange, addTo, keyOf } from '../history.ts';

export type Rows = ReadonlyMap<string, number>;

/** null stands for the frontier `[]`, behind which nothing comes. */
export type Upper = bigint | null;

/** The net change of a span applied as an upsert table applies it: a key that lost a row loses all it had. */
export function applySpan(history: History, mode: 'upsert' | 'append', rows: Rows, from: Upper, to: Upper): Rows {
  if (from === null) return rows;
  const next = new Map(rows);
  if (mode === 'append') {
    for (const change of history.between(from, to)) addChange(next, change);
    return next;
  }
  const net = new Map<string, number>();
  for (const { row, diff } of history.between(from, to)) addTo(net, row, diff);
  const lost = new Set([...net].filter(([, diff]) => diff < 0).map(([row]) => keyOf(row)));
  for (const row of rows.keys()) if (lost.has(keyOf(row))) next.delete(row);
  for (const [row, diff] of net) if (diff > 0) addTo(next, row, diff);
  return next;
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
export function firstRows(history: History, { mode, snapshot, asOf, upper, isConstant }: FirstSnapshot): Rows {
  if (mode === 'upsert') return history.relationBefore(isConstant ? null : upper);
  const rows = new Map<string, number>();
  if (snapshot) {
    for (const [row, diff] of history.relationBefore(isConstant ? null : asOf + 1n)) {
      addChange(rows, { time: asOf, row, diff });
    }
  }
  return applySpan(history, mode, rows, asOf + 1n, upper);
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
