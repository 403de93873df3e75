import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { runSink, type RunningSink } from '../../../src/sink/driver.ts';
import type { SinkSettings } from '../../../src/sink/effects.ts';
import { type MemoryWorld, memoryWorld, settled } from '../../doubles/memory-world.ts';
import { LIMITS, insert, settings, started } from '../../doubles/started-sink.ts';

async function begun(over: Partial<SinkSettings> = {}): Promise<{ world: MemoryWorld; sink: RunningSink }> {
  const world = memoryWorld();
  const sink = runSink(settings(over), world.ports, LIMITS);
  await settled();
  return { world, sink };
}

async function refuse(world: MemoryWorld): Promise<void> {
  world.source.play({ kind: 'failed', error: new SinkError('source-result-too-large', 'total result exceeds max size of 1 GB') });
  await settled();
  // Any pause of a restart fits in here: it does not grow with the tries.
  await world.clock.advance(300);
  await settled();
}

const slicesOf = (world: MemoryWorld): number[] => world.source.requests.map(({ slices }) => slices);

describe('GIVEN a step that is too large for one SUBSCRIBE', () => {
  test('WHEN it is the snapshot THEN each try takes twice as many slices, and after 64 the sink halts', async () => {
    const { world, sink } = await begun();
    for (let tries = 0; tries < 7; tries++) {
      world.source.progress(1_000n);
      world.source.rows(insert('1\ta', 1_000n));
      await refuse(world);
    }
    expect(slicesOf(world)).toEqual([1, 2, 4, 8, 16, 32, 64]);
    const end = await sink.done;
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'source-result-too-large' } });
    expect(end.error?.message).toContain('read in 64 slices');
  });

  test('WHEN the number was given in advance THEN it begins there, never goes beyond 64, and other failures keep it', async () => {
    const { world, sink } = await begun({ snapshotSlices: 24 });
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'gone') });
    await settled();
    await world.clock.advance(300);
    await settled();
    await refuse(world);
    await refuse(world);
    expect(slicesOf(world)).toEqual([24, 24, 48, 64]);
    sink.stop();
    await sink.done;
  });

  test('WHEN it comes while changes stream THEN the sink resumes in two slices from the table, and the snapshot is not read again', async () => {
    const { world, sink } = await started();
    await refuse(world);
    expect(world.source.requests.map(({ slices, snapshot, asOf }) => [slices, snapshot, asOf])).toEqual([[1, true, null], [2, false, 1_000n]]);
    world.source.progress(1_000n);
    await refuse(world);
    expect(slicesOf(world)).toEqual([1, 2, 4]);
    sink.stop();
    await sink.done;
  });
});
