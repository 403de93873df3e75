import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Schema } from '../../../src/iceberg/types.ts';
import type { Codec } from '../../../src/parquet/compression.ts';
import { type ParquetFileOptions, openParquetFile } from '../../../src/parquet/writer.ts';
import { type Judge, openJudge } from '../../e2e/write/duckdb.ts';
import { type Row, rowsOf, schemas, toBatch } from './arrow-values.ts';
import { readByArrowRust, readByDuckdb } from './strangers.ts';

let judge: Judge;
beforeAll(async () => { judge = await openJudge(); });
afterAll(async () => { await judge[Symbol.asyncDispose](); });

function encode(schema: Schema, batches: readonly (readonly Row[])[], options: Partial<ParquetFileOptions>): Uint8Array {
  const parts: Uint8Array[] = [];
  const file = openParquetFile({ schema, codec: 'zstd', level: 3, ...options }, (part) => { parts.push(part.slice()); });
  for (const rows of batches) file.writeBatch(toBatch(schema, rows));
  const { fileBytes, footer } = file.finish();
  const bytes = Buffer.concat(parts);
  expect(bytes.length).toBe(fileBytes);
  expect(footer.rowCount).toBe(batches.flat().length);
  return new Uint8Array(bytes);
}

const codecs = fc.constantFrom<Codec>('zstd', 'gzip', 'uncompressed');
/** Batches of one file, and after how many rows a row group ends. */
const files = schemas.chain((schema) => fc.record({
  schema: fc.constant(schema), batches: fc.array(rowsOf(schema), { minLength: 1, maxLength: 3 }), codec: codecs, rowGroupRows: fc.constantFrom(1, 15, 1000),
}));

test('GIVEN any schema nested up to four deep WHEN batches with nulls at every level are encoded THEN DuckDB and arrow-rs read the values that went in', async () => {
  await fc.assert(fc.asyncProperty(files, async ({ schema, batches, codec, rowGroupRows }) => {
    const bytes = encode(schema, batches, { codec, rowGroupRows });
    expect(readByArrowRust(bytes)).toEqual(batches.flat());
    expect(await readByDuckdb(judge, bytes)).toEqual(batches.flat());
  }), { numRuns: 500 });
});
