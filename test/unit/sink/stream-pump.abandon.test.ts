/** A snapshot that is given up while its rows are on their way to disk: the folder is removed right after. */
import { expect, test } from 'vitest';
import type { SpillStore } from '../../../src/sink/ports.ts';
import { StreamPump } from '../../../src/sink/stream-pump.ts';
import { chunkOf, settled } from '../../doubles/memory-world.ts';
import { insert } from '../../doubles/started-sink.ts';

/** An append waits until the disk is let go. */
function slowDisk(): { readonly spill: SpillStore; readonly begun: string[]; readonly ended: string[]; letGo(): void } {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const ended: string[] = [];
  const spill: SpillStore = {
    append: async (partition) => {
      begun.push(partition);
      await gate.promise;
      ended.push(partition);
    },
    letGo: () => undefined,
    async *read() {},
    remove: async () => undefined,
    removeAll: async () => undefined,
  };
  return { spill, begun, ended, letGo: () => gate.resolve() };
}

test('GIVEN rows on their way to disk WHEN the snapshot is given up THEN its end waits for the one being written and no other is begun', async () => {
  const { spill, begun, ended, letGo } = slowDisk();
  const pump = new StreamPump(spill, 0, async () => undefined, () => undefined);
  for (let key = 0; key < 5; key++) pump.push(chunkOf([insert(`${key}\tv`, 1_000n)]));
  await settled();
  pump.abandon();
  let isOver = false;
  const over = pump.finish().finally(() => {
    isOver = true;
  });
  await settled();
  expect(isOver).toBe(false);
  letGo();
  await over;
  await settled();
  expect([begun.length, ended.length]).toEqual([1, 1]);
});
