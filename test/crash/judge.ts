/**
 * Is every snapshot of a table what the relation was at its frontier? Read by DuckDB through the reader that shares no code
 * with the sink, past all proxies; the rows to be expected come from the test's own history.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckdbTable, openDuckdbTable } from '../../src/embedded/check/duckdb-table.ts';
import type { TableSnapshot } from '../../src/embedded/check/table-metadata.ts';
import { frontierOf } from '../e2e/harness/judge.ts';
import type { History } from './history.ts';
import type { Lakehouse } from './lakehouse.ts';

export interface JudgedTable {
  readonly name: string;
  readonly mode: 'upsert' | 'append';
  readonly history: History;
  /** Ids of snapshots that a sink said it committed. */
  readonly claimed: ReadonlySet<string>;
}

export interface Verdict {
  readonly snapshots: number;
  readonly rows: number;
  readonly differences: readonly string[];
}

export async function judgeTable(lakehouse: Lakehouse, table: JudgedTable): Promise<Verdict> {
  const now = await lakehouse.table(table.name);
  if (now === null) return { snapshots: 0, rows: 0, differences: [`${table.name} does not exist`] };
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-crash-judge-'));
  const reader = await openDuckdbTable({ metadataLocation: now.metadataLocation, fetchFile: (location) => lakehouse.fetchFile(location) });
  try {
    const snapshots = reader.snapshots();
    const differences = [...ancestryFaults(table, snapshots, reader)];
    let rows = 0;
    for (const snapshot of snapshots) {
      const judged = await judgeSnapshot(reader, table, snapshot, snapshots[0] ?? snapshot, folder);
      rows += judged.rows;
      differences.push(...judged.differences);
    }
    const violations = await reader.checkTable('current');
    differences.push(...violations.map(({ rule, where, detail }) => `${table.name}: ${rule} at ${where}: ${detail}`));
    return { snapshots: snapshots.length, rows, differences };
  } finally {
    reader.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function* ancestryFaults(table: JudgedTable, snapshots: readonly TableSnapshot[], reader: DuckdbTable): Iterable<string> {
  const ids = new Set(snapshots.map((snapshot) => String(snapshot.snapshotId)));
  if (snapshots.length === 0) yield `${table.name}: no snapshot`;
  if ((snapshots[0]?.parentSnapshotId ?? null) !== null) yield `${table.name}: main's ancestry does not reach the first snapshot`;
  if (reader.metadata.snapshots.length !== snapshots.length) yield `${table.name}: snapshots lie beside main's ancestry`;
  for (const id of table.claimed) {
    if (!ids.has(id)) yield `${table.name}: the sink said it committed ${id}, which is not in main's ancestry`;
  }
  for (const [index, snapshot] of snapshots.entries()) {
    const before = snapshots[index - 1];
    if (before === undefined) continue;
    const [from, to] = [frontierOf(before.summary), frontierOf(snapshot.summary)];
    const [older = 0n, newer = 0n] = [before, snapshot].map((each) => BigInt(each.summary['mz-sink-version'] ?? '-1'));
    // A newer version takes over with an empty snapshot at the frontier that the table has.
    const isEmpty = snapshot.summary['changed-partition-count'] === undefined;
    const grows = from !== null && to !== null && (to > from || (to === from && isEmpty));
    if (!grows) yield `${table.name}: mz-frontier goes from ${from} to ${to} at ${snapshot.snapshotId}`;
    if (newer < older) yield `${table.name}: mz-sink-version goes back at ${snapshot.snapshotId}`;
  }
}

async function judgeSnapshot(
  reader: DuckdbTable, table: JudgedTable, snapshot: TableSnapshot, first: TableSnapshot, folder: string,
): Promise<{ readonly rows: number; readonly differences: readonly string[] }> {
  const frontier = frontierOf(snapshot.summary);
  const asOf = (frontierOf(first.summary) ?? 0n) - 1n;
  if (frontier === null) return { rows: 0, differences: [`${table.name}: a snapshot says that the relation has ended`] };
  const path = join(folder, `${snapshot.snapshotId}.copy`);
  const { history } = table;
  const rows = table.mode === 'append' ? history.writeChangeLog(path, asOf, frontier) : history.writeContent(path, frontier);
  const differences: string[] = [];
  const live = await reader.liveFiles(snapshot.snapshotId);
  const paths = new Set(live.map((entry) => entry.path));
  if (paths.size !== live.length) differences.push(`${table.name}: a file is live twice in ${snapshot.snapshotId}`);
  const columns = [...history.columnNames, ...(table.mode === 'append' ? ['_mz_diff', '_mz_timestamp'] : [])];
  // An empty file can't be sniffed for columns; no rows are no rows.
  const comparison = rows === 0
    ? { missingRows: 0n, unexpectedRows: BigInt((await reader.rows(snapshot.snapshotId)).length) }
    : await reader.compareWith({ columns, rows: { kind: 'copy-text', path } }, snapshot.snapshotId);
  if (comparison.missingRows !== 0n || comparison.unexpectedRows !== 0n) {
    differences.push(`${table.name} (${table.mode}) at frontier ${frontier}, snapshot ${snapshot.snapshotId}: ${comparison.missingRows} rows missing, `
      + `${comparison.unexpectedRows} unexpected of ${rows}`);
  }
  rmSync(path, { force: true });
  return { rows, differences };
}
