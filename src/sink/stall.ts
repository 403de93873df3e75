/**
 * Is a sink stuck, and what is it waiting for? Pure: a memory of what was seen last, the state and the time go in, and
 * reports for the log come out. A sink that stands still without an error is the worst of all:
 * nothing is wrong anywhere and the table just gets old.
 */
import type { SinkError } from '../errors.ts';
import { formatFrontier } from '../time/frontier.ts';
import { formatSpan } from '../time/span.ts';
import type { Committing, SinkState } from './state.ts';

export type WaitsFor =
  | 'materialize' | 'catalog' | 'snapshot' | 'source-progress' | 'encode-and-upload' | 'commit' | 'credentials' | 'back-off';

export interface Wait {
  readonly waitsFor: WaitsFor;
  /** In words, with attempt numbers and spans; no row values. */
  readonly detail: string;
}

const STALL_INTERVALS = 10;
const STALL_MS_MIN = 60_000;
const SILENCE_MS = 60_000;
const REPORT_EVERY_MS = 60_000;

/** What stands between the sink and its next commit; null when nothing waits to be committed or the sink has ended. */
export function describeWait(state: SinkState): Wait | null {
  switch (state.phase) {
    case 'stopped':
    case 'complete':
    case 'halted':
      return null;
    case 'created':
    case 'discovering':
      return { waitsFor: 'materialize', detail: 'Materialize to describe the relation' };
    case 'opening':
      return { waitsFor: 'catalog', detail: 'the catalog to load or create the table' };
    case 'backing-off':
      return describeBackOff(state);
    case 'running':
    case 'draining':
    case 'stopping':
      return describePipeline(state);
  }
}

function describeBackOff(state: SinkState): Wait {
  const { lastError, failures } = state;
  const cause = lastError === null ? 'a failure' : `[${lastError.code}] ${lastError.message}`;
  return { waitsFor: isOfKeys(lastError) ? 'credentials' : 'back-off', detail: `the next try after ${failures} failures in a row: ${cause}` };
}

/** The oldest thing in the pipeline is what everything behind it waits for. */
function describePipeline(state: SinkState): Wait | null {
  if (state.committing !== null) return describeCommit(state.committing, state);
  if (state.writing !== null) {
    const detail = `the files of span ${formatSpan(state.writing.span)} to be encoded and uploaded${causeText(state)}`;
    return { waitsFor: isOfKeys(state.lastError) ? 'credentials' : 'encode-and-upload', detail };
  }
  if (state.ready !== null) return { waitsFor: 'commit', detail: `the commit of span ${formatSpan(state.ready.batch.span)} to begin` };
  if (state.lower === null) return { waitsFor: 'snapshot', detail: 'the snapshot of the relation to be complete' };
  const { open, stash } = state;
  if (open?.isWriting === true) {
    const detail = `the rows below ${formatFrontier(open.upper)} to be encoded, ahead of the close of their span${causeText(state)}`;
    return { waitsFor: 'encode-and-upload', detail };
  }
  if (stash.rowCount === 0 && open === null) return null;
  const encoded = open === null ? '' : `, and those below ${formatFrontier(open.upper)}, encoded already`;
  return { waitsFor: 'source-progress', detail: `progress of the relation beyond ${observedText(state)}, ${stash.rowCount} rows wait${encoded}` };
}

const COMMIT_STEPS: Readonly<Record<Committing['step'], string>> = {
  loading: 'loading the table',
  listing: 'writing the manifest list',
  posting: 'waiting for the answer of the catalog',
  waiting: 'waiting before the next attempt; if conflicts persist, ensure no other writers are modifying the same table',
};

function describeCommit(committing: Committing, state: SinkState): Wait {
  const span = formatSpan(committing.written.batch.span);
  const detail = `commit attempt ${committing.attempt} of span ${span}, ${COMMIT_STEPS[committing.step]}${causeText(state)}`;
  const credentials = isOfKeys(state.lastError) && committing.step !== 'posting';
  return { waitsFor: credentials ? 'credentials' : 'commit', detail };
}

function isOfKeys(error: SinkError | null): boolean {
  return error?.code === 'storage-credentials-expired' || error?.code === 'storage-credentials-missing';
}

function causeText({ lastError }: SinkState): string {
  return lastError === null ? '' : `; last error [${lastError.code}] ${lastError.message}`;
}

function observedText(state: SinkState): string {
  return state.observed === null ? 'its beginning' : formatFrontier(state.observed);
}

/** What the watch remembers between two looks. `null`: not the case at the moment. */
export interface WatchMemory {
  /** Since when something has waited without any commit. */
  readonly waitingSinceMs: number | null;
  readonly silentSinceMs: number | null;
  /** Identify the last commit and the last progress that were seen. */
  readonly commitMark: string;
  readonly progressMark: string;
  readonly stallReportedMs: number | null;
  readonly silenceReportedMs: number | null;
}

export const FIRST_LOOK: WatchMemory = {
  waitingSinceMs: null, silentSinceMs: null, commitMark: '', progressMark: '', stallReportedMs: null, silenceReportedMs: null,
};

export interface WatchReport {
  readonly level: 'info' | 'warn';
  readonly event: 'stalled' | 'stall-over' | 'source-silent';
  readonly fields: Readonly<Record<string, string | number>>;
}

/** How long a sink may be without a commit while something waits. */
export function stallAfterMs(commitIntervalMs: number): number {
  return Math.max(STALL_INTERVALS * commitIntervalMs, STALL_MS_MIN);
}

/** One look, to be repeated every few seconds. Each kind of report comes at most once a minute. */
export function look(before: WatchMemory, state: SinkState, nowMs: number): { memory: WatchMemory; reports: readonly WatchReport[] } {
  const stall = lookForStall(before, state, nowMs);
  const silence = lookForSilence(stall.memory, state, nowMs);
  return { memory: silence.memory, reports: [...stall.reports, ...silence.reports] };
}

interface Look {
  readonly memory: WatchMemory;
  readonly reports: readonly WatchReport[];
}

function lookForStall(before: WatchMemory, state: SinkState, nowMs: number): Look {
  const wait = describeWait(state);
  const commitMark = `${state.lastCommitMs} ${state.committed === null ? '' : formatFrontier(state.committed)}`;
  // A long snapshot is work, not a stall; whether it still arrives is a question of silence.
  if (wait === null || wait.waitsFor === 'snapshot' || commitMark !== before.commitMark) {
    const waitingSinceMs = wait === null || wait.waitsFor === 'snapshot' ? null : nowMs;
    const over: readonly WatchReport[] = before.stallReportedMs !== null && commitMark !== before.commitMark
      ? [{ level: 'info', event: 'stall-over', fields: {} }]
      : [];
    return { memory: { ...before, commitMark, waitingSinceMs, stallReportedMs: null }, reports: over };
  }
  const waitingSinceMs = before.waitingSinceMs ?? nowMs;
  const isDue = nowMs - waitingSinceMs >= stallAfterMs(state.settings.commitIntervalMs) && isTime(before.stallReportedMs, nowMs);
  const memory = { ...before, waitingSinceMs, stallReportedMs: isDue ? nowMs : before.stallReportedMs };
  if (!isDue) return { memory, reports: [] };
  const fields: Record<string, string | number> = {
    waitsFor: wait.waitsFor, detail: wait.detail, seconds: Math.floor((nowMs - waitingSinceMs) / 1000), phase: state.phase,
  };
  if (state.lastError !== null) fields['remedy'] = state.lastError.remedy;
  return { memory, reports: [{ level: 'warn', event: 'stalled', fields }] };
}

/** Materialize sends progress about every second, whether rows change or not; only a snapshot may take longer. */
function lookForSilence(before: WatchMemory, state: SinkState, nowMs: number): Look {
  const progressMark = `${state.epoch} ${observedText(state)}`;
  if (state.phase !== 'running' || state.sourceClosed || progressMark !== before.progressMark) {
    const silentSinceMs = state.phase === 'running' && !state.sourceClosed ? nowMs : null;
    return { memory: { ...before, progressMark, silentSinceMs, silenceReportedMs: null }, reports: [] };
  }
  const silentSinceMs = before.silentSinceMs ?? nowMs;
  const isDue = nowMs - silentSinceMs >= SILENCE_MS && isTime(before.silenceReportedMs, nowMs);
  const memory = { ...before, silentSinceMs, silenceReportedMs: isDue ? nowMs : before.silenceReportedMs };
  if (!isDue) return { memory, reports: [] };
  const isSnapshot = state.lower === null;
  const fields = {
    seconds: Math.floor((nowMs - silentSinceMs) / 1000),
    observed: observedText(state),
    detail: isSnapshot
      ? 'the snapshot of the relation is not complete yet'
      : 'connected, but Materialize sends no progress: look at the cluster and the inputs of the relation',
  };
  return { memory, reports: [{ level: isSnapshot ? 'info' : 'warn', event: 'source-silent', fields }] };
}

function isTime(reportedMs: number | null, nowMs: number): boolean {
  return reportedMs === null || nowMs - reportedMs >= REPORT_EVERY_MS;
}
