/**
 * One run: a scenario played to its end. First everything goes wrong that the scenario has planned; then the world is
 * quiet, and the sink must bring the table to where the source is, or have halted for a good reason.
 */
import type { SinkPorts } from '../../src/sink/driver.ts';
import type { SinkIdentity } from '../../src/commit/decide.ts';
import type { SinkSettings } from '../../src/sink/effects.ts';
import { CatalogWorld } from './catalog-double.ts';
import { claimsOf } from './checkers/claims.ts';
import { judgeEnd } from './checkers/halts.ts';
import { watchedLog } from './checkers/log-lines.ts';
import { ProtocolChecker } from './checkers/protocol.ts';
import { TableChecker } from './checkers/table.ts';
import { encoderFor } from './encoder-double.ts';
import { Faults } from './faults.ts';
import { generateHistory, isNotRepresentable } from './history.ts';
import { resetContainers } from './memory-avro.ts';
import { createRandom } from './random.ts';
import { Rivals, headOf } from './rivals.ts';
import {
  type EventKind, type FaultKind, type PlannedEvent, type ProcessEventKind, type Scenario, isRivalEvent, isSourceEvent,
  quietFromMs,
} from './scenario.ts';
import { Scheduler } from './scheduler.ts';
import { SinkProcess } from './sink-process.ts';
import { SourceWorld } from './source-double.ts';
import { openSpill } from './spill-double.ts';
import { ObjectWorld } from './store-double.ts';
import { EPOCH_MS, type Violation, type World, violate } from './world.ts';

export interface RunResult {
  readonly scenario: Scenario;
  readonly violation: Violation | null;
  readonly traceHash: number;
  readonly trace: readonly string[];
  readonly steps: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly events: ReadonlyMap<EventKind, number>;
  readonly commits: number;
  /** Of spans that were encoded in several sections. */
  readonly sectioned: number;
  readonly kills: number;
  readonly halts: readonly string[];
  readonly hasCaughtUp: boolean;
}

const FIRST: SinkIdentity = { sinkId: 'sink', version: 10n, takeOver: false };
const CAUSES_THAT_KEEP_PROGRESS: ReadonlySet<string> = new Set([
  'newer-version', 'older-version', 'compacted', 'schema-change', 'spec-change', 'take-over', 'other-sink',
  'relation-dropped', 'relation-recreated', 'relation-altered', 'row-not-representable', 'result-too-large',
]);
const STEPS_MAX = 20_000;
/** What a quiet world may need: the longest back-offs, the slowest answers and the lateness of progress, with room. */
const CATCH_UP_MS = 600_000;

export async function simulate(scenario: Scenario, keepTrace: boolean): Promise<RunResult> {
  resetContainers(scenario.fidelity === 'bytes');
  return new Simulation(scenario, keepTrace).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #catalog: CatalogWorld;
  readonly #store: ObjectWorld;
  readonly #source: SourceWorld;
  readonly #checker: TableChecker;
  readonly #rivals: Rivals;
  readonly #processes: SinkProcess[] = [];
  readonly #halts: string[] = [];
  readonly #events = new Map<EventKind, number>();
  #restartsLeft = 4;
  #startsPending = 0;
  /** Who is to write the table by now. */
  #newest = FIRST;
  #version = FIRST.version;
  #sinks = 0;
  #kills = 0;
  #isQuiet = false;

  constructor(scenario: Scenario, keepTrace: boolean) {
    this.#scenario = scenario;
    const random = createRandom(scenario.seed);
    const scheduler = new Scheduler(keepTrace);
    const startTime = scenario.input === 'constant' ? 0xffff_ffff_ffff_ffffn : BigInt(EPOCH_MS - 10);
    const steps = scenario.input === 'constant' ? 0 : scenario.history.steps;
    const history = generateHistory(
      random.stream('history'), { ...scenario.history, steps, mode: scenario.mode, uniqueKeys: scenario.uniqueKeys, startTime },
    );
    this.#world = {
      scenario, scheduler, history,
      random: random.stream('world'),
      faults: new Faults(scenario.rates, random.stream('faults')),
      causes: new Set(),
      violations: [],
    };
    this.#catalog = new CatalogWorld(this.#world);
    this.#store = new ObjectWorld(this.#world);
    this.#source = new SourceWorld(this.#world);
    const isOdd = scenario.rowErrorPolicy === 'halt' && history.changes.some(({ row }) => isNotRepresentable(row));
    if (isOdd) this.#world.causes.add('row-not-representable');
    const shared = { world: this.#world, catalog: this.#catalog, store: this.#store, source: this.#source };
    this.#checker = new TableChecker(shared);
    this.#rivals = new Rivals({ ...shared, checker: this.#checker });
    this.#catalog.observers.push(this.#checker, new ProtocolChecker(this.#world));
  }

  async run(): Promise<RunResult> {
    const { scheduler, violations, faults } = this.#world;
    this.#startLater(0, this.#newest);
    for (const event of this.#scenario.events) scheduler.at(event.atMs, event.kind, () => this.#play(event));
    scheduler.at(quietFromMs(this.#scenario), 'quiet', () => this.#calmDown());
    const isDone = (): boolean => violations.length > 0 || (this.#isQuiet && this.#isSettled());
    const ended = await scheduler.run(isDone, STEPS_MAX);
    if (!ended) violate(this.#world, 'liveness', `${STEPS_MAX} events were not enough; ${this.#situation()}`);
    this.#checker.judgeRetained();
    return {
      scenario: this.#scenario,
      violation: violations[0] ?? null,
      traceHash: scheduler.traceHash,
      trace: scheduler.trace,
      steps: scheduler.steps,
      faults: faults.counts,
      events: this.#events,
      commits: this.#checker.snapshotsChecked,
      sectioned: this.#checker.sectionedSnapshots,
      kills: this.#kills,
      halts: this.#halts,
      hasCaughtUp: this.#hasCaughtUp(),
    };
  }

  // --- The table ------------------------------------------------------------------------------------

  #hasCaughtUp(): boolean {
    const { metadata } = this.#catalog;
    const head = metadata === null ? null : headOf(metadata);
    if (metadata === null || head === null) return false;
    const progress = this.#checker.known(metadata, head.snapshotId)?.progress;
    if (progress === null || progress === undefined) return false;
    if (this.#scenario.input !== 'endless') return progress.upper === null;
    return progress.upper === null || progress.upper > this.#world.history.lastChangeTime;
  }

  /** Nothing more is to be expected: the table is there, or no sink is left to bring it there. */
  #isSettled(): boolean {
    if (this.#startsPending > 0) return false;
    const running = this.#processes.filter((process) => process.isRunning);
    if (running.length === 0) return true;
    if (running.some((process) => process.stoppedAtMs !== null)) return false;
    // A complete sink ends by itself, and must.
    return this.#hasCaughtUp() && this.#scenario.input === 'endless';
  }

  #situation(): string {
    const phases = this.#processes.map(
      (process) => `p${process.id} ${process.alive ? process.sink?.state().phase ?? '-' : 'killed'}`,
    );
    return `${phases.join(', ')}; caught up: ${this.#hasCaughtUp()}`;
  }

  // --- Processes ------------------------------------------------------------------------------------

  #startLater(delayMs: number, identity: SinkIdentity): void {
    this.#startsPending++;
    this.#world.scheduler.at(delayMs, `start of ${identity.sinkId} version ${identity.version}`, () => {
      this.#startsPending--;
      const process = new SinkProcess(this.#world, this.#processes.length, identity);
      this.#processes.push(process);
      process.start(this.#settings(identity), this.#portsOf(process), () => this.#onEnd(process));
    });
  }

  #settings(identity: SinkIdentity): SinkSettings {
    const { mode, snapshot, uniqueKeys, rowErrorPolicy, commitIntervalMs, heartbeatIntervalMs, stopGraceMs, sectionBytesMin } = this.#scenario;
    return {
      name: 's', identity, table: { namespace: ['ns'], name: 't' }, mode,
      keyColumns: mode === 'upsert' ? ['id'] : [], keyEnforced: mode === 'upsert' && uniqueKeys, cluster: null, snapshot,
      snapshotSlices: 1,
      commitIntervalMs, heartbeatIntervalMs, stopGraceMs,
      uuidMapping: 'fixed', rowErrorPolicy, targetFileSizeBytes: 1 << 27, sectionBytesMin,
    };
  }

  #portsOf(process: SinkProcess): SinkPorts {
    const { random } = process;
    let ids = 0n;
    const base = BigInt(process.id + 1) * 1_000_000_000n;
    return {
      source: this.#source.portFor(process),
      catalog: this.#catalog.portFor(process),
      store: this.#store.portFor(process),
      encoder: encoderFor(process),
      openSpill: () => openSpill(process),
      clock: {
        nowMs: () => process.nowMs(),
        after: (delayMs, callback) => process.later(delayMs, 'timer', callback),
      },
      entropy: {
        snapshotId: () => base + ids++,
        uuid: () => {
          const digits = String(base + ids++).padStart(32, '0');
          return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
        },
        fraction: () => random.fraction(),
      },
      log: watchedLog(process),
      onCommitted: claimsOf(process, (snapshotId) => this.#catalog.applied.has(snapshotId)),
    };
  }

  #onEnd(process: SinkProcess): void {
    judgeEnd(this.#world, process);
    const { end } = process;
    if (end === null) return;
    if (end.reason === 'complete') {
      // Only what others do to the table can take away what made the sink say so.
      const isUndisturbed = [...this.#world.causes].every((cause) => CAUSES_THAT_KEEP_PROGRESS.has(cause));
      if (isUndisturbed && !this.#hasCaughtUp()) {
        violate(this.#world, 'halts', `p${process.id} says complete, the table does not`);
      }
      return;
    }
    if (end.reason === 'stopped') {
      this.#startLater(this.#world.random.between(10, 2_000), process.identity);
      return;
    }
    this.#halts.push(end.error?.code ?? 'none');
    if (end.error?.code === 'fenced') {
      // Right for an old version. The new one goes on; of a forged one there is none.
      return;
    }
    if (!this.#scenario.operatorRestarts || this.#restartsLeft === 0) return;
    this.#restartsLeft--;
    this.#startLater(this.#world.random.between(100, 5_000), process.identity);
  }

  #kill(process: SinkProcess): void {
    process.kill();
    this.#afterKill(process);
  }

  #afterKill(process: SinkProcess): void {
    this.#kills++;
    this.#startLater(this.#world.random.between(10, 3_000), process.identity);
  }

  // --- What the scenario planned ----------------------------------------------------------------------

  #play(event: PlannedEvent): void {
    this.#world.faults.disturbed = true;
    const { kind, amount } = event;
    if (isRivalEvent(kind)) {
      this.#rivals.act(kind, amount);
      this.#count(kind);
      return;
    }
    if (isSourceEvent(kind)) {
      this.#source.relation.act(kind, amount);
      this.#count(kind);
      return;
    }
    const running = this.#processes.filter((candidate) => candidate.isRunning);
    const process = running[amount % Math.max(1, running.length)];
    if (process === undefined) return;
    this.#count(kind);
    this.#playOn(process, kind, amount);
  }

  #playOn(process: SinkProcess, kind: ProcessEventKind, amount: number): void {
    const { causes } = this.#world;
    switch (kind) {
      case 'kill':
        return this.#kill(process);
      case 'kill-at-call':
        process.killing = {
          callsLeft: 1 + (amount % 12), afterSending: amount % 2 === 0, onKilled: () => this.#afterKill(process),
        };
        return undefined;
      case 'stop':
        return process.stop();
      case 'freeze':
        process.freeze(amount * 5);
        return undefined;
      case 'clock-jump':
        process.clockOffsetMs += (amount - 500) * 400;
        return undefined;
      case 'second-copy':
        return this.#startLater(1, process.identity);
      case 'newer-version':
        causes.add('newer-version');
        this.#newest = { ...process.identity, version: ++this.#version };
        // The older one sleeps meanwhile, and wakes up.
        if (amount % 2 === 0) process.freeze(amount * 4);
        return this.#startLater(1, this.#newest);
      case 'older-version':
        causes.add('older-version');
        return this.#startLater(1, { ...process.identity, version: process.identity.version - 1n });
      case 'take-over':
        causes.add('take-over');
        // Of a lower version it may take over what another sink wrote as little as what its own newer self wrote.
        if (amount % 4 === 0) causes.add('older-version');
        this.#newest = {
          sinkId: `heir${++this.#sinks}`, takeOver: true,
          version: process.identity.version - (amount % 4 === 0 ? 1n : 0n),
        };
        return this.#startLater(1, this.#newest);
      case 'other-sink':
        causes.add('other-sink');
        return this.#startLater(
          amount, { sinkId: `other${++this.#sinks}`, version: process.identity.version, takeOver: false },
        );
    }
  }

  #count(kind: EventKind): void {
    this.#events.set(kind, (this.#events.get(kind) ?? 0) + 1);
  }

  /** No more faults; whoever was frozen wakes up, and somebody runs the newest version. */
  #calmDown(): void {
    const { faults, scheduler } = this.#world;
    faults.active = false;
    for (const process of this.#processes) process.killing = null;
    this.#isQuiet = true;
    const isLeftAlone = this.#halts.length === 0 && this.#startsPending === 0
      && !this.#processes.some((process) => process.isRunning || process.end?.reason === 'complete');
    if (isLeftAlone) this.#startLater(1, this.#newest);
    scheduler.at(CATCH_UP_MS, 'the end of patience', () => {
      if (!this.#isSettled()) {
        violate(
          this.#world, 'liveness', `still not there after ${CATCH_UP_MS / 1000} quiet seconds: ${this.#situation()}`,
        );
      }
    });
  }
}
