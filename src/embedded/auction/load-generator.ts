/**
 * The auction house on a stand-in. In: a stand-in with a clock, or one moved by hand. Out: five relations, and
 * changes at a steady rate. A stand-in that resumed from disk goes on where it was.
 */
import type { RowLine } from '../materialize/copy-text.ts';
import type { MaterializeStandIn } from '../materialize/stand-in.ts';
import type { StandInRelation } from '../materialize/world.ts';
import {
  AUCTION_COLUMNS,
  type AuctionChange,
  type AuctionModel,
  type AuctionOptions,
  type AuctionRelation,
  createAuctionModel,
} from './auction-model.ts';

export interface AuctionLoadOptions extends AuctionOptions {
  /** Default 50. */
  readonly changesPerSecond?: number;
  /** How long the past stays readable; default an hour. */
  readonly retainHistoryMs?: number;
  readonly cluster?: string;
  /** Relations that are tables, so that a user can change them by SQL; default `accounts`. */
  readonly tables?: readonly AuctionRelation[];
}

export interface AuctionLoad {
  readonly relations: Readonly<Record<AuctionRelation, StandInRelation>>;
  /** Applies about `count` changes now; with manual time the caller advances. */
  step(count: number): void;
  stop(): void;
}

const NAMES: readonly AuctionRelation[] = ['organizations', 'users', 'accounts', 'auctions', 'bids'];
const STEP_MS = 100;

/** Makes the relations and their first rows; nothing changes until `step`. */
export function createAuction(standIn: MaterializeStandIn, options: AuctionLoadOptions): AuctionLoad {
  const present = new Map(standIn.relations().map((relation) => [relation.name, relation]));
  const resumed = NAMES.every((name) => present.has(name));
  const relations = Object.fromEntries(
    NAMES.map((name) => [name, present.get(name) ?? createRelation(standIn, name, options)]),
  ) as Record<AuctionRelation, StandInRelation>;
  const model = createAuctionModel(options);
  const applyAll = (changes: readonly AuctionChange[], time: bigint): void => {
    for (const name of NAMES) {
      const own = changes.filter(({ relation }) => relation === name);
      if (own.length > 0) standIn.apply(relations[name], time, own);
    }
  };
  if (resumed) {
    learnAll(model, relations);
  } else {
    const time = standIn.writeTime();
    applyAll(model.begin(Number(time)), time);
  }
  standIn.onWritten((relation, changes) => {
    const name = NAMES.find((each) => relations[each] === relation);
    if (name === undefined) return;
    // Retractions first: a row and its successor share their id.
    const ordered = changes.toSorted((a, b) => a.diff - b.diff);
    for (const { line, diff } of ordered) model.learn(name, copyColumns(line), diff);
  });
  return {
    relations,
    step(count) {
      const time = standIn.writeTime();
      applyAll(model.step(Number(time), count), time);
    },
    stop: () => undefined,
  };
}

/** The auction, stepping by itself at the rate asked for until it is stopped. */
export function startAuction(standIn: MaterializeStandIn, options: AuctionLoadOptions): AuctionLoad {
  const load = createAuction(standIn, options);
  const perStep = Math.max(1, Math.round(((options.changesPerSecond ?? 50) * STEP_MS) / 1000));
  const timer = setInterval(() => load.step(perStep), STEP_MS);
  return { ...load, stop: () => clearInterval(timer) };
}

function createRelation(standIn: MaterializeStandIn, name: AuctionRelation, options: AuctionLoadOptions): StandInRelation {
  return standIn.createRelation({
    name,
    kind: (options.tables ?? ['accounts']).includes(name) ? 'table' : name === 'auctions' ? 'materialized-view' : 'source',
    columns: AUCTION_COLUMNS[name],
    keys: [[0]],
    retainHistoryMs: options.retainHistoryMs ?? 3_600_000,
    ...(options.cluster !== undefined && { cluster: options.cluster }),
  });
}

/** Columns as the model writes them: COPY text, escapes kept, so that what it retracts later is the row that is there. */
function copyColumns(line: RowLine): (string | null)[] {
  return line.split('\t').map((column) => (column === '\\N' ? null : Buffer.from(column, 'latin1').toString('utf8')));
}

function learnAll(model: AuctionModel, relations: Readonly<Record<AuctionRelation, StandInRelation>>): void {
  for (const name of NAMES) {
    const { history } = relations[name];
    const rows = [...history.base.keys(), ...history.log.flatMap(({ changes }) => [...changes.keys()])];
    if (name === 'bids') for (const row of rows) model.learn('bids', copyColumns(row), 1);
  }
  for (const name of ['accounts', 'auctions'] as const) learnContent(model, name, relations[name]);
}

function learnContent(model: AuctionModel, name: 'accounts' | 'auctions', relation: StandInRelation): void {
  const rows = new Map(relation.history.base);
  for (const { changes } of relation.history.log) {
    for (const [row, diff] of changes) rows.set(row, (rows.get(row) ?? 0) + diff);
  }
  for (const [row, diff] of rows) if (diff > 0) model.learn(name, copyColumns(row), diff);
}
