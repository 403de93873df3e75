/** When the source is made to wait, seen from the source. */
import { describe, expect, test } from 'vitest';
import type { Encoder } from '../../../src/sink/ports.ts';
import { runSink } from '../../../src/sink/driver.ts';
import { jsonEncoder, memoryWorld, settled } from '../../doubles/memory-world.ts';
import { insert, settings } from '../../doubles/started-sink.ts';

/** In the proportions of a real budget. */
const LIMITS = { rowBytesMax: 4_000, stashBytesMax: 2_000, streamBytesMax: 1_000, groupBytesMax: 1_000 };
const PATIENCE_MS = 10_000;

/** Takes no row until it is let go. */
function stuckEncoder(): { readonly encoder: Encoder; letGo(): void } {
  const gate = Promise.withResolvers<void>();
  return {
    letGo: () => gate.resolve(),
    encoder: {
      open(plan, receiver) {
        const session = jsonEncoder.open(plan, receiver);
        return {
          write: async (group) => {
            await gate.promise;
            await session.write(group);
          },
          finish: () => session.finish(),
          abort: () => session.abort(),
        };
      },
      close: () => jsonEncoder.close(),
    },
  };
}

describe('GIVEN an encoder that takes nothing of the snapshot, and a stash of later rows that is almost full', () => {
  test('WHEN the patience has ended THEN the source is read on: of what is held nothing is on its way to disk', async () => {
    const world = memoryWorld();
    const { encoder, letGo } = stuckEncoder();
    const sink = runSink(settings(), { ...world.ports, encoder }, LIMITS);
    await settled();
    world.source.progress(1_000n);
    world.source.rows(insert(`1\t${'l'.repeat(1_800)}`, 5_000n));
    world.source.rows(insert(`2\t${'s'.repeat(800)}`, 1_000n));
    await settled();
    expect([world.source.pauses, world.source.resumes]).toEqual([1, 0]);
    await world.clock.advance(PATIENCE_MS);
    expect([world.source.pauses, world.source.resumes]).toEqual([1, 1]);
    letGo();
    sink.stop();
    await sink.done;
  });
});
