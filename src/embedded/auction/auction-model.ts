/**
 * An auction house that never stands still, as Materialize's AUCTION load generator has it: organizations and their
 * users, accounts that pay, auctions that rise in price and close, bids. In: a seed and the time of each step. Out:
 * changes per relation, as COPY columns.
 *
 * Invariants: the same seed and times give the same changes; what is retracted is exactly what was inserted before,
 * also after somebody else changed an account.
 */
import type { Column } from '../../relation/relation.ts';
import { scalar } from '../../relation/sql-type.ts';
import { formatTimestamp } from '../materialize/calendar-text.ts';
import { trimNumeric } from '../materialize/numeric-text.ts';
import { type Random, createRandom } from './seeded-random.ts';

export type AuctionRelation = 'organizations' | 'users' | 'accounts' | 'auctions' | 'bids';

export interface AuctionChange {
  readonly relation: AuctionRelation;
  readonly row: readonly (string | null)[];
  readonly diff: 1 | -1;
}

const column = (name: string, type: Column['type'], nullable = false): Column => ({ name, type, nullable });

export const AUCTION_COLUMNS: Readonly<Record<AuctionRelation, readonly Column[]>> = {
  organizations: [column('id', scalar('bigint')), column('name', scalar('text'))],
  users: [column('id', scalar('bigint')), column('org_id', scalar('bigint')), column('name', scalar('text'))],
  accounts: [column('id', scalar('bigint')), column('org_id', scalar('bigint')), column('balance', scalar('numeric', 2))],
  auctions: [
    column('id', scalar('bigint')),
    column('seller', scalar('bigint')),
    column('item', scalar('text')),
    column('current_price', scalar('numeric', 2), true),
    column('bid_count', scalar('integer')),
    column('end_time', scalar('timestamptz')),
  ],
  bids: [
    column('id', scalar('bigint')),
    column('buyer', scalar('bigint')),
    column('auction_id', scalar('bigint')),
    column('amount', scalar('numeric', 2)),
    column('bid_time', scalar('timestamptz')),
  ],
};

const ITEMS = ['Best Pizza in Town', 'Custom Art', 'City Bar Crawl', 'Gift Basket', 'Signed Memorabilia', 'Vintage Map'];
const COMPANIES = ['Acme Builders', 'Manzana, Inc', 'Fluffy Clouds Ltd', 'Old River Mill', 'Nordwind & Söhne'];
const FIRST_NAMES = ['Ada', 'Bo', 'Chiara', 'Dmitri', 'Eun-ji', 'Fatima', 'Gustav', 'Hêro'];

export interface AuctionOptions {
  readonly seed: number;
  readonly organizations?: number;
  readonly usersPerOrganization?: number;
  /** How long an auction stays open. */
  readonly auctionMs?: number;
  readonly openAuctions?: number;
}

interface OpenAuction {
  readonly id: number;
  readonly endMs: number;
  readonly priceCents: number | null;
  readonly bidCount: number;
  /** The row as it stands, which somebody else may have written: only this text can be retracted. */
  readonly row: readonly (string | null)[];
}

export interface AuctionModel {
  /** Everything there is at the start. */
  begin(nowMs: number): AuctionChange[];
  /** About `count` changes that happen at `nowMs`. */
  step(nowMs: number, count: number): AuctionChange[];
  /** Somebody else changed a row of accounts or auctions. */
  learn(relation: AuctionRelation, row: readonly (string | null)[], diff: number): void;
}

/** A model that knows nothing yet: `begin` it, or `learn` what a former run left. */
export function createAuctionModel(options: AuctionOptions): AuctionModel {
  const random = createRandom(options.seed);
  const accounts = new Map<string, readonly (string | null)[]>();
  const auctions = new Map<number, OpenAuction>();
  let nextAuction = 1;
  let nextBid = 1;
  const users = (options.organizations ?? 20) * (options.usersPerOrganization ?? 5);

  const openAuction = (nowMs: number): AuctionChange => {
    const endMs = nowMs + Math.ceil((options.auctionMs ?? 10_000) * (0.5 + random.fraction()));
    const id = nextAuction++;
    const row = [String(id), String(random.below(users) + 1), random.pick(ITEMS), null, '0', timeText(endMs)];
    auctions.set(id, { id, endMs, priceCents: null, bidCount: 0, row });
    return { relation: 'auctions', row, diff: 1 };
  };
  const closeDue = (nowMs: number): AuctionChange[] => {
    const closed: AuctionChange[] = [];
    for (const auction of auctions.values()) {
      if (auction.endMs > nowMs) continue;
      auctions.delete(auction.id);
      closed.push({ relation: 'auctions', row: auction.row, diff: -1 });
      if (auction.priceCents !== null) closed.push(...pay(random, accounts, auction.priceCents));
    }
    return closed;
  };
  const bid = (nowMs: number): AuctionChange[] => {
    const auction = random.pick([...auctions.values()]);
    const priceCents = (auction.priceCents ?? 100) + 1 + random.below(2000);
    const bidCount = auction.bidCount + 1;
    const [id = '', seller = '', item = '', , , endTime = ''] = auction.row;
    const raised = { ...auction, priceCents, bidCount, row: [id, seller, item, moneyText(priceCents), String(bidCount), endTime] };
    auctions.set(auction.id, raised);
    const buyer = String(random.below(users) + 1);
    const row = [String(nextBid++), buyer, String(auction.id), moneyText(priceCents), timeText(nowMs)];
    return [
      { relation: 'bids', row, diff: 1 },
      { relation: 'auctions', row: auction.row, diff: -1 },
      { relation: 'auctions', row: raised.row, diff: 1 },
    ];
  };
  const fill = (nowMs: number): AuctionChange[] => {
    const opened: AuctionChange[] = [];
    while (auctions.size < (options.openAuctions ?? 40)) opened.push(openAuction(nowMs));
    return opened;
  };
  return {
    begin(nowMs) {
      const people = firstPeople(random, options, accounts);
      return [...people, ...fill(nowMs)];
    },
    step(nowMs, count) {
      const changes = [...closeDue(nowMs), ...fill(nowMs)];
      while (changes.length < count) changes.push(...bid(nowMs));
      return changes;
    },
    learn(relation, row, diff) {
      const id = row[0] ?? '';
      if (relation === 'bids') {
        nextBid = Math.max(nextBid, Number(id) + 1);
        nextAuction = Math.max(nextAuction, Number(row[2]) + 1);
      }
      if (relation === 'accounts') {
        if (diff > 0) accounts.set(id, row);
        else if (sameRow(accounts.get(id), row)) accounts.delete(id);
      }
      if (relation === 'auctions') {
        nextAuction = Math.max(nextAuction, Number(id) + 1);
        if (diff > 0) auctions.set(Number(id), readAuction(row));
        else auctions.delete(Number(id));
      }
    },
  };
}

/** The winner pays: one account loses money, one gains. */
function pay(random: Random, accounts: Map<string, readonly (string | null)[]>, cents: number): AuctionChange[] {
  const ids = [...accounts.keys()];
  const changes: AuctionChange[] = [];
  for (const change of ids.length === 0 ? [] : [-cents, cents]) {
    const before = accounts.get(random.pick(ids));
    if (before === undefined) continue;
    const [id = '', organization = '', balance = '0'] = before;
    const after = [id, organization, moneyText(moneyCents(balance ?? '0') + change)];
    accounts.set(id ?? '', after);
    changes.push({ relation: 'accounts', row: before, diff: -1 }, { relation: 'accounts', row: after, diff: 1 });
  }
  return changes;
}

function firstPeople(random: Random, options: AuctionOptions, accounts: Map<string, readonly (string | null)[]>): AuctionChange[] {
  const changes: AuctionChange[] = [];
  const usersEach = options.usersPerOrganization ?? 5;
  for (let organization = 1; organization <= (options.organizations ?? 20); organization++) {
    const name = `${random.pick(COMPANIES)} ${organization}`;
    changes.push({ relation: 'organizations', row: [String(organization), name], diff: 1 });
    const account = [String(organization), String(organization), moneyText(1_000_000 + random.below(9_000_000))];
    accounts.set(String(organization), account);
    changes.push({ relation: 'accounts', row: account, diff: 1 });
    for (let i = 0; i < usersEach; i++) {
      const user = String((organization - 1) * usersEach + i + 1);
      changes.push({ relation: 'users', row: [user, String(organization), random.pick(FIRST_NAMES)], diff: 1 });
    }
  }
  return changes;
}

function readAuction(row: readonly (string | null)[]): OpenAuction {
  const [id, , , price, bidCount, endTime] = row;
  return {
    id: Number(id),
    priceCents: price === null || price === undefined ? null : moneyCents(price),
    bidCount: Number(bidCount),
    endMs: Date.parse((endTime ?? '').replace(' ', 'T').replace(/\+00$/, 'Z')),
    row,
  };
}

function moneyText(cents: number): string {
  const whole = Math.trunc(Math.abs(cents) / 100);
  const text = trimNumeric(`${whole}.${String(Math.abs(cents) % 100).padStart(2, '0')}`);
  return cents < 0 && text !== '0' ? `-${text}` : text;
}

function moneyCents(text: string): number {
  return Math.round(Number(text) * 100);
}

function timeText(milliseconds: number): string {
  return formatTimestamp(BigInt(milliseconds) * 1000n, '+00');
}

function sameRow(a: readonly (string | null)[] | undefined, b: readonly (string | null)[]): boolean {
  return a !== undefined && a.every((value, i) => value === b[i]);
}
