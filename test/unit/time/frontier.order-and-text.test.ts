import { describe, expect, test } from 'vitest';
import { compareFrontiers, formatFrontier, frontierAfter, isClosed, parseFrontier } from '../../../src/time/frontier.ts';
import { TIMESTAMP_MAX } from '../../../src/time/timestamp.ts';

describe('GIVEN frontiers', () => {
  test('THEN the empty one is later than every other, since it says that nothing more comes', () => {
    expect(compareFrontiers([], [TIMESTAMP_MAX])).toBeGreaterThan(0);
    expect(compareFrontiers([5n], [])).toBeLessThan(0);
    expect(compareFrontiers([], [])).toBe(0);
    expect(compareFrontiers([9007199254740993n], [9007199254740992n])).toBeGreaterThan(0);
  });

  test('THEN a frontier closes the times below it and not its own', () => {
    expect(isClosed(4n, [5n])).toBe(true);
    expect(isClosed(5n, [5n])).toBe(false);
    expect(isClosed(TIMESTAMP_MAX, [])).toBe(true);
  });

  test('THEN nothing is left after the last timestamp, the one that constants carry', () => {
    expect(frontierAfter(TIMESTAMP_MAX)).toEqual([]);
    expect(frontierAfter(1n)).toEqual([2n]);
  });

  test('THEN the text is a JSON array without spaces, as Materialize writes it', () => {
    expect(formatFrontier([1723456789001n])).toBe('[1723456789001]');
    expect(formatFrontier([])).toBe('[]');
  });

  test.each([
    ['[1723456789001]', [1723456789001n]],
    ['[ 18446744073709551615 ]', [TIMESTAMP_MAX]],
    ['[]', []],
    ['[18446744073709551616]', null],
    ['[-1]', null],
    ['[1,2]', null],
    ['1', null],
    ['', null],
    ['[1.5]', null],
  ])('THEN the text %s reads as %s', (text, expected) => {
    expect(parseFrontier(text)).toEqual(expected);
  });
});
