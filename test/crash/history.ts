/**
 * The relations that the sinks read: a seeded history, applied to the stand-in while the test runs, and kept here whole and
 * apart from it. What a table must hold at a frontier is computed by adding up, and by nothing of the sink's.
 */
import { writeFileSync } from 'node:fs';
import { joinCopyColumns } from '../../src/embedded/materialize/copy-text.ts';
import type { MaterializeStandIn } from '../../src/embedded/materialize/stand-in.ts';
import { columns } from '../e2e/harness/model.ts';
import type { Random } from '../simulation/random.ts';

type Row = readonly (string | null)[];

/** Where a relation has its key, and how a row of a key is made. */
export interface Shape {
  readonly columnTexts: readonly string[];
  readonly keyWidth: number;
  readonly makeKey: (random: Random, space: number) => readonly string[];
  readonly makeRest: (random: Random) => Row;
}

const TEXTS = ['plain', 'tab\\there', 'line\\nbreak', 'back\\\\slash', 'quo"ted, \'twice\'', 'Zürich ☃'.normalize(), '\\\\N', ''];
const SPACE = 400;
const BURST_SPACE = 6_000;
const START = 1_780_000_000_000n;

const text = (random: Random): string => latin1(`${random.pick(TEXTS)} ${random.below(1_000_000)}`);

/** COPY text is bytes, one character each, in the stand-in. */
function latin1(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

export const ORDERS: Shape = {
  columnTexts: ['id bigint not null', 'note text', 'amount numeric(38,4)', 'paid boolean', 'placed timestamp'],
  keyWidth: 1,
  makeKey: (random, space) => [String(random.below(space) - 50)],
  makeRest: (random) => [
    random.chance(0.1) ? null : text(random),
    random.chance(0.2) ? null : `${random.below(10_000) - 5_000}.${String(random.below(10_000)).padStart(4, '0')}`,
    random.pick(['t', 'f', null]),
    `2026-0${random.between(1, 9)}-1${random.below(10)} 0${random.below(10)}:00:00.${String(random.below(1_000_000)).padStart(6, '0')}`,
  ],
};

export const LINES: Shape = {
  columnTexts: ['shop text not null', 'line integer not null', 'note text', 'weight double precision'],
  keyWidth: 2,
  makeKey: (random, space) => [latin1(random.pick(['north', 'süd', 'tab\\t', ''])), String(random.below(Math.ceil(space / 4)))],
  makeRest: (random) => [random.chance(0.1) ? null : text(random), random.chance(0.1) ? null : String(random.below(1_000) / 8)],
};

export interface History {
  readonly name: string;
  readonly columnNames: readonly string[];
  /** Rows changed so far. */
  changes(): number;
  /** The last time at which anything changed in sum: a table that has reached it has reached the end. */
  lastChange(): bigint;
  /** Makes changes at `time` and closes it. `atLeast`: as many as that, of keys drawn from a wide range. */
  step(standIn: MaterializeStandIn, time: bigint, atLeast?: number): void;
  /** Closes every time below `time` without changes. */
  pass(standIn: MaterializeStandIn, time: bigint): void;
  /** COPY text of the content just below `frontier`; returns its rows. */
  writeContent(path: string, frontier: bigint): number;
  /** COPY text of the content at `asOf` and each net change after it below `frontier`. */
  writeChangeLog(path: string, asOf: bigint, frontier: bigint): number;
}

interface Logged {
  readonly time: bigint;
  readonly line: string;
  readonly diff: number;
}

export interface HistoryOptions {
  readonly name: string;
  readonly shape: Shape;
  /** Rows at the first time. */
  readonly initialRows: number;
  readonly random: Random;
}

export const FIRST_TIME = START;

/** Creates the relation and its first rows, which are what a sink's snapshot is made of. */
export function createHistory(standIn: MaterializeStandIn, options: HistoryOptions): History {
  const { name, shape, random } = options;
  const columnList = columns(...shape.columnTexts);
  const keys = [Array.from({ length: shape.keyWidth }, (_, index) => index)];
  standIn.createRelation({ name, columns: columnList, keys, retainHistoryMs: 86_400_000 }, START);
  const current = new Map<string, Row>();
  const gone: (readonly string[])[] = [];
  const log: Logged[] = [];
  const commit = (target: MaterializeStandIn, time: bigint, changes: readonly (readonly [Row, number])[]): void => {
    const relation = target.relation(name);
    for (const [row, diff] of changes) log.push({ time, line: joinCopyColumns(row), diff });
    target.apply(relation, time, changes.map(([row, diff]) => ({ row, diff })));
    target.advance(time + 1n, relation);
  };
  const first = new Map<string, Row>();
  for (let drawn = 0; drawn < options.initialRows; drawn += 1) {
    const key = shape.makeKey(random, BURST_SPACE);
    first.set(key.join('\t'), [...key, ...shape.makeRest(random)]);
  }
  for (const [key, row] of first) current.set(key, row);
  commit(standIn, START, [...first.values()].map((row) => [row, 1] as const));
  return {
    name,
    columnNames: columnList.map((column) => column.name),
    changes: () => log.length,
    lastChange: () => {
      const byTime = [...Map.groupBy(log, (change) => change.time)];
      return byTime.findLast(([, changes]) => sum(changes).size > 0)?.[0] ?? START;
    },
    step: (target, time, atLeast = 0) => commit(target, time, drawChanges(shape, random, current, gone, atLeast)),
    pass: (target, time) => target.advance(time, target.relation(name)),
    writeContent: (path, frontier) => {
      const rows = sum(log.filter((change) => change.time < frontier));
      return writeLines(path, [...rows].flatMap(([line, count]) => Array<string>(count).fill(line)));
    },
    writeChangeLog: (path, asOf, frontier) => {
      const timed = (time: bigint, changes: readonly Logged[]): string[] => [...sum(changes)].flatMap(([line, count]) =>
        Array<string>(Math.abs(count)).fill(`${line}\t${Math.sign(count)}\t${time}`));
      const later = log.filter((change) => change.time > asOf && change.time < frontier);
      const byTime = [...Map.groupBy(later, (change) => change.time)];
      return writeLines(path, [
        ...timed(asOf, log.filter((change) => change.time <= asOf)), ...byTime.flatMap(([time, changes]) => timed(time, changes)),
      ]);
    },
  };
}

/** The changes of one time. Now and then thousands of them. */
function drawChanges(
  shape: Shape, random: Random, current: Map<string, Row>, gone: (readonly string[])[], atLeast: number,
): (readonly [Row, number])[] {
  const changes: (readonly [Row, number])[] = [];
  const touched = new Set<string>();
  const remove = (name: string, row: Row): void => {
    current.delete(name);
    gone.push(row.slice(0, shape.keyWidth) as readonly string[]);
    if (gone.length > 200) gone.shift();
    changes.push([row, -1]);
  };
  const put = (key: readonly string[], rest: Row): void => {
    const name = key.join('\t');
    const before = current.get(name);
    if (touched.has(name)) return;
    touched.add(name);
    const row = [...key, ...rest];
    if (before !== undefined) changes.push([before, -1]);
    current.set(name, row);
    changes.push([row, 1]);
  };
  const isBurst = random.chance(0.015) || atLeast > 0;
  const count = isBurst ? Math.max(atLeast, random.between(500, 3_000)) : random.between(0, 25);
  for (let change = 0; change < count; change += 1) {
    const key = shape.makeKey(random, isBurst || random.chance(0.1) ? BURST_SPACE : SPACE);
    const name = key.join('\t');
    const row = current.get(name);
    const draw = random.fraction();
    if (row === undefined || touched.has(name)) put(key, shape.makeRest(random));
    else if (draw < 0.3) {
      touched.add(name);
      remove(name, row);
    } else if (draw < 0.45) {
      // The key changes and the rest stays: a retraction of one key and an insertion of another at one time.
      touched.add(name);
      remove(name, row);
      put(shape.makeKey(random, SPACE), row.slice(shape.keyWidth));
    } else if (draw < 0.5) put(key, row.slice(shape.keyWidth));
    else put(key, shape.makeRest(random));
  }
  const again = gone[random.below(Math.max(1, gone.length))];
  if (again !== undefined && random.chance(0.5)) put(again, shape.makeRest(random));
  return changes;
}

function sum(changes: readonly Logged[]): ReadonlyMap<string, number> {
  const rows = new Map<string, number>();
  for (const { line, diff } of changes) {
    const count = (rows.get(line) ?? 0) + diff;
    if (count === 0) rows.delete(line);
    else rows.set(line, count);
  }
  return rows;
}

function writeLines(path: string, lines: readonly string[]): number {
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''), 'latin1');
  return lines.length;
}
