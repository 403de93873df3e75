/**
 * Dates, times and intervals as text. In: days and microseconds since 1970-01-01, counted in the proleptic Gregorian
 * calendar. Out: ISO text, years before 1 with ` BC`.
 */

export interface IntervalValue {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
}

const MICROS_PER_SECOND = 1_000_000n;
const MICROS_PER_DAY = 86_400n * MICROS_PER_SECOND;

/** `2020-02-29`, `4714-11-24 BC`. */
export function formatDate(days: number): string {
  const { date, era } = dateParts(days);
  return date + era;
}

/** `04:05:06.7`; trailing zeros of the fraction are dropped. */
export function formatTime(micros: bigint): string {
  const seconds = micros / MICROS_PER_SECOND;
  const two = (value: bigint): string => String(value).padStart(2, '0');
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}${fractionOf(micros)}`;
}

/** `zone` is `+00` for timestamptz and stands before the era. */
export function formatTimestamp(micros: bigint, zone: string): string {
  const ofDay = ((micros % MICROS_PER_DAY) + MICROS_PER_DAY) % MICROS_PER_DAY;
  const { date, era } = dateParts(Number((micros - ofDay) / MICROS_PER_DAY));
  return `${date} ${formatTime(ofDay)}${zone}${era}`;
}

/**
 * `1 year 2 months 3 days 04:05:06.7`: months spelled out, singular only for exactly 1, a plus where a positive part
 * follows a negative one.
 */
export function formatInterval({ months, days, micros }: IntervalValue): string {
  const parts: string[] = [];
  const add = (value: number, unit: string, plus: boolean): void => {
    if (value !== 0) parts.push(`${plus && value > 0 ? '+' : ''}${value} ${unit}${value === 1 ? '' : 's'}`);
  };
  add(Math.trunc(months / 12), 'year', false);
  add(months % 12, 'month', false);
  add(days, 'day', months < 0);
  if (micros !== 0n || parts.length === 0) {
    const afterNegative = days < 0 || (days === 0 && months < 0);
    const sign = micros < 0n ? '-' : micros > 0n && afterNegative ? '+' : '';
    parts.push(sign + formatTime(micros < 0n ? -micros : micros));
  }
  return parts.join(' ');
}

function fractionOf(micros: bigint): string {
  const fraction = micros % MICROS_PER_SECOND;
  return fraction === 0n ? '' : `.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`;
}

function dateParts(days: number): { date: string; era: string } {
  // Howard Hinnant's civil_from_days: eras of 400 years, years that start in March.
  const shifted = days + 719_468;
  const eraIndex = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - eraIndex * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = yearOfEra + eraIndex * 400 + (month <= 2 ? 1 : 0);
  const shownYear = year > 0 ? year : 1 - year;
  const pad = (value: number, width: number): string => String(value).padStart(width, '0');
  return { date: `${pad(shownYear, 4)}-${pad(month, 2)}-${pad(day, 2)}`, era: year > 0 ? '' : ' BC' };
}
