/**
 * What a SUBSCRIBE sees of a relation. In: a history and what was sent already. Out: the next batch, its rows in
 * the order they go out, and the progress row that closes it.
 *
 * Laws (numbers of the wire reference 1.4): the snapshot is stamped as_of (5); without snapshot only times strictly
 * above as_of (5); rows by time, then by row (7); consolidated per time (6); no progress row at or below as_of again
 * (2) and none for the batch that ends the stream (10); with UP TO nothing at or above it (9).
 */
import { isClosed } from '../../time/frontier.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { RowLine } from './copy-text.ts';
import { type Multiset, type RelationHistory, contentAt } from './relation-history.ts';

export interface SubscriptionCursor {
  readonly asOf: Timestamp;
  readonly snapshot: boolean;
  /** Exclusive; null for none. */
  readonly upTo: Timestamp | null;
  /** Which rows the query keeps; null for all. */
  readonly keeps: ((row: RowLine) => boolean) | null;
  /** Null until the snapshot's batch went out; then all times below it have been sent. */
  sentBelow: Timestamp | null;
}

export interface RowsOfTime {
  readonly time: Timestamp;
  /** Sorted by row. */
  readonly rows: readonly (readonly [row: RowLine, diff: number])[];
}

export interface SubscriptionBatch {
  readonly times: readonly RowsOfTime[];
  /** Null when the batch gets no progress row. */
  readonly progress: Timestamp | null;
  /** The stream ends behind this batch. */
  readonly last: boolean;
}

/** The next batch, or null while there is nothing new. Moves the cursor. */
export function takeBatch(cursor: SubscriptionCursor, history: RelationHistory): SubscriptionBatch | null {
  const { asOf, upTo, keeps } = cursor;
  // as_of equal to UP TO is an empty stream: its frontier is empty before anything was read.
  if (upTo !== null && asOf >= upTo) return { times: [], progress: null, last: true };
  if (!isClosed(asOf, history.upper)) return null;
  const upper = history.upper[0];
  const last = upper === undefined || (upTo !== null && upper >= upTo);
  if (!last && cursor.sentBelow === upper) return null;
  const first = cursor.sentBelow === null;
  const from = cursor.sentBelow ?? asOf + 1n;
  const times: RowsOfTime[] = [];
  if (first && cursor.snapshot) times.push(sortedRows(asOf, contentAt(history, asOf), keeps));
  for (let i = firstEntryAtOrAfter(history, from); i < history.log.length; i++) {
    const entry = history.log[i];
    if (entry === undefined || !isClosed(entry.time, history.upper)) break;
    if (upTo !== null && entry.time >= upTo) break;
    times.push(sortedRows(entry.time, entry.changes, keeps));
  }
  if (upper !== undefined) cursor.sentBelow = upper;
  return { times, progress: last ? null : (upper ?? null), last };
}

/** The latest time up to which the relation may be compacted without loss for this subscription. */
export function holdOf(cursor: SubscriptionCursor): Timestamp {
  return cursor.sentBelow === null ? cursor.asOf : cursor.sentBelow - 1n;
}

function firstEntryAtOrAfter(history: RelationHistory, time: Timestamp): number {
  let low = 0;
  let high = history.log.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((history.log[middle]?.time ?? 0n) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sortedRows(time: Timestamp, rows: Multiset, keeps: SubscriptionCursor['keeps']): RowsOfTime {
  const kept = keeps === null ? [...rows] : [...rows].filter(([row]) => keeps(row));
  return { time, rows: kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)) };
}
