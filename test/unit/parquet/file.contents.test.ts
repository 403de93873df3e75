import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { IcebergType, Schema } from '../../../src/iceberg/types.ts';
import { parquetColumns, parquetTree } from '../../../src/parquet/schema.ts';
import { Dictionary } from '../../../src/parquet/dictionary.ts';
import { createEncodingMemory } from '../../../src/parquet/encoding-memory.ts';
import { giveBackPageStore, takePageStore } from '../../../src/parquet/page-store.ts';
import { boundsOf } from '../../../src/parquet/statistics.ts';
import { type ParquetFileOptions, openParquetFile } from '../../../src/parquet/writer.ts';
import { readFooter } from '../../../src/write/parquet-footer.ts';
import { type Judge, openJudge } from '../../e2e/write/duckdb.ts';
import { type Row, schemaOf, toBatch } from '../../property/parquet/arrow-values.ts';
import { readByArrowRust } from '../../property/parquet/strangers.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

interface Encoded { readonly bytes: Uint8Array; readonly footer: ReturnType<ReturnType<typeof openParquetFile>['finish']>['footer'] }

function encode(schema: Schema, batches: readonly (readonly Row[])[], options: Partial<ParquetFileOptions> = {}): Encoded {
  const parts: Uint8Array[] = [];
  const file = openParquetFile({ schema, codec: 'zstd', level: 3, ...options }, (part) => { parts.push(part.slice()); });
  for (const rows of batches) file.writeBatch(toBatch(schema, rows));
  const { footer, fileBytes } = file.finish();
  expect(fileBytes).toBe(parts.reduce((sum, part) => sum + part.length, 0));
  return { bytes: new Uint8Array(Buffer.concat(parts)), footer };
}

const typesOf = (schema: Schema) => new Map(parquetColumns(parquetTree(schema)).map(({ fieldId, type }) => [fieldId, type]));

const metadata = (bytes: Uint8Array, columns: string): Promise<readonly Record<string, unknown>[]> =>
  judge.rows(bytes, `select ${columns} from parquet_metadata($file) order by row_group_id, column_id`);

describe('GIVEN columns of few and of many values', () => {
  const schema = schemaOf([[{ kind: 'string' }, false], [{ kind: 'long' }, true]]);
  const rows = (from: number): Row[] => Array.from({ length: 20_000 }, (_, index) =>
    ({ c0: index % 7 === 0 ? null : `city ${index % 50}`, c1: BigInt(from + index) * 7_919n }));

  test('WHEN encoded THEN the few are numbered by a dictionary, the many are plain', async () => {
    const { bytes } = encode(schema, [rows(0), rows(20_000)]);
    const encodings = await metadata(bytes, 'encodings');
    expect(encodings.map((row) => String(row['encodings']).includes('RLE_DICTIONARY'))).toEqual([true, false]);
    expect(await judge.rows(bytes, 'select count(distinct c0) as n, count(c0) as m, sum(c1)::bigint as s from read_parquet($file)'))
      .toEqual([{ n: 50n, m: 34_284n, s: 7_919n * (39_999n * 40_000n / 2n) }]);
  });

  test('WHEN the few become many in a later batch THEN what was numbered stays so and the rest is plain', async () => {
    const wild: Row[] = Array.from({ length: 30_000 }, (_, index) => ({ c0: `${index} ${'x'.repeat(50)}`, c1: 0n }));
    const { bytes } = encode(schema, [rows(0), wild]);
    expect(await judge.rows(bytes, `select count(distinct c0) as n, count(c0) as m, count(*) filter (c0 like '% xxx%') as w from read_parquet($file)`))
      .toEqual([{ n: 30_050n, m: 47_142n, w: 30_000n }]);
  });

  test('WHEN row groups end THEN sizes, offsets and rows are those that DuckDB and our own reader find', async () => {
    const { bytes, footer } = encode(schema, [rows(0), rows(20_000), rows(40_000)], { rowGroupRows: 40_000 });
    expect(footer).toEqual(readFooter(bytes, typesOf(schema)));
    expect(footer.bounds.size).toBe(2);
    const groups = await metadata(bytes, 'distinct row_group_id, row_group_num_rows as n');
    expect(groups.map((group) => group['n'])).toEqual([40_000n, 20_000n]);
    expect(footer.splitOffsets).toHaveLength(2);
  });
});

test('GIVEN one value larger than a page WHEN encoded THEN it is a page of its own', async () => {
  const schema = schemaOf([[{ kind: 'string' }, true]]);
  const { bytes } = encode(schema, [[{ c0: 'a' }, { c0: 'b'.repeat(3_000_000) }, { c0: 'c' }]]);
  expect(await judge.rows(bytes, 'select length(c0) as n from read_parquet($file)')).toEqual([{ n: 1n }, { n: 3_000_000n }, { n: 1n }]);
});

test('GIVEN a list longer than a page WHEN encoded THEN its row is not divided', async () => {
  const schema = schemaOf([[{ kind: 'list', elementId: 0, element: { kind: 'int' }, elementRequired: true }, true]]);
  const long = Array.from({ length: 100_000 }, (_, index) => index);
  const { bytes } = encode(schema, [[{ c0: [1] }, { c0: long }, { c0: [] }, { c0: [2, 3] }]]);
  expect(await judge.rows(bytes, 'select len(c0) as n, list_sum(c0)::bigint as s from read_parquet($file)'))
    .toEqual([{ n: 1n, s: 1n }, { n: 100_000n, s: 4_999_950_000n }, { n: 0n, s: null }, { n: 2n, s: 5n }]);
});

test('GIVEN a file without any row THEN it is a file all the same', async () => {
  const { bytes } = encode(schemaOf([[{ kind: 'long' }, true]]), []);
  expect(readFooter(bytes, new Map()).rowCount).toBe(0);
});

const cases: readonly (readonly [IcebergType, string, string | null, string | null])[] = [
  [{ kind: 'boolean' }, 'BOOLEAN', null, null],
  [{ kind: 'int' }, 'INT32', null, null],
  [{ kind: 'long' }, 'INT64', null, null],
  [{ kind: 'float' }, 'FLOAT', null, null],
  [{ kind: 'double' }, 'DOUBLE', null, null],
  [{ kind: 'date' }, 'INT32', 'DATE', 'DateType'],
  [{ kind: 'time' }, 'INT64', 'TIME_MICROS', 'TimeType'],
  [{ kind: 'timestamp' }, 'INT64', 'TIMESTAMP_MICROS', 'isAdjustedToUTC=0'],
  [{ kind: 'timestamptz' }, 'INT64', 'TIMESTAMP_MICROS', 'isAdjustedToUTC=1'],
  [{ kind: 'string' }, 'BYTE_ARRAY', 'UTF8', 'StringType'],
  [{ kind: 'binary' }, 'BYTE_ARRAY', null, null],
  [{ kind: 'uuid' }, 'FIXED_LEN_BYTE_ARRAY', null, 'UUIDType'],
  [{ kind: 'fixed', length: 5 }, 'FIXED_LEN_BYTE_ARRAY', null, null],
  [{ kind: 'decimal', precision: 9, scale: 2 }, 'INT32', 'DECIMAL', 'DecimalType'],
  [{ kind: 'decimal', precision: 18, scale: 2 }, 'INT64', 'DECIMAL', 'DecimalType'],
  [{ kind: 'decimal', precision: 38, scale: 2 }, 'FIXED_LEN_BYTE_ARRAY', 'DECIMAL', 'DecimalType'],
];

test.each(cases)('GIVEN the type %j THEN it is %s with the annotations of the specification', async (type, physical, converted, logical) => {
  const { bytes } = encode(schemaOf([[type, false]]), [[{ c0: null }]]);
  const [, column] = await judge.rows(bytes, 'select type, converted_type, logical_type, field_id, repetition_type from parquet_schema($file)');
  expect(column).toMatchObject({ type: physical, converted_type: converted, field_id: 1n, repetition_type: 'OPTIONAL' });
  expect(String(column?.['logical_type'])).toContain(logical ?? 'null');
});

test('GIVEN lists and maps THEN groups, names and field ids are those that readers look for', async () => {
  const map: IcebergType = { kind: 'map', keyId: 0, key: { kind: 'string' }, valueId: 0, value: { kind: 'long' }, valueRequired: false };
  const { bytes } = encode(schemaOf([[{ kind: 'list', elementId: 0, element: map, elementRequired: false }, true]]), [[{ c0: [] }]]);
  const elements = await judge.rows(bytes, 'select name, repetition_type as r, converted_type as c, field_id as id from parquet_schema($file)');
  expect(elements.map(({ name, r, c, id }) => [name, r, c, id])).toEqual([
    ['table', null, null, null], ['c0', 'REQUIRED', 'LIST', 1n], ['list', 'REPEATED', null, null], ['element', 'OPTIONAL', 'MAP', 2n],
    ['key_value', 'REPEATED', null, null], ['key', 'REQUIRED', 'UTF8', 3n], ['value', 'OPTIONAL', null, 4n],
  ]);
});

describe('GIVEN a file after others of the same columns', () => {
  const schema = schemaOf([[{ kind: 'string' }, false], [{ kind: 'long' }, true]]);
  const repeating = (from: number): Row[] => Array.from({ length: 5_000 }, (_, index) => ({ c0: `city ${index % 20}`, c1: BigInt((from + index) % 40) }));
  const distinct: Row[] = Array.from({ length: 5_000 }, (_, index) => ({ c0: `${index} and ${index * 7_919}`, c1: BigInt(index) * 7_919n }));
  const usesDictionary = async (bytes: Uint8Array): Promise<readonly boolean[]> =>
    (await metadata(bytes, 'encodings')).map((row) => String(row['encodings']).includes('RLE_DICTIONARY'));
  const sums = 'select count(distinct c0) as n, sum(c1)::bigint as s from read_parquet($file)';

  test('WHEN the values are alike THEN it is byte for byte what it would be by itself', () => {
    const memory = createEncodingMemory();
    encode(schema, [repeating(0)], { memory });
    expect(memory.recall(1)?.encoding).toBe('dictionary');
    expect(encode(schema, [repeating(7)], { memory }).bytes).toEqual(encode(schema, [repeating(7)]).bytes);
  });

  test('WHEN the values have become others THEN the file holds them all the same, and the next one is tried anew', async () => {
    const memory = createEncodingMemory();
    encode(schema, [repeating(0)], { memory });
    const { bytes } = encode(schema, [distinct], { memory });
    expect(await usesDictionary(bytes)).toEqual([true, true]);
    expect(await judge.rows(bytes, sums)).toEqual([{ n: 5_000n, s: 7_919n * (4_999n * 5_000n / 2n) }]);
    expect(await usesDictionary(encode(schema, [distinct], { memory }).bytes)).toEqual([false, false]);
  });

  test('WHEN values that all differed come to repeat THEN it is found out after some files', async () => {
    const memory = createEncodingMemory();
    encode(schema, [distinct], { memory });
    let files = 0;
    while ((await usesDictionary(encode(schema, [repeating(0)], { memory }).bytes))[0] === false) files += 1;
    expect(files).toBeGreaterThan(5);
    expect(files).toBeLessThan(50);
  });

  test('WHEN the first had few values THEN nothing was learned of it', () => {
    const memory = createEncodingMemory();
    encode(schema, [repeating(0).slice(0, 100)], { memory });
    expect(memory.recall(1)).toBeNull();
  });
});

describe('GIVEN a column that is remembered to be numbered by a dictionary', () => {
  const remembered = () => {
    const memory = createEncodingMemory();
    memory.learn(1, { encoding: 'dictionary', compressors: new Map() });
    return memory;
  };
  const encodings = async (bytes: Uint8Array) => String((await metadata(bytes, 'encodings'))[0]?.['encodings']);

  test('WHEN it is of booleans THEN it is plain all the same: the format has no dictionary of them', async () => {
    const schema = schemaOf([[{ kind: 'boolean' }, false]]);
    const rows: Row[] = Array.from({ length: 40_000 }, (_, index) => ({ c0: index < 33_000 ? null : index % 3 === 0 }));
    const { bytes } = encode(schema, [rows], { memory: remembered() });
    expect(await encodings(bytes)).not.toContain('DICTIONARY');
    expect(readByArrowRust(bytes)).toEqual(rows);
  });

  test('WHEN its first page has only NULLs and the first value finds no room THEN there is no dictionary without a value', async () => {
    const schema = schemaOf([[{ kind: 'string' }, false]]);
    const rows: Row[] = Array.from({ length: 40_001 }, (_, index) => ({ c0: index < 40_000 ? null : 'x'.repeat(1_200_000) }));
    const { bytes } = encode(schema, [rows], { memory: remembered() });
    expect(await encodings(bytes)).not.toContain('DICTIONARY');
    expect(readByArrowRust(bytes).at(-1)).toEqual(rows.at(-1));
  });
});

describe('GIVEN values that were chosen to meet in one place of the dictionary', () => {
  /** What MurmurHash3's finalizer turns into `hash`. */
  const before = (hash: number): number => {
    let word = hash ^ (hash >>> 16);
    word = Math.imul(word, 0x7ed1_b41d);
    word ^= (word >>> 13) ^ (word >>> 26);
    word = Math.imul(word, 0xa5cb_9243);
    return word ^ (word >>> 16);
  };

  test.each([
    ['chosen', (index: number) => before(index << 18), 2_000],
    ['ordinary', (index: number) => index * 7, 16_000],
  ])('WHEN they are %s THEN the dictionary takes as many as it finds in time', (_what, wordAt, most) => {
    const words = Int32Array.from({ length: 16_000 }, (_, index) => wordAt(index));
    const numbered = new Dictionary(1 << 20).add({ form: 'words', count: words.length, words, width: 1 }, 0, words.length, new Int32Array(words.length));
    expect(numbered).toBeLessThanOrEqual(most);
    expect(numbered).toBeGreaterThan(most / 10);
  });

  test('WHEN they are encoded THEN they are all there', async () => {
    const schema = schemaOf([[{ kind: 'int' }, true]]);
    const chosen = Array.from({ length: 8_000 }, (_, index) => before(index << 18));
    const rows: Row[] = [...chosen, ...chosen, ...chosen].map((c0) => ({ c0 }));
    const { bytes } = encode(schema, [rows, rows]);
    expect(await judge.rows(bytes, 'select count(*) as n, count(distinct c0) as d from read_parquet($file)')).toEqual([{ n: 48_000n, d: 8_000n }]);
  });
});

test('GIVEN the memory of row groups WHEN one grew for a huge value THEN it is not kept', () => {
  const huge = takePageStore();
  huge.append(new Uint8Array(70 * 1024 * 1024));
  giveBackPageStore(huge);
  const usual = takePageStore();
  expect(usual).not.toBe(huge);
  usual.append(new Uint8Array(1024));
  giveBackPageStore(usual);
  expect(takePageStore()).toBe(usual);
});

test('GIVEN long values WHEN their bounds are taken THEN no more is copied of them than is looked at to cut them', () => {
  const data = new Uint8Array(2_000_000).fill(0x61);
  const bounds = boundsOf({ form: 'bytes', count: 2, data, offsets: Int32Array.of(0, 1_000_000, 2_000_000) }, 'bytes', 0, 2);
  expect([bounds?.lower.length, bounds?.upper.length]).toEqual([68, 68]);
});
