/**
 * The judgement at the end. In: where a table's metadata is, and what the relation held at any time. Out: a verdict.
 * DuckDB reads the files; nothing of the sink takes part. The relation is compared at the frontier that each snapshot
 * says of itself, so a table that is only late, or early, or right by chance at the end does not pass.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseFrontier } from '../../time/frontier.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import { type DuckdbTable, type TableSnapshot, openDuckdbTable } from '../check/duckdb-table.ts';
import type { DemoSink } from './sinks-sql.ts';

export interface JudgedTable {
  readonly sink: DemoSink;
  readonly metadataLocation: string;
  /** Column names of the relation, in the order of its COPY lines. */
  readonly columns: readonly string[];
  /** The relation as it was at a time: COPY lines (one character a byte) with their multiplicity. */
  readonly contentAt: (time: Timestamp) => ReadonlyMap<string, number>;
  /** The earliest time that `contentAt` still knows. */
  readonly readableFrom: Timestamp;
  /** The last change that must be in the table. */
  readonly lastChange: Timestamp;
}

export interface TableVerdict {
  readonly sink: DemoSink;
  /** Rows of the relation at the table's frontier. */
  readonly relationRows: bigint;
  /** Rows that a reader of the table sees; in append mode the changes. */
  readonly tableRows: bigint;
  readonly snapshots: number;
  /** How many of them were compared with the relation at their frontier, the newest included. */
  readonly comparedSnapshots: number;
  /** Whether the structure of every snapshot was checked or only that of the newest. */
  readonly structuralScope: 'current' | 'history';
  readonly dataFiles: number;
  readonly deleteFiles: number;
  /** What is wrong, for people; empty when the check holds. */
  readonly faults: readonly string[];
}

/** Comparing all of a long run would take longer than the run; these are spread evenly over it. */
const COMPARED_SNAPSHOTS_MAX = 20;
/** With more snapshots than these only the newest is checked for its structure. It refers to the files of all. */
const STRUCTURE_SNAPSHOTS_MAX = 40;
const FAULTS_SHOWN_MAX = 8;
const NO_ROWS = { relationRows: 0n, tableRows: 0n };

/** Never rejects: what can't be read is a fault. `scratchDir` takes the relation's rows as files for DuckDB. */
export async function judgeTable(judged: JudgedTable, scratchDir: string): Promise<TableVerdict> {
  const nothing: TableVerdict = {
    ...NO_ROWS, sink: judged.sink, snapshots: 0, comparedSnapshots: 0, structuralScope: 'current',
    dataFiles: 0, deleteFiles: 0, faults: [],
  };
  try {
    const table = await openDuckdbTable({ metadataLocation: judged.metadataLocation });
    try {
      return await judgeOpenTable(judged, table, scratchDir, nothing);
    } finally {
      table.close();
    }
  } catch (thrown) {
    return { ...nothing, faults: [`the table can't be read: ${messageOf(thrown)}`] };
  }
}

async function judgeOpenTable(
  judged: JudgedTable, table: DuckdbTable, scratchDir: string, nothing: TableVerdict,
): Promise<TableVerdict> {
  const snapshots = table.snapshots();
  const newest = snapshots.at(-1);
  if (newest === undefined) return { ...nothing, faults: ['the table has no snapshot'] };
  const faults: string[] = [];
  const frontier = frontierOf(newest);
  if (frontier === null || frontier <= judged.lastChange) {
    faults.push('the newest snapshot does not reach the last change of the relation');
  }

  mkdirSync(scratchDir, { recursive: true });
  let rows: Omit<ComparedSnapshot, 'faults'> = NO_ROWS;
  // The newest is compared in any case; if its frontier is lost, that is a fault.
  const known = snapshots.filter((snapshot) => {
    return snapshot === newest || (frontierOf(snapshot) ?? 0n) > judged.readableFrom;
  });
  const compared = spread(known, COMPARED_SNAPSHOTS_MAX);
  for (const snapshot of compared) {
    const outcome = await compareSnapshot(judged, table, snapshot, join(scratchDir, `${judged.sink.table}.copy`));
    rows = outcome;
    faults.push(...outcome.faults);
  }
  // What the rows are comes first, then what the files are: the first says more.
  const scope = snapshots.length <= STRUCTURE_SNAPSHOTS_MAX ? 'history' : 'current';
  const inTable = `${table.metadata.location}/`;
  for (const { rule, where, detail } of await table.checkTable(scope)) {
    faults.push(`${rule}: ${where.replace(inTable, '')} ${detail}`);
  }
  const live = await table.liveFiles();
  const dataFiles = live.filter((entry) => entry.kind === 'data');
  return {
    sink: judged.sink,
    relationRows: rows.relationRows,
    // Nothing is ever deleted from a change log.
    tableRows: judged.sink.mode === 'upsert' ? rows.tableRows
      : dataFiles.reduce((sum, file) => sum + file.recordCount, 0n),
    snapshots: snapshots.length,
    comparedSnapshots: compared.length,
    structuralScope: scope,
    dataFiles: dataFiles.length,
    deleteFiles: live.length - dataFiles.length,
    faults: shortened(faults),
  };
}

interface ComparedSnapshot {
  readonly relationRows: bigint;
  readonly tableRows: bigint;
  readonly faults: readonly string[];
}

async function compareSnapshot(
  judged: JudgedTable, table: DuckdbTable, snapshot: TableSnapshot, path: string,
): Promise<ComparedSnapshot> {
  const name = `snapshot ${snapshot.snapshotId}`;
  const frontier = frontierOf(snapshot);
  if (frontier === null) return { ...NO_ROWS, faults: [`${name} does not say its frontier`] };
  // Everything below the frontier is in the snapshot, so it is the relation as of the time before.
  const content = [...judged.contentAt(frontier - 1n)];
  if (content.some(([, count]) => count < 0)) {
    return { ...NO_ROWS, faults: [`the relation at ${frontier - 1n} lost rows that it never had`] };
  }
  writeFileSync(path, content.map(([line, count]) => `${line}\n`.repeat(count)).join(''), 'latin1');
  const comparison = await table.compareWith({
    columns: judged.columns,
    rows: { kind: 'copy-text', path },
    fold: judged.sink.mode === 'append' ? 'change-log' : 'none',
  }, snapshot.snapshotId);
  const { equal, relationRows, tableRows, missingRows, unexpectedRows } = comparison;
  const difference = `${missingRows} rows are missing and ${unexpectedRows} are not in the relation`;
  return { relationRows, tableRows, faults: equal ? [] : [`${name} at ${frontier}: ${difference}`] };
}

function frontierOf(snapshot: TableSnapshot): Timestamp | null {
  return parseFrontier(snapshot.summary['mz-frontier'] ?? '')?.[0] ?? null;
}

/** At most `count` items, evenly spread, the last one always among them. */
function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items;
  const wanted = new Set(Array.from({ length: count }, (_, i) => Math.round(((i + 1) * items.length) / count) - 1));
  return items.filter((_, i) => wanted.has(i));
}

function shortened(faults: readonly string[]): readonly string[] {
  const more = faults.length - FAULTS_SHOWN_MAX;
  return more <= 0 ? faults : [...faults.slice(0, FAULTS_SHOWN_MAX), `and ${more} more`];
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
