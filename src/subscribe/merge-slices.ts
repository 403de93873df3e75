/**
 * One relation out of several SUBSCRIBEs. In: the events of inputs, in any order between them. Out: the events that one
 * SUBSCRIBE of the whole relation would give.
 *
 * The inputs 0 to count - 1 are slices: each brings its own rows, all from one as of. A further one, the follower, may
 * be added once all slices are past their first step: it brings the changes of the whole relation, takes over at
 * a time chosen when the server has accepted it, and makes the slices superfluous; for what a small step needs, N
 * dataflows that each read the whole relation are a waste at the server.
 *
 * Invariants: rows pass on at once, for their order means nothing until progress closes their time. Progress is the least
 * of the inputs' frontiers, so it never closes a time at which any of them may still bring a row. Each row comes
 * from exactly one input: below the takeover from its slice, from there on from the follower.
 */
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError } from '../errors.ts';
import { type Frontier, FRONTIER_EMPTY, compareFrontiers, formatFrontier, frontierAt } from '../time/frontier.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { SubscriptionEvent } from './subscription-stream.ts';

/** Rows of a chunk below a frontier, and the others: what the next stage has for this, given so that this one need not look ahead. */
export type SplitChunk = (chunk: RowChunk, at: Frontier) => { readonly below: RowChunk | null; readonly above: RowChunk | null };

export interface MergeOutput {
  /** At most one `closed` or `failed`, and nothing after it. */
  event(event: SubscriptionEvent): void;
  /** Nothing more is wanted of this input; its connection can go. */
  finished(input: number): void;
}

export interface SliceMerge {
  /** The as of that the first slice reported; null before. */
  readonly asOf: () => Timestamp | null;
  take(input: number, event: SubscriptionEvent): void;
  /** The as of at which a follower may begin now; null when none is wanted. Inputs hold it readable at the server. */
  followerAsOf(): Timestamp | null;
  /** Adds the follower, begun at `asOf` without snapshot. Returns its input. */
  addFollower(asOf: Timestamp): number;
  /** No event after this. */
  stop(): void;
  isOver(): boolean;
}

interface Input {
  /** null until its first progress, which is its as of and closes nothing at it. */
  frontier: Frontier | null;
  /** All rows so far lie below. */
  rowsBelow: Timestamp;
  /** What it had to bring is complete. */
  done: boolean;
}

interface MergeState {
  readonly slices: readonly Input[];
  readonly output: MergeOutput;
  readonly split: SplitChunk;
  /** The as of was asked for, not chosen by the server for the first slice. */
  readonly asOfGiven: boolean;
  asOf: Timestamp | null;
  follower: (Input & { readonly asOf: Timestamp; readonly input: number }) | null;
  followersAdded: number;
  /** From here on the follower brings the rows. */
  takeover: Timestamp | null;
  /** The progress given last. */
  merged: Frontier | null;
  lastNotice: string;
  over: boolean;
}

/** `asOfGiven`: whether all slices were asked for a time, or the first one chose it for the others. */
export function createSliceMerge(count: number, asOfGiven: boolean, split: SplitChunk, output: MergeOutput): SliceMerge {
  const slices = Array.from({ length: count }, (): Input => ({ frontier: null, rowsBelow: 0n, done: false }));
  const state: MergeState = {
    slices, output, split, asOfGiven, asOf: null, follower: null, followersAdded: 0, takeover: null, merged: null, lastNotice: '',
    over: false,
  };
  return {
    asOf: () => state.asOf,
    take: (input, event) => take(state, input, event),
    followerAsOf: () => followerAsOf(state),
    addFollower(asOf) {
      const input = count + state.followersAdded++;
      state.follower = { frontier: null, rowsBelow: 0n, done: false, asOf, input };
      return input;
    },
    stop() {
      state.over = true;
    },
    isOver: () => state.over,
  };
}

function take(state: MergeState, index: number, event: SubscriptionEvent): void {
  if (state.over) return;
  const isFollower = state.follower?.input === index;
  const input = isFollower ? state.follower : state.slices[index];
  // Of a follower that was given up, and of a slice behind the takeover, events may still be on their way.
  if (input === null || input === undefined || input.done) return;
  switch (event.kind) {
    case 'notice': return takeNotice(state, event);
    case 'failed': return takeFailure(state, index, input, event.error);
    default:
  }
  if (input.frontier === null && event.kind !== 'progress') {
    return fail(state, new SinkError('source-protocol', `input ${index} brought ${event.kind} before its as of`));
  }
  if (event.kind === 'rows') return takeRows(state, input, isFollower, event.chunk);
  const frontier = event.kind === 'closed' ? FRONTIER_EMPTY : event.frontier;
  if (input.frontier === null) return begin(state, index, input, frontier);
  if (compareFrontiers(frontier, input.frontier) < 0) {
    const message = `progress of input ${index} went from ${formatFrontier(input.frontier)} back to ${formatFrontier(frontier)}`;
    return fail(state, new SinkError('source-protocol', message));
  }
  input.frontier = frontier;
  if (event.kind === 'closed') finish(state, index, input);
  settle(state);
}

function takeRows(state: MergeState, input: Input, isFollower: boolean, chunk: RowChunk): void {
  const { takeover } = state;
  if (takeover === null) {
    if (chunk.maxTime >= input.rowsBelow) input.rowsBelow = chunk.maxTime + 1n;
    state.output.event({ kind: 'rows', chunk });
    return;
  }
  const { below, above } = state.split(chunk, frontierAt(takeover));
  const wanted = isFollower ? above : below;
  if (wanted !== null) state.output.event({ kind: 'rows', chunk: wanted });
}

/** The first progress of an input. The first of all is passed on: it is the as of of the whole. */
function begin(state: MergeState, index: number, input: Input, frontier: Frontier): void {
  const [asOf] = frontier;
  const { follower } = state;
  const expected = follower !== null && input === follower ? follower.asOf : state.asOf;
  if (asOf === undefined || (expected !== null && asOf !== expected)) {
    const message = `input ${index} began at ${formatFrontier(frontier)}, the others at ${expected ?? 'none'}`;
    return fail(state, new SinkError('source-protocol', message));
  }
  input.frontier = frontier;
  if (input === follower) return takeOver(state, follower);
  if (state.asOf !== null) return settle(state);
  state.asOf = asOf;
  state.merged = frontier;
  state.output.event({ kind: 'progress', frontier });
}

/**
 * The server has accepted the follower and holds its as of, so the slices may end. The takeover lies behind every row
 * that a slice has brought, so nothing comes twice; before it nothing is missing, because the slices go on up to it.
 */
function takeOver(state: MergeState, follower: Input & { readonly asOf: Timestamp }): void {
  let takeover = follower.asOf + 1n;
  for (const { rowsBelow } of state.slices) {
    if (rowsBelow > takeover) takeover = rowsBelow;
  }
  state.takeover = takeover;
  settle(state);
}

function settle(state: MergeState): void {
  const { slices, takeover, follower } = state;
  let merged: Frontier = takeover === null ? FRONTIER_EMPTY : follower?.frontier ?? FRONTIER_EMPTY;
  for (const [index, input] of slices.entries()) {
    if (input.frontier === null) return;
    if (takeover !== null && !input.done && compareFrontiers(input.frontier, frontierAt(takeover)) >= 0) {
      finish(state, index, input);
    }
    if (!input.done && compareFrontiers(input.frontier, merged) < 0) merged = input.frontier;
  }
  if (merged.length === 0) {
    state.over = true;
    state.output.event({ kind: 'closed' });
    return;
  }
  if (state.merged !== null && compareFrontiers(merged, state.merged) <= 0) return;
  state.merged = merged;
  state.output.event({ kind: 'progress', frontier: merged });
}

function finish(state: MergeState, index: number, input: Input): void {
  input.done = true;
  state.output.finished(index);
}

/** A slice that is complete says that the relation is, so there is nothing to follow. */
function followerAsOf({ slices, follower, merged, asOf, over }: MergeState): Timestamp | null {
  const frontier = merged?.[0];
  if (over || follower !== null || asOf === null || frontier === undefined || frontier <= asOf) return null;
  return slices.some(({ done }) => done) ? null : frontier - 1n;
}

/** Each input tells of what happens to the cluster; once is enough. */
function takeNotice(state: MergeState, event: Extract<SubscriptionEvent, { kind: 'notice' }>): void {
  const words = `${event.code} ${event.message}`;
  if (words === state.lastNotice) return;
  state.lastNotice = words;
  state.output.event(event);
}

function takeFailure(state: MergeState, index: number, input: Input, error: SinkError): void {
  if (input === state.follower && state.takeover === null) {
    // Nothing depends on it yet: the slices go on, and another follower may come.
    state.follower = null;
    takeNotice(state, { kind: 'notice', severity: 'WARNING', code: error.code, message: `the slices go on: ${error.message}` });
    state.output.finished(index);
    return;
  }
  const chosenByFirst = !state.asOfGiven && index > 0 && input.frontier === null && error.code === 'history-compacted';
  fail(state, chosenByFirst
    ? new SinkError('slices-out-of-step', `slice ${index} could not begin at ${state.asOf ?? 'none'}, the time of the others: ${error.message}`)
    : error);
}

function fail(state: MergeState, error: SinkError): void {
  state.over = true;
  state.output.event({ kind: 'failed', error });
}
