/** How rows of a large span are dealt out on disk where the budget is small. Found by measuring eleven sinks in one process. */
import { describe, expect, test } from 'vitest';
import { type RowChunk, chunkBytes, contiguousStarts } from '../../../src/batch/row-chunk.ts';
import type { SpillStore } from '../../../src/sink/ports.ts';
import { RowIntake } from '../../../src/sink/row-intake.ts';

const ROWS_A_CHUNK = 500;
const CHUNKS = 400;

/** Keys from `first` on, each with a hash of its own. */
function chunkFrom(first: number): RowChunk {
  const keys = Array.from({ length: ROWS_A_CHUNK }, (_, index) => first + index);
  const texts = keys.map((key) => `${String(key).padStart(8, '0')}\tvalue`);
  const bytes = new TextEncoder().encode(texts.join(''));
  const ends = Uint32Array.from(keys, (_, index) => (index + 1) * (texts[0]?.length ?? 0));
  return {
    bytes, starts: contiguousStarts(ends), ends, times: new BigUint64Array(ROWS_A_CHUNK).fill(1n), diffs: new BigInt64Array(ROWS_A_CHUNK).fill(1n),
    keyHashes: Uint32Array.from(keys, (key) => Math.imul(key, 0x9e37_79b1)), rowCount: ROWS_A_CHUNK, minTime: 1n, maxTime: 1n,
  };
}

function countingDisk(): { readonly spill: SpillStore; appends(): number } {
  const partitions = new Map<string, RowChunk[]>();
  let count = 0;
  const spill: SpillStore = {
    async append(partition, chunk) {
      count++;
      const held = partitions.get(partition) ?? [];
      held.push(chunk);
      partitions.set(partition, held);
    },
    letGo: () => undefined,
    async *read(partition) {
      yield* partitions.get(partition) ?? [];
    },
    async remove(partition) {
      partitions.delete(partition);
    },
    async removeAll() {
      partitions.clear();
    },
  };
  return { spill, appends: () => count };
}

describe('GIVEN a span so much larger than the budget that its parts are dealt out twice', () => {
  test('WHEN it is read back THEN every key comes once, and the disk was not called for every few rows', async () => {
    const { spill, appends } = countingDisk();
    const spanBytes = CHUNKS * chunkBytes(chunkFrom(0));
    const intake = new RowIntake({
      mode: 'upsert', spill, stashBytesMax: spanBytes / 16, groupBytesMax: spanBytes / 256,
      onFacts: () => undefined, onRelief: () => undefined, onFailure: (thrown) => { throw thrown; },
    });
    for (let chunk = 0; chunk < CHUNKS; chunk++) intake.append(chunkFrom(chunk * ROWS_A_CHUNK));
    const span = intake.seal([2n]);
    expect(span.spilled).toBe('all-below');
    let groups = 0;
    const keys = new Set<string>();
    let rows = 0;
    for await (const { chunks, consolidate } of intake.groups(span)) {
      expect(consolidate).toBe(true);
      groups++;
      for (const chunk of chunks) {
        const text = new TextDecoder().decode(chunk.bytes);
        for (let row = 0; row < chunk.rowCount; row++) keys.add(text.slice(chunk.starts[row], chunk.ends[row]));
        rows += chunk.rowCount;
      }
    }
    expect(groups).toBeGreaterThan(64);
    expect(rows).toBe(CHUNKS * ROWS_A_CHUNK);
    expect(keys.size).toBe(rows);
    // Row by row the second dealing alone would have been a call for each.
    expect(appends()).toBeLessThan(rows / 5);
  });
});

test('GIVEN a disk that refuses one of many parts WHEN rows are dealt out THEN it is said when no other part is being written any more', async () => {
  const { spill } = countingDisk();
  let writing = 0;
  const failures: { readonly thrown: unknown; readonly writing: number }[] = [];
  const intake = new RowIntake({
    mode: 'upsert', stashBytesMax: 1, groupBytesMax: 1_000_000,
    spill: {
      ...spill,
      async append(partition) {
        if (partition === 'g0-0') throw new Error('disk full');
        writing++;
        await new Promise((resolve) => { setTimeout(resolve, 5); });
        writing--;
      },
    },
    onFacts: () => undefined, onRelief: () => undefined, onFailure: (thrown) => failures.push({ thrown, writing }),
  });
  intake.append(chunkFrom(0));
  await expect(intake.settled()).rejects.toThrow('disk full');
  expect(failures).toEqual([{ thrown: expect.objectContaining({ message: 'disk full' }) as unknown, writing: 0 }]);
});
