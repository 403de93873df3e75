import { describe, expect, test } from 'vitest';
import { type AheadInput, SECTIONS_MAX, SECTION_BYTES_MIN, isSectionDue } from '../../../src/batch/encode-ahead.ts';

/** A span that began at 1000 s and closes at 1060 s, with ticks of a second, and 59 of its seconds gathered. */
const input = (over: Partial<AheadInput> = {}): AheadInput => ({
  lower: [1_000_000n], observed: [1_059_000n], progressGapMs: 1_000, commitIntervalMs: 60_000, rowBytes: 20_000_000, hasClosedRows: true,
  sections: 0, sectionBytesMin: SECTION_BYTES_MIN, ...over,
});

describe('GIVEN a span that closes with one of the next ticks', () => {
  test('WHEN the next tick will close it THEN what it has is encoded now, and not a tick before', () => {
    expect(isSectionDue(input())).toBe(true);
    expect(isSectionDue(input({ observed: [1_058_000n] }))).toBe(false);
  });

  test('WHEN ticks are not even THEN one that comes a little late is not missed', () => {
    expect(isSectionDue(input({ observed: [1_058_800n], progressGapMs: 1_000 }))).toBe(true);
  });

  test('WHEN there is more than can be encoded in a tick THEN it begins earlier', () => {
    expect(isSectionDue(input({ observed: [1_055_500n], rowBytes: 250_000_000 }))).toBe(true);
    expect(isSectionDue(input({ observed: [1_054_500n], rowBytes: 250_000_000 }))).toBe(false);
  });

  test.each([
    ['little has come', { rowBytes: SECTION_BYTES_MIN - 1 }],
    ['nothing of it is closed', { hasClosedRows: false }],
    ['it is due to be closed itself', { observed: [1_060_000n] as const }],
    ['it has as many sections as it may', { sections: SECTIONS_MAX - 1 }],
    ['it has only begun', { observed: [1_000_000n] as const }],
    ['the input is complete', { observed: [] as const }],
    ['the table was complete before', { lower: [] as const }],
  ])('WHEN %s THEN nothing is encoded ahead', (_what, over) => expect(isSectionDue(input(over))).toBe(false));

  test('WHEN one section less than the most is there THEN another may come', () => {
    expect(isSectionDue(input({ sections: SECTIONS_MAX - 2 }))).toBe(true);
  });
});
