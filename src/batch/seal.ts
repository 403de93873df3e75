/**
 * When to close a span (architecture: "Behind: wider spans, never a queue").
 *
 * In: the frontier up to which batches are made already, the frontier observed from the source, whether rows
 * wait below it, and the clock. Out: the upper of a new batch, or when to look again.
 * The upper is always the whole observed frontier: if a commit was slow, the next span is simply wider, so the
 * number of commits falls behind, never the table.
 */
import { type Frontier, compareFrontiers } from '../time/frontier.ts';

export interface SealInput {
  /** Upper of the newest batch in the pipeline, else the table's frontier; null on a fresh table. */
  readonly lower: Frontier | null;
  readonly observed: Frontier;
  /** True when a stashed row lies below `observed`. */
  readonly hasClosedRows: boolean;
  readonly nowMs: number;
  readonly lastSealMs: number;
  readonly commitIntervalMs: number;
  readonly heartbeatIntervalMs: number;
}

export type SealDecision =
  | { readonly kind: 'seal'; readonly upper: Frontier }
  /** `atMs`: the time of the next heartbeat, when nothing else happens before. */
  | { readonly kind: 'wait'; readonly atMs: number | null };

export function decideSeal(input: SealInput): SealDecision {
  const { lower, observed } = input;
  if (lower !== null && compareFrontiers(observed, lower) <= 0) return { kind: 'wait', atMs: null };
  // A complete input is sealed at once, rows or not: `[]` in the table says that nothing more will come.
  if (observed.length === 0) return { kind: 'seal', upper: observed };
  // A fresh table gets its first snapshot as soon as there is a frontier to record, even for an empty relation.
  if (lower === null || lower.length === 0) return { kind: 'seal', upper: observed };
  if (input.hasClosedRows) {
    // The interval is measured in the source's own time, so all updates of one timestamp stay in one commit.
    const width = observed[0] - lower[0];
    return width >= BigInt(input.commitIntervalMs) ? { kind: 'seal', upper: observed } : { kind: 'wait', atMs: null };
  }
  const heartbeatAtMs = input.lastSealMs + input.heartbeatIntervalMs;
  return input.nowMs >= heartbeatAtMs ? { kind: 'seal', upper: observed } : { kind: 'wait', atMs: heartbeatAtMs };
}
