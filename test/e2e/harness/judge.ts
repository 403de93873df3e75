/**
 * Is the table the relation, at the newest frontier and at every past snapshot? Read by DuckDB through the independent
 * reader; the relation comes from the test's own model.
 */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type DuckdbTable, openDuckdbTable } from '../../../src/embedded/check/duckdb-table.ts';
import type { Lake, TableNow } from './lake.ts';
import type { Model } from './model.ts';

export type Mode = 'upsert' | 'append';

export interface JudgeOptions {
  readonly mode: Mode;
  /** Only the newest snapshot instead of all of main's. */
  readonly onlyCurrent?: boolean;
  /** Structural checks; off where the test itself forged snapshots. */
  readonly structure?: boolean;
  /** Append with SNAPSHOT = false, or a relation whose snapshot isn't the first commit: the first time that is in the table. */
  readonly since?: bigint;
}

/** `[t]` → t, `[]` → null. */
export function frontierOf(summary: Readonly<Record<string, string>>): bigint | null {
  const text = summary['mz-frontier'];
  if (text === undefined) throw new Error('the snapshot carries no mz-frontier');
  const match = /^\[(\d*)\]$/.exec(text);
  if (match === null) throw new Error(`mz-frontier is not a frontier: ${text}`);
  return match[1] === '' ? null : BigInt(match[1] ?? '');
}

/** Throws an assertion error at the first snapshot that differs. */
export async function expectTableEquals(lake: Lake, tableName: string, model: Model, options: JudgeOptions): Promise<TableNow> {
  const now = await lake.table(tableName);
  if (now === null) throw new Error(`there is no table ${tableName}`);
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-judge-'));
  const reader = await openDuckdbTable({ metadataLocation: now.metadataLocation });
  try {
    const all = reader.snapshots();
    const [first] = all;
    if (first === undefined) throw new Error('the table has no snapshot');
    const asOf = options.since ?? (frontierOf(first.summary) ?? 0n) - 1n;
    for (const snapshot of options.onlyCurrent === true ? all.slice(-1) : all) {
      const frontier = frontierOf(snapshot.summary);
      const path = join(folder, `${snapshot.snapshotId}.copy`);
      const columns = writeExpected(path, model, options, asOf, frontier);
      const comparison = await compare(reader, path, columns, snapshot.snapshotId);
      expect({ frontier, ...comparison }).toMatchObject({ frontier, missingRows: 0n, unexpectedRows: 0n });
    }
    if (options.structure !== false) expect(await reader.checkTable(options.onlyCurrent === true ? 'current' : 'history')).toEqual([]);
  } finally {
    reader.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return now;
}

function writeExpected(path: string, model: Model, options: JudgeOptions, asOf: bigint, frontier: bigint | null): string[] {
  if (options.mode === 'append') {
    model.writeChangeLog(path, asOf, frontier);
    return [...model.columnNames, '_mz_diff', '_mz_timestamp'];
  }
  model.writeContent(path, frontier);
  return [...model.columnNames];
}

async function compare(reader: DuckdbTable, path: string, columns: string[], snapshotId: bigint): Promise<{ missingRows: bigint; unexpectedRows: bigint }> {
  // An empty file can't be sniffed for columns; no rows are no rows.
  if (statSync(path).size === 0) return { missingRows: 0n, unexpectedRows: BigInt((await reader.rows(snapshotId)).length) };
  return await reader.compareWith({ columns, rows: { kind: 'copy-text', path } }, snapshotId);
}

/** The rows of a table as canonical JSON, parsed; longs that don't fit a double stay text. */
export async function rowsOf(lake: Lake, tableName: string, snapshotId?: bigint): Promise<Record<string, unknown>[]> {
  const now = await lake.table(tableName);
  if (now === null) throw new Error(`there is no table ${tableName}`);
  const reader = await openDuckdbTable({ metadataLocation: now.metadataLocation });
  try {
    return (await reader.rows(snapshotId)).map(parseRow);
  } finally {
    reader.close();
  }
}

/** JSON in which an integer beyond 2^53 is a bigint, and every number keeps its sign of zero. */
export function parseRow(line: string): Record<string, unknown> {
  return JSON.parse(line, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && /^-?\d{16,}$/.test(context?.source ?? '') ? BigInt(context?.source ?? '') : value) as Record<string, unknown>;
}

export function writeText(path: string, text: string): void {
  writeFileSync(path, text);
}
