import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { PrimitiveType } from '../../../src/iceberg/types.ts';
import { openParquetFile } from '../../../src/parquet/writer.ts';
import { type Judge, openJudge } from '../../e2e/write/duckdb.ts';
import { type Row, type Value, rowsOf, schemaOf, toBatch } from './arrow-values.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

const types: fc.Arbitrary<PrimitiveType> = fc.oneof(
  fc.constantFrom<PrimitiveType>(
    { kind: 'boolean' }, { kind: 'int' }, { kind: 'long' }, { kind: 'float' }, { kind: 'double' }, { kind: 'date' }, { kind: 'timestamp' }, { kind: 'string' },
    { kind: 'binary' }, { kind: 'uuid' },
  ),
  fc.integer({ min: 1, max: 38 }).map((precision): PrimitiveType => ({ kind: 'decimal', precision, scale: 0 })),
);

function literal(type: PrimitiveType, value: Value): string {
  const plain = String(value as number | bigint | boolean);
  switch (type.kind) {
    case 'float': case 'double': return `'${Object.is(value, -0) ? '-0.0' : plain}'::${type.kind}`;
    case 'date': return `date '1970-01-01' + ${plain}`;
    case 'timestamp': return `make_timestamp(${plain})`;
    case 'decimal': return `'${plain}'::decimal(${type.precision},0)`;
    case 'string': return `decode(from_hex('${Buffer.from(value as string).toString('hex')}'))`;
    case 'binary': return `from_hex('${Buffer.from(value as Uint8Array).toString('hex')}')`;
    case 'uuid': return `'${Buffer.from(value as Uint8Array).toString('hex')}'::uuid`;
    default: return `'${plain}'::${type.kind === 'long' ? 'bigint' : type.kind}`;
  }
}

// DuckDB leaves out row groups whose bounds exclude the constant, so bounds that are too tight lose rows.
test('GIVEN row groups of a few rows WHEN each value is looked for by equality and order THEN no bound hides it', async () => {
  const files = types.chain((type) => fc.tuple(fc.constant(type), fc.array(rowsOf(schemaOf([[type, false]]), 4), { minLength: 2, maxLength: 5 })));
  await fc.assert(fc.asyncProperty(files, async ([type, groups]) => {
    const schema = schemaOf([[type, false]]);
    const parts: Uint8Array[] = [];
    const file = openParquetFile({ schema, codec: 'uncompressed', level: 0, rowGroupRows: 1 }, (part) => { parts.push(part.slice()); });
    for (const rows of groups) file.writeBatch(toBatch(schema, rows));
    file.finish();
    const bytes = new Uint8Array(Buffer.concat(parts));
    const values = groups.flat().map((row: Row) => row['c0']!).filter((value) => value !== null);
    fc.pre(values.length > 0);
    // In the engine's own order and equality, over values that no file and no bound has touched.
    const given = values.map((value) => `(${literal(type, value)})`).join(', ');
    for (const value of values.slice(0, 4)) {
      for (const operator of ['=', '<=', '>=']) {
        const wanted = `${operator} ${literal(type, value)}`;
        const [found] = await judge.rows(bytes, `select (select count(*) from read_parquet($file) where c0 ${wanted}) as found,
          (select count(*) from (values ${given}) as given(v) where v ${wanted}) as wanted`);
        expect(found?.['found']).toBe(found?.['wanted']);
      }
    }
    const [nulls] = await judge.rows(bytes, 'select count(*) as n from read_parquet($file) where c0 is null');
    expect(nulls?.['n']).toBe(BigInt(groups.flat().length - values.length));
  }), { numRuns: 150 });
});
