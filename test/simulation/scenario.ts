/**
 * What a seed means: workload, settings of the sink, which faults at which rate, and what others do to the table and to
 * the process, and when. Plain data, so that a failure can be made smaller by leaving things out (`minimise.ts`).
 */
import { type HistoryWishes } from './history.ts';
import { type Random, createRandom } from './random.ts';

export const FAULT_KINDS = [
  'put-fails-before', 'put-fails-after', 'put-lands-late', 'put-slow', 'put-credentials-expired', 'put-throttled',
  'get-fails', 'load-fails', 'load-slow', 'load-outdated', 'create-fails-before', 'create-fails-after', 'discover-fails',
  'commit-lost-before', 'commit-lost-after', 'commit-late', 'commit-twice', 'commit-conflict', 'commit-slow',
  'commit-throttled',
  'subscribe-fails', 'disconnect', 'cancelled', 'fell-behind', 'late-progress', 'odd-snapshot', 'notice',
  'spill-fails', 'spill-slow', 'encode-fails', 'encode-slow',
  // After these the sink must halt.
  'put-forbidden', 'commit-forbidden', 'load-unauthorized',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

const HALTING_FAULTS: readonly FaultKind[] = ['put-forbidden', 'commit-forbidden', 'load-unauthorized'];
const PASSING_FAULTS = FAULT_KINDS.filter((kind) => !HALTING_FAULTS.includes(kind));

const PROCESS_EVENT_KINDS = [
  'kill', 'kill-at-call', 'stop', 'freeze', 'clock-jump', 'second-copy', 'newer-version', 'older-version', 'take-over',
  'other-sink',
] as const;

const SOURCE_EVENT_KINDS = ['relation-dropped', 'relation-recreated', 'relation-altered'] as const;

const RIVAL_EVENT_KINDS = [
  'compaction', 'expiry', 'property-change', 'branch-write',
  'rollback', 'schema-change', 'spec-change', 'forged-version', 'forged-below', 'forged-inside', 'forged-beyond',
  'forged-partial', 'foreign-append', 'foreign-sink', 'table-dropped', 'table-replaced',
] as const;

export const EVENT_KINDS = [...PROCESS_EVENT_KINDS, ...SOURCE_EVENT_KINDS, ...RIVAL_EVENT_KINDS] as const;

export type ProcessEventKind = (typeof PROCESS_EVENT_KINDS)[number];
export type RivalEventKind = (typeof RIVAL_EVENT_KINDS)[number];
export type SourceEventKind = (typeof SOURCE_EVENT_KINDS)[number];
export type EventKind = ProcessEventKind | SourceEventKind | RivalEventKind;

export function isRivalEvent(kind: EventKind): kind is RivalEventKind {
  return RIVAL_EVENT_KINDS.some((rival) => rival === kind);
}

export function isSourceEvent(kind: EventKind): kind is SourceEventKind {
  return SOURCE_EVENT_KINDS.some((known) => known === kind);
}

/** Ends in a halt, or may: drawn less often, or seeds would hardly get anywhere. */
const HALTING_EVENTS: ReadonlySet<EventKind> = new Set<EventKind>([
  'rollback', 'schema-change', 'spec-change', 'forged-version', 'forged-below', 'forged-inside', 'forged-beyond',
  'forged-partial', 'foreign-append', 'foreign-sink', 'table-dropped', 'table-replaced', 'other-sink',
  ...SOURCE_EVENT_KINDS,
]);
const GENTLE_EVENTS = EVENT_KINDS.filter((kind) => !HALTING_EVENTS.has(kind));

export interface PlannedEvent {
  readonly atMs: number;
  readonly kind: EventKind;
  /** How long, how many or how deep; what it means depends on the kind. */
  readonly amount: number;
}

/** Bytes; nothing is ever spilled. */
export const LARGE_BUDGET = 1 << 24;

export interface Scenario {
  readonly seed: number;
  readonly fidelity: 'memory' | 'bytes';
  /** Rows come as the bytes of a COPY, cut anywhere, instead of as chunks. */
  readonly wire: boolean;
  readonly mode: 'upsert' | 'append';
  readonly snapshot: boolean;
  /** False: KEY … NOT ENFORCED, and the promise is broken. Upsert only. */
  readonly uniqueKeys: boolean;
  /** Of the second column. Numeric ones may be NaN, which no column of a table holds. */
  readonly values: 'text' | 'numeric';
  readonly rowErrorPolicy: 'halt' | 'null';
  /** finite: ends with a normal end of the stream. constant: the same, with every row at the last timestamp. */
  readonly input: 'endless' | 'finite' | 'constant';
  readonly history: Omit<HistoryWishes, 'mode' | 'startTime' | 'uniqueKeys'>;
  /** A step of more rows is refused, unless it is read in slices of fewer; null: of any size. */
  readonly stepRowsMax: number | null;
  readonly tickMs: number;
  readonly rowsPerRead: number;
  /** How far back the source can be read; null: for ever. */
  readonly retainMs: number | null;
  readonly evaluationErrors: readonly { readonly fromMs: number; readonly toMs: number }[];
  readonly rates: Partial<Record<FaultKind, number>>;
  readonly events: readonly PlannedEvent[];
  readonly commitIntervalMs: number;
  readonly heartbeatIntervalMs: number;
  readonly stopGraceMs: number;
  readonly budgetBytes: number;
  readonly rowsPerFile: number;
  /** Rows of fewer bytes are not encoded ahead of the close of their span. */
  readonly sectionBytesMin: number;
  /** Key hashes are cut to a few bits, so that partitions are uneven and keys collide. */
  readonly collidingHashes: boolean;
  /** Someone restarts a halted sink. */
  readonly operatorRestarts: boolean;
}

/** Faults and rivals act until here; afterwards the sink must catch up. */
export function quietFromMs(scenario: Scenario): number {
  return scenario.history.durationMs + 1_000;
}

export function scenarioOf(seed: number): Scenario {
  const random = createRandom(seed).stream('scenario');
  // Some go on for long enough that manifests are merged.
  const isLong = random.chance(0.006);
  const durationMs = isLong ? 40_000 : random.pick([3_000, 6_000, 12_000]);
  const isTiny = !isLong && random.chance(0.25);
  const mode = random.chance(0.7) ? 'upsert' : 'append';
  const input = isLong || random.chance(0.75) ? 'endless' : random.chance(0.8) ? 'finite' : 'constant';
  const wire = random.chance(0.15);
  const isNumeric = random.chance(0.15);
  return {
    seed,
    fidelity: random.chance(0.02) ? 'bytes' : 'memory',
    wire,
    mode,
    snapshot: random.chance(0.85),
    uniqueKeys: random.chance(0.85),
    values: isNumeric ? 'numeric' : 'text',
    rowErrorPolicy: random.chance(0.7) ? 'null' : 'halt',
    input,
    history: {
      durationMs,
      initialRows: random.chance(0.2) ? 0 : random.between(1, 12),
      steps: isLong ? 100 : random.between(2, 14),
      keys: random.pick([2, 5, 12, 40]),
      hugeChanges: isTiny ? random.between(40, 120) : random.chance(0.1) ? random.between(20, 80) : 0,
      longestValue: random.pick([4, 60]),
      notANumberShare: isNumeric ? random.pick([0, 0.05, 0.3]) : null,
      idleShare: !isLong && random.chance(0.3) ? 0.6 : 0,
    },
    stepRowsMax: drawStepRowsMax(seed),
    tickMs: isLong ? 250 : random.pick([250, 500, 1_000]),
    rowsPerRead: random.pick([3, 10, 40]),
    retainMs: random.chance(0.15) ? random.between(500, 10_000) : null,
    evaluationErrors: random.chance(0.1)
      ? Array.from({ length: random.between(1, 3) }, () => windowIn(random, durationMs)) : [],
    rates: drawRates(random),
    events: drawEvents(random, durationMs, isLong),
    commitIntervalMs: isLong ? 200 : random.pick([200, 1_000, 2_500]),
    heartbeatIntervalMs: random.pick([1_500, 60_000]),
    stopGraceMs: random.pick([200, 5_000]),
    budgetBytes: isTiny ? random.between(600, 2_500) : LARGE_BUDGET,
    rowsPerFile: random.pick([3, 1_000]),
    sectionBytesMin: drawSectionBytesMin(seed),
    collidingHashes: random.chance(0.2),
    operatorRestarts: random.chance(0.7),
  };
}

/** These are from streams of their own, so that all else of a seed stayed as it was when they came. */
function drawStepRowsMax(seed: number): number | null {
  const random = createRandom(seed).stream('step size');
  return random.chance(0.1) ? random.pick([1, 5, 20]) : null;
}

function drawSectionBytesMin(seed: number): number {
  return createRandom(seed).stream('sections').pick([1, 1, 300, LARGE_BUDGET]);
}

function windowIn(random: Random, durationMs: number): { readonly fromMs: number; readonly toMs: number } {
  const fromMs = random.below(durationMs);
  return { fromMs, toMs: fromMs + random.between(10, durationMs) };
}

function drawRates(random: Random): Scenario['rates'] {
  const rates: Partial<Record<FaultKind, number>> = {};
  if (random.chance(0.1)) return rates;
  for (const kind of PASSING_FAULTS) if (random.chance(0.2)) rates[kind] = random.pick([0.03, 0.1, 0.3]);
  if (random.chance(0.04)) rates[random.pick(HALTING_FAULTS)] = 0.1;
  return rates;
}

function drawEvents(random: Random, durationMs: number, isGentle: boolean): readonly PlannedEvent[] {
  const events: PlannedEvent[] = [];
  const count = random.pick([0, 1, 2, 3, 5]);
  for (let index = 0; index < count; index++) {
    const kind = isGentle || random.chance(0.85) ? random.pick(GENTLE_EVENTS) : random.pick([...HALTING_EVENTS]);
    events.push({ atMs: random.below(durationMs), kind, amount: random.below(1_000) });
  }
  return events.sort((a, b) => a.atMs - b.atMs);
}
