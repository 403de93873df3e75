/**
 * CPU of the Parquet encoder alone, by column and in all: rows of the peers' append workload, already in Arrow columns,
 * to bytes that are thrown away. Beside it parquet-wasm on the same batches.
 * Run: `node --expose-gc bench/parquet-encode.ts FILE.tsv [rows] [rounds]`, the file being one of the peers' `generate append`.
 */
import { readFileSync } from 'node:fs';

import {
  Bool, type Data, Decimal, Float64, Int64, Struct, TimestampMicrosecond, Utf8, makeData,
} from 'apache-arrow';

import type { NestedField, PrimitiveType, Schema } from '../src/iceberg/types.ts';
import { type Codec } from '../src/parquet/compression.ts';
import { NO_MEMORY } from '../src/parquet/encoding-memory.ts';
import { openParquetFile } from '../src/parquet/writer.ts';
import { arrowSchema } from '../src/write/arrow-types.ts';
import { openWasmParquet } from '../src/write/parquet-wasm.ts';

const BATCH_ROWS = 131_072;

function field(id: number, name: string, required: boolean, type: PrimitiveType): NestedField {
  return { id, name, required, type };
}

const FIELDS: readonly NestedField[] = [
  field(1, 'id', true, { kind: 'long' }), field(2, 's1', false, { kind: 'string' }),
  field(3, 's2', false, { kind: 'string' }), field(4, 'd', false, { kind: 'double' }),
  field(5, 'ts', false, { kind: 'timestamptz' }), field(6, 'n', false, { kind: 'decimal', precision: 38, scale: 2 }),
  field(7, 'b', false, { kind: 'boolean' }),
];

function strings(texts: readonly (string | null)[]): Data {
  const bytes = texts.map((text) => Buffer.from(text ?? ''));
  const valueOffsets = new Int32Array(texts.length + 1);
  bytes.forEach((value, index) => { valueOffsets[index + 1] = valueOffsets[index]! + value.length; });
  const nullBitmap = new Uint8Array((texts.length + 7) >> 3);
  texts.forEach((text, index) => { if (text !== null) nullBitmap[index >> 3]! |= 1 << (index & 7); });
  const nullCount = texts.filter((text) => text === null).length;
  const data = new Uint8Array(Buffer.concat(bytes));
  return makeData({ type: new Utf8(), data, valueOffsets, nullCount, nullBitmap: nullCount === 0 ? null : nullBitmap });
}

function microseconds(text: string): bigint {
  const [whole, fraction = ''] = text.slice(0, -3).split('.');
  return BigInt(Date.parse(`${whole!.replace(' ', 'T')}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}

function columnsOf(lines: readonly string[]): readonly Data[] {
  const cells = lines.map((line) => line.split('\t'));
  const texts = (at: number): (string | null)[] => cells.map((row) => (row[at] === '\\N' ? null : row[at]!));
  const longs = (value: (row: string[]) => bigint): BigInt64Array => BigInt64Array.from(cells, value);
  const decimals = new BigInt64Array(cells.length * 2);
  cells.forEach((row, index) => {
    const value = BigInt(row[8]!.replace('.', ''));
    decimals[index * 2] = value;
    decimals[index * 2 + 1] = value < 0n ? -1n : 0n;
  });
  const bits = new Uint8Array((cells.length + 7) >> 3);
  cells.forEach((row, index) => { if (row[9] === 't') bits[index >> 3]! |= 1 << (index & 7); });
  const common = { length: cells.length, nullCount: 0, nullBitmap: null };
  return [
    makeData({ type: new Int64(), data: longs((row) => BigInt(row[3]!)), ...common }),
    strings(texts(4)), strings(texts(5)),
    makeData({ type: new Float64(), data: Float64Array.from(cells, (row) => Number(row[6])), ...common }),
    makeData({ type: new TimestampMicrosecond('UTC'), data: longs((row) => microseconds(row[7]!)), ...common }),
    makeData({ type: new Decimal(2, 38, 128), data: new Uint32Array(decimals.buffer), ...common }),
    makeData({ type: new Bool(), data: bits, ...common }),
  ];
}

function schemaOf(fields: readonly NestedField[]): Schema {
  return { schemaId: 0, fields, identifierFieldIds: [] };
}

function structOf(fields: readonly NestedField[], children: readonly Data[]): Data<Struct> {
  const type = new Struct(arrowSchema(schemaOf(fields)).fields);
  return makeData({ type, length: children[0]!.length, nullCount: 0, nullBitmap: null, children: [...children] });
}

async function cpuMs(work: () => number | Promise<number>): Promise<{ ms: number; bytes: number }> {
  const before = process.cpuUsage();
  const bytes = await work();
  const used = process.cpuUsage(before);
  return { ms: (used.user + used.system) / 1000, bytes };
}

function encode(fields: readonly NestedField[], batches: readonly Data<Struct>[], codec: Codec, level: number): number {
  const file = openParquetFile({ schema: schemaOf(fields), codec, level }, () => {});
  for (const batch of batches) file.writeBatch(batch);
  return file.finish().fileBytes;
}

async function encodeByWasm(batches: readonly Data<Struct>[]): Promise<number> {
  let bytes = 0;
  const file = openWasmParquet({ schema: schemaOf(FIELDS), codec: 'zstd', level: 1, memory: NO_MEMORY, dictionaryColumns: () => ['s1'] }, (part) => { bytes += part.length; });
  for (const batch of batches) await file.write(batch);
  await file.finish();
  return bytes;
}

function readBatches(path: string, limit: number): { rows: number; batches: readonly (readonly Data[])[] } {
  const lines = readFileSync(path, 'latin1').split('\n').slice(0, limit);
  const batches: (readonly Data[])[] = [];
  for (let from = 0; from < lines.length; from += BATCH_ROWS) batches.push(columnsOf(lines.slice(from, from + BATCH_ROWS)));
  return { rows: lines.length, batches };
}

const [path, rowsText = '1048576', roundsText = '5'] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: node --expose-gc bench/parquet-encode.ts FILE.tsv [rows] [rounds]');
// Strings of the text must not be there to be collected while the encoder is measured.
const { rows, batches } = readBatches(path, Number(rowsText));
globalThis.gc?.();
const whole = batches.map((columns) => structOf(FIELDS, columns));

const only = process.env["ONLY"];
const runs: (readonly [string, () => number | Promise<number>])[] = [
  ['all, zstd 3', () => encode(FIELDS, whole, 'zstd', 3)],
  ['all, zstd 1', () => encode(FIELDS, whole, 'zstd', 1)],
  ['all, uncompressed', () => encode(FIELDS, whole, 'uncompressed', 0)],
  ['parquet-wasm, zstd 1', () => encodeByWasm(whole)],
  ...FIELDS.flatMap((one, index) => [1, 3, 0].map((level) => {
    const parts = batches.map((columns) => structOf([one], [columns[index]!]));
    const codec = level === 0 ? 'uncompressed' : 'zstd';
    return [`${one.name}, ${codec} ${level}`, () => encode([one], parts, codec, level)] as const;
  })),
];
for (const [name, work] of runs) {
  if (only !== undefined && !name.startsWith(only)) continue;
  const rounds: { ms: number; bytes: number }[] = [];
  for (let round = 0; round < Number(roundsText); round++) rounds.push(await cpuMs(work));
  const sorted = rounds.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const perMillion = 1e6 / rows;
  const median = sorted[sorted.length >> 1]! * perMillion;
  console.log(`${name.padEnd(24)} ${median.toFixed(0).padStart(5)} ms/M rows (best ${(sorted[0]! * perMillion).toFixed(0)}), `
    + `${(rounds[0]!.bytes / rows).toFixed(3)} bytes/row`);
}
