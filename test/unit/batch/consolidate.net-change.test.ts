import { describe, expect, test } from 'vitest';

import { consolidate, hashBytes } from '../../../src/batch/consolidate.ts';
import { chunkOf } from '../../e2e/write/rows.ts';

const hashOf = (row: string): number => Math.imul(Number(row.split('\t')[0]), 0x9e37_79b1) >>> 0;

/** The inverse of an odd number modulo 2^32, by Newton's method. */
const inverse = (odd: number): number => {
  let found = odd;
  for (let round = 0; round < 5; round++) found = Math.imul(found, 2 - Math.imul(odd, found));
  return found;
};
const turned = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** What `hashBytes` makes of a word, and the word that leads it to a given hash: everything it does can be undone. */
const mixed = (hash: number, word: number): number =>
  (Math.imul(turned(hash ^ Math.imul(turned(Math.imul(word, 0xcc9e_2d51), 15), 0x1b87_3593), 13), 5) + 0xe654_6b64) | 0;
const wordTo = (hash: number, wanted: number): number => {
  const before = turned(Math.imul(wanted - 0xe654_6b64, inverse(5)), 19) ^ hash;
  return Math.imul(turned(Math.imul(before, inverse(0x1b87_3593)), 17), inverse(0xcc9e_2d51));
};

/** A row of two columns: twelve bytes, and the word that was chosen. */
function rowOfHash(index: number, wanted: number): Uint8Array {
  const row = Buffer.alloc(16);
  row.write(`${String(index).padStart(8, '0')}\tabc`);
  let hash = row.length;
  for (let at = 0; at < 12; at += 4) hash = mixed(hash, row.readInt32LE(at));
  row.writeInt32LE(wordTo(hash, wanted), 12);
  return row;
}

describe('GIVEN the changes of a span', () => {
  test('WHEN a key changes and changes back THEN nothing is left', () => {
    const chunk = chunkOf([
      { row: '1\ta', diff: -1n, time: 1n }, { row: '1\tb', diff: 1n, time: 1n },
      { row: '1\ta', diff: 1n, time: 2n }, { row: '1\tb', diff: -1n, time: 2n },
    ]);
    const net = consolidate([chunk], [0]);
    expect([net.inserts.length, net.deletes.length]).toEqual([0, 0]);
  });

  test('WHEN an insertion comes before its retraction of another chunk THEN they still cancel', () => {
    const net = consolidate([chunkOf([{ row: '1\tb' }]), chunkOf([{ row: '1\tb', diff: -1n }, { row: '1\ta', diff: -1n }])], [0]);
    expect([net.inserts.length, net.deletes.length]).toEqual([0, 1]);
  });

  test('WHEN two rows of one key are retracted THEN the key is deleted once', () => {
    const net = consolidate([chunkOf([{ row: '1\ta', diff: -1n }, { row: '1\tb', diff: -1n }])], [0]);
    expect(net.deletes.length).toBe(1);
  });

  test('WHEN keys share a hash THEN their bytes keep them apart, prefixes too', () => {
    const net = consolidate([chunkOf([{ row: '1\ta', diff: -1n }, { row: '11\ta', diff: -1n }, { row: '\t1a', diff: -1n }])], [0]);
    expect(net.deletes.length).toBe(3);
  });

  test('WHEN a diff is beyond 2^53 THEN it is an error and not a rounded count', () => {
    expect(() => consolidate([chunkOf([{ row: '1', diff: 2n ** 60n }])], [0])).toThrow('2^53');
  });

  test('WHEN a hundred thousand rows share one key hash and differ THEN it ends in time', () => {
    const chunk = chunkOf(Array.from({ length: 100_000 }, (_, index) => ({ row: `hot\t${index}` })));
    expect(consolidate([chunk], [0]).inserts.length).toBe(100_000);
  });

  test('WHEN spans of all sizes follow each other THEN none has anything of the one before it', () => {
    const sizes = [3, 200_000, 5, 65_537, 1, 524_289, 0, 17];
    for (const [turn, size] of sizes.entries()) {
      const chunk = chunkOf(Array.from({ length: size }, (_, index) => ({ row: `${index}\t${turn}`, diff: index % 3 === 0 ? -1n : 1n })), hashOf);
      const net = consolidate([chunk], [0]);
      const retracted = Math.ceil(size / 3);
      expect([net.inserts.length, net.deletes.length]).toEqual([size - retracted, retracted]);
      expect(net.copies.every((copies) => copies === 1)).toBe(true);
      const last = net.deletes.rows[net.deletes.length - 1];
      expect(last).toBe(size === 0 ? undefined : 3 * (retracted - 1));
    }
  });

  test('WHEN fifty thousand rows were chosen to have one hash THEN it ends in time, each of them once and with the sum of its diffs', () => {
    const rows = Array.from({ length: 50_000 }, (_, index) => rowOfHash(index, 0x1234_5678));
    const hashes = rows.map((row) => hashBytes(new DataView(row.buffer, row.byteOffset, row.length), 0, row.length));
    expect(new Set(hashes).size).toBe(1);
    const startMs = performance.now();
    const net = consolidate([chunkOf(rows.map((row) => ({ row }))), chunkOf(rows.map((row, index) => ({ row, diff: index < 10 ? -1n : 1n })))], [0]);
    expect(performance.now() - startMs).toBeLessThan(3_000);
    expect([net.inserts.length, net.deletes.length]).toEqual([49_990, 0]);
    expect(net.copies.every((copies) => copies === 2)).toBe(true);
  });

  test('WHEN a hundred thousand keys have one hash and are deleted THEN it ends in time, and each is deleted once', () => {
    const chunk = chunkOf(Array.from({ length: 100_000 }, (_, index) => ({ row: `k${index >> 1}\t${index}`, diff: -1n })));
    const startMs = performance.now();
    const net = consolidate([chunk], [0]);
    expect(performance.now() - startMs).toBeLessThan(3_000);
    const deleted = Array.from({ length: net.deletes.length }, (_, index) => (net.deletes.rows[index] ?? 0) >> 1);
    expect(new Set(deleted).size).toBe(50_000);
    expect(deleted).toHaveLength(50_000);
  });

  test('WHEN two different rows have one hash THEN they stay two rows', () => {
    // Birthdays: among a quarter of a million rows some share 32 bits. The search itself must find one.
    const seen = new Map<number, string>();
    let twins: readonly [string, string] | null = null;
    for (let index = 0; twins === null && index < 400_000; index++) {
      const row = `${index}\t${Math.imul(index, 0x9e37_79b1)}`;
      const bytes = new TextEncoder().encode(row);
      const hash = hashBytes(new DataView(bytes.buffer, bytes.byteOffset), 0, bytes.length);
      const twin = seen.get(hash);
      // Of one length, so that the lengths don't tell them apart.
      if (twin !== undefined && twin.length === row.length) twins = [twin, row];
      seen.set(hash, row);
    }
    expect(twins).not.toBeNull();
    const [first, second] = twins ?? ['', ''];
    const net = consolidate([chunkOf([{ row: first }, { row: second, diff: -1n }])], [0]);
    expect([net.inserts.length, net.deletes.length]).toEqual([1, 1]);
  });
});
