/** Parquet files as other implementations read them, in the values of `arrow-values.ts`: DuckDB's own reader, and arrow-rs by parquet-wasm. */
import {
  DuckDBBlobValue, DuckDBDateValue, DuckDBDecimalValue, DuckDBListValue, DuckDBMapValue, DuckDBStructValue, DuckDBTimestampTZValue,
  DuckDBTimestampValue, DuckDBTimeValue, DuckDBUUIDValue, type DuckDBValue,
} from '@duckdb/node-api';
import { type Data, DataType, tableFromIPC } from 'apache-arrow';
import { readParquet } from 'parquet-wasm';

import type { Judge } from '../../e2e/write/duckdb.ts';
import type { Row, Value } from './arrow-values.ts';

const FILE = 'read_parquet($file)';

export async function readByDuckdb(judge: Judge, bytes: Uint8Array): Promise<readonly Row[]> {
  const rows = await judge.rows(bytes, `select * from ${FILE}`);
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, fromDuckdb(value)])));
}

function fromDuckdb(value: DuckDBValue): Value {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value instanceof DuckDBBlobValue) return Uint8Array.from(value.bytes);
  if (value instanceof DuckDBUUIDValue) return Uint8Array.from(Buffer.from(value.toString().replaceAll('-', ''), 'hex'));
  if (value instanceof DuckDBDateValue) return value.days;
  if (value instanceof DuckDBTimeValue || value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return value.micros;
  if (value instanceof DuckDBListValue) return value.items.map(fromDuckdb);
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: item }) => [fromDuckdb(key), fromDuckdb(item)]);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, item]) => [name, fromDuckdb(item)]));
  }
  throw new Error(`no value for ${String(value)}`);
}

export function readByArrowRust(bytes: Uint8Array): readonly Row[] {
  const table = tableFromIPC(readParquet(bytes).intoIPCStream());
  return table.batches.flatMap((batch) => Array.from({ length: batch.numRows }, (_, row): Row =>
    Object.fromEntries(batch.schema.fields.map((field, column) => [field.name, valueAt(batch.data.children[column]!, row)]))));
}

/** From the buffers themselves: Arrow's own accessors round times and timestamps. */
function valueAt(data: Data, index: number): Value {
  if (!data.getValid(index)) return null;
  const { type } = data;
  if (DataType.isBool(type)) {
    const bit = data.offset + index;
    return ((data.values as Uint8Array)[bit >> 3]! >> (bit & 7) & 1) === 1;
  }
  if (DataType.isDecimal(type)) {
    const words = data.values as Uint32Array;
    const unsigned = [3, 2, 1, 0].reduce((sum, word) => (sum << 32n) | BigInt(words[index * 4 + word]!), 0n);
    return BigInt.asIntN(128, unsigned);
  }
  if (DataType.isFixedSizeBinary(type)) return (data.values as Uint8Array).slice(index * type.byteWidth, (index + 1) * type.byteWidth);
  if (DataType.isUtf8(type) || DataType.isBinary(type)) {
    const [start, end] = between(data, index);
    const bytes = (data.values as Uint8Array).slice(start, end);
    return DataType.isUtf8(type) ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) : bytes;
  }
  if (DataType.isStruct(type)) {
    return Object.fromEntries(type.children.map((field, child) => [field.name, valueAt(data.children[child]!, index)]));
  }
  if (DataType.isList(type)) return items(data, index, (at) => valueAt(data.children[0]!, at));
  if (DataType.isMap(type)) {
    const [key, value] = data.children[0]!.children;
    return items(data, index, (at) => [valueAt(key!, at), valueAt(value!, at)]);
  }
  return (data.values as Int32Array | BigInt64Array)[index]!;
}

function items(data: Data, index: number, item: (at: number) => Value): readonly Value[] {
  const [start, end] = between(data, index);
  return Array.from({ length: end - start }, (_, at) => item(start + at));
}

function between(data: Data, index: number): readonly [number, number] {
  const offsets = data.valueOffsets as Int32Array;
  return [offsets[index]!, offsets[index + 1]!];
}
