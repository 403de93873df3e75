/**
 * What the relation is, kept apart from the stand-in: every change with its time, never compacted. The expected
 * content of a table at a frontier is computed here by adding up, which is all there is to it.
 */
import { writeFileSync } from 'node:fs';
import { joinCopyColumns } from '../../../src/embedded/materialize/copy-text.ts';
import type { MaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import type { StandInRelation } from '../../../src/embedded/materialize/world.ts';
import type { RelationDefinition } from '../../../src/embedded/materialize/relation-definition.ts';
import { parseSqlType } from '../../../src/relation/sql-type-text.ts';
import type { Column } from '../../../src/relation/relation.ts';

/** Columns as COPY text (escaped), null for NULL; a negative diff retracts. */
export type Change = readonly [row: readonly (string | null)[], diff?: number];

export interface Model {
  readonly name: string;
  readonly relation: StandInRelation;
  readonly columnNames: readonly string[];
  /** Changes at one time; they stay invisible until `advance`. */
  change(time: bigint, changes: readonly Change[]): void;
  /** Applies at `time` and closes it. */
  commit(time: bigint, changes: readonly Change[]): void;
  advance(time: bigint): void;
  /** Rows of the relation at `time` with their multiplicity. */
  contentAt(time: bigint): ReadonlyMap<string, number>;
  /** COPY text of the content just below `frontier` ([] = the end). */
  writeContent(path: string, frontier: bigint | null): void;
  /** COPY text of the change log: the content at `asOf`, then each change after it below `frontier`; two columns more. */
  writeChangeLog(path: string, asOf: bigint, frontier: bigint | null): void;
}

/** `name type` or `name type not null`, the type as Materialize spells it. */
export function columns(...texts: readonly string[]): Column[] {
  return texts.map((text) => {
    const [, name = '', rest = ''] = /^(?:"([^"]+)"|\S+)\s+(.*)$/.test(text) ? /^("[^"]+"|\S+)\s+(.*)$/.exec(text) ?? [] : [];
    const nullable = !rest.endsWith(' not null');
    const typeText = nullable ? rest : rest.slice(0, -' not null'.length);
    const type = parseSqlType(typeText);
    if (type === null) throw new Error(`no type ${typeText}`);
    return { name: name.replaceAll('"', ''), type, nullable };
  });
}

export interface ModelOptions extends Partial<RelationDefinition> {
  readonly start?: bigint;
}

/** History is kept for a day, so that a stopped sink can resume; `retainHistoryMs` overrules it. */
export function createModel(standIn: MaterializeStandIn, name: string, columnList: readonly Column[], options: ModelOptions = {}): Model {
  const { start, ...definition } = options;
  const relation = standIn.createRelation({ retainHistoryMs: 86_400_000, ...definition, name, columns: columnList }, start);
  const log: { readonly time: bigint; readonly line: string; readonly diff: number }[] = [];
  const model: Model = {
    name,
    relation,
    columnNames: columnList.map((column) => column.name),
    change(time, changes) {
      for (const [row, diff = 1] of changes) log.push({ time, line: joinCopyColumns(row), diff });
      standIn.apply(relation, time, changes.map(([row, diff = 1]) => ({ row, diff })));
    },
    commit(time, changes) {
      model.change(time, changes);
      model.advance(time + 1n);
    },
    advance: (time) => standIn.advance(time, relation),
    contentAt: (time) => sum(log.filter((change) => change.time <= time)),
    writeContent(path, frontier) {
      const rows = sum(frontier === null ? log : log.filter((change) => change.time < frontier));
      writeLines(path, [...rows].flatMap(([line, count]) => Array<string>(expectPositive(count)).fill(line)));
    },
    writeChangeLog(path, asOf, frontier) {
      const lines: string[] = [];
      const emit = (time: bigint, rows: ReadonlyMap<string, number>): void => {
        for (const [line, count] of rows) {
          const text = `${line}\t${Math.sign(count)}\t${time}`;
          lines.push(...Array<string>(Math.abs(count)).fill(text));
        }
      };
      emit(asOf, sum(log.filter((change) => change.time <= asOf)));
      const later = log.filter((change) => change.time > asOf && (frontier === null || change.time < frontier));
      for (const [time, changes] of Map.groupBy(later, (change) => change.time)) emit(time, sum(changes));
      writeLines(path, lines);
    },
  };
  return model;
}

function sum(changes: readonly { readonly line: string; readonly diff: number }[]): ReadonlyMap<string, number> {
  const rows = new Map<string, number>();
  for (const { line, diff } of changes) {
    const count = (rows.get(line) ?? 0) + diff;
    if (count === 0) rows.delete(line);
    else rows.set(line, count);
  }
  return rows;
}

function expectPositive(count: number): number {
  if (count < 0) throw new Error('the relation of the test has a negative row');
  return count;
}

/** Lines are binary strings: one character a byte. */
function writeLines(path: string, lines: readonly string[]): void {
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''), 'latin1');
}
