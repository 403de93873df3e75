/**
 * How an incarnation ends: given up and started over, drained, stopped, complete or halted.
 *
 * All of these are safe at any moment, because nothing durable exists but the table: whatever is dropped here was
 * not committed, or was committed and will be found in the table by the next incarnation.
 */
import { RESTART_BACKOFF, backoffMs } from '../commit/retry.ts';
import { SinkError } from '../errors.ts';
import { formatFrontier } from '../time/frontier.ts';
import type { Effect, StepInputs } from './effects.ts';
import { type SinkState, clearedEpoch } from './state.ts';

export interface Step {
  readonly state: SinkState;
  readonly effects: readonly Effect[];
}

export function stay(state: SinkState, ...effects: readonly Effect[]): Step {
  return { state, effects };
}

/** Disposition → what happens next. The one place where an error becomes a halt or a restart. */
export function fail(state: SinkState, error: SinkError, inputs: StepInputs): Step {
  if (state.phase === 'stopping') return end(state, 'stopped', null);
  return error.disposition === 'halt' ? halt(state, error) : restart(state, error, inputs);
}

export function halt(state: SinkState, error: SinkError): Step {
  return {
    state: { ...state, ...clearedEpoch(), phase: 'halted', epoch: state.epoch + 1, lastError: error },
    effects: [{ kind: 'abandon' }, { kind: 'end', reason: 'halted', error }],
  };
}

/** A table that was there is not made anew by itself: somebody dropped it, and may want it so. */
export function tableGone({ settings, committed }: SinkState): SinkError {
  const name = [...settings.table.namespace, settings.table.name].join('.');
  const held = committed === null ? 'nothing had been committed to it' : `it held everything up to ${formatFrontier(committed)}`;
  return new SinkError('table-missing', `table ${name} is gone from the catalog; ${held}`);
}

/** Drops everything of this epoch and resumes from the table after a pause. */
export function restart(state: SinkState, error: SinkError, inputs: StepInputs): Step {
  const epoch = state.epoch + 1;
  const failures = state.failures + 1;
  const delayMs = backoffMs(RESTART_BACKOFF, failures, inputs.fraction, error.detail.retryAfterMs);
  return {
    state: {
      ...state,
      ...clearedEpoch(),
      phase: 'backing-off',
      epoch,
      failures,
      streamSnapshot: state.streamSnapshot && error.code !== 'snapshot-not-insert-only',
      lastError: error,
    },
    effects: [
      { kind: 'abandon' },
      restartNote(error, delayMs, failures),
      { kind: 'set-timer', epoch, timer: 'restart', delayMs },
    ],
  };
}

function restartNote(error: SinkError, delayMs: number, failures: number): Effect {
  return {
    kind: 'note',
    level: 'warn',
    event: 'restarting',
    fields: { code: error.code, message: error.message, remedy: error.remedy, delayMs, failures },
  };
}

/**
 * The source ended early. Batches already sealed are closed by progress and stay valid without it, so they are
 * finished first: a snapshot of hours isn't thrown away for a lost connection. Rows not sealed are dropped; the next
 * subscription starts at the table's frontier and brings them again.
 */
export function drain(state: SinkState, error: SinkError, inputs: StepInputs): Step {
  if (error.disposition === 'halt' || state.phase === 'stopping') return fail(state, error, inputs);
  const drained: SinkState = { ...state, phase: 'draining', lastError: error };
  // A streamed snapshot whose span never closed is worthless: `restart` gives it up.
  if (isPipelineEmpty(drained)) return restart(drained, error, inputs);
  return stay(drained, { kind: 'close-source' });
}

export function isPipelineEmpty(state: SinkState): boolean {
  return state.writing === null && state.ready === null && state.committing === null;
}

export function end(state: SinkState, reason: 'stopped' | 'complete', error: SinkError | null): Step {
  return {
    state: { ...state, ...clearedEpoch(), phase: reason, epoch: state.epoch + 1 },
    effects: [{ kind: 'abandon' }, { kind: 'end', reason, error }],
  };
}

/**
 * A stop waits for a commit that is already on its way, because its outcome is then known and logged; nothing else
 * is worth waiting for. After the grace the answer is as good as lost, and the next start finds out.
 */
export function stop(state: SinkState): Step {
  switch (state.phase) {
    case 'stopped':
    case 'complete':
    case 'halted':
    case 'stopping':
      return stay(state);
    case 'running':
    case 'draining':
      if (state.committing === null) return end(state, 'stopped', null);
      return stay(
        { ...state, phase: 'stopping' },
        { kind: 'close-source' },
        { kind: 'set-timer', epoch: state.epoch, timer: 'stop-grace', delayMs: state.settings.stopGraceMs },
      );
    case 'created':
    case 'discovering':
    case 'opening':
    case 'backing-off':
      return end(state, 'stopped', null);
  }
}
