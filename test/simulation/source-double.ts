/**
 * Materialize, as the wire reference describes it (section 1.4): the first progress is the as of; a snapshot is stamped
 * with it; without one only later times come; rows of one time in any order, all rows below a progress before it; a
 * finite input ends normally and without a last progress. History is readable from `since` on, which moves.
 */
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import { chunkBytes } from '../../src/batch/row-chunk.ts';
import type { Source, SourceEvent, SubscribeRequest, Subscription } from '../../src/sink/ports.ts';
import { classifyServerError } from '../../src/subscribe/source-errors.ts';
import { type SubscriptionStream, createSubscriptionStream } from '../../src/subscribe/subscription-stream.ts';
import {
  copyOutResponse, endMessages, errorMessage, joined, noticeMessage, progressMessage, rowMessage,
} from './copy-bytes.ts';
import { SinkError } from '../../src/errors.ts';
import { planned } from './faults.ts';
import type { Change } from './history.ts';
import { RelationWorld } from './relation-double.ts';
import { bytesOfRow, bytesOfRows, chunkOf } from './row-chunks.ts';
import type { SinkProcess } from './sink-process.ts';
import { LARGE_BUDGET } from './scenario.ts';
import { EPOCH_MS, type World, latencyMs } from './world.ts';

const LAST_TIME = 0xffff_ffff_ffff_ffffn;

interface Failure {
  readonly sqlState: string;
  /** In the words of this and of older versions. */
  readonly texts: readonly string[];
}

/** The wire reference, section 1.6. */
const FAILURES = {
  'cancelled': { sqlState: '57014', texts: ['canceling statement due to user request'] },
  'fell-behind': { sqlState: '53200', texts: ['SUBSCRIBE fell behind: too slow'] },
  'compacted': {
    sqlState: '22000',
    texts: ['could not find a valid timestamp for the query', 'Timestamp (7) is not valid for all inputs: [Antichain]'],
  },
  'evaluation': { sqlState: 'XX000', texts: ['division by zero', 'invalid input syntax for type integer: "zq7"'] },
  'too-large': { sqlState: 'XX000', texts: ['total result exceeds max size of 1073.7 MB'] },
  'dropped': {
    sqlState: '42704',
    texts: [
      "relation 'materialize.public.orders' was dropped",
      'query could not complete because relation "materialize.public.orders" was dropped',
      'subscribe has been terminated because underlying relation "materialize.public.orders" was dropped',
    ],
  },
  'missing': { sqlState: 'XX000', texts: ["unknown catalog item 'materialize.public.orders'"] },
} as const satisfies Record<string, Failure>;

export class SourceWorld {
  readonly world: World;
  /** The as ofs that first subscriptions got: one of them is where a table begins. */
  readonly grantedAsOfs = new Set<bigint>();
  readonly relation: RelationWorld;

  constructor(world: World) {
    this.world = world;
    this.relation = new RelationWorld(world);
  }

  get #isConstant(): boolean {
    return this.world.scenario.input === 'constant';
  }

  get nowTime(): bigint {
    return BigInt(EPOCH_MS + this.world.scheduler.nowMs);
  }

  /** Everything below it is known; null: everything is. */
  frontier(): bigint | null {
    if (this.#isConstant) return null;
    const isFinite = this.world.scenario.input === 'finite';
    return isFinite && this.nowTime > this.world.history.lastChangeTime ? null : this.nowTime;
  }

  since(): bigint {
    const { retainMs } = this.world.scenario;
    if (this.#isConstant) return LAST_TIME;
    const { readableFrom } = this.relation;
    const retained = retainMs === null ? 0n : this.nowTime - BigInt(retainMs);
    return retained > readableFrom ? retained : readableFrom;
  }

  chooseAsOf(): bigint {
    const chosen = this.#isConstant ? LAST_TIME : this.atChange(this.nowTime - 1n, 0n);
    const asOf = chosen < this.since() ? this.since() : chosen;
    this.grantedAsOfs.add(asOf);
    return asOf;
  }

  /** Now and then the time of a change instead: what is at the very edge of a span is what gets lost or doubled. */
  atChange(time: bigint, above: bigint): bigint {
    const { random, history } = this.world;
    if (!random.chance(0.4)) return time;
    const last = history.between(above + 1n, time + 1n).at(-1);
    return last === undefined || last.time < this.since() ? time : last.time;
  }

  isFailingToEvaluate(): boolean {
    const { nowMs } = this.world.scheduler;
    return this.world.scenario.evaluationErrors.some(({ fromMs, toMs }) => nowMs >= fromMs && nowMs < toMs);
  }

  portFor(process: SinkProcess): Source {
    const { faults, random } = this.world;
    return {
      discover: () => {
        const isLost = faults.strikes('discover-fails');
        return process.ask('discover', latencyMs(random), () => {
          if (isLost) throw planned('source-unreachable');
          const { relation } = this.relation;
          if (relation === null) throw new SinkError('relation-missing', 'the relation does not exist');
          process.relation = relation;
          return relation;
        });
      },
      subscribe: (request, onEvent) => {
        const isLost = faults.strikes('subscribe-fails');
        return process.ask(`subscribe ${request.asOf ?? 'now'} ${request.snapshot}`, latencyMs(random), () => {
          if (isLost) throw planned('source-unreachable');
          return new Session(this, process, request, onEvent).port;
        });
      },
      close: async () => undefined,
    };
  }
}

class Session {
  readonly #source: SourceWorld;
  readonly #world: World;
  readonly #process: SinkProcess;
  readonly #request: SubscribeRequest;
  readonly #onEvent: (event: SourceEvent) => void;
  readonly #stream: SubscriptionStream | null;
  #closed = false;
  /** Of the chunks that the read at hand has brought so far. */
  #readBytes = 0;
  #paused = false;
  #waiting: (() => void) | null = null;
  #rowsSent = 0;
  /** Rows below were sent. */
  #sentBelow: bigint;
  readonly #asOf: bigint;
  /** The columns that it began with. */
  readonly #columns: number;
  readonly #relationId: string | null;
  #owesSnapshot: boolean;
  #isFirstStep = true;
  /** Bytes of rows received, by the hash of their key. */
  readonly #keyBytes = new Map<number, number>();

  constructor(
    source: SourceWorld, process: SinkProcess, request: SubscribeRequest, onEvent: (event: SourceEvent) => void,
  ) {
    this.#source = source;
    this.#world = source.world;
    this.#process = process;
    this.#request = request;
    this.#onEvent = onEvent;
    this.#asOf = request.asOf ?? source.chooseAsOf();
    this.#sentBelow = this.#asOf + 1n;
    this.#owesSnapshot = request.snapshot;
    const { relation } = source.relation;
    this.#relationId = relation?.id ?? null;
    this.#columns = relation?.columns.length ?? 0;
    const shape = { columnCount: request.relation.columns.length, keyColumns: request.keyColumns };
    this.#stream = this.#world.scenario.wire
      ? createSubscriptionStream(shape, (event) => this.#deliver(event), { bytes: 512, rows: 16 })
      : null;
    this.#next(1, 'first', () => this.#begin());
  }

  get port(): Subscription {
    return {
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        const waiting = this.#waiting;
        this.#waiting = null;
        if (waiting !== null) this.#next(1, 'resumed', waiting);
      },
      close: async () => {
        this.#closed = true;
        this.#stream?.stop();
      },
    };
  }

  /** A step of this session, in order, held up while the sink does not read. */
  #next(delayMs: number, label: string, run: () => void): void {
    this.#process.later(delayMs, `source ${label}`, () => {
      if (this.#closed) return;
      if (this.#paused) this.#waiting = run;
      else run();
    });
  }

  #begin(): void {
    const { asOf } = this.#request;
    if (this.#relationId === null) return this.#fail('missing');
    if (this.#isDropped()) return this.#fail('dropped');
    if (this.#source.isFailingToEvaluate()) return this.#fail('evaluation');
    if (asOf !== null && asOf < this.#source.since()) {
      this.#world.causes.add('compacted');
      return this.#fail('compacted');
    }
    this.#stream?.push(copyOutResponse(this.#columns + 3));
    if (this.#stream === null && this.#columns !== this.#request.relation.columns.length) {
      this.#deliver({ kind: 'failed', error: planned('relation-changed') });
      this.#closed = true;
    }
    if (this.#closed) return;
    this.#progress(this.#asOf);
    this.#next(latencyMs(this.#world.random), 'tick', () => this.#tick());
  }

  #tick(): void {
    const { faults, scenario, random } = this.#world;
    if (this.#isDropped()) return this.#fail('dropped');
    if (this.#source.isFailingToEvaluate()) return this.#fail('evaluation');
    for (const kind of ['disconnect', 'cancelled', 'fell-behind'] as const) {
      if (faults.strikes(kind)) return this.#fail(kind);
    }
    const known = this.#source.frontier();
    const frontier = known === null ? null : this.#source.atChange(known, this.#sentBelow);
    if (frontier !== null && frontier <= this.#sentBelow) {
      return this.#next(scenario.tickMs, 'tick', () => this.#tick());
    }
    const rows = this.#rowsUpTo(frontier);
    if (this.#isTooLarge(rows)) return this.#fail('too-large');
    this.#isFirstStep = false;
    const end = (): void => {
      if (frontier === null) return this.#complete();
      this.#sentBelow = frontier;
      this.#progress(frontier);
      if (this.#closed) return;
      // In the same read as the progress: nothing that the sink put off may run in between.
      if (faults.strikes('disconnect')) return this.#fail('disconnect');
      this.#next(scenario.tickMs, 'tick', () => this.#tick());
    };
    const lateMs = faults.strikes('late-progress') ? random.between(1_000, 8_000) : 0;
    return this.#send(rows, lateMs, end);
  }

  #rowsUpTo(frontier: bigint | null): readonly Change[] {
    const { history, random, faults, scenario } = this.#world;
    const rows: Change[] = [];
    if (this.#owesSnapshot) {
      this.#owesSnapshot = false;
      const isConstant = scenario.input === 'constant';
      const snapshot = [...history.relationBefore(isConstant ? null : this.#asOf + 1n)];
      for (const [row, diff] of random.shuffled(snapshot)) rows.push({ time: this.#asOf, row, diff });
      if (scenario.mode === 'upsert' && rows.length > 0 && faults.strikes('odd-snapshot')) {
        // A snapshot in pieces: a row that the last piece takes back.
        const row = scenario.values === 'numeric' ? '7\t97531086.77' : '7\tzqpassing';
        rows.unshift({ time: this.#asOf, row, diff: 1 });
        rows.push({ time: this.#asOf, row, diff: -1 });
      }
    }
    if (scenario.input === 'constant') return rows;
    const later = history.between(this.#sentBelow, frontier);
    for (const [, ofTime] of Map.groupBy(later, (change) => change.time)) rows.push(...random.shuffled(ofTime));
    return rows;
  }

  /** In reads of a few rows; `end` comes behind the last. A connection may break between any two. */
  #send(rows: readonly Change[], lateMs: number, end: () => void): void {
    const { scenario, random, faults } = this.#world;
    if (rows.length === 0) {
      if (lateMs === 0) end();
      else this.#next(lateMs, 'late progress', end);
      return;
    }
    if (this.#isDropped()) return this.#fail('dropped');
    if (faults.strikes('notice')) this.#notice();
    const size = random.between(1, scenario.rowsPerRead);
    this.#rows(rows.slice(0, size));
    if (this.#closed) return;
    if (faults.strikes('disconnect')) return this.#fail('disconnect');
    this.#next(random.below(4), 'rows', () => this.#send(rows.slice(size), lateMs, end));
  }

  /** The first step comes in slices, equal ones here; all later ones from one SUBSCRIBE. */
  #isTooLarge(rows: readonly Change[]): boolean {
    const { scenario: { stepRowsMax }, causes } = this.#world;
    const slices = this.#isFirstStep ? this.#request.slices : 1;
    const isTooLarge = stepRowsMax !== null && rows.length > stepRowsMax * slices;
    // More are not tried.
    if (isTooLarge && slices >= 64) causes.add('result-too-large');
    return isTooLarge;
  }

  #isDropped(): boolean {
    return this.#source.relation.relation?.id !== this.#relationId;
  }

  #notice(): void {
    const message = 'cluster replica c.r1 changed status to "offline"';
    if (this.#stream === null) this.#deliver({ kind: 'notice', severity: 'NOTICE', code: '00000', message });
    else this.#stream.push(noticeMessage(message));
  }

  #rows(taken: readonly Change[]): void {
    const rows = this.#columns > 2 ? taken.map((change) => ({ ...change, row: `${change.row}\t\\N` })) : taken;
    this.#rowsSent += rows.length;
    const { scenario, random, faults } = this.#world;
    if (this.#stream === null) {
      const chunk = chunkOf(
        rows, scenario.collidingHashes ? 0xc000_0001 : 0xffff_ffff, this.#request.keyColumns.length === 0,
      );
      this.#readBytes = 0;
      this.#deliver({ kind: 'rows', chunk });
      return;
    }
    const bytes = joined(rows.map(({ time, diff, row }) => rowMessage(time, diff, row)));
    const cut = random.below(bytes.length + 1);
    this.#readBytes = 0;
    this.#stream.push(bytes.slice(0, cut));
    if (faults.strikes('disconnect')) return this.#fail('disconnect');
    this.#readBytes = 0;
    this.#stream.push(bytes.slice(cut));
  }

  #progress(frontier: bigint): void {
    this.#rowsSent++;
    if (this.#stream === null) this.#deliver({ kind: 'progress', frontier: [frontier] });
    else this.#stream.push(progressMessage(frontier, this.#columns));
  }

  #complete(): void {
    if (this.#stream === null) this.#deliver({ kind: 'closed' });
    else this.#stream.push(endMessages(this.#rowsSent));
  }

  #fail(kind: 'disconnect' | keyof typeof FAILURES): void {
    const { faults, scheduler, random } = this.#world;
    faults.disturbed = true;
    scheduler.note(`source fails: ${kind}`);
    if (kind === 'disconnect') {
      if (this.#stream === null) this.#deliver({ kind: 'failed', error: planned('source-disconnected') });
      else this.#stream.disconnected('a planned fault');
    } else {
      const { sqlState, texts }: Failure = FAILURES[kind];
      const message = random.pick(texts);
      if (this.#stream === null) {
        this.#deliver({ kind: 'failed', error: classifyServerError({ sqlState, message }, 'stream') });
      } else this.#stream.push(errorMessage(sqlState, message));
    }
    this.#closed = true;
  }

  #deliver(event: SourceEvent): void {
    if (this.#closed) return;
    if (event.kind === 'rows') this.#account(event.chunk);
    this.#onEvent(event);
  }

  #account(chunk: RowChunk): void {
    const bytes = chunkBytes(chunk);
    this.#readBytes += bytes;
    if (this.#readBytes > this.#process.largestReadBytes) this.#process.largestReadBytes = this.#readBytes;
    this.#process.holds(chunk, bytesOfRows(chunk));
    // Only where the budget is so small that one key may exceed it.
    if (this.#world.scenario.budgetBytes < LARGE_BUDGET) this.#accountKeys(chunk);
  }

  #accountKeys(chunk: RowChunk): void {
    for (const [row, hash] of chunk.keyHashes.entries()) {
      const sum = (this.#keyBytes.get(hash) ?? 0) + bytesOfRow(chunk, row);
      this.#keyBytes.set(hash, sum);
      if (sum > this.#process.largestKeyBytes) this.#process.largestKeyBytes = sum;
    }
  }
}
