import { describe, expect, test } from 'vitest';
import { SnapshotPace } from '../../../src/sink/snapshot-pace.ts';

const MAX = 1_000;

describe('GIVEN a snapshot that comes faster than it is encoded', () => {
  test('WHEN three quarters of the room are taken THEN the source waits until half of it is free', () => {
    const pace = new SnapshotPace(MAX, 10_000);
    expect(pace.waits(750, 0)).toBe(false);
    expect(pace.waits(751, 0)).toBe(true);
    expect(pace.waits(501, 10)).toBe(true);
    expect(pace.waits(500, 20)).toBe(false);
    expect(pace.waits(700, 30)).toBe(false);
    expect(pace.leftMs).toBe(9_980);
  });

  test('WHEN the pauses add up to the patience THEN the source never waits again', () => {
    const pace = new SnapshotPace(MAX, 100);
    let waitedMs = 0;
    for (let nowMs = 0; nowMs < 1_000; nowMs += 10) {
      // Full for 40 ms, and then empty for 10.
      const waits = pace.waits(nowMs % 50 === 40 ? 0 : 900, nowMs);
      if (waits) waitedMs += 10;
    }
    expect(waitedMs).toBe(100);
    expect(pace.waits(10 * MAX, 5_000)).toBe(false);
  });

  test('WHEN nothing moves THEN the pause ends with the patience all the same', () => {
    const pace = new SnapshotPace(MAX, 100);
    expect(pace.waits(900, 0)).toBe(true);
    expect(pace.waits(900, 99)).toBe(true);
    expect(pace.waits(900, 100)).toBe(false);
    expect(pace.leftMs).toBe(0);
  });

  test('WHEN the clock is set back in a pause THEN the patience does not grow', () => {
    const pace = new SnapshotPace(MAX, 100);
    expect(pace.waits(900, 5_000)).toBe(true);
    expect(pace.waits(0, 1_000)).toBe(false);
    expect(pace.leftMs).toBe(100);
  });

  test('WHEN the clock is set back and nothing moves THEN the pause ends when the patience has passed by the new time', () => {
    const pace = new SnapshotPace(MAX, 100);
    expect(pace.waits(900, 3_600_000)).toBe(true);
    expect(pace.waits(900, 100)).toBe(true);
    expect(pace.waits(900, 199)).toBe(true);
    expect(pace.waits(900, 200)).toBe(false);
  });

  test('WHEN there is no patience THEN the source never waits', () => {
    expect(new SnapshotPace(MAX, 0).waits(10 * MAX, 0)).toBe(false);
  });
});
