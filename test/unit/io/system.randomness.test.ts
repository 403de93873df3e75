import { describe, expect, test } from 'vitest';
import { createSystemClock, createSystemEntropy } from '../../../src/io/system.ts';

const entropy = createSystemEntropy();

describe('GIVEN the randomness of production', () => {
  test('WHEN snapshot ids are drawn THEN they are positive, of 63 bits, and differ', () => {
    const ids = Array.from({ length: 2_000 }, () => entropy.snapshotId());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => id > 0n && id < 2n ** 63n)).toBe(true);
    expect(ids.some((id) => id > 2n ** 62n)).toBe(true);
  });

  test('WHEN uuids are drawn THEN they are of version 7, with the time in front', () => {
    const before = Date.now();
    const uuids = Array.from({ length: 1_000 }, () => entropy.uuid());
    expect(new Set(uuids).size).toBe(uuids.length);
    expect(uuids.every((uuid) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid))).toBe(true);
    const timeMs = Number.parseInt((uuids[0] ?? '').replaceAll('-', '').slice(0, 12), 16);
    expect(timeMs).toBeGreaterThanOrEqual(before);
    expect(timeMs).toBeLessThanOrEqual(Date.now());
  });

  test('WHEN fractions are drawn THEN they lie in [0, 1) on both sides of the middle', () => {
    const fractions = Array.from({ length: 1_000 }, () => entropy.fraction());
    expect(fractions.every((fraction) => fraction >= 0 && fraction < 1)).toBe(true);
    expect(fractions.some((fraction) => fraction < 0.5) && fractions.some((fraction) => fraction > 0.5)).toBe(true);
  });
});

describe('GIVEN the clock of production', () => {
  const clock = createSystemClock();

  test('WHEN a delay is longer than a timer can be THEN it does not fire at once', async () => {
    let fired = false;
    const cancel = clock.after(2 ** 40, () => {
      fired = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    cancel();
    expect(fired).toBe(false);
  });

  test('WHEN a delay is cancelled THEN it never calls back', async () => {
    let fired = 0;
    clock.after(5, () => {
      fired += 1;
    });
    clock.after(5, () => {
      fired += 10;
    })();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(fired).toBe(1);
  });
});
