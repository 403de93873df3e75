import fc from 'fast-check';
import { expect, test } from 'vitest';

import { consolidate, type RowList } from '../../../src/batch/consolidate.ts';
import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import { type Change, chunkOf } from '../../e2e/write/rows.ts';

function textOf(chunks: readonly RowChunk[], list: RowList, index: number): string {
  const chunk = chunks[list.chunks[index]!]!;
  const row = list.rows[index]!;
  return Buffer.from(chunk.bytes.subarray(row === 0 ? 0 : chunk.ends[row - 1], chunk.ends[row])).toString();
}

const keyOf = (row: string, keyColumns: readonly number[]): string =>
  keyColumns.length === 0 ? row : JSON.stringify(keyColumns.map((column) => row.split('\t')[column]));

// Few values, so that rows meet; NULL, empty and escaped text among them.
const cell = fc.constantFrom('', '1', '2', '\\N', 'a\\tb', 'é');
const change: fc.Arbitrary<Change> = fc.record({
  row: fc.tuple(cell, cell, cell).map((cells) => cells.join('\t')),
  diff: fc.oneof(fc.constantFrom(1n, -1n, 2n, -3n), fc.bigInt(-(2n ** 40n), 2n ** 40n).filter((diff) => diff !== 0n)),
  time: fc.bigInt(0n, 5n),
});

test('GIVEN any changes in any chunks WHEN consolidated THEN the result is the naive sum of the multiset', () => {
  fc.assert(fc.property(
    fc.array(fc.array(change, { maxLength: 30 }), { maxLength: 5 }),
    fc.constantFrom([0], [1], [2, 0], []),
    fc.boolean(),
    (batches, keyColumns, poorHash) => {
      // A hash that is the same for all keys must only cost time.
      const hashOf = (row: string): number => (poorHash ? 5 : Buffer.from(keyOf(row, keyColumns)).reduce((sum, byte) => Math.imul(sum, 31) + byte, 7) >>> 0);
      const chunks = batches.map((batch) => chunkOf(batch, hashOf));
      const sums = new Map<string, bigint>();
      for (const { row, diff } of batches.flat()) sums.set(String(row), (sums.get(String(row)) ?? 0n) + (diff ?? 1n));
      const net = consolidate(chunks, keyColumns);
      const inserted = Array.from({ length: net.inserts.length }, (_, index) =>
        [textOf(chunks, net.inserts, index), BigInt(net.copies[index]!)] as const);
      expect(new Map(inserted)).toEqual(new Map([...sums].filter(([, sum]) => sum > 0n)));
      expect(inserted).toHaveLength(new Map(inserted).size);
      const deleted = Array.from({ length: net.deletes.length }, (_, index) => keyOf(textOf(chunks, net.deletes, index), keyColumns));
      const expected = new Set([...sums].filter(([, sum]) => sum < 0n).map(([row]) => keyOf(row, keyColumns)));
      expect(new Set(deleted)).toEqual(expected);
      expect(deleted).toHaveLength(expected.size);
    },
  ), { numRuns: 500 });
});
