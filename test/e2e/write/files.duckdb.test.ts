import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { NestedField } from '../../../src/iceberg/types.ts';
import { planSchema } from '../../../src/write/table-plan.ts';
import { type Judge, canonical, openJudge } from './duckdb.ts';
import { chunkOf, column, planOf, relationOf, writeSpan } from './rows.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

async function read(bytes: Uint8Array, select = '*'): Promise<readonly Record<string, unknown>[]> {
  const rows = await judge.rows(bytes, `select ${select} from read_parquet($file)`);
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, canonical(value)])));
}

const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null, (reason: unknown) => reason);

describe('GIVEN a table with columns nested in each other', () => {
  const columns = [
    column('r', 'record(a: integer,b: text list)', false), column('m', 'map[text=>integer list]'), column('arr', 'int4range[]'), column('id', 'bigint', false),
  ];
  const plan = planOf(columns, { keyColumns: [3] });
  const row = '(1,{x,NULL})\t{k=>{1}}\t{"[1,2)",NULL}\t7';

  test('WHEN a file is written THEN every field has its id, its nullability and its standard name', async () => {
    const { files } = await writeSpan(plan, [chunkOf([{ row }])]);
    const elements = await judge.rows(files[0]!.bytes, 'select name, repetition_type, field_id from parquet_schema($file)');
    expect(elements.slice(1).map((element) => [element['name'], element['repetition_type'], element['field_id'] === null ? null : Number(element['field_id'])])).toEqual([
      ['r', 'REQUIRED', 1], ['a', 'OPTIONAL', 2], ['b', 'OPTIONAL', 3], ['list', 'REPEATED', null], ['element', 'OPTIONAL', 4],
      ['m', 'OPTIONAL', 5], ['key_value', 'REPEATED', null], ['key', 'REQUIRED', 7], ['value', 'OPTIONAL', 8], ['list', 'REPEATED', null], ['element', 'OPTIONAL', 9],
      ['arr', 'OPTIONAL', 10], ['items', 'REQUIRED', 11], ['list', 'REPEATED', null], ['element', 'OPTIONAL', 12],
      ['lower', 'OPTIONAL', 13], ['upper', 'OPTIONAL', 14], ['lower_inclusive', 'REQUIRED', 15], ['upper_inclusive', 'REQUIRED', 16], ['empty', 'REQUIRED', 17],
      ['dimensions', 'REQUIRED', 18], ['id', 'REQUIRED', 19],
    ]);
  });

  test('WHEN the table has other ids and another order THEN the file has those of the table', async () => {
    const schema = planSchema({ relation: relationOf(columns), mode: 'upsert', keyColumns: [3], uuidMapping: 'fixed' });
    const fields = schema.kind === 'schema' ? schema.schema.fields : [];
    const [r, m, arr, id] = fields as readonly [NestedField, NestedField, NestedField, NestedField];
    const inner = r.type.kind === 'struct' ? r.type.fields : [];
    const turned: NestedField = { ...r, id: 51, type: { kind: 'struct', fields: inner.toReversed() } };
    const loaded = { schemaId: 3, identifierFieldIds: [], fields: [{ ...id, id: 50 }, turned, arr, m] };
    const { files } = await writeSpan(planOf(columns, { keyColumns: [3], loaded }), [chunkOf([{ row }, { row: row.replace('7', '8'), diff: -1n }])], true);
    const names = await judge.rows(files[0]!.bytes, 'select name, field_id from parquet_schema($file) where field_id in (50, 51)');
    expect(names.map((element) => [element['name'], Number(element['field_id'])])).toEqual([['id', 50], ['r', 51]]);
    expect(await read(files[0]!.bytes)).toEqual([{ id: 7n, r: { b: ['x', null], a: 1 }, arr: { items: [
      { lower: 1, upper: 2, lower_inclusive: true, upper_inclusive: false, empty: false }, null], dimensions: 1 }, m: [['k', [1]]] }]);
    expect(files[1]!.file.equalityFieldIds).toEqual([50]);
  });

  test('WHEN optional structs are NULL over required fields THEN they read back as NULL and the counts say so', async () => {
    const { files } = await writeSpan(plan, [chunkOf([{ row }, { row: '(,)\t\\N\t\\N\t8' }])]);
    expect((await read(files[0]!.bytes, 'arr'))[1]).toEqual({ arr: null });
    expect(files[0]!.file.metrics.nullValueCounts.get(18)).toBe(1n);
    expect(files[0]!.file.metrics.valueCounts.get(18)).toBe(2n);
  });
});

describe('GIVEN an upsert sink with a key behind other columns', () => {
  const plan = planOf([column('v', 'text'), column('k', 'text'), column('n', 'integer', false)], { keyColumns: [1, 2] });

  test('WHEN keys change, go and come THEN data and deletes hold the net change, NULL keys included', async () => {
    const { files, summary } = await writeSpan(plan, [
      chunkOf([{ row: 'old\ta\t1', diff: -1n }, { row: 'new\ta\t1' }, { row: 'gone\t\\N\t2', diff: -1n }]),
      chunkOf([{ row: 'twice\tb\t3', diff: 2n }, { row: 'blink\tc\t4' }, { row: 'blink\tc\t4', diff: -1n }]),
    ], true);
    expect(summary).toEqual({ dataRows: 3, deletedKeys: 2, nulledValues: 0 });
    const [data, deletes] = files;
    expect(await read(data!.bytes)).toEqual([{ v: 'new', k: 'a', n: 1 }, { v: 'twice', k: 'b', n: 3 }, { v: 'twice', k: 'b', n: 3 }]);
    expect(await read(deletes!.bytes)).toEqual([{ k: 'a', n: 1 }, { k: null, n: 2 }]);
    expect(deletes!.file).toMatchObject({ content: 'equality-deletes', equalityFieldIds: [2, 3], recordCount: 2n });
    expect(data!.file).toMatchObject({ content: 'data', equalityFieldIds: [], recordCount: 3n, fileSizeBytes: BigInt(data!.bytes.length) });
  });

  test('WHEN a streamed snapshot retracts a row THEN the span fails by name', async () => {
    const failed = await errorOf(writeSpan(plan, [chunkOf([{ row: 'a\tb\t1' }, { row: 'a\tb\t1', diff: -1n }])]));
    expect(failed).toMatchObject({ code: 'snapshot-not-insert-only' });
  });

  test('WHEN nothing changes THEN there is no file', async () => {
    expect((await writeSpan(plan, [chunkOf([{ row: 'a\tb\t1' }, { row: 'a\tb\t1', diff: -1n }])], true)).files).toEqual([]);
  });
});

describe('GIVEN an append sink', () => {
  const plan = planOf([column('v', 'text')], { mode: 'append' });

  test('WHEN changes come THEN each is a row with diff of one and its time', async () => {
    const { files } = await writeSpan(plan, [chunkOf([{ row: 'a', diff: 2n, time: 10n }, { row: 'b', diff: -1n, time: 2n ** 63n - 1n }])]);
    expect(await read(files[0]!.bytes)).toEqual([
      { v: 'a', _mz_diff: 1, _mz_timestamp: 10n }, { v: 'a', _mz_diff: 1, _mz_timestamp: 10n },
      { v: 'b', _mz_diff: -1, _mz_timestamp: 2n ** 63n - 1n },
    ]);
  });

  test('WHEN a time exceeds the long column THEN it saturates and does not wrap, as constant relations need', async () => {
    const { files } = await writeSpan(plan, [chunkOf([{ row: 'a', time: 2n ** 63n }, { row: 'b', time: 2n ** 64n - 1n }])]);
    expect(await read(files[0]!.bytes)).toEqual([
      { v: 'a', _mz_diff: 1, _mz_timestamp: 2n ** 63n - 1n }, { v: 'b', _mz_diff: 1, _mz_timestamp: 2n ** 63n - 1n },
    ]);
  });
});

describe('GIVEN values that a column cannot hold', () => {
  const columns = [column('k', 'integer', false), column('n', 'numeric'), column('l', 'numeric list'), column('r', 'numrange'), column('need', 'numeric', false)];

  test('WHEN the policy is NULL THEN the innermost nullable place is NULL, a range as a whole, and all are counted', async () => {
    const plan = planOf(columns, { keyColumns: [0], rowErrorPolicy: 'null' });
    const { files, summary } = await writeSpan(plan, [chunkOf([
      { row: '1\tNaN\t{1,Infinity,3}\t[1,0.00000000001]\t5' }, { row: '2\t2\t{}\t[1,2]\t6' },
    ])]);
    expect(summary.nulledValues).toBe(3);
    expect(await read(files[0]!.bytes, 'n, l, r')).toEqual([
      { n: null, l: ['1.0000000000', null, '3.0000000000'], r: null },
      { n: '2.0000000000', l: [], r: { lower: '1.0000000000', upper: '2.0000000000', lower_inclusive: true, upper_inclusive: true, empty: false } },
    ]);
  });

  test('WHEN the column is NOT NULL THEN the policy does not help', async () => {
    const plan = planOf(columns, { keyColumns: [0], rowErrorPolicy: 'null' });
    const failed = await errorOf(writeSpan(plan, [chunkOf([{ row: '1\t1\t{}\tempty\tNaN' }])]));
    expect(failed).toMatchObject({ code: 'row-not-representable' });
    expect(failed).toMatchObject({ message: 'relation materialize.public.t, column "need", key ("k"), value of 3 bytes: NaN and infinities have no decimal form' });
  });

  test.each([
    ['NULL where NOT NULL', '\\N\t1\t{}\tempty\t1'],
    ['an integer that is none', 'x1\t1\t{}\tempty\t1'], ['an open list', '1\t1\t{1\tempty\t1'], ['text behind a list', '1\t1\t{1}2\tempty\t1'],
    ['an open range', '1\t1\t{}\t[1,2\t1'], ['a range of one bound', '1\t1\t{}\t[1]\t1'], ['an empty item', '1\t1\t{1,}\tempty\t1'],
  ])('WHEN a row has %s THEN it is malformed, whatever the policy', async (_what, row) => {
    const plan = planOf(columns, { keyColumns: [0], rowErrorPolicy: 'null' });
    expect(await errorOf(writeSpan(plan, [chunkOf([{ row }])]))).toMatchObject({ code: 'row-malformed' });
  });

  test.each([
    ['too few columns', '1\t1\t{}\tempty'], ['too many columns', '1\t1\t{}\tempty\t1\t1'],
  ])('WHEN a row has %s THEN the server broke the protocol, and nothing of the span is written', async (_what, row) => {
    const plan = planOf(columns, { keyColumns: [0], rowErrorPolicy: 'null' });
    expect(await errorOf(writeSpan(plan, [chunkOf([{ row }])]))).toMatchObject({ code: 'source-protocol', disposition: 'restart' });
  });

  test('WHEN a "char" is not UTF-8 THEN it is a row error or NULL; other text makes the batch malformed', async () => {
    const row = Uint8Array.of(0xff);
    expect(await errorOf(writeSpan(planOf([column('c', '"char"')]), [chunkOf([{ row }])]))).toMatchObject({ code: 'row-not-representable' });
    const { files } = await writeSpan(planOf([column('c', '"char"')], { rowErrorPolicy: 'null' }), [chunkOf([{ row }])]);
    expect(await read(files[0]!.bytes)).toEqual([{ c: null }]);
    expect(await errorOf(writeSpan(planOf([column('c', 'text')]), [chunkOf([{ row }])]))).toMatchObject({
      code: 'row-malformed', message: expect.stringContaining('column "c"') as string,
    });
  });
});

describe('GIVEN long values with escapes', () => {
  test.each([255, 256, 257, 5000])('WHEN a text has %i tabs THEN it comes out whole', async (count) => {
    const { files } = await writeSpan(planOf([column('t', 'text')]), [chunkOf([{ row: '\\t'.repeat(count) }, { row: 'short\\n' }])]);
    expect(await read(files[0]!.bytes)).toEqual([{ t: '\t'.repeat(count) }, { t: 'short\n' }]);
  });
});

describe('GIVEN more rows than a row group or a file holds', () => {
  const columns = [column('id', 'bigint', false), column('s', 'text')];
  const rows = Array.from({ length: 300_000 }, (_, index) => ({ row: `${index}\tvalue ${index}` }));

  test('WHEN the file may grow THEN its row groups, offsets and column sizes are those DuckDB finds', async () => {
    const { files } = await writeSpan(planOf(columns, { keyColumns: [0] }), [chunkOf(rows)]);
    expect(files).toHaveLength(1);
    const { bytes, file } = files[0]!;
    const groups = await judge.rows(bytes, `select row_group_id, min(least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset))) as first,
      any_value(row_group_num_rows) as n from parquet_metadata($file) group by 1 order by 1`);
    expect(file.splitOffsets).toEqual(groups.map((group) => group['first']));
    expect(groups.reduce((sum, group) => sum + Number(group['n']), 0)).toBe(300_000);
    const sizes = await judge.rows(bytes, 'select column_id, sum(total_compressed_size)::bigint as size from parquet_metadata($file) group by 1 order by 1');
    expect([file.metrics.columnSizes.get(1), file.metrics.columnSizes.get(2)]).toEqual(sizes.map((size) => size['size']));
    expect(await read(bytes, 'count(*) as n, sum(id)::bigint as total, count(distinct s) as d')).toEqual([{ n: 300_000n, total: 44_999_850_000n, d: 300_000n }]);
  });

  test('WHEN the target is small THEN several files hold every row once, each with its own metrics', async () => {
    const { files } = await writeSpan(planOf(columns, { keyColumns: [0], targetFileSizeBytes: 500_000 }), [chunkOf(rows)]);
    expect(files.length).toBeGreaterThan(2);
    expect(files.reduce((sum, { file }) => sum + Number(file.recordCount), 0)).toBe(300_000);
    const bounds = await Promise.all(files.map(({ bytes }) => read(bytes, 'min(id) as lo, max(id) as hi, count(*) as n')));
    files.forEach(({ file }, index) => {
      const long = (value: Uint8Array | undefined): bigint => Buffer.from(value!).readBigInt64LE();
      expect([{ lo: long(file.metrics.lowerBounds.get(1)), hi: long(file.metrics.upperBounds.get(1)), n: file.recordCount }]).toEqual(bounds[index]);
    });
  });
});
