/** The comparison that the demo's verdict rests on: it must see one row too many, one too few, and every escape of COPY. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareRows, type Comparison } from '../../../src/embedded/check/compare-rows.ts';
import type { TableField } from '../../../src/embedded/check/table-metadata.ts';

const FIELDS: readonly TableField[] = [
  { id: 1, name: 'id', required: true, type: { kind: 'long' } },
  { id: 2, name: 'text', required: false, type: { kind: 'string' } },
  { id: 3, name: 'bytes', required: false, type: { kind: 'binary' } },
  { id: 4, name: '_mz_diff', required: true, type: { kind: 'int' } },
];

let folder: string;
let instance: DuckDBInstance;
let connection: DuckDBConnection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'compare-rows-'));
  instance = await DuckDBInstance.create(':memory:');
  connection = await instance.connect();
});

afterAll(async () => {
  connection.closeSync();
  instance.closeSync();
  await rm(folder, { recursive: true });
});

/** `values`: SQL rows of id, text, bytes, diff. `copy`: the relation as COPY text. */
async function compare(values: string, copy: string, fold: 'none' | 'change-log' = 'none'): Promise<Comparison> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE live AS
    SELECT c1::BIGINT AS c1, c2::VARCHAR AS c2, c3::BLOB AS c3, c4::INTEGER AS c4 FROM (VALUES ${values}) v(c1, c2, c3, c4)`);
  const path = join(folder, 'relation.tsv');
  await writeFile(path, copy);
  return await compareRows(connection, 'live', FIELDS, { columns: ['id', 'text', 'bytes'], rows: { kind: 'copy-text', path }, fold });
}

const EQUAL = { equal: true, missingRows: 0n, unexpectedRows: 0n };

describe('GIVEN a table and its relation as COPY text', () => {
  it('WHEN values hold tabs, newlines, backslashes, quotes and the letters of escapes THEN they are equal', async () => {
    const values = String.raw`(1, 'tab' || chr(9) || 'nl' || chr(10) || 'cr' || chr(13), NULL, 1), (2, 'C:\new\table\\', '\xAB\x00'::BLOB, 1),
      (3, '"quoted", ''single''', ''::BLOB, 1), (4, '', NULL, 1), (5, NULL, NULL, 1), (6, '\N', NULL, 1)`;
    const copy = [
      String.raw`1	tab\tnl\ncr\r	\N`, String.raw`2	C:\\new\\table\\\\	\\xab00`, String.raw`3	"quoted", 'single'	\\x`, '4\t\t\\N', '5\t\\N\t\\N',
      String.raw`6	\\N	\N`,
    ].map((line) => `${line}\n`).join('');
    expect(await compare(values, copy)).toEqual({ ...EQUAL, tableRows: 6n, relationRows: 6n });
  });

  it('WHEN a row stands in the table twice and in the relation once THEN one is unexpected', async () => {
    const result = await compare("(1, 'a', NULL, 1), (1, 'a', NULL, 1)", '1\ta\t\\N\n');
    expect(result).toEqual({ equal: false, tableRows: 2n, relationRows: 1n, missingRows: 0n, unexpectedRows: 1n });
  });

  it('WHEN a value differs THEN one row is missing and one is unexpected', async () => {
    const result = await compare("(1, NULL, NULL, 1)", '1\t\t\\N\n');
    expect(result).toMatchObject({ equal: false, missingRows: 1n, unexpectedRows: 1n });
  });

  it('WHEN the relation is empty and the table is not THEN all its rows are unexpected', async () => {
    expect(await compare("(1, 'a', NULL, 1)", '')).toMatchObject({ equal: false, missingRows: 0n, unexpectedRows: 1n });
  });

  it('WHEN a change log is folded THEN retractions cancel and multiplicities count', async () => {
    const log = "(1, 'a', NULL, 1), (1, 'a', NULL, -1), (1, 'b', NULL, 2), (2, 'c', NULL, 1)";
    expect(await compare(log, '1\tb\t\\N\n1\tb\t\\N\n2\tc\t\\N\n', 'change-log')).toMatchObject({ ...EQUAL, tableRows: 3n });
    expect(await compare(log, '1\tb\t\\N\n2\tc\t\\N\n', 'change-log')).toMatchObject({ equal: false, unexpectedRows: 1n });
  });

  it('WHEN a change log retracts more than it added THEN it is not equal, though nothing is left of the row', async () => {
    expect(await compare("(1, 'a', NULL, -1)", '', 'change-log')).toMatchObject({ equal: false });
  });
});
