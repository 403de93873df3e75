/**
 * The sink as a function: `step(state, event, inputs) → { state, effects }`.
 *
 * Synchronous, total, without a clock: the same step runs in production under `driver.ts` and in the simulator.
 * Events of an epoch that was given up are dropped here, once, so that no handler has to think of them.
 */
import {
  beginCommit, onCommitAnswer, onCommitEffectFailed, onCommitRetryTimer, onListWritten, onTableForCommit,
} from './committing.ts';
import type { Event, SinkSettings, StepInputs, TimerName } from './effects.ts';
import { type Step, drain, end, fail, isPipelineEmpty, restart, stay, stop } from './ending.ts';
import { invariant } from '../errors.ts';
import { beginOpening, onRelation, onTableCreated, onTableForResume } from './opening.ts';
import { advance, onHeartbeatTimer, onProgress, onSectionWritten, onSourceClosed, onWritten } from './pipeline.ts';
import { onStepTooLarge } from './slicing.ts';
import { type SinkState, initialState } from './state.ts';

export type { Step } from './ending.ts';

export function start(settings: SinkSettings): SinkState {
  return initialState(settings);
}

export function step(state: SinkState, event: Event, inputs: StepInputs): Step {
  if (isOver(state)) return stay(state);
  if ('epoch' in event && event.epoch !== state.epoch) return stay(state);
  return settle(handle(state, event, inputs), inputs);
}

export function isOver(state: SinkState): boolean {
  return state.phase === 'stopped' || state.phase === 'complete' || state.phase === 'halted';
}

function handle(state: SinkState, event: Event, inputs: StepInputs): Step {
  switch (event.kind) {
    case 'start': return beginOpening(state);
    case 'relation': return onRelation(state, event.relation);
    case 'table':
      return event.purpose === 'resume'
        ? onTableForResume(state, event.outcome, inputs)
        : onTableForCommit(state, event.outcome, inputs);
    case 'table-created': return onTableCreated(state, event.outcome, inputs);
    case 'stash': return stay({ ...state, stash: event.facts });
    case 'progress': return onProgress(state, event.frontier, inputs);
    case 'source-closed': return onSourceClosed(state);
    case 'source-failed':
      return event.error.code === 'source-result-too-large'
        ? onStepTooLarge(state, event.error, inputs)
        : drain(state, event.error, inputs);
    case 'section-written': return onSectionWritten(state);
    case 'written': return onWritten(state, event.written);
    case 'list-written': return onListWritten(state, event.attempt, event.snapshot);
    case 'commit-answer': return onCommitAnswer(state, event.outcome, inputs);
    case 'effect-failed':
      return state.committing !== null && (event.effect === 'load-table' || event.effect === 'write-list')
        ? onCommitEffectFailed(state, event.error, inputs)
        : fail(state, event.error, inputs);
    // A drain keeps the cause that began it.
    case 'storage-retry': return stay(state.phase === 'draining' ? state : { ...state, lastError: event.error });
    case 'timer': return onTimer(state, event.timer);
    case 'stop': return stop(state);
  }
}

function onTimer(state: SinkState, timer: TimerName): Step {
  switch (timer) {
    case 'restart': return beginOpening(state);
    case 'commit-retry': return onCommitRetryTimer(state);
    case 'heartbeat': return onHeartbeatTimer(state);
    case 'stop-grace': return end(state, 'stopped', null);
  }
}

/** What follows from the new state, whatever led to it: the next commit, the end of a drain, of a stop, of the input. */
function settle(before: Step, inputs: StepInputs): Step {
  const begun = before.state.ready !== null && before.state.committing === null && before.state.phase !== 'stopping'
    ? after(before, beginCommit(before.state, inputs))
    : before;
  const { state } = begun;
  if (state.phase === 'stopping' && state.committing === null) return after(begun, end(state, 'stopped', null));
  if (state.phase === 'draining' && isPipelineEmpty(state)) {
    invariant(state.lastError !== null, 'a drain has a cause');
    return after(begun, restart(state, state.lastError, inputs));
  }
  if (state.phase === 'running' && state.committed?.length === 0 && isPipelineEmpty(state)) {
    return after(begun, end(state, 'complete', null));
  }
  return after(begun, advance(state, inputs));
}

function after(first: Step, second: Step): Step {
  return { state: second.state, effects: [...first.effects, ...second.effects] };
}
