/**
 * Text of dates and times to days and microseconds since 1970-01-01 in the proleptic Gregorian calendar.
 * Forms: `YYYY…-MM-DD[ BC]`, `HH:MM:SS[.f{1,6}]`, both joined by a space, `+00` after a timestamptz, ` BC` last.
 */
import { malformed, unrepresentable } from './column.ts';
import type { PlainText } from './integers.ts';
import { POW10, digits, storeInt64 } from './number-text.ts';

const ZERO = 0x30;
const DOT = 0x2e;
const DASH = 0x2d;
const COLON = 0x3a;
const SPACE = 0x20;
const SECONDS_PER_DAY = 86_400;
const MICROS_PER_DAY = 86_400_000_000;
/** Seconds whose microseconds stay below 2^53. */
const EXACT_SECONDS = 9_000_000_000;

/** Days since 1970-01-01; `year` is astronomical, so 1 BC is 0. Eras of 400 years, counted from March. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function isBeforeChrist(bytes: Uint8Array, start: number, end: number): boolean {
  return end - start > 3 && bytes[end - 1] === 0x43 && bytes[end - 2] === 0x42 && bytes[end - 3] === SPACE;
}

/** Days of `YYYY…-MM-DD` that ends at `end`. */
function datePart(bytes: Uint8Array, start: number, end: number, beforeChrist: boolean): number {
  const yearEnd = end - 6;
  if (yearEnd - start < 4 || yearEnd - start > 9 || bytes[yearEnd] !== DASH || bytes[end - 3] !== DASH) {
    malformed('not a date');
  }
  const written = digits(bytes, start, yearEnd);
  // 1 BC comes before 1 AD; were 0 taken, `0000 BC` would be the year 1.
  if (written === 0) malformed('not a year of the calendar');
  const year = beforeChrist ? 1 - written : written;
  const month = digits(bytes, yearEnd + 1, yearEnd + 3);
  const day = digits(bytes, end - 2, end);
  if (month < 1 || month > 12) malformed('not a date of the calendar');
  if (year !== lastMonth.year || month !== lastMonth.month) rememberMonth(year, month);
  if (day < 1 || day > lastMonth.length) malformed('not a date of the calendar');
  return lastMonth.firstDay + day - 1;
}

/** Dates of a column cluster, so the month of the last one is kept: the calendar is the dear part of a timestamp. */
const lastMonth = { year: 1970, month: 1, firstDay: 0, length: 31 };

function rememberMonth(year: number, month: number): void {
  lastMonth.year = year;
  lastMonth.month = month;
  lastMonth.firstDay = daysFromCivil(year, month, 1);
  lastMonth.length = daysInMonth(year, month);
}

export function parseDate(bytes: Uint8Array, start: number, end: number): number {
  const beforeChrist = isBeforeChrist(bytes, start, end);
  const days = datePart(bytes, start, beforeChrist ? end - 3 : end, beforeChrist);
  // Stored as 32 bits, which would wrap.
  if ((days | 0) !== days) unrepresentable('outside of 32-bit days');
  return days;
}

/** Microseconds of `HH:MM:SS[.f]`; up to 23:59:60, a leap second. */
function timePart(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < 8 || bytes[start + 2] !== COLON || bytes[start + 5] !== COLON) malformed('not a time of day');
  const hours = digits(bytes, start, start + 2);
  const minutes = digits(bytes, start + 3, start + 5);
  const seconds = digits(bytes, start + 6, start + 8);
  if (hours > 23 || minutes > 59 || seconds > 60) malformed('not a time of day');
  return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fractionMicros(bytes, start + 8, end);
}

function fractionMicros(bytes: Uint8Array, start: number, end: number): number {
  if (start === end) return 0;
  const count = end - start - 1;
  if (bytes[start] !== DOT || count < 1 || count > 6) malformed('a fraction of one to six digits expected');
  return digits(bytes, start + 1, end) * (POW10[6 - count] ?? 0);
}

export function parseTime(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): void {
  const micros = timePart(bytes, start, end);
  // Iceberg's time ends before midnight; a leap second there can't be told from the next day.
  if (micros >= MICROS_PER_DAY) unrepresentable('a leap second at the end of the day has no time of day');
  storeInt64(micros, words, at);
}

export function parseTimestamp(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): void {
  const beforeChrist = isBeforeChrist(bytes, start, end);
  storeTimestamp(bytes, start, beforeChrist ? end - 3 : end, beforeChrist, words, at);
}

/** A timestamptz is always shown in UTC: `+00`. Another offset would mean a session that is not ours. */
export function parseTimestamptz(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): void {
  const beforeChrist = isBeforeChrist(bytes, start, end);
  const zoneEnd = beforeChrist ? end - 3 : end;
  const inUtc = bytes[zoneEnd - 3] === 0x2b && bytes[zoneEnd - 2] === 0x30 && bytes[zoneEnd - 1] === 0x30;
  if (zoneEnd - start < 3 || !inUtc) {
    malformed('a timestamp with the offset +00 expected');
  }
  storeTimestamp(bytes, start, zoneEnd - 3, beforeChrist, words, at);
}

function storeTimestamp(
  bytes: Uint8Array, start: number, end: number, beforeChrist: boolean, words: Int32Array, at: number,
): void {
  let space = start + 10;
  while (space < end && bytes[space] !== SPACE) space += 1;
  const days = datePart(bytes, start, space, beforeChrist);
  const time = timePart(bytes, space + 1, end);
  const seconds = days * SECONDS_PER_DAY;
  if (seconds < EXACT_SECONDS && seconds > -EXACT_SECONDS) {
    storeInt64(seconds * 1_000_000 + time, words, at);
    return;
  }
  // Beyond the years 1684 to 2255 microseconds exceed 2^53; so rare that a BigInt is fine.
  const micros = BigInt(seconds) * 1_000_000n + BigInt(time);
  if (BigInt.asIntN(64, micros) !== micros) unrepresentable('outside of 64-bit microseconds');
  words[at] = Number(BigInt.asIntN(32, micros));
  words[at + 1] = Number(micros >> 32n);
}

/** What no date of four digits is. */
const NO_DATE = 0x3fff_ffff;

/** Days of the ten characters `YYYY-MM-DD` at `start`, which must lie before the end of the bytes. */
function plainDays(bytes: Uint8Array, start: number): number {
  const year = twoDigits(bytes, start) * 100 + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  // A pair that isn't two digits is too large for all of them.
  if (year <= 0 || year > 9999 || month < 1 || month > 12 || bytes[start + 4] !== DASH || bytes[start + 7] !== DASH) return NO_DATE;
  if (year !== lastMonth.year || month !== lastMonth.month) rememberMonth(year, month);
  return day < 1 || day > lastMonth.length ? NO_DATE : lastMonth.firstDay + day - 1;
}

/** Two digits as a number, or one that is beyond all that two digits can be. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] ?? 0) - ZERO;
  const ones = (bytes[at + 1] ?? 0) - ZERO;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? 0xffff : tens * 10 + ones;
}

export function plainDate(bytes: Uint8Array, start: number, end: number, words: Int32Array, at: number): number {
  if (end - start < 10) return -1;
  const days = plainDays(bytes, start);
  if (days === NO_DATE) return -1;
  words[at] = days;
  return start + 10;
}

/** `YYYY-MM-DD HH:MM:SS[.f]` as PlainText, in the years whose microseconds are exact doubles; with `zone` the offset `+00` behind it. */
function plainTimestampOf(zone: boolean): PlainText {
  return (bytes, start, end, words, at) => {
    if (end - start < 19 || bytes[start + 10] !== SPACE) return -1;
    const days = plainDays(bytes, start);
    const hours = twoDigits(bytes, start + 11);
    const minutes = twoDigits(bytes, start + 14);
    const seconds = twoDigits(bytes, start + 17);
    if (days === NO_DATE || hours > 23 || minutes > 59 || seconds > 60) return -1;
    if (bytes[start + 13] !== COLON || bytes[start + 16] !== COLON) return -1;
    const wholeSeconds = days * SECONDS_PER_DAY + (hours * 60 + minutes) * 60 + seconds;
    if (wholeSeconds >= EXACT_SECONDS || wholeSeconds <= -EXACT_SECONDS) return -1;
    let next = start + 19;
    let fraction = 0;
    if (next < end && bytes[next] === DOT) {
      const first = ++next;
      for (; next < end; next++) {
        const digit = (bytes[next] ?? 0) - ZERO;
        if (digit < 0 || digit > 9) break;
        fraction = fraction * 10 + digit;
      }
      if (next === first || next - first > 6) return -1;
      fraction *= POW10[6 - (next - first)] ?? 0;
    }
    if (zone) {
      if (next + 3 > end || bytes[next] !== 0x2b || bytes[next + 1] !== ZERO || bytes[next + 2] !== ZERO) return -1;
      next += 3;
    }
    storeInt64(wholeSeconds * 1_000_000 + fraction, words, at);
    return next;
  };
}

export const plainTimestamp = plainTimestampOf(false);
export const plainTimestamptz = plainTimestampOf(true);
