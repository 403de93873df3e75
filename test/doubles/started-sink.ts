/** A sink in a world in memory, as most tests of the driver begin. */
import { SECTION_BYTES_MIN } from '../../src/batch/encode-ahead.ts';
import { runSink, type RunningSink } from '../../src/sink/driver.ts';
import type { SinkSettings } from '../../src/sink/effects.ts';
import { type MemoryWorld, memoryWorld, settled } from './memory-world.ts';

export const LIMITS = { rowBytesMax: 1 << 22, stashBytesMax: 1 << 20, streamBytesMax: 1 << 20, groupBytesMax: 1 << 20 };
export const TINY = { rowBytesMax: 400, stashBytesMax: 100, streamBytesMax: 100, groupBytesMax: 100 };

export const settings = (over: Partial<SinkSettings> = {}): SinkSettings => ({
  name: 's', identity: { sinkId: 's', version: 0n, takeOver: false }, table: { namespace: ['ns'], name: 't' }, mode: 'upsert',
  keyColumns: ['id'], keyEnforced: true, cluster: null, snapshot: true, snapshotSlices: 1, commitIntervalMs: 1_000, heartbeatIntervalMs: 300_000,
  uuidMapping: 'fixed', rowErrorPolicy: 'halt', targetFileSizeBytes: 1 << 27, sectionBytesMin: SECTION_BYTES_MIN, stopGraceMs: 5_000, ...over,
});

export const insert = (row: string, time: bigint, diff = 1n) => ({ row, time, diff });
export const remove = (row: string, time: bigint) => ({ row, time, diff: -1n });

/** A sink that has committed the snapshot `1 a`, `2 b` at as of 1000. */
export async function started(over: Partial<SinkSettings> = {}, limits = LIMITS): Promise<{ world: MemoryWorld; sink: RunningSink }> {
  const world = memoryWorld();
  const sink = runSink(settings(over), world.ports, limits);
  await settled();
  world.source.progress(1_000n);
  world.source.rows(insert('1\ta', 1_000n), insert('2\tb', 1_000n));
  world.source.progress(1_001n);
  await settled();
  return { world, sink };
}
