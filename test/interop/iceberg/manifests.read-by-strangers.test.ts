import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { type HandMadeTable, emptyTable } from './hand-made-table.ts';

const SHARED = process.env['MZ_SINK_SHARED'] ?? resolve(import.meta.dirname, '../../../../shared');
const run = promisify(execFile);
const tables: HandMadeTable[] = [];

afterAll(async () => {
  await Promise.all(tables.map((table) => rm(table.root, { recursive: true })));
});

async function newTable(): Promise<HandMadeTable> {
  const table = await emptyTable();
  tables.push(table);
  return table;
}

type Reader = 'java' | 'duckdb' | 'pyiceberg';

/** The rows that a reader sees, as [id, name] in the reader's canonical order. */
async function read(reader: Reader, table: HandMadeTable, snapshotId?: bigint): Promise<unknown[]> {
  const snapshot = snapshotId === undefined ? [] : [snapshotId.toString()];
  const { stdout } = await run(resolve(SHARED, 'services/readers', `read-${reader}`), [table.metadataPath, ...snapshot]);
  return stdout.trimEnd().split('\n').filter((line) => line !== '').map((line) => {
    const row = JSON.parse(line) as { readonly id: number; readonly name: string | null };
    return [row.id, row.name];
  });
}

describe('GIVEN a table whose manifests, lists and metadata are ours', () => {
  it.each(['java', 'duckdb', 'pyiceberg'] as const)('WHEN %s reads appends before and after merging manifests THEN it sees every row once', async (reader) => {
    const table = await newTable();
    const first = await table.commit([[1n, 'a'], [2n, null]], []);
    const second = await table.commit([[3n, 'c']], []);
    await table.commit([], [], true);
    expect(await read(reader, table)).toEqual([[1, 'a'], [2, null], [3, 'c']]);
    expect(await read(reader, table, second)).toEqual([[1, 'a'], [2, null], [3, 'c']]);
    expect(await read(reader, table, first)).toEqual([[1, 'a'], [2, null]]);
  });

  // PyIceberg refuses equality deletes at planning, so it can't judge this.
  it.each(['java', 'duckdb'] as const)('WHEN %s reads keyed changes THEN a delete hits earlier rows only, also after merging', async (reader) => {
    const table = await newTable();
    const first = await table.commit([[1n, 'a'], [2n, 'b'], [3n, 'c']], []);
    const second = await table.commit([[2n, 'B'], [4n, 'd']], [2n, 3n]);
    // The merged manifest has a higher sequence number than the deletes; its entries must keep their own.
    const merged = await table.commit([], [], true);
    const last = await table.commit([[1n, 'A']], [1n]);
    const afterSecond = [[1, 'a'], [2, 'B'], [4, 'd']];
    expect(await read(reader, table, first)).toEqual([[1, 'a'], [2, 'b'], [3, 'c']]);
    expect(await read(reader, table, second)).toEqual(afterSecond);
    expect(await read(reader, table, merged)).toEqual(afterSecond);
    expect(await read(reader, table, last)).toEqual([[1, 'A'], [2, 'B'], [4, 'd']]);
    expect(await read(reader, table)).toEqual([[1, 'A'], [2, 'B'], [4, 'd']]);
  });
});
