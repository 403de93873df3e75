import { describe, expect, test } from 'vitest';

import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import { splitChunk } from '../../../src/write/split-rows.ts';
import { chunkOf } from '../../e2e/write/rows.ts';

function rowsOf(chunk: RowChunk): readonly string[] {
  return Array.from({ length: chunk.rowCount }, (_, row) => {
    const text = Buffer.from(chunk.bytes.subarray(chunk.starts[row], chunk.ends[row])).toString();
    return `${text}|${chunk.diffs[row]}|${chunk.times[row]}|${chunk.keyHashes[row]}`;
  });
}

describe('GIVEN a chunk whose keys recur', () => {
  const hashOf = (row: string): number => Math.imul(Number(row.split('\t')[0]), 0x85eb_ca6b) >>> 0;
  const changes = Array.from({ length: 1000 }, (_, index) => ({
    row: `${index % 97}\t${'x'.repeat(index % 5)}`, diff: BigInt(index % 7) - 10n, time: BigInt(index),
  }));
  const chunk = chunkOf(changes, hashOf);

  test.each([1, 2, 3, 7])('WHEN it is split in %i THEN no row is lost or changed and each key lies in one part', (parts) => {
    const split = splitChunk(chunk, parts).filter((part) => part !== null);
    expect(split.flatMap(rowsOf).toSorted()).toEqual([...rowsOf(chunk)].toSorted());
    const keys = split.map((part) => new Set(rowsOf(part).map((row) => row.split('\t')[0])));
    expect(keys.reduce((sum, set) => sum + set.size, 0)).toBe(97);
    expect(split.length).toBe(parts);
  });

  test('WHEN one key fills the chunk THEN the other parts have no chunk', () => {
    const split = splitChunk(chunkOf([{ row: '1\ta' }, { row: '1\tb' }], hashOf), 4);
    expect(split.filter((part) => part !== null)).toHaveLength(1);
  });
});
