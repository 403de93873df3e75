/**
 * Single values as manifests hold them (spec: "Appendix D: Binary single-value serialization"), and the order in which a
 * bound has to hold. Written from the specification, apart from the writer's own encoder.
 */
import {
  type DuckDBValue, DuckDBBlobValue, DuckDBDateValue, DuckDBDecimalValue, DuckDBTimeValue, DuckDBTimestampTZValue,
  DuckDBTimestampValue, DuckDBUUIDValue,
} from '@duckdb/node-api';
import type { TableType } from './table-metadata.ts';

/** Numbers of a kind are compared as numbers, bytes unsigned and lexicographically (also UTF-8 text). */
export type SingleValue = bigint | number | Uint8Array;

/** Throws an Error where the bytes are not the type's form. */
export function decodeSingleValue(type: TableType, bytes: Uint8Array): SingleValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const exactly = (length: number): void => {
    if (bytes.length !== length) throw new Error(`${bytes.length} bytes for a ${type.kind}, which has ${length}`);
  };
  switch (type.kind) {
    case 'boolean': exactly(1); return view.getUint8(0) === 0 ? 0n : 1n;
    case 'int':
    case 'date': exactly(4); return BigInt(view.getInt32(0, true));
    case 'long': return bytes.length === 4 ? BigInt(view.getInt32(0, true)) : (exactly(8), view.getBigInt64(0, true));
    case 'time':
    case 'timestamp':
    case 'timestamptz': exactly(8); return view.getBigInt64(0, true);
    case 'float': exactly(4); return notNan(view.getFloat32(0, true));
    case 'double': exactly(8); return notNan(view.getFloat64(0, true));
    case 'decimal': return decodeUnscaled(bytes);
    case 'string': new TextDecoder('utf-8', { fatal: true }).decode(bytes); return bytes;
    case 'fixed': exactly(type.length); return bytes;
    case 'uuid': exactly(16); return bytes;
    case 'binary': return bytes;
    case 'list':
    case 'map':
    case 'struct': throw new Error(`a ${type.kind} has no single value`);
  }
}

function notNan(value: number): number {
  if (Number.isNaN(value)) throw new Error('NaN is no bound');
  return value;
}

/** Two's complement, big-endian, in the fewest bytes. */
function decodeUnscaled(bytes: Uint8Array): bigint {
  const [first, second] = bytes;
  if (first === undefined) throw new Error('no bytes for a decimal');
  const redundant = second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  if (redundant) throw new Error('a decimal has more bytes than it needs');
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

/** A value that DuckDB returned, in the same domain. */
export function singleValueOf(value: DuckDBValue): SingleValue {
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (value instanceof DuckDBBlobValue) return value.bytes;
  if (value instanceof DuckDBDateValue) return BigInt(value.days);
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value instanceof DuckDBUUIDValue) return Buffer.from(value.toString().replaceAll('-', ''), 'hex');
  if (value instanceof DuckDBTimeValue || value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) {
    return value.micros;
  }
  throw new TypeError('DuckDB returned a value that has no bound');
}

/** Negative, zero or positive. An int arrives as a number from DuckDB and as a bigint from the manifest. */
export function compareSingleValues(left: SingleValue, right: SingleValue): number {
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right);
  if (left instanceof Uint8Array || right instanceof Uint8Array) throw new TypeError('values of different kinds');
  if (left < right) return -1;
  return left > right ? 1 : 0;
}
