import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { SinkError } from '../../../src/errors.ts';
import { formatType } from '../../../src/iceberg/types.ts';
import { type Judge, canonical, openJudge } from './duckdb.ts';
import { chunkOf, column, planOf, writeSpan } from './rows.ts';

interface Case {
  readonly type: string;
  readonly copy: string;
  readonly iceberg: string;
  readonly value?: unknown;
  readonly error?: string;
}

const shared = process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared');
/** Longs exceed 2^53, so numbers keep their text. */
const parseCase = (line: string): Case => JSON.parse(line, (_key, value: unknown, context?: { source?: string }) =>
  typeof value === 'number' && /^-?\d{16,}$/.test(context?.source ?? '') ? BigInt(context?.source ?? '') : value) as Case;
const cases = readFileSync(join(shared, 'cases/types.jsonl'), 'utf8').trim().split('\n').map(parseCase);

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

function comparable(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(comparable);
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, comparable(item)]));
  }
  return value;
}

const planFor = (type: string) => planOf([column('before', 'integer'), column('c', type)]);
const numbered = cases.map((one, index) => ({ ...one, index }));

describe('GIVEN a value of each type as Materialize writes it', () => {
  test.each(numbered)('WHEN $index: a table is planned for $type THEN the column is $iceberg', ({ type, iceberg }) => {
    expect(formatType(planFor(type).columns[1]!.field.type)).toBe(iceberg);
  });

  test.each(numbered.filter((one) => one.error === undefined))(
    'WHEN $index: $type $copy is written THEN DuckDB reads $value',
    async ({ type, copy, value }) => {
      const { files } = await writeSpan(planFor(type), [chunkOf([{ row: `1\t${copy}` }])]);
      expect(files).toHaveLength(1);
      const [row] = await judge.rows(files[0]!.bytes, 'select c from read_parquet($file)');
      expect(comparable(canonical(row!['c']!))).toEqual(comparable(value));
    },
  );

  test.each(numbered.filter((one) => one.error !== undefined))(
    'WHEN $index: $type $copy is written THEN the row error names the column and not the value',
    async ({ type, copy }) => {
      const thrown = await writeSpan(planFor(type), [chunkOf([{ row: `1\t${copy}` }])]).then(() => null, (reason: unknown) => reason);
      expect(thrown).toBeInstanceOf(SinkError);
      expect(thrown).toMatchObject({ code: 'row-not-representable', message: expect.stringContaining('column "c"') as string });
      expect((thrown as SinkError).message.split(': ')[0]).toContain(`value of ${copy.length} bytes`);
      expect((thrown as SinkError).message.replace('NaN and infinities', '')).not.toContain(copy);
    },
  );
});
