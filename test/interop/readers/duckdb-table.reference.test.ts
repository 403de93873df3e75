import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DuckdbTable, openDuckdbTable } from '../../reader/duckdb-table.ts';
import { openReader, type Reader } from '../../services/readers.ts';
import { expectedRows, makeReferenceTables } from '../../services/reference-tables.ts';
import { type CatalogServer, startRestFixture } from '../../services/servers.ts';

const TABLES = [
  'v2_pos', 'v2_eq_pos', 'v2_eq_two_keys', 'v2_eq_keep_null', 'v2_eq_delete_null', 'v2_eq_uuid', 'v2_eq_uuid_no_bounds',
  'v2_eq_partitioned', 'v2_eq_evolved', 'v2_types', 'v2_time',
];

describe('GIVEN tables that Iceberg\'s Java library wrote through its own REST catalog', () => {
  let catalog: CatalogServer;
  let java: Reader;

  beforeAll(async () => {
    catalog = await startRestFixture();
    const made = await makeReferenceTables(catalog.catalogUri, 'ref');
    expect([...made.keys()].sort()).toEqual([...TABLES].sort());
    java = await openReader('java', catalog.catalogUri);
  });

  afterAll(async () => {
    await java.close();
    await catalog.stop();
  });

  const open = async (name: string): Promise<DuckdbTable> => {
    const answer = await fetch(`${catalog.catalogUri}/v1/namespaces/ref/tables/${name}`);
    const { 'metadata-location': metadataLocation } = await answer.json() as { 'metadata-location': string };
    return await openDuckdbTable({ metadataLocation });
  };

  it.each(TABLES)('WHEN %s is read by field id THEN it has the rows that the specification asks for', async (name) => {
    const table = await open(name);
    expect(await table.rows()).toEqual(expectedRows(name));
    table.close();
  });

  it.each(TABLES)('WHEN every snapshot of %s is checked THEN no rule is broken', async (name) => {
    const table = await open(name);
    expect(await table.checkTable('history')).toEqual([]);
    table.close();
  });

  it('WHEN a past snapshot is read THEN Iceberg\'s Java reader agrees on each', async () => {
    const table = await open('v2_eq_pos');
    const history = table.snapshots();
    expect(history).toHaveLength(3);
    for (const { snapshotId } of history) {
      expect(await java.read('ref.v2_eq_pos', snapshotId)).toEqual({ kind: 'rows', lines: await table.rows(snapshotId) });
    }
    table.close();
  });

  it('WHEN a table is asked for that is not there THEN the reader answers with the engine\'s error and stays open', async () => {
    expect(await java.read('ref.nothing')).toMatchObject({ kind: 'error', type: expect.stringContaining('NoSuchTable') as string });
    expect(await java.read('ref.v2_pos')).toMatchObject({ kind: 'rows' });
  });
});
