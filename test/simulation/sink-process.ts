/**
 * One process of the sink, as far as the world can see: it sends requests and gets answers, it can die between any two
 * of them, be frozen, and have a wrong clock. A request that was sent goes on whatever becomes of its sender.
 */
import { type RunningSink, type SinkEnd, memoryLimits, runSink } from '../../src/sink/driver.ts';
import type { SinkPorts } from '../../src/sink/driver.ts';
import type { SinkSettings } from '../../src/sink/effects.ts';
import type { SinkIdentity } from '../../src/commit/decide.ts';
import type { Relation } from '../../src/relation/relation.ts';
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import type { TableMetadata } from '../../src/iceberg/metadata.ts';
import { asSinkError } from '../../src/errors.ts';
import { type Random, createRandom } from './random.ts';
import { EPOCH_MS, type World, violate } from './world.ts';

export interface Killing {
  callsLeft: number;
  /** Whether the last request still goes out. */
  readonly afterSending: boolean;
  readonly onKilled: () => void;
}

/** A new one each time: a shared one would hold on to everything that ever waited for it, run after run. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

export class SinkProcess {
  readonly world: World;
  readonly id: number;
  readonly identity: SinkIdentity;
  readonly random: Random;
  alive = true;
  end: SinkEnd | null = null;
  sink: RunningSink | null = null;
  stoppedAtMs: number | null = null;
  clockOffsetMs = 0;
  #frozenUntilMs = 0;
  killing: Killing | null = null;
  /** Bytes of rows in the process, as its surroundings count them; see checkers/row-budget.ts. */
  heldBytes = 0;
  spillGeneration = 0;
  largestReadBytes = 0;
  /** Rows of one key, of which a span can be consolidated only together; by hash, which is what tells them apart. */
  largestKeyBytes = 0;
  /** The table as the process saw it last, and as it was when the files of now were planned. */
  seen: TableMetadata | null = null;
  plannedFor: TableMetadata | null = null;
  /** What it told of values written as NULL: snapshot id → how many. */
  readonly nulledValues = new Map<unknown, number>();
  /** The relation as the process saw it last. */
  relation: Relation | null = null;
  readonly #name: string;

  constructor(world: World, id: number, identity: SinkIdentity) {
    this.world = world;
    this.id = id;
    this.identity = identity;
    this.random = createRandom(world.scenario.seed).stream(`process ${id}`);
    this.#name = `p${id}`;
  }

  start(settings: SinkSettings, ports: SinkPorts, onEnd: () => void): void {
    this.world.scheduler.note(`${this.#name} starts as ${this.identity.sinkId} version ${this.identity.version}`);
    this.sink = runSink(settings, ports, memoryLimits(this.world.scenario.budgetBytes));
    void this.sink.done.then((end) => {
      if (!this.alive) return;
      this.end = end;
      this.world.scheduler.note(
        `${this.#name} ended: ${end.reason} ${end.error?.code ?? ''} ${end.error?.message ?? ''}`,
      );
      onEnd();
    });
  }

  get isRunning(): boolean {
    return this.alive && this.end === null;
  }

  kill(): void {
    this.alive = false;
    this.world.scheduler.note(`${this.#name} is killed`);
  }

  /** A freeze within another does not end it: what was put off stays in its order. */
  freeze(forMs: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.world.scheduler.nowMs + forMs);
  }

  stop(): void {
    this.stoppedAtMs = this.world.scheduler.nowMs;
    this.world.scheduler.note(`${this.#name} is asked to stop`);
    const { sink } = this;
    if (sink === null) return;
    sink.stop();
    this.later(this.world.scenario.stopGraceMs + 1, 'end of the grace', () => {
      const { phase } = sink.state();
      if (phase === 'stopping') violate(this.world, 'stop', `${this.#name} is still ${phase} after the grace`);
    });
  }

  nowMs(): number {
    return EPOCH_MS + this.world.scheduler.nowMs + this.clockOffsetMs;
  }

  /** Runs in this process after a while: not at all if it is dead by then, later if it is frozen. */
  later(delayMs: number, label: string, run: () => void): () => void {
    let cancel: () => void = () => undefined;
    const attempt = (delay: number): void => {
      cancel = this.world.scheduler.at(delay, `${this.#name} ${label}`, () => {
        if (!this.alive) return;
        const frozenMs = this.#frozenUntilMs - this.world.scheduler.nowMs;
        if (frozenMs > 0) attempt(frozenMs);
        else run();
      });
    };
    attempt(delayMs);
    return () => cancel();
  }

  /** Resolves after a while; never if the process dies. */
  sleep(delayMs: number, label: string): Promise<void> {
    return new Promise((resolve) => {
      this.later(delayMs, label, resolve);
    });
  }

  /** True when the request may go out. */
  sends(): boolean {
    if (!this.alive) return false;
    const { killing } = this;
    if (killing === null) return true;
    killing.callsLeft--;
    if (killing.callsLeft > 0) return true;
    this.killing = null;
    this.kill();
    killing.onKilled();
    return killing.afterSending;
  }

  /** A request that is looked at when it arrives and whose answer takes a while to come back. */
  request<T>(label: string, arriveMs: number, answerMs: number, act: () => T): Promise<T> {
    if (!this.sends()) return never();
    return new Promise((resolve, reject) => {
      this.world.scheduler.at(arriveMs, `${this.#name} ${label}`, () => {
        const answer = outcomeOf(act);
        this.later(answerMs, `${label} answered`, () => {
          if (answer.ok) resolve(answer.value);
          else reject(answer.error);
        });
      });
    });
  }

  /** A request that changes nothing, so that it does not matter when it is looked at. */
  ask<T>(label: string, delayMs: number, act: () => T): Promise<T> {
    if (!this.sends()) return never();
    return new Promise((resolve, reject) => {
      this.later(delayMs, label, () => {
        const answer = outcomeOf(act);
        if (answer.ok) resolve(answer.value);
        else reject(answer.error);
      });
    });
  }

  holds(chunk: RowChunk, bytes: number): void {
    this.heldBytes += bytes;
    const bound = this.world.scenario.budgetBytes + 2 * this.largestReadBytes + this.largestKeyBytes;
    if (this.heldBytes > bound) {
      const held = `${this.heldBytes} bytes of rows, ${chunk.rowCount} rows new`;
      violate(this.world, 'row-budget', `${this.#name} holds ${held}; the bound is ${bound}`);
    }
  }
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

function outcomeOf<T>(act: () => T): Outcome<T> {
  try {
    return { ok: true, value: act() };
  } catch (thrown) {
    return { ok: false, error: asSinkError(thrown, 'invariant-broken', 'a double failed') };
  }
}
