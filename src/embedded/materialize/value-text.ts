/**
 * Values in Materialize's text forms. In: a type and a JavaScript value. Out: the text before COPY escaping.
 *
 * Values by type: integers, numerics, OIDs and mz_timestamp number, bigint or decimal text; floats number; date days
 * and time, timestamp, timestamptz microseconds (bigint) since 1970; interval {months, days, micros}; bytea and
 * "char" bytes; jsonb JSON text; list and array arrays (an array with other lower bounds {lowerBounds, elements});
 * map Map or object; record array of field values; range `empty` or RangeValue. null is NULL inside of containers.
 */
import type { ScalarName, SqlType } from '../../relation/sql-type.ts';
import { type IntervalValue, formatDate, formatInterval, formatTime, formatTimestamp } from './calendar-text.ts';
import { type CopyColumn, escapeCopyText } from './copy-text.ts';
import { formatFloat } from './float-text.ts';
import { canonicalJson } from './json-text.ts';
import { plainNumeric } from './numeric-text.ts';

export interface RangeValue {
  /** null is unbounded. */
  readonly lower: unknown;
  readonly upper: unknown;
  readonly lowerInclusive: boolean;
  readonly upperInclusive: boolean;
}

export interface BoundedArray {
  readonly lowerBounds: readonly number[];
  readonly elements: readonly unknown[];
}

/** A value as a COPY column: escaped text, null for NULL. */
export function copyColumn(type: SqlType, value: unknown): CopyColumn {
  if (value === null || value === undefined) return null;
  if (type.kind === 'scalar' && type.name === '"char"' && value instanceof Uint8Array) return value;
  return escapeCopyText(valueText(type, value));
}

/** A row of values as COPY columns. */
export function copyRow(types: readonly SqlType[], values: readonly unknown[]): CopyColumn[] {
  return types.map((type, i) => copyColumn(type, values[i]));
}

/** The text of a value that is not NULL. Throws a TypeError when it does not fit the type. */
export function valueText(type: SqlType, value: unknown): string {
  switch (type.kind) {
    case 'scalar':
      return scalarText(type.name, value);
    case 'list':
      return `{${asArray(value).map((element) => quotedElement(type.element, element, LIST_RULE)).join(',')}}`;
    case 'array':
      return arrayText(type.element, value);
    case 'map':
      return mapText(type.value, value);
    case 'record':
      return `(${type.fields.map((field, i) => recordField(field.type, asArray(value)[i])).join(',')})`;
    case 'range':
      return rangeText(type.bound, value);
    case 'unsupported':
      return String(value);
  }
}

function scalarText(name: ScalarName, value: unknown): string {
  return SCALAR_TEXTS[name]?.(value) ?? String(value);
}

/** Scalars whose text is not simply that of the value. */
const SCALAR_TEXTS: Partial<Readonly<Record<ScalarName, (value: unknown) => string>>> = {
  boolean: (value) => (value === true ? 't' : 'f'),
  real: (value) => formatFloat(Number(value), 'real'),
  'double precision': (value) => formatFloat(Number(value), 'double precision'),
  numeric: (value) => plainNumeric(String(value)),
  date: (value) => formatDate(Number(value)),
  time: (value) => formatTime(asBigint(value)),
  timestamp: (value) => formatTimestamp(asBigint(value), ''),
  timestamptz: (value) => formatTimestamp(asBigint(value), '+00'),
  interval: (value) => formatInterval(value as IntervalValue),
  bytea: (value) => `\\x${Buffer.from(asBytes(value)).toString('hex')}`,
  '"char"': (value) => (value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : String(value)),
  uuid: (value) => String(value).toLowerCase(),
  jsonb: (value) => canonicalJson(String(value)),
  int2vector: (value) => asArray(value).join(' '),
};

/** When an element is quoted and how quotes and backslashes inside are escaped. */
interface QuoteRule {
  readonly special: RegExp;
  /** The word that would be read as NULL. */
  readonly nullWord: string;
  readonly quoteEscape: string;
}

/** Exactly these five count as whitespace: not `\v`, nothing beyond ASCII. */
const LIST_RULE: QuoteRule = { special: /[{},"\\ \t\n\f\r]/, nullWord: 'NULL', quoteEscape: '\\"' };
const MAP_RULE: QuoteRule = { special: /[{},"\\ \t\n\f\r=>]/, nullWord: 'NULL', quoteEscape: '\\"' };
const RECORD_RULE: QuoteRule = { special: /[(),"\\ \t\n\f\r]/, nullWord: '', quoteEscape: '""' };

/** Scalars whose text is tested for quoting when nested; every other scalar never is. */
const TESTED_SCALARS: ReadonlySet<ScalarName> = new Set([
  'text', 'varchar', 'character', 'name', '"char"', 'bytea', 'interval', 'timestamp', 'timestamptz', 'jsonb',
  'int2vector',
]);

function mayNeedQuotes(type: SqlType): boolean {
  if (type.kind === 'scalar') return TESTED_SCALARS.has(type.name);
  return type.kind === 'record' || type.kind === 'range' || type.kind === 'unsupported';
}

function quoteIfNeeded(text: string, rule: QuoteRule): string {
  if (text !== '' && text !== rule.nullWord && !rule.special.test(text)) return text;
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', rule.quoteEscape)}"`;
}

function quotedElement(type: SqlType, value: unknown, rule: QuoteRule): string {
  if (value === null || value === undefined) return 'NULL';
  const text = valueText(type, value);
  return mayNeedQuotes(type) ? quoteIfNeeded(text, rule) : text;
}

function recordField(type: SqlType, value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = valueText(type, value);
  return mayNeedQuotes(type) ? quoteIfNeeded(text, RECORD_RULE) : text;
}

function arrayText(element: SqlType, value: unknown): string {
  if (!Array.isArray(value) && typeof value === 'object' && value !== null) {
    const { lowerBounds, elements } = value as BoundedArray;
    let inner: unknown = elements;
    const dimensions = lowerBounds.map((bound) => {
      const length = asArray(inner).length;
      inner = asArray(inner)[0];
      return `[${bound}:${bound + length - 1}]`;
    });
    return `${dimensions.join('')}=${arrayText(element, elements)}`;
  }
  // Inner arrays are further dimensions, not elements.
  const texts = asArray(value).map((each) => {
    const isDimension = Array.isArray(each) && element.kind !== 'record';
    return isDimension ? arrayText(element, each) : quotedElement(element, each, LIST_RULE);
  });
  return `{${texts.join(',')}}`;
}

function mapText(valueType: SqlType, value: unknown): string {
  const entries: [string, unknown][] =
    value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value as object);
  entries.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const texts = entries.map(([key, each]) => {
    return `${quoteIfNeeded(key, MAP_RULE)}=>${quotedElement(valueType, each, MAP_RULE)}`;
  });
  return `{${texts.join(',')}}`;
}

function rangeText(bound: SqlType, value: unknown): string {
  if (value === 'empty') return 'empty';
  const { lower, upper, lowerInclusive, upperInclusive } = value as RangeValue;
  const text = (each: unknown): string => {
    return each === null || each === undefined ? '' : quotedElement(bound, each, LIST_RULE);
  };
  return `${lowerInclusive ? '[' : '('}${text(lower)},${text(upper)}${upperInclusive ? ']' : ')'}`;
}

function asArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('expected an array of values');
  return value;
}

function asBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new TypeError('expected bytes');
  return value;
}

function asBigint(value: unknown): bigint {
  return typeof value === 'bigint' ? value : BigInt(value as number | string);
}
