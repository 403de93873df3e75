/**
 * The content of one relation over time. In: changes at times, the advance of the upper, compaction. Out: the
 * content at any readable time and the changes after it.
 *
 * Invariants: `base` is the content at `since`; every entry of `log` has since < time, and times increase strictly;
 * no map holds a diff of zero, so what is read is consolidated. Changes at or beyond the upper are pending: they
 * are in the log and nobody reads them yet.
 */
import { type Frontier, FRONTIER_EMPTY, compareFrontiers, frontierAt, isClosed } from '../../time/frontier.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../../time/timestamp.ts';
import type { RowLine } from './copy-text.ts';

/** Multiset of rows; diffs are non-zero safe integers. */
export type Multiset = Map<RowLine, number>;

export interface TimedChanges {
  readonly time: Timestamp;
  readonly changes: Multiset;
}

export interface RelationHistory {
  /** Earliest readable time. */
  since: Timestamp;
  /** Times at or above may still change. */
  upper: Frontier;
  base: Multiset;
  log: TimedChanges[];
}

export function createHistory(start: Timestamp): RelationHistory {
  return { since: start, upper: frontierAt(start), base: new Map(), log: [] };
}

/** Adds `diff` copies of `row`. Throws a RangeError when the sum is no safe integer. */
export function addRow(rows: Multiset, row: RowLine, diff: number): void {
  const sum = (rows.get(row) ?? 0) + diff;
  if (!Number.isSafeInteger(sum)) throw new RangeError('a diff must be a safe integer');
  if (sum === 0) rows.delete(row);
  else rows.set(row, sum);
}

/** Records changes at `time`. Throws a RangeError when the time is closed already. */
export function applyChanges(
  history: RelationHistory,
  time: Timestamp,
  changes: Iterable<{ readonly row: RowLine; readonly diff: number }>,
): void {
  if (isClosed(time, history.upper) || time > TIMESTAMP_MAX) {
    throw new RangeError(`time ${time} is closed: the upper is ${history.upper[0] ?? 'empty'}`);
  }
  let at = history.log.length;
  while (at > 0 && (history.log[at - 1]?.time ?? 0n) > time) at--;
  let entry = at > 0 ? history.log[at - 1] : undefined;
  if (entry?.time !== time) {
    entry = { time, changes: new Map() };
    history.log.splice(at, 0, entry);
  }
  for (const { row, diff } of changes) addRow(entry.changes, row, diff);
}

/** Moves the upper; going back is a RangeError, staying is fine. */
export function advanceUpper(history: RelationHistory, upper: Frontier): void {
  if (compareFrontiers(upper, history.upper) < 0) throw new RangeError('the upper of a relation never goes back');
  history.upper = upper;
}

export function closeHistory(history: RelationHistory): void {
  history.upper = FRONTIER_EMPTY;
}

/** Forgets how the relation looked before `since`; a time not later than the present since changes nothing. */
export function compactHistory(history: RelationHistory, since: Timestamp): void {
  if (since <= history.since) return;
  let folded = 0;
  for (const entry of history.log) {
    if (entry.time > since) break;
    for (const [row, diff] of entry.changes) addRow(history.base, row, diff);
    folded++;
  }
  if (folded > 0) history.log.splice(0, folded);
  history.since = since;
}

/** The content at `time`, a copy. The caller has checked `since <= time`; later pending changes count if <= time. */
export function contentAt(history: RelationHistory, time: Timestamp): Multiset {
  const rows: Multiset = new Map(history.base);
  for (const entry of history.log) {
    if (entry.time > time) break;
    for (const [row, diff] of entry.changes) addRow(rows, row, diff);
  }
  return rows;
}

/** The latest time whose content is final; since when nothing is closed yet. */
export function latestReadable(history: RelationHistory): Timestamp {
  if (history.upper.length === 1) {
    const last = history.upper[0] - 1n;
    return last > history.since ? last : history.since;
  }
  const lastEntry = history.log[history.log.length - 1];
  return lastEntry === undefined ? history.since : lastEntry.time;
}
