/** A judge that can't convict is no judge: each rule is shown to fire on a table with that one fault, and on no sound one. */
import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { DataFile, FileMetrics } from '../../../src/iceberg/data-file.ts';
import { openDuckdbTable } from '../../reader/duckdb-table.ts';
import { IDS, long, plantTable, SOUND_ROWS, type Spoil } from './planted-table.ts';

async function judge(spoil: Spoil): Promise<{ readonly rules: readonly string[]; readonly rows: readonly string[] | null }> {
  const { root, metadataLocation } = await plantTable(spoil);
  const table = await openDuckdbTable({ metadataLocation });
  try {
    const violations = await table.checkTable('history');
    const rules = [...new Set(violations.map((violation) => violation.rule))].sort();
    return { rules, rows: rules.includes('file-exists') ? null : await table.rows() };
  } finally {
    table.close();
    await rm(root, { recursive: true });
  }
}

const metrics = (change: Partial<FileMetrics>): Spoil => ({
  file: (file) => ({ ...file, metrics: { ...file.metrics, ...change } }),
});
const says = (change: Partial<DataFile>): Spoil => ({ file: (file) => ({ ...file, ...change }) });

describe('GIVEN a sound table', () => {
  it('WHEN it is judged THEN no rule is broken and its rows are read, nested ones too', async () => {
    expect(await judge({})).toEqual({ rules: [], rows: SOUND_ROWS });
  });
});

describe('GIVEN a table with one fault in what the manifest says of a file', () => {
  it.each<readonly [string, Spoil, string]>([
    ['a file that is not there', says({ path: '/nowhere/data.parquet' }), 'file-exists'],
    ['a size that is off by one', { file: (file) => ({ ...file, fileSizeBytes: file.fileSizeBytes + 1n }) }, 'file-size'],
    ['a record count that is off by one', says({ recordCount: 4n }), 'record-count'],
    ['split offsets in the wrong order', says({ splitOffsets: [90n, 4n] }), 'split-offsets'],
    ['a null count that is off by one', metrics({ nullValueCounts: new Map([[IDS.id, 0n]]) }), 'metrics'],
    ['a null count of a nested field that is off by one', metrics({ nullValueCounts: new Map([[IDS.x, 0n]]) }), 'metrics'],
    ['a value count that is off by one', metrics({ valueCounts: new Map([[IDS.id, 2n]]) }), 'metrics'],
    ['more nulls than values in a list', metrics({ nullValueCounts: new Map([[IDS.element, 3n]]) }), 'metrics'],
    ['a lower bound above a value', metrics({ lowerBounds: new Map([[IDS.id, long(-4n)]]) }), 'metrics'],
    ['an upper bound below a value', metrics({ upperBounds: new Map([[IDS.id, long(6n)]]) }), 'metrics'],
    ['an upper bound of a text that was cut and not rounded up', metrics({ upperBounds: new Map([[IDS.x, Buffer.from('zeb')]]) }), 'metrics'],
    ['a bound in too few bytes', metrics({ lowerBounds: new Map([[IDS.id, new Uint8Array(3)]]) }), 'metrics'],
    ['a text bound that is no UTF-8', metrics({ upperBounds: new Map([[IDS.x, Uint8Array.of(0xff)]]) }), 'metrics'],
    ['bounds below a list', metrics({ lowerBounds: new Map([[IDS.element, new Uint8Array(8)]]) }), 'metrics'],
    ['metrics of a field that is no leaf', metrics({ valueCounts: new Map([[IDS.s, 3n]]) }), 'metrics'],
  ])('WHEN there is %s THEN it is named', async (_what, spoil, rule) => {
    expect((await judge(spoil)).rules).toContain(rule);
  });
});

describe('GIVEN a table with one fault in its manifests, list or metadata', () => {
  it.each<readonly [string, Spoil, string]>([
    ['a file that is live twice', { entries: (entries) => [...entries, ...entries] }, 'file-unique'],
    ['a count in the list that is off by one', { manifest: (manifest) => ({ ...manifest, addedFilesCount: 2 }) }, 'manifest-counts'],
    ['a row count in the list that is off by one', { manifest: (manifest) => ({ ...manifest, addedRowsCount: 4n }) }, 'manifest-counts'],
    ['a manifest length that is off by one', { manifest: (manifest) => ({ ...manifest, lengthBytes: manifest.lengthBytes + 1n }) }, 'manifest-list'],
    ['a sequence number beyond the table\'s last', { metadata: (metadata) => ({ ...metadata, 'last-sequence-number': 0 }) }, 'sequence-numbers'],
    ['a field id beyond the table\'s last', { metadata: (metadata) => ({ ...metadata, 'last-column-id': 4 }) }, 'schema'],
    ['a total of the summary that is wrong', {
      metadata: (metadata) => JSON.parse(JSON.stringify(metadata, (key, value: unknown) => {
        if (key === 'total-records') return '4';
        return typeof value === 'bigint' ? Number(value) : value;
      })) as typeof metadata,
    }, 'summary-totals'],
  ])('WHEN there is %s THEN it is named', async (_what, spoil, rule) => {
    expect((await judge(spoil)).rules).toContain(rule);
  });
});

describe('GIVEN a data file whose field ids are wrong', () => {
  it.each([
    ['a column', '{id: 9, s: {__duckdb_field_id: 2, x: 4}, l: {__duckdb_field_id: 3, element: 5}}', '"id":null', 3],
    ['a member of a struct', '{id: 1, s: {__duckdb_field_id: 2, x: 9}, l: {__duckdb_field_id: 3, element: 5}}', '"x":null', 2],
    ['the element of a list', '{id: 1, s: {__duckdb_field_id: 2, x: 4}, l: {__duckdb_field_id: 3, element: 9}}', '"l":null', 3],
  ])('WHEN the id of %s is wrong THEN it is named, and its values read as NULL as a strict engine reads them', async (_what, fieldIds, shown, count) => {
    const { rules, rows } = await judge({ fieldIds });
    expect(rules).toContain('field-ids');
    expect(rows?.filter((row) => row.includes(shown))).toHaveLength(count);
  });
});
