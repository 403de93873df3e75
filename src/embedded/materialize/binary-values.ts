/**
 * Values in the binary format of the wire. In: a type and the value's text form. Out: bytes as Postgres lays them out
 * (wire reference 2.4): mz_timestamp is decimal text, jsonb a 1 and the text, a record carries the types inside.
 *
 * Lists, maps and aclitem have no binary format; `requireBinary` says so before the first byte of an answer, so
 * nothing below has to expect them.
 */
import type { ScalarName, SqlType } from '../../relation/sql-type.ts';
import { parseContainer, parseRange, parseRecord } from './container-text.ts';
import { daysOfDateText, microsOfTimeText, microsOfTimestampText, partsOfIntervalText } from './calendar-parts.ts';
import { failStatement, int16, int32 } from './wire-frames.ts';
import { typeOidOf } from './wire-types.ts';

/** Throws 08P01 for a type that has no binary format, at any depth. */
export function requireBinary(type: SqlType): void {
  switch (type.kind) {
    case 'list':
    case 'map':
      return failStatement('08P01', `binary encoding of ${type.kind} types is not implemented`);
    case 'scalar':
      if (type.name !== 'aclitem') return;
      return failStatement('08P01', 'binary encoding of aclitem types does not exist');
    case 'array':
      return requireBinary(type.element);
    case 'record':
      return type.fields.forEach((field) => requireBinary(field.type));
    default:
      return;
  }
}

/** The bytes of a value that is not NULL; `text` is its text form as UTF-8. */
export function binaryValue(type: SqlType, text: Buffer): Buffer {
  switch (type.kind) {
    case 'scalar': {
      const encode = SCALARS[type.name];
      return encode === undefined ? text : encode(text.toString('utf8'));
    }
    case 'array':
      return arrayBytes(type.element, text.toString('utf8'));
    case 'record': {
      const values = parseRecord(text.toString('utf8'), type.fields.map((field) => field.type));
      const parts = type.fields.map((field, i) => {
        return Buffer.concat([int32(typeOidOf(field.type)), sized(field.type, values[i] ?? null)]);
      });
      return Buffer.concat([int32(type.fields.length), ...parts]);
    }
    case 'range':
      return rangeBytes(type.bound, text.toString('utf8'));
    default:
      return text;
  }
}

/** A value behind its length; -1 alone is NULL. */
function sized(type: SqlType, text: string | null): Buffer {
  if (text === null) return int32(-1);
  const bytes = binaryValue(type, Buffer.from(text, 'utf8'));
  return Buffer.concat([int32(bytes.length), bytes]);
}

/** Scalars whose bytes are not those of their text. */
const SCALARS: Partial<Readonly<Record<ScalarName, (text: string) => Buffer>>> = {
  boolean: (text) => Buffer.from([text === 't' ? 1 : 0]),
  smallint: (text) => int16(Number(text)),
  integer: (text) => int32(Number(text)),
  bigint: int64,
  uint2: (text) => unsigned(text, 2),
  uint4: (text) => unsigned(text, 4),
  uint8: (text) => unsigned(text, 8),
  oid: (text) => unsigned(text, 4),
  regclass: (text) => unsigned(text, 4),
  regproc: (text) => unsigned(text, 4),
  regtype: (text) => unsigned(text, 4),
  real(text) {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatBE(Number(text));
    return bytes;
  },
  'double precision'(text) {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(Number(text));
    return bytes;
  },
  numeric: numericBytes,
  bytea: (text) => Buffer.from(text.slice(2), 'hex'),
  date: (text) => int32(daysOfDateText(text) - DAYS_1970_TO_2000),
  time: (text) => int64(microsOfTimeText(text)),
  timestamp: (text) => int64(microsOfTimestampText(text) - MICROS_1970_TO_2000),
  timestamptz: (text) => int64(microsOfTimestampText(text.replace('+00', '')) - MICROS_1970_TO_2000),
  interval(text) {
    const { micros, days, months } = partsOfIntervalText(text);
    return Buffer.concat([int64(micros), int32(days), int32(months)]);
  },
  uuid: (text) => Buffer.from(text.replaceAll('-', ''), 'hex'),
  jsonb: (text) => Buffer.concat([Buffer.from([1]), Buffer.from(text, 'utf8')]),
};

const DAYS_1970_TO_2000 = 10_957;
const MICROS_1970_TO_2000 = 946_684_800_000_000n;

function int64(value: bigint | string): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function unsigned(text: string, length: 2 | 4 | 8): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(text));
  return bytes.subarray(8 - length);
}

const NUMERIC_SPECIALS: ReadonlyMap<string, number> = new Map([
  ['NaN', 0xc000], ['Infinity', 0xd000], ['-Infinity', 0xf000],
]);

/** Groups of four digits around the decimal point; `weight` is the power of 10000 of the first. */
function numericBytes(text: string): Buffer {
  const special = NUMERIC_SPECIALS.get(text);
  if (special !== undefined) return numericOf([], 0, special, 0);
  const negative = text.startsWith('-');
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const left = whole.padStart(Math.ceil(whole.length / 4) * 4, '0');
  const right = fraction.padEnd(Math.ceil(fraction.length / 4) * 4, '0');
  const groups = ((left + right).match(/.{4}/g) ?? []).map(Number);
  let weight = left.length / 4 - 1;
  while (groups[0] === 0) {
    groups.shift();
    weight--;
  }
  while (groups.at(-1) === 0) groups.pop();
  return numericOf(groups, groups.length === 0 ? 0 : weight, negative ? 0x4000 : 0, fraction.length);
}

function numericOf(groups: readonly number[], weight: number, sign: number, scale: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt16BE(groups.length, 0);
  head.writeInt16BE(weight, 2);
  head.writeUInt16BE(sign, 4);
  head.writeInt16BE(scale, 6);
  return Buffer.concat([head, ...groups.map(int16)]);
}

/** Dimensions, a flag for NULLs, the element type, then length and lower bound of each dimension, then elements. */
function arrayBytes(element: SqlType, text: string): Buffer {
  const bounds = [...text.matchAll(/\[(-?\d+):-?\d+\](?=[[=])/g)].map((match) => Number(match[1]));
  const body = bounds.length > 0 ? text.slice(text.indexOf('=') + 1) : text;
  const flat: (string | null)[] = [];
  const lengths: number[] = [];
  const descend = (part: string, depth: number): void => {
    const items = parseContainer(part, element.kind === 'record' ? [] : ['{']);
    lengths[depth] = items.length;
    for (const { text: item, nested } of items) {
      if (nested && item !== null) descend(item, depth + 1);
      else flat.push(item);
    }
  };
  if (body !== '{}') descend(body, 0);
  const hasNull = flat.includes(null) ? 1 : 0;
  const head = [int32(lengths.length), int32(hasNull), int32(typeOidOf(element))];
  const dimensions = lengths.flatMap((length, i) => [int32(length), int32(bounds[i] ?? 1)]);
  return Buffer.concat([...head, ...dimensions, ...flat.map((item) => sized(element, item))]);
}

const RANGE_EMPTY = 0x01;
const LOWER_INCLUSIVE = 0x02;
const UPPER_INCLUSIVE = 0x04;
const LOWER_UNBOUNDED = 0x08;
const UPPER_UNBOUNDED = 0x10;

function rangeBytes(bound: SqlType, text: string): Buffer {
  const range = parseRange(text);
  if (range === null) return Buffer.from([RANGE_EMPTY]);
  let flags = range.lower === null ? LOWER_UNBOUNDED : range.lowerInclusive ? LOWER_INCLUSIVE : 0;
  flags |= range.upper === null ? UPPER_UNBOUNDED : range.upperInclusive ? UPPER_INCLUSIVE : 0;
  const present = [range.lower, range.upper].filter((each) => each !== null);
  return Buffer.concat([Buffer.from([flags]), ...present.map((each) => sized(bound, each))]);
}
