/** Tables that ask for snappy are written by parquet-wasm, whose statistics leave NaN out. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parquetColumns, parquetTree } from '../../../src/parquet/schema.ts';
import { type Judge, openJudge } from '../../e2e/write/duckdb.ts';
import { chunkOf, column, planOf, writeSpan } from '../../e2e/write/rows.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

describe.each(['snappy', 'zstd'] as const)('GIVEN a %s file with a NaN among its numbers', (codec) => {
  const write = async () => {
    const plan = { ...planOf([column('id', 'integer'), column('f', 'double precision'), column('l', 'real list')], { mode: 'append' }), codec };
    const { files } = await writeSpan(plan, [chunkOf([{ row: '1\t1.5\t{1}' }, { row: '2\tNaN\t{NaN,2}' }, { row: '3\t-0\t{}' }])]);
    const leaves = parquetColumns(parquetTree(plan.schema));
    const idsOf = (...kinds: readonly string[]) => leaves.filter(({ type }) => kinds.includes(type.kind)).map(({ fieldId }) => fieldId);
    return { ...files[0]!, floats: idsOf('float', 'double'), ids: idsOf('int') };
  };

  test.each(['f > 5', "f = 'nan'", "f >= 'infinity'", 'f = 0', 'id = 2'])('WHEN DuckDB looks for %s THEN it finds what it would without statistics', async (filter) => {
    const { bytes } = await write();
    const ids = (from: string) => judge.rows(bytes, `select id from ${from} where ${filter}`);
    expect(await ids('read_parquet($file)')).toEqual(await ids('(select * from read_parquet($file) limit 3)'));
    expect((await ids('read_parquet($file)')).length).toBe(1);
  });

  test('THEN its columns of floats have no bounds, at any depth, and the others have', async () => {
    const { file: { metrics }, floats, ids } = await write();
    expect(floats).toHaveLength(2);
    expect(floats.filter((id) => metrics.lowerBounds.has(id) || metrics.upperBounds.has(id))).toEqual([]);
    expect(ids.filter((id) => !metrics.lowerBounds.has(id))).toEqual([]);
  });
});
