import { describe, expect, test } from 'vitest';
import { formatByteSize, formatIntervalMs, parseByteSize, parseIntervalMs } from '../../../src/definition/quantity.ts';

describe('GIVEN an interval', () => {
  // Values as PostgreSQL reads them.
  test.each([
    ['1s', 1000], ['60s', 60_000], ['1m', 60_000], ['1 minute', 60_000], ['00:01:30', 90_000], ['1 hour 5 min', 3_900_000],
    ['500ms', 500], ['1500 us', 2], ['0.5s', 500], ['.5 SECONDS', 500], ['90', 90_000], ['1h30m', 5_400_000], ['1 day 02:00', 93_600_000],
    ['1 week', 604_800_000], ['PT1M30S', 90_000], ['P1DT1H', 90_000_000], ['01:00', 3_600_000], ['  2 hrs  ', 7_200_000],
  ])('WHEN it is %s THEN it is %i ms', (text, ms) => expect(parseIntervalMs(text)).toBe(ms));

  test.each(['', ' ', 's', '1x', '-1s', '1 s ago', '1 month', '1 year', '1:2:3:4', '00:99:00', '1 30', 'P', 'PT', '1s;', '9e9s', '1,5s'])(
    'WHEN it is "%s" THEN it is none',
    (text) => expect(parseIntervalMs(text)).toBeNull(),
  );

  test.each([1, 999, 1000, 90_000, 3_600_000, 86_400_001])('WHEN %i ms are written THEN they are read again', (ms) => {
    expect(parseIntervalMs(formatIntervalMs(ms))).toBe(ms);
  });
});

describe('GIVEN a size', () => {
  test.each([
    ['128MB', 134_217_728], ['1 GiB', 1_073_741_824], ['1048576', 1_048_576], ['1.5kB', 1536], ['7B', 7],
  ])('WHEN it is %s THEN it is %i bytes', (text, bytes) => {
    expect(parseByteSize(text)).toBe(bytes);
    expect(parseByteSize(formatByteSize(bytes))).toBe(bytes);
  });

  test.each(['', 'MB', '-1MB', '1TBs', '1e3MB', '99999999999999999GB'])('WHEN it is "%s" THEN it is none', (text) => {
    expect(parseByteSize(text)).toBeNull();
  });
});
