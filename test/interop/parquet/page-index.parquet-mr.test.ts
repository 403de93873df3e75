import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import type { Schema } from '../../../src/iceberg/types.ts';
import { openParquetFile } from '../../../src/parquet/writer.ts';
import { type Row, toBatch } from '../../property/parquet/arrow-values.ts';
import { installService } from '../../services/service-process.ts';
import { servicesHome } from '../../services/shared-folder.ts';

const SCHEMA: Schema = {
  schemaId: 0, identifierFieldIds: [],
  fields: [
    { id: 1, name: 'id', required: true, type: { kind: 'long' } }, { id: 2, name: 'down', required: true, type: { kind: 'long' } },
    { id: 3, name: 's', required: false, type: { kind: 'string' } }, { id: 4, name: 'd', required: false, type: { kind: 'double' } },
    { id: 5, name: 'none', required: false, type: { kind: 'string' } },
  ],
};
const ROWS = 100_000;
const rowAt = (index: number): Row => ({
  id: BigInt(index), down: BigInt(-index), s: index % 1000 < 50 ? null : `s ${index % 1000}`, d: index === 5 ? NaN : (index * 7_919) % ROWS, none: null,
});

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mz-sink-page-index-'));
  await installService('readers');
});
afterAll(() => { rmSync(folder, { recursive: true, force: true }); });

test('GIVEN a file of several pages a column WHEN parquet-mr filters by its page index THEN it finds what it finds without', () => {
  const parts: Uint8Array[] = [];
  const file = openParquetFile({ schema: SCHEMA, codec: 'zstd', level: 3 }, (part) => { parts.push(part.slice()); });
  for (const from of [0, ROWS / 2]) file.writeBatch(toBatch(SCHEMA, Array.from({ length: ROWS / 2 }, (_, index) => rowAt(from + index))));
  file.finish();
  const path = join(folder, 'file.parquet');
  writeFileSync(path, Buffer.concat(parts));
  const classpath = readFileSync(join(servicesHome(), 'readers', 'java', 'classpath'), 'utf8').trim();
  const printed = execFileSync('java', ['-cp', classpath, join(import.meta.dirname, 'PageIndex.java'), path], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  // The bounds of `s` are the same in each page, which counts as ascending; NaN is above all numbers to Java, as to Spark.
  expect(printed.split('\n').filter((line) => /^(column|filter) /.test(line))).toEqual([
    'column id ASCENDING 4', 'column down DESCENDING 4', 'column s ASCENDING 4', 'column d none 4', 'column none ASCENDING 4',
    'filter 1 1', 'filter 10000 10000', 'filter 9 9', 'filter 100 100', 'filter 5000 5000', 'filter 1000 1000',
  ]);
});
