/** Law: whatever is appended, spilled and sealed in whatever order, each row comes out once, in the span of its time. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import { PARTITIONS_PER_LEVEL, Stash, partitionChunks, partitionOf, splitChunk } from '../../../src/batch/stash.ts';

interface Row { text: string; time: bigint; diff: bigint; keyHash: number }

function chunkOf(rows: readonly Row[]): RowChunk {
  const texts = rows.map((row) => Buffer.from(row.text, 'utf8'));
  let start = 0;
  let end = 0;
  return {
    bytes: new Uint8Array(Buffer.concat(texts)),
    starts: Uint32Array.from(texts, (text) => (start += text.length) - text.length),
    ends: Uint32Array.from(texts, (text) => (end += text.length)),
    times: BigUint64Array.from(rows, (row) => row.time),
    diffs: BigInt64Array.from(rows, (row) => row.diff),
    keyHashes: Uint32Array.from(rows, (row) => row.keyHash),
    rowCount: rows.length,
    minTime: rows.reduce((least, row) => (row.time < least ? row.time : least), rows[0]?.time ?? 0n),
    maxTime: rows.reduce((most, row) => (row.time > most ? row.time : most), 0n),
  };
}

function rowsOf(chunk: RowChunk): Row[] {
  return Array.from({ length: chunk.rowCount }, (_, row) => ({
    text: Buffer.from(chunk.bytes.subarray(chunk.starts[row], chunk.ends[row])).toString('utf8'),
    time: chunk.times[row]!, diff: chunk.diffs[row]!, keyHash: chunk.keyHashes[row]!,
  }));
}

const row = fc.record({
  text: fc.string({ unit: 'grapheme', maxLength: 12 }),
  time: fc.bigInt({ min: 0n, max: 9n }),
  diff: fc.bigInt({ min: -3n, max: 3n }),
  keyHash: fc.integer({ min: 0, max: 0xffff_ffff }),
});
const sorted = (rows: readonly Row[]): string[] =>
  rows.map((r) => `${r.time} ${r.diff} ${r.keyHash} ${r.text}`).sort();

test('GIVEN any chunk WHEN it is split at a frontier THEN both sides together are the chunk', () => {
  fc.assert(fc.property(fc.array(row, { minLength: 1 }), fc.bigInt({ min: 0n, max: 10n }), (rows, at) => {
    const { below, above } = splitChunk(chunkOf(rows), [at]);
    const low = below === null ? [] : rowsOf(below);
    const high = above === null ? [] : rowsOf(above);
    expect(low.every((r) => r.time < at) && high.every((r) => r.time >= at)).toBe(true);
    expect(sorted([...low, ...high])).toEqual(sorted(rows));
    for (const part of [below, above]) {
      if (part === null) continue;
      expect(part.minTime).toBe(rowsOf(part).reduce((least, r) => (r.time < least ? r.time : least), 99n));
      expect(part.maxTime).toBe(rowsOf(part).reduce((most, r) => (r.time > most ? r.time : most), 0n));
    }
  }));
});

test('GIVEN any chunks WHEN they are dealt out by key hash THEN no row is lost and equal hashes meet', () => {
  fc.assert(fc.property(fc.array(fc.array(row, { minLength: 1 }), { minLength: 1, maxLength: 4 }), fc.integer({ min: 0, max: 4 }), (chunks, level) => {
    const rows = chunks.flat();
    const parts = partitionChunks(chunks.map(chunkOf), level);
    expect(parts).toHaveLength(PARTITIONS_PER_LEVEL);
    const all = parts.flatMap((part, index) => {
      const inPart = part === null ? [] : rowsOf(part);
      expect(inPart.every((r) => partitionOf(r.keyHash, level) === index)).toBe(true);
      return inPart;
    });
    expect(sorted(all)).toEqual(sorted(rows));
  }));
});

test('GIVEN any order of appending, spilling and sealing THEN each row comes out exactly once and below its upper', () => {
  const action = fc.oneof(
    { weight: 5, arbitrary: fc.array(row, { minLength: 1, maxLength: 6 }).map((rows) => ({ kind: 'append' as const, rows })) },
    { weight: 1, arbitrary: fc.constant({ kind: 'spill' as const }) },
    { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 10n }).map((upper) => ({ kind: 'seal' as const, upper })) },
  );
  fc.assert(fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
    const stash = new Stash();
    const appended: Row[] = [];
    const out: Row[] = [];
    let disk: Row[] = [];
    for (const step of [...actions, { kind: 'seal' as const, upper: 100n }]) {
      if (step.kind === 'append') {
        stash.append(chunkOf(step.rows));
        appended.push(...step.rows);
      } else if (step.kind === 'spill') {
        disk.push(...stash.takeForSpill().flatMap(rowsOf));
      } else {
        const sealed = stash.seal([step.upper]);
        const taken = sealed.chunks.flatMap(rowsOf);
        expect(taken.every((r) => r.time < step.upper)).toBe(true);
        expect(sealed.spilled === 'none').toBe(disk.length === 0);
        if (sealed.spilled === 'all-below') expect(disk.every((r) => r.time < step.upper)).toBe(true);
        out.push(...taken, ...disk.filter((r) => r.time < step.upper));
        const back = disk.filter((r) => r.time >= step.upper);
        disk = [];
        if (back.length > 0) stash.append(chunkOf(back));
      }
      const facts = stash.facts();
      expect(facts.rowCount).toBe(appended.length - out.length);
    }
    expect(sorted(out)).toEqual(sorted(appended));
  }));
});
