import { describe, expect, test } from 'vitest';
import { type SealInput, decideSeal } from '../../../src/batch/seal.ts';

const input = (over: Partial<SealInput>): SealInput => ({
  lower: [1_000n], observed: [2_000n], hasClosedRows: true, nowMs: 50_000, lastSealMs: 49_000,
  commitIntervalMs: 10_000, heartbeatIntervalMs: 300_000, ...over,
});

describe('GIVEN rows below the observed frontier', () => {
  test('WHEN less than an interval of source time has passed THEN it waits', () => {
    expect(decideSeal(input({ observed: [10_999n] }))).toEqual({ kind: 'wait', atMs: null });
  });

  test('WHEN an interval has passed THEN the span takes in all that is closed, not just one interval', () => {
    expect(decideSeal(input({ observed: [11_000n] }))).toEqual({ kind: 'seal', upper: [11_000n] });
    expect(decideSeal(input({ observed: [999_999n] }))).toEqual({ kind: 'seal', upper: [999_999n] });
  });

  test('WHEN the input is complete THEN it seals at once up to the empty frontier', () => {
    expect(decideSeal(input({ observed: [] }))).toEqual({ kind: 'seal', upper: [] });
  });
});

describe('GIVEN no rows below the observed frontier', () => {
  test('WHEN the heartbeat is not due THEN it waits until it is', () => {
    expect(decideSeal(input({ hasClosedRows: false, observed: [99_000n] }))).toEqual({ kind: 'wait', atMs: 349_000 });
  });

  test('WHEN the heartbeat is due THEN an empty span keeps the frontier fresh', () => {
    expect(decideSeal(input({ hasClosedRows: false, observed: [99_000n], nowMs: 349_000 }))).toEqual({ kind: 'seal', upper: [99_000n] });
  });

  test('WHEN the input is complete THEN the end is recorded although nothing changed', () => {
    expect(decideSeal(input({ hasClosedRows: false, observed: [] }))).toEqual({ kind: 'seal', upper: [] });
  });
});

describe('GIVEN progress that is not beyond the last batch', () => {
  test.each([[[1_000n]], [[999n]]] as const)('WHEN the source reports %s THEN there is nothing to seal', (observed) => {
    expect(decideSeal(input({ observed }))).toEqual({ kind: 'wait', atMs: null });
  });

  test('WHEN the empty frontier was sealed already THEN it is not sealed twice', () => {
    expect(decideSeal(input({ lower: [], observed: [] }))).toEqual({ kind: 'wait', atMs: null });
  });
});
