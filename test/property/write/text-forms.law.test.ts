import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { parseDecimal, parseDouble, parseInt64 } from '../../../src/write/columns/number-text.ts';
import { parseDate, parseTimestamp } from '../../../src/write/columns/time-text.ts';

function parse(text: string, words: number, parser: (bytes: Uint8Array, start: number, end: number, out: Int32Array, at: number) => void): bigint {
  // Not at the start of the buffer, so that an offset left out would show.
  const bytes = new TextEncoder().encode(`xx${text}99`);
  const out = new Int32Array(words + 2).fill(-7);
  parser(bytes, 2, bytes.length - 2, out, 1);
  expect([out[0], out[words + 1]]).toEqual([-7, -7]);
  let value = BigInt(out[words]!);
  for (let index = words - 1; index >= 1; index--) value = (value << 32n) | BigInt(out[index]! >>> 0);
  return value;
}

const at = (text: string): [Uint8Array, number, number] => [new TextEncoder().encode(`1${text}1`), 1, text.length + 1];

describe('GIVEN numbers as text', () => {
  test('WHEN an integer of 64 bits is parsed THEN its words are its two\'s complement', () => {
    fc.assert(fc.property(fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(-(10n ** 16n), 10n ** 16n)), (value) => {
      expect(parse(String(value), 2, parseInt64)).toBe(value);
    }), { numRuns: 2000 });
  });

  test.each(['9223372036854775808', '-9223372036854775809', '99999999999999999999', '', '-', '1x', '+1'])('WHEN it is %s THEN it is malformed', (text) => {
    expect(() => parse(text, 2, parseInt64)).toThrow(/digits|outside/);
  });

  test('WHEN a decimal is parsed THEN its words are the value times 10^scale', () => {
    const arbitrary = fc.tuple(fc.integer({ min: 0, max: 38 }), fc.integer({ min: 0, max: 38 }), fc.bigInt(-(10n ** 38n - 1n), 10n ** 38n - 1n), fc.integer({ min: 0, max: 37 }));
    fc.assert(fc.property(arbitrary, ([scale, shown, wide, cut]) => {
      const unscaled = wide / 10n ** BigInt(cut);
      const fraction = Math.min(scale, shown);
      const whole = unscaled / 10n ** BigInt(scale - fraction) * 10n ** BigInt(scale - fraction);
      const digits = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
      const point = digits.length - scale;
      const text = `${whole < 0n ? '-' : ''}${digits.slice(0, point)}${fraction > 0 ? '.' : ''}${digits.slice(point, point + fraction)}`;
      expect(parse(text, 4, (bytes, start, end, out, to) => parseDecimal(bytes, start, end, 38, scale, out, to))).toBe(whole);
    }), { numRuns: 3000 });
  });

  test.each([
    ['100000000000000000000000000000000000000', 0, 'out of range'], ['1', 38, 'out of range'], ['0.001', 2, 'fraction digits'],
    ['NaN', 10, 'no decimal form'], ['Infinity', 10, 'no decimal form'], ['-Infinity', 10, 'no decimal form'],
    ['1e5', 10, 'expected'], ['', 2, 'expected'], ['.5', 2, 'expected'], ['5.', 2, 'expected'], ['1.2.3', 10, 'expected'],
  ] as const)('WHEN a decimal is %s at scale %i THEN it says: %s', (text, scale, message) => {
    expect(() => parse(text, 4, (bytes, start, end, out, to) => parseDecimal(bytes, start, end, 38, scale, out, to))).toThrow(message);
  });

  test('WHEN a double is parsed THEN it is the one JavaScript reads', () => {
    fc.assert(fc.property(fc.double(), (value) => {
      const text = Object.is(value, -0) ? '-0' : String(value);
      expect(parseDouble(...at(text))).toBe(value);
    }), { numRuns: 3000 });
  });

  test('WHEN a float\'s shortest text is parsed THEN rounding to float gives it back', () => {
    fc.assert(fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: 1, max: 9 }), (value, least) => {
      let digits = least;
      while (Math.fround(Number(value.toPrecision(digits))) !== value) digits += 1;
      const shortest = Object.is(value, -0) ? '-0' : value.toPrecision(digits);
      expect(Math.fround(parseDouble(...at(shortest)))).toBe(value);
    }), { numRuns: 3000 });
  });
});

describe('GIVEN dates and timestamps as text', () => {
  const text = (date: Date): { readonly day: string; readonly suffix: string } => {
    const year = date.getUTCFullYear();
    const shown = String(year > 0 ? year : 1 - year).padStart(4, '0');
    const day = `${shown}-${String(date.getUTCMonth() + 1).padStart(2, '0')}-${String(date.getUTCDate()).padStart(2, '0')}`;
    return { day, suffix: year > 0 ? '' : ' BC' };
  };
  const dates = fc.date({ min: new Date(-210_000_000_000_000), max: new Date(8_200_000_000_000_000), noInvalidDate: true });

  test('WHEN a date is parsed THEN its days are those of the JavaScript calendar', () => {
    fc.assert(fc.property(dates, (date) => {
      const { day, suffix } = text(date);
      expect(parseDate(...at(day + suffix))).toBe(Math.floor(date.getTime() / 86_400_000));
    }), { numRuns: 3000 });
  });

  test('WHEN a timestamp is parsed THEN its microseconds are exact, far from 1970 too', () => {
    fc.assert(fc.property(dates, fc.integer({ min: 0, max: 999 }), (date, micros) => {
      const { day, suffix } = text(date);
      const seconds = date.toISOString().slice(-13, -5);
      const fraction = String(date.getUTCMilliseconds() * 1000 + micros).padStart(6, '0').replace(/0+$/, '');
      const shown = `${day} ${seconds}${fraction === '' ? '' : `.${fraction}`}${suffix}`;
      expect(parse(shown, 2, parseTimestamp)).toBe(BigInt(date.getTime()) * 1000n + BigInt(micros));
    }), { numRuns: 3000 });
  });

  test.each(['2023-02-29', '2024-13-01', '2024-00-10', '2024-1-01', '24-01-01', '2024-01-32', '2024/01/01'])('WHEN a date is %s THEN it is malformed', (day) => {
    expect(() => parseDate(...at(day))).toThrow(/not a date|digits/);
  });
});
