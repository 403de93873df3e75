/**
 * In how many slices a relation is read. In: a step that was too large for the server. Out: more slices for the next try,
 * or the halt when more don't help.
 *
 * Materialize doesn't say how much too large a step was, so the number doubles. It only grows while the process
 * lives: what was too large once will be again. Snapshot and catch-up have numbers of their own, because a table that
 * resumes reads the changes it missed, which have nothing to do with the size of the relation.
 */
import { isClosed } from '../time/frontier.ts';
import { SinkError } from '../errors.ts';
import { slicingColumns } from '../subscribe/slice-columns.ts';
import { keyColumnIndices } from './check-relation.ts';
import type { Effect, StepInputs } from './effects.ts';
import { type Step, drain, halt } from './ending.ts';
import type { SinkState, SliceCounts } from './state.ts';

export const MAX_SLICES = 64;

/** A step exceeded what the server sends at once. Batches that are sealed are finished; then the sink reads anew. */
export function onStepTooLarge(state: SinkState, error: SinkError, inputs: StepInputs): Step {
  const { relation, settings, slices, asOf, observed } = state;
  const columns = relation === null ? null : slicingColumns(relation, keyColumnIndices(relation, settings.keyColumns));
  if (columns === null) return halt(state, new SinkError(error.code, `${error.message}; no column can be hashed to read it in slices`));
  const isFirstStep = asOf === null || observed === null || !isClosed(asOf, observed);
  // Nothing is sealed before the first step is closed, so without a lower bound it is the one of a fresh table.
  const kind = isFirstStep && state.lower === null && settings.snapshot ? 'snapshot' : 'catchUp';
  const tried = slices[kind];
  if (isFirstStep && tried >= MAX_SLICES) {
    return halt(state, new SinkError(error.code, `${error.message}; it was read in ${tried} slices, and more are not tried`));
  }
  // A later step came out of one SUBSCRIBE, whatever the first was read in. It will be part of the next first step.
  const count = isFirstStep ? Math.min(MAX_SLICES, tried * 2) : Math.max(2, tried);
  // The answer is more slices and not a longer pause; there are only so many steps to it.
  const drained = drain({ ...state, failures: 0, slices: { ...slices, [kind]: count } }, error, inputs);
  return { state: drained.state, effects: [sliceNote(kind, count, isFirstStep, error), ...drained.effects] };
}

function sliceNote(kind: keyof SliceCounts, slices: number, isFirstStep: boolean, error: SinkError): Effect {
  const what = !isFirstStep ? 'one step of changes' : kind === 'snapshot' ? 'the snapshot' : 'the changes since the last commit';
  return {
    kind: 'note', level: 'warn', event: 'slicing',
    fields: { slices, reason: `${what} exceeded max_result_size of Materialize`, message: error.message },
  };
}
