/**
 * A span `[lower, upper)` of Materialize time: what one batch covers and one snapshot commits.
 * `lower === null` is the span of a fresh table: everything from the beginning, the snapshot included.
 */
import { type Frontier, compareFrontiers, formatFrontier, isClosed } from './frontier.ts';
import type { Timestamp } from './timestamp.ts';

export interface Span {
  readonly lower: Frontier | null;
  readonly upper: Frontier;
}

/** Makes a span; throws a RangeError when upper lies before lower (a programming error, never input). */
export function makeSpan(lower: Frontier | null, upper: Frontier): Span {
  if (lower !== null && compareFrontiers(upper, lower) < 0) {
    throw new RangeError(`span ends at ${formatFrontier(upper)}, before its start ${formatFrontier(lower)}`);
  }
  return { lower, upper };
}

export function spanContains(span: Span, time: Timestamp): boolean {
  const atOrAfterLower = span.lower === null || (span.lower.length === 1 && time >= span.lower[0]);
  return atOrAfterLower && isClosed(time, span.upper);
}

export function formatSpan(span: Span): string {
  return `[${span.lower === null ? 'start' : formatFrontier(span.lower)}, ${formatFrontier(span.upper)})`;
}
