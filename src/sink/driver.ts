/**
 * Runs a sink: feeds events to the machine one at a time and carries out the effects that come back.
 *
 * The driver decides nothing. It owns what can't be state: the subscription, rows in memory and on disk, encoder
 * sessions, uploads, timers. All of that belongs to one epoch (`Incarnation`) and is dropped with it; an answer that
 * arrives for a dropped epoch is ignored by the machine.
 */
import { SinkError, asSinkError } from '../errors.ts';
import type { Event, Effect, SinkSettings, TimerName } from './effects.ts';
import { Incarnation } from './incarnation.ts';
import { isOver, start, step } from './machine.ts';
import { atMost } from './patience.ts';
import type { Catalog, Clock, Encoder, Entropy, LoadedTable, Log, ObjectStore, Source, SpillStore } from './ports.ts';
import type { SinkState } from './state.ts';

const CLEANUP_PATIENCE_MS = 6_000;

export interface SinkPorts {
  readonly source: Source;
  readonly catalog: Catalog;
  /** The storage of the sink's table, with the credentials that the catalog gives for it. */
  readonly store: ObjectStore;
  readonly encoder: Encoder;
  /** A fresh, empty spill space; its files go when the incarnation is given up. */
  readonly openSpill: (name: string) => SpillStore;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
  /** Told of every commit, for metrics and for whoever watches. */
  readonly onCommitted?: (effect: Extract<Effect, { kind: 'committed' }>, state: SinkState) => void;
}

export interface MemoryLimits {
  /** Bytes of all rows in memory, those on their way to disk included; beyond it reading waits for the disk. */
  readonly rowBytesMax: number;
  /** Bytes of rows that wait for a batch, in memory. */
  readonly stashBytesMax: number;
  /** Bytes of snapshot rows between source and encoder, in memory. */
  readonly streamBytesMax: number;
  /** Bytes of rows consolidated at once. */
  readonly groupBytesMax: number;
}

/**
 * Shares of a sink's budget. The rest is the encoder's: columns being built and files on their way out. Together the stash and the
 * snapshot's queue may hold what rows may take in all, since what waits in both never goes to disk and must leave room for reading.
 * The stash has the larger part: a span that goes to disk costs a third more than one that stays.
 */
export function memoryLimits(budgetBytes: number): MemoryLimits {
  return {
    rowBytesMax: Math.floor(budgetBytes / 2),
    stashBytesMax: Math.floor(budgetBytes * 3 / 8),
    streamBytesMax: Math.floor(budgetBytes / 8),
    groupBytesMax: Math.floor(budgetBytes / 8),
  };
}

export interface SinkEnd {
  readonly reason: 'stopped' | 'complete' | 'halted';
  readonly error: SinkError | null;
}

export interface RunningSink {
  /** Finishes or abandons cleanly; `done` resolves afterwards. Idempotent. */
  stop(): void;
  /** The state as of now: immutable, safe to keep. */
  state(): SinkState;
  /** Rows received and stashed right now, for status displays. */
  readonly done: Promise<SinkEnd>;
}

export function runSink(settings: SinkSettings, ports: SinkPorts, limits: MemoryLimits): RunningSink {
  const driver = new Driver(settings, ports, limits);
  driver.dispatch({ kind: 'start' });
  return { stop: () => driver.dispatch({ kind: 'stop' }), state: () => driver.state, done: driver.done };
}

class Driver {
  readonly #ports: SinkPorts;
  readonly #limits: MemoryLimits;
  readonly #settings: SinkSettings;
  readonly #queue: Event[] = [];
  #stepping = false;
  #state: SinkState;
  #incarnation: Incarnation | null = null;
  readonly #timers = new Set<() => void>();
  readonly #cleanups = new Set<Promise<void>>();
  readonly #ended = Promise.withResolvers<SinkEnd>();

  constructor(settings: SinkSettings, ports: SinkPorts, limits: MemoryLimits) {
    this.#settings = settings;
    this.#ports = ports;
    this.#limits = limits;
    this.#state = start(settings);
  }

  get state(): SinkState {
    return this.#state;
  }

  get done(): Promise<SinkEnd> {
    return this.#ended.promise;
  }

  /** Events queue up: an effect that answers at once must not be stepped in the middle of another step. */
  dispatch(event: Event): void {
    this.#queue.push(event);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#step(next);
    } finally {
      this.#stepping = false;
    }
  }

  #step(event: Event): void {
    if (isOver(this.#state)) return;
    const { clock, entropy } = this.#ports;
    const inputs = { nowMs: clock.nowMs(), fraction: entropy.fraction(), snapshotId: entropy.snapshotId() };
    let result;
    try {
      result = step(this.#state, event, inputs);
    } catch (thrown) {
      // A broken invariant: nothing that follows could be trusted, so the sink says so and stops.
      const error = asSinkError(thrown, 'invariant-broken', `handling ${event.kind}`);
      this.#abandon();
      this.#end({ kind: 'end', reason: 'halted', error });
      this.#state = { ...this.#state, phase: 'halted', lastError: error };
      return;
    }
    this.#state = result.state;
    for (const effect of result.effects) this.#perform(effect);
  }

  #perform(effect: Effect): void {
    const ports = this.#ports;
    // Taken now: by the time the effect runs, a restart may have put another incarnation in its place.
    const incarnation = this.#incarnation;
    switch (effect.kind) {
      case 'discover':
        this.#ask(effect, async () => ({ kind: 'relation', epoch: effect.epoch, relation: await ports.source.discover() }));
        return;
      case 'load-table':
        this.#ask(effect, async () => {
          const outcome = await ports.catalog.loadTable(this.#settings.table);
          if (outcome.kind === 'loaded' && effect.purpose === 'resume') this.#open(effect.epoch, outcome.table);
          return { kind: 'table', epoch: effect.epoch, purpose: effect.purpose, outcome };
        });
        return;
      case 'create-table':
        this.#ask(effect, async () => {
          const outcome = await ports.catalog.createTable(this.#settings.table.namespace, effect.request);
          if (outcome.kind === 'created') this.#open(effect.epoch, outcome.table);
          return { kind: 'table-created', epoch: effect.epoch, outcome };
        });
        return;
      case 'subscribe':
        this.#ask(effect, async () => {
          await opened(incarnation).subscribe(effect);
          return null;
        });
        return;
      case 'write-section': {
        // Within the step, for the reason given at `write`.
        const span = incarnation?.sealSection(effect) ?? null;
        this.#ask(effect, async () => {
          if (span !== null) await opened(incarnation).writeSection(effect, span);
          return { kind: 'section-written', epoch: effect.epoch };
        });
        return;
      }
      case 'write': {
        // Within the step that sealed it: the same read of the socket may bring the end of the connection, which
        // clears the stash, and the batch would then claim a span whose rows are gone.
        const span = incarnation?.seal(effect) ?? null;
        this.#ask(effect, async () => ({ kind: 'written', epoch: effect.epoch, written: await opened(incarnation).write(effect, span) }));
        return;
      }
      case 'write-list':
        this.#ask(effect, async () => {
          const snapshot = await opened(incarnation).writeList(effect);
          return { kind: 'list-written', epoch: effect.epoch, attempt: effect.attempt, snapshot };
        });
        return;
      case 'post':
        this.#ask(effect, async () => ({
          kind: 'commit-answer', epoch: effect.epoch, attempt: effect.attempt, outcome: await this.#post(effect),
        }));
        return;
      case 'set-timer':
        this.#setTimer(effect.epoch, effect.timer, effect.delayMs);
        return;
      case 'close-source':
        incarnation?.closeSource();
        return;
      case 'abandon':
        this.#abandon();
        return;
      case 'committed':
        this.#committed(effect);
        return;
      case 'note':
        ports.log.write(effect.level, effect.event, effect.fields);
        return;
      case 'end':
        this.#end(effect);
        return;
    }
  }

  /** Runs an effect and dispatches its answer, or the failure that it ended with. */
  #ask(effect: Exclude<Effect, { kind: 'close-source' | 'abandon' | 'committed' | 'note' | 'end' }>, run: () => Promise<Event | null>): void {
    const answered = (event: Event | null): void => {
      if (event !== null) this.dispatch(event);
    };
    const failed = (thrown: unknown): void => {
      const error = asSinkError(thrown, 'invariant-broken', effect.kind);
      this.dispatch({ kind: 'effect-failed', epoch: effect.epoch, effect: effect.kind, error });
    };
    // The effect starts in a microtask, never inside of the step that asked for it; an epoch given up in between
    // has nothing left to ask for.
    const runIfCurrent = async (): Promise<Event | null> => (effect.epoch === this.#state.epoch ? run() : null);
    void Promise.resolve().then(runIfCurrent).then(answered, failed);
  }

  /** The table may never have been looked at for this batch, so the request asserts all that was decided on. */
  async #post(effect: Extract<Effect, { kind: 'post' }>) {
    const { catalog, entropy } = this.#ports;
    const { tableUuid, schemaId, specId } = effect.facts;
    return catalog.commit(
      this.#settings.table,
      [
        { type: 'assert-table-uuid', uuid: tableUuid },
        { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: effect.head },
        { type: 'assert-current-schema-id', currentSchemaId: schemaId },
        { type: 'assert-default-spec-id', defaultSpecId: specId },
      ],
      [
        { action: 'add-snapshot', snapshot: effect.snapshot },
        { action: 'set-snapshot-ref', ref: 'main', snapshotId: effect.snapshot.snapshotId, type: 'branch' },
      ],
      entropy.uuid(),
    );
  }

  #open(epoch: number, table: LoadedTable): void {
    if (epoch !== this.#state.epoch) return;
    this.#incarnation = new Incarnation({
      epoch, settings: this.#settings, ports: this.#ports, limits: this.#limits, table,
      dispatch: (event) => this.dispatch(event),
    });
  }

  #setTimer(epoch: number, timer: TimerName, delayMs: number): void {
    const cancel = this.#ports.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      this.dispatch({ kind: 'timer', epoch, timer });
    });
    this.#timers.add(cancel);
  }

  #abandon(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    const incarnation = this.#incarnation;
    this.#incarnation = null;
    if (incarnation === null) return;
    const cleanup: Promise<void> = incarnation.abandon().finally(() => this.#cleanups.delete(cleanup));
    this.#cleanups.add(cleanup);
  }

  #committed(effect: Extract<Effect, { kind: 'committed' }>): void {
    const { batch, added, attempts, how } = effect;
    const [upper] = batch.span.upper;
    this.#ports.log.write('info', 'committed', {
      snapshotId: batch.snapshotId,
      frontier: upper ?? 'complete',
      dataFiles: added.dataFiles,
      records: added.dataRecords,
      deleteFiles: added.deleteFiles,
      deletes: added.deleteRecords,
      attempts,
      how,
    });
    this.#ports.onCommitted?.(effect, this.#state);
  }

  #end(effect: Extract<Effect, { kind: 'end' }>): void {
    const level = effect.reason === 'halted' ? 'error' : 'info';
    this.#ports.log.write(level, effect.reason, effect.error === null ? {} : {
      code: effect.error.code, message: effect.error.message, remedy: effect.error.remedy,
    });
    // A request to a server that says nothing ends only with its own time-outs, and nobody waits for its answer any more.
    void atMost(this.#ports.clock, CLEANUP_PATIENCE_MS, Promise.allSettled(this.#cleanups)).then(() => {
      this.#ended.resolve({ reason: effect.reason, error: effect.error });
    });
  }
}

function opened(incarnation: Incarnation | null): Incarnation {
  if (incarnation === null) throw new SinkError('invariant-broken', 'an effect needs a table that was not opened');
  return incarnation;
}
