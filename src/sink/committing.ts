/**
 * One commit: decide → write the manifest list → post, and where that wasn't a plain yes: load → decide → …, again and again
 * until the table says that it is done or that it can't be (architecture, "Commit protocol").
 *
 * There is no edge from `posting` to `posting`: whatever the answer of a post was, unless it was a plain yes, the known
 * table is forgotten, the next step is `loading`, and only `decideCommit` on the freshly loaded table leads on. Only the first
 * attempt of a batch may rest on the table known from before (commit/known-table.ts argues why that is safe). Data files and
 * manifests are reused by every attempt; the manifest list is written anew because it depends on the parent.
 */
import { type CommitDecision, decideCommit } from '../commit/decide.ts';
import { type KnownTable, isRecent, knownAfterCommit, knownFromLoad } from '../commit/known-table.ts';
import { COMMIT_BACKOFF, backoffMs } from '../commit/retry.ts';
import { type ErrorCode, SinkError, invariant } from '../errors.ts';
import type { Snapshot, TableMetadata } from '../iceberg/metadata.ts';
import { formatSpan } from '../time/span.ts';
import type { Effect, StepInputs } from './effects.ts';
import { type Step, end, fail, restart, stay, tableGone } from './ending.ts';
import type { CommitOutcome, LoadOutcome } from './ports.ts';
import { type Committing, type SinkState, highest } from './state.ts';

/**
 * What was seen of the table may be out of date by the time it is built upon, in two ways that look final and are not.
 * A write to another branch takes the sequence number that we chose, and catalogs answer 400 to that, not 409, although
 * main is where it was. And the list of a head that is head no more may have been removed by snapshot expiry. So both
 * are tried again on the table as it is then. A catalog behind a cache shows it late, by seconds: so the tries go on for
 * about ten seconds of back-off in all. What has another cause stays so, and halts then.
 */
const STALE_MAX = 8;
const STALE_CODES: ReadonlySet<ErrorCode> = new Set(['commit-refused', 'storage-object-missing']);

/**
 * A catalog behind a cache or a read replica may answer with the table as it was. That looks like a rollback and is none: the
 * last sequence number of a table only grows, and a rollback leaves it where it is (spec, "Sequence Numbers"). So a refusal
 * that rests on an older table than the one seen before is looked into again, for about a minute of back-off in all. A table
 * that stays old was restored from elsewhere, and then the refusal holds.
 */
const OUTDATED_MAX = 11;

/**
 * Moves the waiting batch up; the caller has made sure that there is one and that no other is on its way. A batch begins where
 * the one before it ended, so the known table says "send"; should it not, the table is loaded to find out. So it is for the
 * first snapshot of a table: catalogs are known that don't check the assertion that there is none (Nessie 0.99), and between
 * the opening and this commit there may lie minutes for another copy to take the first snapshot in.
 */
export function beginCommit(before: SinkState, inputs: StepInputs): Step {
  invariant(before.committing === null && before.ready !== null, 'one commit at a time, of a batch that is written');
  const committing: Committing = {
    written: before.ready, attempt: 1, hasLooked: false, staleTries: 0, outdatedLoads: 0, sent: null, step: 'loading', base: null,
  };
  const state: SinkState = { ...before, ready: null, committing };
  const { facts, known, settings } = state;
  if (facts !== null && known !== null && isRecent(known, inputs.nowMs)) {
    const decision = decideCommit(known.metadata, facts, settings.identity, committing.written.batch);
    if (decision.kind === 'send' && decision.head !== null) return send(state, committing, known, decision, inputs);
  }
  return stay({ ...state, known: null }, { kind: 'load-table', epoch: state.epoch, purpose: 'commit' });
}

export function onTableForCommit(before: SinkState, outcome: LoadOutcome, inputs: StepInputs): Step {
  const committing = { ...expectStep(before, 'loading'), hasLooked: true };
  if (outcome.kind === 'missing') {
    return fail(before, tableGone(before), inputs);
  }
  const { metadata } = outcome.table;
  invariant(before.facts !== null, 'a commit needs the facts of the table it was written for');
  const isOutdated = metadata.tableUuid === before.facts.tableUuid && metadata.lastSequenceNumber < before.newestSequence;
  const known = knownFromLoad(metadata, inputs.nowMs);
  const state = {
    ...before, facts: before.facts, known, newestSequence: highest(before.newestSequence, metadata.lastSequenceNumber),
  };
  const { batch } = committing.written;
  const decision = decideCommit(metadata, state.facts, state.settings.identity, batch);
  switch (decision.kind) {
    case 'stop':
      if (isOutdated && committing.outdatedLoads < OUTDATED_MAX) return againAsOutdated(state, committing, inputs, metadata, decision.error);
      return fail(state, decision.error, inputs);
    case 'already-committed':
      return committed(state, committing, inputs, 'found');
    case 'send':
      return send(state, committing, known, decision, inputs);
  }
}

/** `known` is the table that was decided on, and stays the known one for as long as nothing but a plain yes is heard. */
function send(
  state: SinkState, committing: Committing, known: KnownTable, decision: Extract<CommitDecision, { kind: 'send' }>, inputs: StepInputs,
): Step {
  const { metadata } = known;
  const { head, parent } = decision;
  // Iceberg refuses a snapshot older than its table, and this machine's clock may lag behind the last writer's.
  const timestampMs = [BigInt(inputs.nowMs), metadata.lastUpdatedMs, parent?.timestampMs ?? 0n]
    .reduce((latest, time) => (time > latest ? time : latest));
  const base = { metadata, head, parent };
  return stay(
    { ...state, known, committing: { ...committing, step: 'listing', base } },
    ...growthNote(known.snapshotCount),
    { kind: 'write-list', epoch: state.epoch, attempt: committing.attempt, base, written: committing.written, timestampMs },
  );
}

/** Each so many snapshots the operator hears of it. */
const SNAPSHOTS_PER_NOTE = 5_000;

/**
 * The catalog writes every snapshot of the table into every new metadata file, so commits get slower with their number, and
 * some catalogs refuse large metadata in the end. Expiring snapshots is the operator's decision: time travel goes with them.
 */
function growthNote(snapshots: number): readonly Effect[] {
  if (snapshots === 0 || snapshots % SNAPSHOTS_PER_NOTE !== 0) return [];
  const message = `the table keeps ${snapshots} snapshots, and its metadata grows with each; expire old ones, but keep the newest of the sink`;
  return [{ kind: 'note', level: 'warn', event: 'metadata-growing', fields: { snapshots, message } }];
}

export function onListWritten(state: SinkState, attempt: number, snapshot: Snapshot): Step {
  const committing = expectStep(state, 'listing');
  invariant(committing.attempt === attempt && committing.base !== null, 'a manifest list of another attempt');
  invariant(state.facts !== null, 'a commit asserts the facts of the table it was written for');
  const { head } = committing.base;
  return stay(
    { ...state, committing: { ...committing, step: 'posting', base: null, sent: snapshot } },
    { kind: 'post', epoch: state.epoch, attempt, facts: state.facts, head, snapshot },
  );
}

export function onCommitAnswer(before: SinkState, outcome: CommitOutcome, inputs: StepInputs): Step {
  const committing = expectStep(before, 'posting');
  const state = heard(before, outcome);
  switch (outcome.kind) {
    case 'committed':
      return committed(withOurCommit(state, committing), committing, inputs, 'answered');
    case 'conflict':
      if (!committing.hasLooked) return look(state, committing, outcome.message);
      return again(state, committing, inputs, 'conflict', outcome.message, 0);
    case 'unknown':
      return again(state, committing, inputs, 'unknown', outcome.message, 0);
    case 'refused':
      // Even a definite refusal of this request says nothing of earlier ones; files stay for orphan clean-up.
      // What a table that is gone held is told by who looks for it.
      if (!committing.hasLooked && outcome.error.code === 'table-missing') return look(state, committing, outcome.error.message);
      if (mayBeStale(committing, outcome.error)) return againAsStale(state, committing, inputs, outcome.error);
      if (outcome.error.disposition === 'halt') return refused(state, committing, outcome.error, inputs);
      return again(state, committing, inputs, outcome.error.code, outcome.error.message, outcome.error.detail.retryAfterMs ?? 0);
  }
}

/**
 * Each section of a snapshot takes a sequence number, so the table's grows by more than one. Iceberg asks no more than that it grows, yet
 * a catalog that asks for the next one would refuse the batch for ever. So what is refused is tried once more in one section.
 */
function refused(state: SinkState, { written }: Committing, error: SinkError, inputs: StepInputs): Step {
  const isSectioned = written.sections.length > 1 && error.code === 'commit-refused' && state.phase !== 'stopping';
  return isSectioned ? restart({ ...state, encodeAhead: false }, error, inputs) : fail(state, error, inputs);
}

/** The table is known to have the snapshot that was posted on it. */
function withOurCommit(state: SinkState, { sent }: Committing): SinkState {
  invariant(sent !== null && state.known !== null, 'what was answered was posted on a known table');
  return {
    ...state, known: knownAfterCommit(state.known, sent), newestSequence: highest(state.newestSequence, sent.sequenceNumber),
  };
}

/** What the catalog answered is shown for as long as the commit waits; a drain keeps the cause that began it. */
function heard(state: SinkState, outcome: CommitOutcome): SinkState {
  if (state.phase === 'draining') return state;
  if (outcome.kind === 'unknown') return { ...state, lastError: new SinkError('commit-unknown', outcome.message) };
  return outcome.kind === 'refused' ? { ...state, lastError: outcome.error } : state;
}

/** Loading or listing failed: nothing was sent, so the same attempt may simply begin again, unless the cause is final. */
export function onCommitEffectFailed(state: SinkState, error: SinkError, inputs: StepInputs): Step {
  if (state.committing !== null && mayBeStale(state.committing, error)) {
    return againAsStale(state, state.committing, inputs, error);
  }
  if (state.committing === null || error.disposition === 'halt' || error.disposition === 'restart') return fail(state, error, inputs);
  return again({ ...state, lastError: error }, state.committing, inputs, error.code, error.message, error.detail.retryAfterMs ?? 0);
}

function mayBeStale(committing: Committing, error: SinkError): boolean {
  return STALE_CODES.has(error.code) && committing.staleTries + 1 < STALE_MAX;
}

function againAsStale(state: SinkState, committing: Committing, inputs: StepInputs, error: SinkError): Step {
  const counted = { ...committing, staleTries: committing.staleTries + 1 };
  return again(state, counted, inputs, error.code, error.message, 0);
}

function againAsOutdated(
  state: SinkState, committing: Committing, inputs: StepInputs, { lastSequenceNumber }: TableMetadata, error: SinkError,
): Step {
  const seen = `the catalog answered with the table as of sequence number ${lastSequenceNumber}, and ${state.newestSequence} has been seen`;
  const counted = { ...committing, outdatedLoads: committing.outdatedLoads + 1 };
  return again(state, counted, inputs, 'outdated-answer', `${seen}; it would mean: ${error.message}`, 0);
}

function again(state: SinkState, committing: Committing, inputs: StepInputs, cause: string, message: string, retryAfterMs: number): Step {
  if (state.phase === 'stopping') return end(state, 'stopped', null);
  const delayMs = backoffMs(COMMIT_BACKOFF, committing.attempt, inputs.fraction, retryAfterMs);
  const note: Effect = {
    kind: 'note',
    level: 'warn',
    event: 'commit-retry',
    fields: { cause, message, span: formatSpan(committing.written.batch.span), attempt: committing.attempt, delayMs },
  };
  return stay(
    { ...state, known: null, committing: { ...committing, attempt: committing.attempt + 1, step: 'waiting', base: null } },
    note,
    { kind: 'set-timer', epoch: state.epoch, timer: 'commit-retry', delayMs },
  );
}

/**
 * The known table is out of date: compaction, an operator or another process was there since. That is an ordinary event and no
 * contention, so the table is looked at without a pause. A second conflict in a row is contention.
 */
function look(state: SinkState, committing: Committing, message: string): Step {
  if (state.phase === 'stopping') return end(state, 'stopped', null);
  const span = formatSpan(committing.written.batch.span);
  return stay(
    { ...state, known: null, committing: { ...committing, attempt: committing.attempt + 1, step: 'loading', base: null } },
    { kind: 'note', level: 'info', event: 'table-changed', fields: { message, span } },
    { kind: 'load-table', epoch: state.epoch, purpose: 'commit' },
  );
}

export function onCommitRetryTimer(state: SinkState): Step {
  const committing = expectStep(state, 'waiting');
  return stay(
    { ...state, committing: { ...committing, step: 'loading' } },
    { kind: 'load-table', epoch: state.epoch, purpose: 'commit' },
  );
}

function committed(state: SinkState, committing: Committing, inputs: StepInputs, how: 'answered' | 'found'): Step {
  const { batch, added } = committing.written;
  const next: SinkState = {
    ...state,
    committing: null,
    committed: batch.span.upper,
    lastCommitMs: inputs.nowMs,
    failures: 0,
    lastError: state.phase === 'draining' ? state.lastError : null,
  };
  return stay(next, { kind: 'committed', batch, added, attempts: committing.attempt, how });
}

function expectStep(state: SinkState, step: Committing['step']): Committing {
  invariant(state.committing !== null && state.committing.step === step, `the commit is not at ${step}`);
  return state.committing;
}
