import fc from 'fast-check';
import { expect, test } from 'vitest';
import { advanceUpper, applyChanges, compactHistory, createHistory } from '../../../src/embedded/materialize/relation-history.ts';
import { holdOf, takeBatch } from '../../../src/embedded/materialize/subscription-batches.ts';

const change = fc.record({ row: fc.constantFrom('a', 'b', 'c'), diff: fc.integer({ min: -3, max: 3 }), time: fc.integer({ min: 1, max: 30 }) });

test('GIVEN any changes, steps and compaction WHEN read with and without a snapshot THEN the sums are those of a plain list', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), fc.integer({ min: 0, max: 20 }), fc.boolean(), (changes, steps, asOf, snapshot) => {
      const history = createHistory(0n);
      for (const { row, diff, time } of changes) applyChanges(history, BigInt(time), [{ row, diff }]);
      const cursor = { asOf: BigInt(asOf), snapshot, upTo: null, keeps: null, sentBelow: null };
      const sums = new Map<string, number>();
      let lastTime = 0n;
      let upper = 0n;
      for (const step of steps.toSorted((a, b) => a - b)) {
        advanceUpper(history, [BigInt(step)]);
        const batch = takeBatch(cursor, history);
        compactHistory(history, holdOf(cursor) < BigInt(step) - 1n ? holdOf(cursor) : BigInt(step) - 1n);
        for (const { time, rows } of batch?.times ?? []) {
          expect(time >= lastTime && time >= (snapshot ? cursor.asOf : cursor.asOf + 1n)).toBe(true);
          lastTime = time;
          expect(rows.every(([, diff]) => diff !== 0)).toBe(true);
          expect(new Set(rows.map(([row]) => row)).size).toBe(rows.length);
          for (const [row, diff] of rows) sums.set(row, (sums.get(row) ?? 0) + diff);
        }
        upper = batch?.progress ?? upper;
      }
      for (const row of ['a', 'b', 'c']) {
        const counted = changes.filter((each) => each.row === row && BigInt(each.time) < upper && (snapshot || each.time > asOf));
        expect(sums.get(row) ?? 0).toBe(counted.reduce((sum, { diff }) => sum + diff, 0));
      }
    }),
  );
});
