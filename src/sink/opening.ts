/**
 * From nothing to a running subscription: discover the relation, check it against the definition, open or create the
 * table, read from the table where to go on, subscribe there.
 *
 * Safe to repeat at any point: creating the table is the only change made, and an existing one is taken as found.
 */
import { decideResume, tableFacts } from '../commit/decide.ts';
import { knownFromLoad } from '../commit/known-table.ts';
import { SinkError, invariant } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import type { Relation } from '../relation/relation.ts';
import { NOTHING_ADDED } from '../snapshot/summary.ts';
import type { Frontier } from '../time/frontier.ts';
import { makeSpan } from '../time/span.ts';
import { checkRelation } from './check-relation.ts';
import type { StepInputs, WrittenBatch } from './effects.ts';
import { type Step, end, fail, halt, stay, tableGone } from './ending.ts';
import type { CreateOutcome, LoadOutcome } from './ports.ts';
import { type SinkState, highest } from './state.ts';
import { planExisting, planNew } from './table-planning.ts';

export function beginOpening(state: SinkState): Step {
  return stay({ ...state, phase: 'discovering' }, { kind: 'discover', epoch: state.epoch });
}

export function onRelation(state: SinkState, relation: Relation): Step {
  const error = checkRelation(relation, state.settings);
  if (error !== null) return halt(state, error);
  return stay(
    { ...state, phase: 'opening', relation },
    { kind: 'load-table', epoch: state.epoch, purpose: 'resume' },
  );
}

export function onTableForResume(state: SinkState, outcome: LoadOutcome, inputs: StepInputs): Step {
  if (outcome.kind === 'loaded') return openTable(state, outcome.table.metadata, inputs);
  if (state.committed !== null) return halt(state, tableGone(state));
  const { relation, settings } = state;
  invariant(relation !== null, 'the table is opened after the relation is known');
  const planned = planNew(relation, settings);
  if (planned instanceof SinkError) return halt(state, planned);
  return stay(state, { kind: 'create-table', epoch: state.epoch, request: planned });
}

/** Someone created the table between our look and our try: look again, and take it as found. */
export function onTableCreated(state: SinkState, outcome: CreateOutcome, inputs: StepInputs): Step {
  if (outcome.kind === 'created') {
    const opened = openTable(state, outcome.table.metadata, inputs);
    const location = outcome.table.metadata.location;
    return { ...opened, effects: [{ kind: 'note', level: 'info', event: 'table-created', fields: { location } }, ...opened.effects] };
  }
  return stay(state, { kind: 'load-table', epoch: state.epoch, purpose: 'resume' });
}

function openTable(state: SinkState, metadata: TableMetadata, inputs: StepInputs): Step {
  const { relation, settings } = state;
  invariant(relation !== null, 'the table is opened after the relation is known');
  const facts = tableFacts(metadata);
  if (state.facts !== null && state.facts.tableUuid !== facts.tableUuid) {
    const message = `the table uuid is ${facts.tableUuid}, it was ${state.facts.tableUuid} when this sink started`;
    return halt(state, new SinkError('table-replaced', message));
  }
  const plan = planExisting(relation, metadata, settings);
  if (plan instanceof SinkError) return halt(state, plan);
  const resume = decideResume(metadata, settings.identity);
  if (resume.kind === 'stop') return fail(state, resume.error, inputs);
  const newestSequence = highest(state.newestSequence, metadata.lastSequenceNumber);
  const known = knownFromLoad(metadata, inputs.nowMs);
  const opened: SinkState = { ...state, phase: 'running', plan, facts, known, newestSequence };
  if (resume.kind === 'fresh') {
    const stream = settings.snapshot && state.streamSnapshot ? { ordinal: 0, snapshotId: inputs.snapshotId } : null;
    return stay(
      { ...opened, committed: null, lower: null, stream, lastSealMs: inputs.nowMs },
      { kind: 'note', level: 'info', event: 'beginning', fields: { snapshot: settings.snapshot, slices: state.slices.snapshot } },
      {
        kind: 'subscribe', epoch: state.epoch, relation, plan, asOf: null, snapshot: settings.snapshot,
        slices: settings.snapshot ? state.slices.snapshot : state.slices.catchUp,
        streamed: stream === null ? null : { ...stream, patienceMs: patienceMs(state) },
      },
    );
  }
  const [frontier] = resume.frontier;
  if (frontier === undefined) return end({ ...opened, committed: resume.frontier }, 'complete', null);
  // SNAPSHOT = false delivers times strictly above the as of, so the first change wanted, at the frontier, needs F-1.
  const takeOver = resume.takesOver ? takeOverBatch(resume.frontier, inputs) : null;
  return stay(
    {
      ...opened, committed: resume.frontier, lower: resume.frontier, ready: takeOver, nextOrdinal: takeOver === null ? 0 : 1,
      lastSealMs: inputs.nowMs,
    },
    { kind: 'note', level: 'info', event: 'resuming', fields: { frontier } },
    {
      kind: 'subscribe', epoch: state.epoch, relation, plan, asOf: frontier === 0n ? 0n : frontier - 1n, snapshot: false,
      slices: state.slices.catchUp, streamed: null,
    },
  );
}

/**
 * A snapshot without rows and with the frontier that the table has, under our name and version. It fences the predecessor off at
 * once: with batches of rows alone, two processes that hear of progress at the same moment race for every span, and the one that
 * is warm can win for ever.
 */
function takeOverBatch(frontier: Frontier, inputs: StepInputs): WrittenBatch {
  return {
    batch: { ordinal: 0, snapshotId: inputs.snapshotId, span: makeSpan(frontier, frontier) }, sections: [], added: NOTHING_ADDED,
  };
}

/** See snapshot-pace.ts. */
const SNAPSHOT_PATIENCE_MS = 10_000;

/** After a failure there is none: the source may have dropped us because we made it wait. */
function patienceMs(state: SinkState): number {
  return state.failures === 0 ? SNAPSHOT_PATIENCE_MS : 0;
}
