/**
 * Texts of dates, times and intervals back to numbers: the inverse of `calendar-text.ts`, for the binary format.
 * In: a text in Materialize's form. Out: days or microseconds since 1970-01-01.
 */
import type { IntervalValue } from './calendar-text.ts';

const MICROS_PER_SECOND = 1_000_000n;
const MICROS_PER_DAY = 86_400n * MICROS_PER_SECOND;

/** `2020-02-29`, `4714-11-24 BC`. */
export function daysOfDateText(text: string): number {
  const [, years = '0', month = '1', day = '1', era] = /^(\d+)-(\d+)-(\d+)( BC)?$/.exec(text) ?? [];
  const year = era === undefined ? Number(years) : 1 - Number(years);
  // Howard Hinnant's days_from_civil: eras of 400 years, years that start in March.
  const shifted = Number(month) <= 2 ? year - 1 : year;
  const eraIndex = Math.floor(shifted / 400);
  const yearOfEra = shifted - eraIndex * 400;
  const monthFromMarch = (Number(month) + 9) % 12;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + Number(day) - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return eraIndex * 146_097 + dayOfEra - 719_468;
}

/** `04:05:06.7`, hours without a limit. */
export function microsOfTimeText(text: string): bigint {
  const found = /^(\d+):(\d+):(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const [, hours = '0', minutes = '0', seconds = '0', fraction = ''] = found;
  const whole = (BigInt(hours) * 60n + BigInt(minutes)) * 60n + BigInt(seconds);
  return whole * MICROS_PER_SECOND + BigInt(fraction.padEnd(6, '0'));
}

/** `2020-02-29 04:05:06.7`, with ` BC` behind the time. */
export function microsOfTimestampText(text: string): bigint {
  const [date = '', time = '', era] = text.split(' ');
  const days = daysOfDateText(era === undefined ? date : `${date} BC`);
  return BigInt(days) * MICROS_PER_DAY + microsOfTimeText(time);
}

/** `1 year -2 months +3 days -04:05:06.7`. */
export function partsOfIntervalText(text: string): IntervalValue {
  const amount = (unit: string): number => Number(new RegExp(`([+-]?\\d+) ${unit}s?\\b`).exec(text)?.[1] ?? 0);
  const [, sign = '', clock] = /([+-]?)(\d+:\d+:\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const micros = clock === undefined ? 0n : microsOfTimeText(clock);
  return {
    months: amount('year') * 12 + amount('month'),
    days: amount('day'),
    micros: sign === '-' ? -micros : micros,
  };
}
