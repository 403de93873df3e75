/**
 * Durations and sizes as people write them. In: the text of an option. Out: milliseconds or bytes, or null when
 * the text is none; the caller words the problem. Pure arithmetic, so that '60s', '1m' and '00:01:00' are equal.
 */

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  (
    [
      [['us', 'usec', 'usecs', 'microsecond', 'microseconds', 'µs'], 0.001],
      [['ms', 'msec', 'msecs', 'millisecond', 'milliseconds'], 1],
      [['s', 'sec', 'secs', 'second', 'seconds'], 1000],
      [['m', 'min', 'mins', 'minute', 'minutes'], 60_000],
      [['h', 'hr', 'hrs', 'hour', 'hours'], 3_600_000],
      [['d', 'day', 'days'], 86_400_000],
      [['w', 'week', 'weeks'], 604_800_000],
    ] as const
  ).flatMap(([names, ms]) => names.map((name): [string, number] => [name, ms])),
);

const AMOUNT = /\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)/y;
const CLOCK = /\s*(\d+):(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?(?![\d:.])/y;
const ISO = /^p(?=.)(?:(\d+)w)?(?:(\d+)d)?(?:t(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?$/;

/**
 * An interval as PostgreSQL reads it: `1s`, `1 hour 5 min`, `00:01:30`, `PT1M`; a number without unit is seconds.
 * Rounded to whole milliseconds. null for other text, for a sign or `ago`, and for months and years, whose length
 * depends on the calendar.
 */
export function parseIntervalMs(text: string): number | null {
  const folded = text.trim().toLowerCase();
  const iso = ISO.exec(folded);
  if (iso !== null) {
    const [, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = iso.map((part) => Number(part ?? 0));
    return roundMs((((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000);
  }
  let at = 0;
  let totalMs = 0;
  let parts = 0;
  while (at < folded.length) {
    const part = clockAt(folded, at) ?? amountAt(folded, at);
    if (part === null) return null;
    totalMs += part.ms;
    at = part.end;
    parts++;
  }
  return parts === 0 ? null : roundMs(totalMs);
}

interface Part {
  readonly ms: number;
  readonly end: number;
}

function clockAt(text: string, at: number): Part | null {
  CLOCK.lastIndex = at;
  const match = CLOCK.exec(text);
  if (match === null) return null;
  const [, hours, minutes, seconds = '0'] = match;
  if (Number(minutes) >= 60 || Number(seconds) >= 60) return null;
  const ms = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000;
  return { ms, end: CLOCK.lastIndex };
}

function amountAt(text: string, at: number): Part | null {
  AMOUNT.lastIndex = at;
  const match = AMOUNT.exec(text);
  if (match === null) return null;
  const [, amount, unit = ''] = match;
  // Without a unit only a number that stands last can be meant: `1 30` is no interval.
  const unitMs = unit === '' && AMOUNT.lastIndex === text.length ? 1000 : UNIT_MS.get(unit);
  return unitMs === undefined ? null : { ms: Number(amount) * unitMs, end: AMOUNT.lastIndex };
}

function roundMs(ms: number): number | null {
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : null;
}

/** The shortest spelling in one unit: `90s`, `1m`. */
export function formatIntervalMs(ms: number): string {
  for (const unit of ['h', 'm', 's']) {
    const unitMs = UNIT_MS.get(unit) ?? 1;
    if (ms > 0 && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}

const SIZE_UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ['kb', 1024],
  ['kib', 1024],
  ['mb', 1024 ** 2],
  ['mib', 1024 ** 2],
  ['gb', 1024 ** 3],
  ['gib', 1024 ** 3],
]);

/** `128MB`, `1 GiB`, `1048576`; powers of 1024, as PostgreSQL and Materialize count. null for other text. */
export function parseByteSize(text: string): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text);
  if (match === null) return null;
  const unit = SIZE_UNITS.get((match[2] ?? '').toLowerCase());
  if (unit === undefined) return null;
  const bytes = Math.round(Number(match[1]) * unit);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

export function formatByteSize(bytes: number): string {
  for (const unit of ['GB', 'MB', 'kB']) {
    const size = SIZE_UNITS.get(unit.toLowerCase()) ?? 1;
    if (bytes > 0 && bytes % size === 0) return `${bytes / size}${unit}`;
  }
  return `${bytes}B`;
}
