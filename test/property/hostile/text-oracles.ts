/**
 * What the text of a value means, read a second time by other means than the sink's: regular expressions, BigInt, Number,
 * Date and TextDecoder. In: the bytes of a field without COPY escapes, and what Arrow shows of the column it went into.
 * Out: whether the value is the one that the text means.
 */

export type Oracle = (text: Uint8Array, shown: unknown) => boolean;

const ascii = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const integer = (min: bigint, max: bigint): Oracle => (bytes, shown) => {
  const text = ascii(bytes);
  if (!/^-?\d+$/.test(text)) return false;
  const value = BigInt(text);
  return value >= min && value <= max && BigInt(shown as number | bigint) === value;
};

/** Arrow shows a decimal as four words, low first, of value * 10^scale. */
export const unscaled = (words: Uint32Array): bigint =>
  BigInt.asIntN(128, words.reduceRight((value, word) => (value << 32n) | BigInt(word), 0n));

const decimal = (precision: number, scale: number): Oracle => (bytes, shown) => {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(ascii(bytes));
  if (match === null) return false;
  const [, sign = '', whole = '', fraction = ''] = match;
  if (!/^0*$/.test(fraction.slice(scale))) return false;
  const magnitude = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'));
  const value = sign === '-' ? -magnitude : magnitude;
  return magnitude < 10n ** BigInt(precision) && unscaled(shown as Uint32Array) === value;
};

const float = (round: (value: number) => number): Oracle => (bytes, shown) => {
  const text = ascii(bytes);
  if (!/^-?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$|^NaN$/i.test(text)) return false;
  const exact = Number(text);
  const isZero = !/[1-9]/.test(text.split(/e/i)[0] ?? '');
  const value = round(exact);
  const isKept = /Infinity|NaN/.test(text) || (Number.isFinite(value) && (value === 0) === isZero);
  return isKept && Object.is(shown, value);
};

/** Days of a date by JavaScript's calendar, which is proleptic Gregorian; null beyond its 275,000 years. */
function epochDays(text: string): number | null | undefined {
  const match = /^(\d{4,9})-(\d\d)-(\d\d)( BC)?$/.exec(text);
  if (match === null) return undefined;
  const [, years = '', months = '', days = '', era] = match;
  if (Number(years) === 0) return undefined;
  const year = era === undefined ? Number(years) : 1 - Number(years);
  if (Math.abs(year) > 270_000) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, Number(months) - 1, Number(days));
  const isSame = date.getUTCFullYear() === year && date.getUTCMonth() === Number(months) - 1 && date.getUTCDate() === Number(days);
  return isSame ? date.getTime() / 86_400_000 : undefined;
}

function dayMicros(text: string): bigint | undefined {
  const match = /^(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const [, hours = '', minutes = '', seconds = '', fraction = ''] = match;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60) return undefined;
  return BigInt((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
}

const date: Oracle = (bytes, shown) => {
  const days = epochDays(ascii(bytes));
  return days === null || days === shown;
};

const timeOfDay: Oracle = (bytes, shown) => dayMicros(ascii(bytes)) === BigInt(shown as bigint);

const timestamp = (zone: string): Oracle => (bytes, shown) => {
  const match = /^(\S+) ([\d:.]+?)(\+00)?( BC)?$/.exec(ascii(bytes));
  if (match === null || (match[3] ?? '') !== zone) return false;
  const days = epochDays(`${match[1] ?? ''}${match[4] ?? ''}`);
  const micros = dayMicros(match[2] ?? '');
  if (days === undefined || micros === undefined) return false;
  return days === null || BigInt(days) * 86_400_000_000n + micros === BigInt(shown as bigint);
};

const sameText: Oracle = (bytes, shown) => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) === shown;
  } catch {
    return false;
  }
};

const hex: Oracle = (bytes, shown) =>
  /^\\x(?:[0-9a-f]{2})*$/.test(ascii(bytes)) && `\\x${Buffer.from(shown as Uint8Array).toString('hex')}` === ascii(bytes);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const uuid: Oracle = (bytes, shown) =>
  UUID.test(ascii(bytes)) && Buffer.from(shown as Uint8Array).toString('hex') === ascii(bytes).replaceAll('-', '');

const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];

export const ORACLES: Readonly<Record<string, Oracle>> = {
  boolean: (bytes, shown) => ascii(bytes) === (shown === true ? 't' : 'f'),
  smallint: integer(-32_768n, 32_767n),
  integer: integer(-(2n ** 31n), 2n ** 31n - 1n),
  bigint: integer(...INT64),
  uint2: integer(0n, 65_535n),
  uint4: integer(...INT64),
  oid: integer(...INT64),
  uint8: decimal(20, 0),
  mz_timestamp: decimal(20, 0),
  numeric: decimal(38, 10),
  'numeric(39,0)': decimal(38, 0),
  'numeric(39,2)': decimal(38, 2),
  'numeric(39,38)': decimal(38, 38),
  real: float(Math.fround),
  'double precision': float((value) => value),
  date,
  time: timeOfDay,
  timestamp: timestamp(''),
  'timestamp with time zone': timestamp('+00'),
  text: sameText,
  'character varying': sameText,
  jsonb: sameText,
  interval: sameText,
  '"char"': sameText,
  bytea: hex,
  uuid,
};

/**
 * Containers of integers, printed anew from what Arrow shows: `{1,NULL,-2}`, `{a=>1}`, `[1,5)`. The input has to be the
 * same text once its integers are written without leading zeros and unneeded quotes are gone.
 */
export function sameStructure(input: Uint8Array, printed: string): boolean {
  const plain = ascii(input).replaceAll(/"(NULL)"/g, '$1').replaceAll('"', '').replace(/^(?:\[-?\d+:-?\d+\])+=/, '');
  return normal(plain) === normal(printed);
}

function normal(text: string): string {
  return text.replaceAll(/-?\d+/g, (digits) => BigInt(digits).toString());
}
