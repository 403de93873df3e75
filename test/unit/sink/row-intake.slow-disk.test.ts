/** What goes through memory while a span is read back from disk; the simulator found that it was without bound. */
import { describe, expect, test } from 'vitest';
import { type RowChunk, chunkBytes, contiguousStarts } from '../../../src/batch/row-chunk.ts';
import type { SpillStore } from '../../../src/sink/ports.ts';
import { RowIntake } from '../../../src/sink/row-intake.ts';

const ROWS = 200;

/** One row of a key of its own. */
function rowAt(time: bigint, key: number): RowChunk {
  const bytes = new TextEncoder().encode(`${key}\tv`);
  const ends = Uint32Array.of(bytes.length);
  return {
    bytes, starts: contiguousStarts(ends), ends, times: BigUint64Array.of(time), diffs: BigInt64Array.of(1n),
    keyHashes: Uint32Array.of(Math.imul(key, 0x9e37_79b1)), rowCount: 1, minTime: time, maxTime: time,
  };
}

/** Reads at once; an append waits until the disk is let go. */
function slowDisk(): { readonly spill: SpillStore; letGo(): void } {
  const partitions = new Map<string, RowChunk[]>();
  let gate = Promise.withResolvers<void>();
  let isHeld = false;
  gate.resolve();
  const spill: SpillStore = {
    async append(partition, chunk) {
      await gate.promise;
      partitions.set(partition, [...partitions.get(partition) ?? [], chunk]);
    },
    letGo: () => undefined,
    async *read(partition) {
      // From the first read on the disk takes nothing more, for a while.
      if (!isHeld) gate = Promise.withResolvers<void>();
      isHeld = true;
      yield* partitions.get(partition) ?? [];
    },
    async remove(partition) {
      partitions.delete(partition);
    },
    async removeAll() {
      partitions.clear();
    },
  };

  return { spill, letGo: () => gate.resolve() };
}

describe.each(['upsert', 'append'] as const)('GIVEN %s rows on disk, most of which are later than the span', (mode) => {
  test('WHEN the disk takes slower than it gives THEN reading waits, and every row of the span comes out', async () => {
    const { spill, letGo } = slowDisk();
    const size = chunkBytes(rowAt(1n, 1));
    const failures: unknown[] = [];
    const intake = new RowIntake({
      mode, spill, stashBytesMax: 4 * size, groupBytesMax: 4 * size,
      onFacts: () => undefined, onRelief: () => undefined, onFailure: (thrown) => failures.push(thrown),
    });
    for (let key = 0; key < ROWS; key++) intake.append(rowAt(key % 10 === 0 ? 1n : 5n, key));
    await intake.settled();
    const groups: number[] = [];
    let mostHeld = 0;
    const reading = (async () => {
      for await (const { chunks } of intake.groups(intake.seal([3n]))) {
        groups.push(chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0));
      }
    })();
    for (let turn = 0; turn < 2_000; turn++) {
      await Promise.resolve();
      mostHeld = Math.max(mostHeld, intake.heldBytes);
    }
    // The stash, and as much again on its way to disk.
    expect(mostHeld).toBeLessThanOrEqual(10 * size);
    letGo();
    await reading;
    expect(groups.reduce((sum, rows) => sum + rows, 0)).toBe(ROWS / 10);
    expect(failures).toEqual([]);
  });
});
