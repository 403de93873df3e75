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

describe('GIVEN a value of each type as Materialize writes it', () => {
  test.each(cases.map((one, index) => ({ ...one, index })))(
    'WHEN $index: $type $copy is written THEN DuckDB reads $value$error',
    async ({ type, copy, iceberg, value, error }) => {
      const plan = planOf([column('before', 'integer'), column('c', type)]);
      expect(formatType(plan.columns[1]!.field.type)).toBe(iceberg);
      const written = writeSpan(plan, [chunkOf([{ row: `1\t${copy}` }])]);
      if (error !== undefined) {
        const thrown = await written.then(() => null, (reason: unknown) => reason);
        expect(thrown).toBeInstanceOf(SinkError);
        expect((thrown as SinkError).code).toBe('row-not-representable');
        expect((thrown as SinkError).message).toContain('"c"');
        if (copy.length > 5) expect((thrown as SinkError).message).not.toContain(copy);
        return;
      }
      const { files } = await written;
      expect(files).toHaveLength(1);
      const [row] = await judge.rows(files[0]!.bytes, 'select c from read_parquet($file)');
      expect(comparable(canonical(row!['c']!))).toEqual(comparable(value));
    },
  );
});
