/**
 * One episode: relations with a history that goes on while daemons that write them are ill-treated, and the verdict at the end.
 * Two relations, three sinks: one relation in both modes, and one with a composite key.
 */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { frontierOf } from '../e2e/harness/judge.ts';
import { type Random, createRandom, hashText } from '../simulation/random.ts';
import type { Arena } from './arena.ts';
import { type Daemon, type Testimony, startDaemon } from './daemon.ts';
import { FIRST_TIME, type History, LINES, ORDERS, createHistory } from './history.ts';
import { type JudgedTable, judgeTable } from './judge.ts';
import { NAMESPACE, WAREHOUSE } from './lakehouse.ts';
import { count } from './tally.ts';

export interface Episode {
  readonly name: string;
  readonly arena: Arena;
  readonly random: Random;
  readonly histories: readonly History[];
  readonly testimony: Testimony;
  readonly spillDir: string;
  /** Starts a daemon with all sinks of the episode. `version`: the newest that was used, when not given. */
  spawn(options?: { readonly version?: number; readonly spillDir?: string; readonly memoryBudgetBytes?: number }): Daemon;
  daemons(): readonly Daemon[];
  /** How fast the history goes on; null: it stands still. */
  setPace(pace: Pace | null): void;
  /** The next times hold at least so many changes of each relation. */
  burst(changes: number, times: number): void;
  /** Frontier of the table, 0 when there is none yet. */
  frontier(table: string): Promise<bigint>;
  readonly tables: readonly { readonly name: string; readonly mode: 'upsert' | 'append'; readonly history: History }[];
  differ(what: string): void;
}

export interface Pace {
  readonly fromMs: number;
  readonly toMs: number;
}

export const STEADY: Pace = { fromMs: 20, toMs: 260 };
export const RUSH: Pace = { fromMs: 5, toMs: 40 };

const BUDGET_BYTES = 24 * 1024 * 1024;
const CATCH_UP_MS = 120_000;
/** Milliseconds of the source. */
const AFTERWARDS = 30_000n;

export interface EpisodeResult {
  readonly differences: readonly string[];
}

/** Opens an episode, lets `play` do its worst, and judges. */
export async function runEpisode(
  arena: Arena, name: string, initialRows: number, play: (episode: Episode) => Promise<void>,
): Promise<EpisodeResult> {
  const random = createRandom(hashText(name, arena.seed));
  arena.schedule(random.stream('faults'));
  const episode = createEpisode(arena, name, random, initialRows);
  const writer = startWriter(episode);
  try {
    try {
      await play(episode);
    } catch (thrown) {
      episode.differ(`the scenario broke off: ${thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown)}`);
    } finally {
      arena.heal();
    }
    writer.stop();
    await catchUp(episode, writer.time() + AFTERWARDS);
    for (const daemon of episode.daemons()) await daemon.stop();
    await judge(episode);
  } finally {
    writer.stop();
    for (const daemon of episode.daemons()) await daemon.kill();
    dropRelations(episode);
  }
  arena.tally.changes += episode.histories.reduce((sum, history) => sum + history.changes(), 0);
  return { differences: episode.testimony.differences };
}

interface Writable extends Episode {
  pace(): Pace | null;
  tick(time: bigint): void;
}

function createEpisode(arena: Arena, name: string, random: Random, initialRows: number): Writable {
  const standIn = arena.standIn();
  if (standIn === null) throw new Error('an episode begins with its source up');
  const orders = createHistory(standIn, { name: `${name}_orders`, shape: ORDERS, initialRows, random: random.stream('orders') });
  const lines = createHistory(standIn, { name: `${name}_lines`, shape: LINES, initialRows: initialRows / 4, random: random.stream('lines') });
  const tables = [
    { name: `${name}_upsert`, mode: 'upsert', history: orders, key: 'KEY (id)' },
    { name: `${name}_append`, mode: 'append', history: orders, key: '' },
    { name: `${name}_composite`, mode: 'upsert', history: lines, key: 'KEY (shop, line)' },
  ] as const;
  const testimony: Testimony = { claimed: new Map(), differences: [] };
  const spillDir = join(arena.scratch, 'spill', name);
  mkdirSync(spillDir, { recursive: true });
  const daemons: Daemon[] = [];
  const histories = [orders, lines];
  let pace: Pace | null = STEADY;
  let newest = 0;
  let bursts = { changes: 0, times: 0 };
  const tick = (time: bigint): void => {
    const source = arena.standIn();
    if (source === null) return;
    const atLeast = bursts.times > 0 ? bursts.changes : 0;
    bursts = { ...bursts, times: bursts.times - 1 };
    for (const history of histories) history.step(source, time, atLeast);
  };
  return {
    name, arena, random, histories, testimony, spillDir, tables, tick,
    daemons: () => daemons.filter((daemon) => daemon.isAlive()),
    pace: () => pace,
    setPace: (next) => { pace = next; },
    burst: (changes, times) => { bursts = { changes, times }; },
    differ: (what) => testimony.differences.push(what),
    spawn: (options = {}) => {
      newest = Math.max(newest, options.version ?? 0);
      const daemon = startDaemon({
        ordinal: daemons.length, version: options.version ?? newest, sql: definitions(arena, tables, options.version ?? newest),
        materializeUrl: arena.materializeUrl, spillDir: options.spillDir ?? mkdtempSync(join(spillDir, 'daemon-')),
        memoryBudgetBytes: options.memoryBudgetBytes ?? BUDGET_BYTES, tally: arena.tally, testimony,
      });
      daemons.push(daemon);
      return daemon;
    },
    frontier: async (table) => {
      const head = (await arena.lakehouse.table(table))?.snapshots.at(-1);
      return head === undefined ? 0n : frontierOf(head.summary) ?? 0n;
    },
  };
}

function definitions(arena: Arena, tables: readonly { name: string; mode: string; history: History; key: string }[], version: number): string {
  const sinks = tables.map(({ name, mode, history, key }) => `
    CREATE SINK "${name}" IN CLUSTER quickstart FROM "${history.name}"
      INTO ICEBERG CATALOG CONNECTION lake (NAMESPACE = '${NAMESPACE}', TABLE = '${name}')
      ${key} MODE ${mode.toUpperCase()} WITH (COMMIT INTERVAL = '1s', VERSION = ${version});`);
  return `
    CREATE SECRET credential AS '${arena.lakehouse.credential}';
    CREATE CONNECTION lake TO ICEBERG CATALOG (
      CATALOG TYPE = 'rest', URL = '${arena.catalog.url}', WAREHOUSE = '${WAREHOUSE}', CREDENTIAL = SECRET credential,
      ACCESS DELEGATION = 'vended-credentials'
    );
    ${sinks.join('\n')}`;
}

/** Lets the history go on at the episode's pace. A source that is down can't be written to. */
function startWriter(episode: Writable): { stop(): void; time(): bigint } {
  const random = episode.random.stream('writer');
  let time = FIRST_TIME;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const next = (): void => {
    if (isStopped) return;
    const pace = episode.pace();
    timer = setTimeout(() => {
      if (episode.pace() !== null && episode.arena.standIn() !== null) {
        // Now and then at the very time that the last change has made the frontier.
        time += random.chance(0.3) ? 1n : BigInt(random.between(50, 1_500));
        episode.tick(time);
        // Idle stretches, in which progress goes on and nothing changes.
        if (random.chance(0.05)) time += BigInt(random.between(1_000, 20_000));
      }
      next();
    }, pace === null ? 50 : random.between(pace.fromMs, pace.toMs));
  };
  next();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
    time: () => time,
  };
}

/** After the last change some seconds pass in the source, so that every interval closes. */
async function catchUp(episode: Episode, end: bigint): Promise<void> {
  const { arena } = episode;
  const standIn = arena.standIn();
  if (standIn === null) throw new Error('an episode ends with its source up');
  for (const history of episode.histories) history.pass(standIn, end);
  if (episode.daemons().length === 0) episode.spawn();
  const deadline = performance.now() + CATCH_UP_MS;
  for (const table of episode.tables) {
    const lastChange = table.history.lastChange();
    for (;;) {
      const frontier = await episode.frontier(table.name);
      if (frontier > lastChange) break;
      if (episode.testimony.differences.length > 0) return;
      if (performance.now() > deadline) {
        const logs = episode.daemons().map((daemon) => daemon.entries().slice(-12).map((entry) => JSON.stringify(entry)).join('\n'));
        episode.differ(`${table.name} stays at ${frontier}, the last change is at ${lastChange}; the logs:\n${logs.join('\n--\n')}`);
        return;
      }
      await sleep(100);
    }
  }
}

async function judge(episode: Episode): Promise<void> {
  const { arena, testimony } = episode;
  for (const table of episode.tables) {
    const judged: JudgedTable = { ...table, claimed: testimony.claimed.get(table.name) ?? new Set() };
    const verdict = await judgeTable(arena.lakehouse, judged);
    arena.tally.tables += 1;
    arena.tally.snapshots += verdict.snapshots;
    arena.tally.rows += verdict.rows;
    testimony.differences.push(...verdict.differences);
    if (verdict.snapshots > 1) count(arena.tally.events, 'tables with more than one commit');
  }
}

function dropRelations(episode: Episode): void {
  const standIn = episode.arena.standIn();
  for (const history of episode.histories) {
    if (standIn !== null) standIn.drop(standIn.relation(history.name));
  }
}
