/**
 * Source progress becomes batches (①→②→③).
 *
 * Invariant: the pipeline holds at most one batch being committed, one written and waiting, or one being written;
 * everything newer is stash, or a section of the batch that comes next. `lower` is the upper of the newest batch made, so spans are contiguous by
 * construction, and a batch is made only of times that progress has closed.
 */
import { isSectionDue } from '../batch/encode-ahead.ts';
import { decideSeal } from '../batch/seal.ts';
import { SinkError, invariant } from '../errors.ts';
import { type Frontier, FRONTIER_EMPTY, compareFrontiers, formatFrontier, frontierAfter, isClosed } from '../time/frontier.ts';
import { formatSpan, makeSpan } from '../time/span.ts';
import type { Batch, Effect, StepInputs, WrittenBatch } from './effects.ts';
import { type Step, drain, stay } from './ending.ts';
import type { SinkState } from './state.ts';

export function onProgress(state: SinkState, frontier: Frontier, inputs: StepInputs): Step {
  if (state.observed === null) return onFirstProgress(state, frontier);
  if (compareFrontiers(frontier, state.observed) < 0) {
    const message = `progress went from ${formatFrontier(state.observed)} back to ${formatFrontier(frontier)}`;
    return drain(state, new SinkError('source-protocol', message), inputs);
  }
  return stay({ ...state, observed: frontier, progressGapMs: gapMs(state.observed, frontier) });
}

function gapMs([before]: Frontier, [after]: Frontier): number {
  return before === undefined || after === undefined ? 0 : Number(after - before);
}

/** The first progress message is the as of itself: it closes the times before it and none of the rows to come. */
function onFirstProgress(state: SinkState, frontier: Frontier): Step {
  return stay({ ...state, observed: frontier, asOf: frontier[0] ?? null });
}

/** A normal end of the stream closes all times; the server sends no progress message for it. */
export function onSourceClosed(state: SinkState): Step {
  return stay({ ...state, observed: FRONTIER_EMPTY, sourceClosed: true });
}

/** Looks whether a batch can be made now. The machine asks after every event, whatever it was that moved. */
export function advance(state: SinkState, inputs: StepInputs): Step {
  if (state.phase !== 'running' || state.observed === null) return stay(state);
  if (state.writing !== null || state.ready !== null || state.open?.isWriting === true) return stay(state);
  if (state.lower === null) return advanceFresh(state, state.observed, inputs);
  const decision = decideSeal({
    lower: state.lower,
    observed: state.observed,
    hasClosedRows: state.open !== null || hasClosedRows(state, state.observed),
    nowMs: inputs.nowMs,
    lastSealMs: state.lastSealMs,
    commitIntervalMs: state.settings.commitIntervalMs,
    heartbeatIntervalMs: state.settings.heartbeatIntervalMs,
  });
  if (decision.kind === 'seal') return seal(state, decision.upper, inputs);
  if (isAheadDue(state, state.lower, state.observed)) return writeAhead(state, state.observed, inputs);
  if (decision.atMs === null || state.heartbeatTimerSet) return stay(state);
  const delayMs = Math.max(0, decision.atMs - inputs.nowMs);
  return stay({ ...state, heartbeatTimerSet: true }, { kind: 'set-timer', epoch: state.epoch, timer: 'heartbeat', delayMs });
}

/**
 * The first span of a fresh table ends just after the as of, so that the snapshot is committed by itself and at once,
 * however much follows it. It is closed only by progress beyond the as of.
 */
function advanceFresh(state: SinkState, observed: Frontier, inputs: StepInputs): Step {
  const { asOf } = state;
  if (asOf === null || isClosed(asOf, observed)) {
    const rowsAfterSnapshot = state.stash.rowCount > 0 && state.stream !== null;
    const wholeInput = observed.length === 0 && !rowsAfterSnapshot;
    const upper = asOf === null || wholeInput || state.stream === null ? observed : frontierAfter(asOf);
    return seal(state, upper, inputs);
  }
  return stay(state);
}

function hasClosedRows(state: SinkState, observed: Frontier): boolean {
  return state.stash.minTime !== null && isClosed(state.stash.minTime, observed);
}

function isAheadDue(state: SinkState, lower: Frontier, observed: Frontier): boolean {
  const { settings, stash, progressGapMs, open } = state;
  const { commitIntervalMs, sectionBytesMin } = settings;
  return state.encodeAhead && isSectionDue({
    lower, observed, progressGapMs, commitIntervalMs, sectionBytesMin, rowBytes: stash.heldBytes + stash.spilledBytes,
    hasClosedRows: hasClosedRows(state, observed), sections: open?.sections ?? 0,
  });
}

/** Nothing is promised by it: the span ends where the seal says, and what is encoded is given up with the epoch. */
function writeAhead(state: SinkState, upper: Frontier, inputs: StepInputs): Step {
  const { ordinal, snapshotId, sections } = state.open ?? { ordinal: state.nextOrdinal, snapshotId: inputs.snapshotId, sections: 0 };
  return stay(
    { ...state, open: { ordinal, snapshotId, upper, sections: sections + 1, isWriting: true } },
    { kind: 'note', level: 'debug', event: 'encoding-ahead', fields: { snapshotId, upper: formatFrontier(upper) } },
    { kind: 'write-section', epoch: state.epoch, ordinal, snapshotId, upper },
  );
}

export function onSectionWritten(state: SinkState): Step {
  invariant(state.open?.isWriting === true, 'a section was written that was not being written');
  return stay({ ...state, open: { ...state.open, isWriting: false } });
}

function seal(state: SinkState, upper: Frontier, inputs: StepInputs): Step {
  invariant(state.facts !== null, 'a batch is made only once the table is known');
  const { stream, open } = state;
  invariant(open === null || compareFrontiers(open.upper, upper) <= 0, 'what is encoded of a span lies within it');
  const begun = stream ?? open;
  const batch: Batch = {
    ordinal: begun?.ordinal ?? state.nextOrdinal,
    snapshotId: begun?.snapshotId ?? inputs.snapshotId,
    span: makeSpan(state.lower, upper),
  };
  const sealed: SinkState = {
    ...state,
    writing: batch,
    stream: null,
    open: null,
    lower: upper,
    nextOrdinal: batch.ordinal + 1,
    lastSealMs: inputs.nowMs,
  };
  const write: Effect = { kind: 'write', epoch: state.epoch, batch, facts: state.facts, streamed: stream !== null };
  const fields = { snapshotId: batch.snapshotId, span: formatSpan(batch.span), rows: state.stash.rowCount };
  return stay(sealed, { kind: 'note', level: 'debug', event: 'sealed', fields }, write);
}

export function onWritten(state: SinkState, written: WrittenBatch): Step {
  invariant(
    state.writing !== null && state.writing.ordinal === written.batch.ordinal && state.ready === null,
    'a batch was written that was not being written',
  );
  return stay({ ...state, writing: null, ready: written });
}

export function onHeartbeatTimer(state: SinkState): Step {
  return stay({ ...state, heartbeatTimerSet: false });
}
