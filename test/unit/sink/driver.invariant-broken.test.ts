/** What must not happen, happens: a port throws what is no SinkError, a step breaks its invariant. */
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.ts';
import { runSink } from '../../../src/sink/driver.ts';
import { memoryWorld, settled } from '../../doubles/memory-world.ts';
import { LIMITS, insert, settings, started } from '../../doubles/started-sink.ts';

describe('GIVEN a fault of the sink itself', () => {
  test('WHEN a port throws what nobody foresaw THEN the sink halts as invariant-broken, names the step, and commits nothing', async () => {
    const world = memoryWorld();
    world.catalog.loadTable = () => Promise.reject(new TypeError("Cannot read properties of undefined (reading 'x')"));
    const end = await runSink(settings(), world.ports, LIMITS).done;
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'invariant-broken', message: expect.stringContaining('load-table') as string } });
    expect(world.catalog.commits).toBe(0);
    expect(world.log.find(({ event }) => event === 'halted')).toMatchObject({
      level: 'error', fields: { code: 'invariant-broken', remedy: ERROR_CODES['invariant-broken'].remedy },
    });
  });

  test('WHEN a step breaks its invariant THEN the sink halts as invariant-broken and the table stays as it was', async () => {
    const { world, sink } = await started();
    const frontiers = world.catalog.table().metadata.snapshots.length;
    // A wall clock that is no number: what the step computes from it can not be right.
    world.ports.clock.nowMs = () => Number.NaN;
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await settled();
    expect(await sink.done).toMatchObject({ reason: 'halted', error: { code: 'invariant-broken' } });
    expect(world.catalog.table().metadata.snapshots).toHaveLength(frontiers);
  });
});
