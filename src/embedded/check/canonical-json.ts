/**
 * Rows as canonical JSON lines, the form in which every reader of the interop suite prints them, so that outputs of
 * different engines are compared as text: one object a row, keys in schema order, lines sorted by their UTF-8 bytes.
 *
 * In: DuckDB's values in the shape that `read-expression.ts` asks for (structs keyed by field id, maps as lists of
 * `{k, v}`) beside the Iceberg type. Out: text. Numbers are written as Python's `repr` writes them, because the
 * other readers are Python programs; a long is never passed through a double.
 */
import {
  type DuckDBValue, DuckDBBlobValue, DuckDBDateValue, DuckDBDecimalValue, DuckDBListValue, DuckDBStructValue,
  DuckDBTimeValue, DuckDBTimestampTZValue, DuckDBTimestampValue, DuckDBUUIDValue,
} from '@duckdb/node-api';
import type { TableField, TableType } from './table-metadata.ts';

const MICROS_PER_DAY = 86_400_000_000n;

/** One row: `values` in the order of `fields`. */
export function rowLine(fields: readonly TableField[], values: readonly DuckDBValue[]): string {
  return `{${fields.map((field, index) => `${JSON.stringify(field.name)}:${valueJson(values[index] ?? null, field.type)}`).join(',')}}`;
}

/** Sorts lines by their UTF-8 bytes; JavaScript's own order is by UTF-16 units and differs above U+FFFF. */
export function sortLines(lines: readonly string[]): string[] {
  return lines
    .map((line) => ({ line, bytes: Buffer.from(line, 'utf8') }))
    .sort((left, right) => Buffer.compare(left.bytes, right.bytes))
    .map(({ line }) => line);
}

/** Throws a TypeError where DuckDB's value is not of the class that the type calls for. */
export function valueJson(value: DuckDBValue, type: TableType): string {
  if (value === null) return 'null';
  switch (type.kind) {
    case 'struct': return structJson(value, type.fields);
    case 'list': return `[${items(value).map((item) => valueJson(item, type.element)).join(',')}]`;
    case 'map': return mapJson(value, type.key, type.value);
    case 'boolean':
    case 'int':
    case 'long': return String(value);
    case 'float':
    case 'double': return floatJson(value as number);
    case 'decimal': return value instanceof DuckDBDecimalValue ? `"${decimalText(value.value, value.scale)}"` : mismatch(type.kind);
    case 'date': return value instanceof DuckDBDateValue ? `"${dateText(BigInt(value.days))}"` : mismatch(type.kind);
    case 'time': return value instanceof DuckDBTimeValue ? `"${timeText(value.micros)}"` : mismatch(type.kind);
    case 'timestamp':
    case 'timestamptz': return timestampJson(value, type.kind);
    case 'fixed':
    case 'binary': return value instanceof DuckDBBlobValue ? `"${Buffer.from(value.bytes).toString('hex')}"` : mismatch(type.kind);
    case 'uuid': return value instanceof DuckDBUUIDValue ? `"${value.toString()}"` : mismatch(type.kind);
    case 'string': return typeof value === 'string' ? JSON.stringify(value) : mismatch(type.kind);
  }
}

function mismatch(kind: string): never {
  throw new TypeError(`DuckDB returned another class of value than a ${kind} has`);
}

function items(value: DuckDBValue): readonly DuckDBValue[] {
  return value instanceof DuckDBListValue ? value.items : mismatch('list');
}

function structJson(value: DuckDBValue, fields: readonly TableField[]): string {
  if (!(value instanceof DuckDBStructValue)) return mismatch('struct');
  const members = fields.map(
    (field) => `${JSON.stringify(field.name)}:${valueJson(value.entries[`f${field.id}`] ?? null, field.type)}`,
  );
  return `{${members.join(',')}}`;
}

function mapJson(value: DuckDBValue, keyType: TableType, valueType: TableType): string {
  const pairs = items(value).map((entry) => {
    if (!(entry instanceof DuckDBStructValue)) return mismatch('map');
    return { key: valueJson(entry.entries['k'] ?? null, keyType), value: valueJson(entry.entries['v'] ?? null, valueType) };
  });
  // By code points, as Python compares strings.
  pairs.sort((left, right) => Buffer.compare(Buffer.from(left.key), Buffer.from(right.key)));
  return `[${pairs.map((pair) => `[${pair.key},${pair.value}]`).join(',')}]`;
}

/** Python's `repr` of a finite double as a JSON number; the others as the strings of the canonical form. */
export function floatJson(value: number): string {
  if (Number.isNaN(value)) return '"NaN"';
  if (!Number.isFinite(value)) return value > 0 ? '"Infinity"' : '"-Infinity"';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  // Both languages print the shortest digits that read back; only the point at which the exponent begins differs.
  const [mantissa = '', exponentText = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(exponentText);
  return (value < 0 ? '-' : '') + placePoint(digits, exponent);
}

function placePoint(digits: string, exponent: number): string {
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    return `${digits.slice(0, 1)}${fraction}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return `${digits.padEnd(exponent + 1, '0')}.0`;
  return `${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/** Plain notation with all digits of the scale. */
export function decimalText(unscaled: bigint, scale: number): string {
  const sign = unscaled < 0n ? '-' : '';
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Days since 1970-01-01 as `YYYY-MM-DD`, proleptic Gregorian, any year (Hinnant's civil-from-days). */
export function dateText(daysSinceEpoch: bigint): string {
  const days = daysSinceEpoch + 719_468n;
  const era = floorDivide(days, 146_097n);
  const dayOfEra = days - era * 146_097n;
  const yearOfEra = (dayOfEra - dayOfEra / 1460n + dayOfEra / 36_524n - dayOfEra / 146_096n) / 365n;
  const dayOfYear = dayOfEra - (365n * yearOfEra + yearOfEra / 4n - yearOfEra / 100n);
  const shiftedMonth = (5n * dayOfYear + 2n) / 153n;
  const month = shiftedMonth < 10n ? shiftedMonth + 3n : shiftedMonth - 9n;
  const year = yearOfEra + era * 400n + (month <= 2n ? 1n : 0n);
  const day = dayOfYear - (153n * shiftedMonth + 2n) / 5n + 1n;
  return `${yearText(year)}-${pad(month, 2)}-${pad(day, 2)}`;
}

function yearText(year: bigint): string {
  if (year > 9999n) return `+${year}`;
  return year < 0n ? `-${pad(-year, 4)}` : pad(year, 4);
}

function timeText(micros: bigint): string {
  const seconds = micros / 1_000_000n;
  return `${pad(seconds / 3600n, 2)}:${pad((seconds / 60n) % 60n, 2)}:${pad(seconds % 60n, 2)}.${pad(micros % 1_000_000n, 6)}`;
}

function timestampJson(value: DuckDBValue, kind: 'timestamp' | 'timestamptz'): string {
  if (!(value instanceof DuckDBTimestampValue) && !(value instanceof DuckDBTimestampTZValue)) return mismatch(kind);
  const days = floorDivide(value.micros, MICROS_PER_DAY);
  const rest = value.micros - days * MICROS_PER_DAY;
  return `"${dateText(days)}T${timeText(rest)}${kind === 'timestamptz' ? 'Z' : ''}"`;
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

function pad(value: bigint, width: number): string {
  return value.toString().padStart(width, '0');
}
