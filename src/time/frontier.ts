/**
 * A frontier says which times may still see changes: `[t]` = times at or above t, `[]` = none, the
 * input is complete. Times are totally ordered, so a frontier has at most one element.
 *
 * Order: a frontier is later when it is closer to the end; `[]` is later than every `[t]`.
 */
import { type Timestamp, TIMESTAMP_MAX, parseTimestamp } from './timestamp.ts';

export type Frontier = readonly [Timestamp] | readonly [];

export const FRONTIER_EMPTY: Frontier = [];

export function frontierAt(time: Timestamp): Frontier {
  return [time];
}

/** The frontier once everything at or below `time` is closed; past the last timestamp nothing is left. */
export function frontierAfter(time: Timestamp): Frontier {
  return time === TIMESTAMP_MAX ? FRONTIER_EMPTY : [time + 1n];
}

/** Negative when `a` is earlier than `b`, zero when equal, positive when later. */
export function compareFrontiers(a: Frontier, b: Frontier): number {
  if (a.length === 0) return b.length === 0 ? 0 : 1;
  if (b.length === 0) return -1;
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}

export function frontiersEqual(a: Frontier, b: Frontier): boolean {
  return compareFrontiers(a, b) === 0;
}

/** True when no further change at `time` can come: `time` lies before the frontier. */
export function isClosed(time: Timestamp, frontier: Frontier): boolean {
  return frontier.length === 0 || time < frontier[0];
}

/** The text kept in `mz-frontier`: a JSON array of milliseconds without spaces, `[]` when complete. */
export function formatFrontier(frontier: Frontier): string {
  return frontier.length === 0 ? '[]' : `[${frontier[0]}]`;
}

/** Reads `mz-frontier`; null when the text is not a frontier. Never goes through a JavaScript number. */
export function parseFrontier(text: string): Frontier | null {
  const match = /^\s*\[\s*(\d{0,20})\s*\]\s*$/.exec(text);
  if (match === null) return null;
  const digits = match[1] ?? '';
  if (digits === '') return FRONTIER_EMPTY;
  const time = parseTimestamp(digits);
  return time === null ? null : [time];
}
