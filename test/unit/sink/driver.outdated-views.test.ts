/**
 * What looks final and is not: failures that an outdated view of the table explains, and one that nobody told. All of
 * them were found by the simulator, and the stale answers by the crash tests.
 */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { updateToJson } from '../../../src/iceberg/metadata-json.ts';
import { type RunningSink, runSink } from '../../../src/sink/driver.ts';
import { type MemoryWorld, memoryWorld, settled } from '../../doubles/memory-world.ts';
import { readTable } from '../../doubles/read-json-table.ts';
import { LIMITS, TINY, insert, settings, started } from '../../doubles/started-sink.ts';

describe('GIVEN a disk that fails while the source waits for it', () => {
  test('THEN the sink starts over at once instead of waiting for progress that a paused source never brings', async () => {
    const world = memoryWorld();
    const { openSpill } = world.ports;
    let isFull = true;
    const ports = {
      ...world.ports,
      openSpill: (name: string) => {
        const spill = openSpill(name);
        const append = spill.append.bind(spill);
        spill.append = (partition, chunk) =>
          (isFull ? Promise.reject(new SinkError('spill-failed', 'planned')) : append(partition, chunk));
        return spill;
      },
    };
    const sink = runSink(settings({ snapshot: false }), ports, TINY);
    await settled();
    world.source.progress(1_000n);
    for (let i = 0; i < 20; i++) world.source.rows(insert(`${i}\tv${i}`, 1_500n));
    await settled();
    expect(sink.state()).toMatchObject({ phase: 'backing-off', lastError: { code: 'spill-failed' } });
    isFull = false;
    await world.clock.advance(1_000);
    expect(world.source.requests).toHaveLength(2);
  });
});

describe('GIVEN a commit that the catalog calls invalid', () => {
  test('WHEN a write to another branch took its sequence number THEN it is built again and sent', async () => {
    const { world, sink } = await started();
    const { snapshots } = world.catalog.table().metadata;
    const snapshot = { ...snapshots[0]!, snapshotId: 5n, parentSnapshotId: snapshots[0]!.snapshotId, sequenceNumber: 2n };
    world.catalog.edit([
      updateToJson({ action: 'add-snapshot', snapshot }),
      updateToJson({ action: 'set-snapshot-ref', ref: 'audit', snapshotId: 5n, type: 'branch' }),
    ]);
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(10_000);
    expect(sink.state()).toMatchObject({ phase: 'running', newestSequence: 3n });
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN a cache shows the write to another branch five seconds late THEN the sink waits for it', async () => {
    const { world, sink } = await started();
    const { snapshots } = world.catalog.table().metadata;
    const load = world.catalog.loadTable.bind(world.catalog);
    const outdated = await load();
    let isBehind = true;
    world.catalog.loadTable = async () => (isBehind ? outdated : load());
    const snapshot = { ...snapshots[0]!, snapshotId: 5n, parentSnapshotId: snapshots[0]!.snapshotId, sequenceNumber: 2n };
    world.catalog.edit([
      updateToJson({ action: 'add-snapshot', snapshot }),
      updateToJson({ action: 'set-snapshot-ref', ref: 'audit', snapshotId: 5n, type: 'branch' }),
    ]);
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(5_000);
    expect(sink.state().phase).toBe('running');
    isBehind = false;
    await world.clock.advance(10_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN it stays invalid THEN the sink halts and says so', async () => {
    const { world, sink } = await started();
    world.catalog.commit = async () => ({ kind: 'refused', error: new SinkError('commit-refused', 'planned') });
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await world.clock.advance(60_000);
    expect(await sink.done).toMatchObject({ reason: 'halted', error: { code: 'commit-refused' } });
  });
});

describe('GIVEN a manifest list of the head that is gone from storage', () => {
  async function restartedWithoutList(): Promise<{ world: MemoryWorld; path: string; bytes: Uint8Array; end: RunningSink['done'] }> {
    const { world: before, sink: first } = await started();
    first.stop();
    await first.done;
    const world = memoryWorld(before);
    const path = world.catalog.table().metadata.snapshots[0]!.manifestList;
    const bytes = world.store.objects.get(path)!;
    const { done: end } = runSink(settings(), world.ports, LIMITS);
    await settled();
    world.store.objects.delete(path);
    world.source.progress(1_000n);
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await settled();
    return { world, path, bytes, end };
  }

  test('WHEN a second look at the table finds it THEN the sink goes on', async () => {
    const { world, path, bytes } = await restartedWithoutList();
    world.store.objects.set(path, bytes);
    await world.clock.advance(10_000);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc']);
  });

  test('WHEN it stays away THEN the sink halts and says so', async () => {
    const { world, end } = await restartedWithoutList();
    await world.clock.advance(20_000);
    expect(await end).toMatchObject({ reason: 'halted', error: { code: 'storage-object-missing' } });
  });
});

describe('GIVEN a catalog that answers a load with the table as it was before our last commit', () => {
  async function startedWithStaleLoads(count: number): Promise<Awaited<ReturnType<typeof started>>> {
    const setting = await started();
    const { world } = setting;
    const old = world.catalog.table();
    world.source.rows(insert('3\tc', 1_500n));
    world.source.progress(3_000n);
    await settled();
    const load = world.catalog.loadTable.bind(world.catalog);
    // The table is loaded only when a post was not answered with yes.
    world.catalog.onCommit.push('conflict');
    let left = count;
    world.catalog.loadTable = async () => {
      left -= 1;
      return left >= 0 ? { kind: 'loaded', table: old } : load();
    };
    world.source.rows(insert('4\td', 3_500n));
    world.source.progress(5_000n);
    await settled();
    return setting;
  }

  test('WHEN it catches up THEN the sink takes it for no rollback and goes on', async () => {
    const { world, sink } = await startedWithStaleLoads(3);
    expect(sink.state()).toMatchObject({ phase: 'running', lastError: null });
    expect(world.log.at(-1)).toMatchObject({ event: 'commit-retry', fields: { cause: 'outdated-answer' } });
    await world.clock.advance(5_000);
    expect(sink.state().committed).toEqual([5_000n]);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tc', '4\td']);
  });

  test('WHEN it stays so THEN the sink halts as behind, for the table was restored from elsewhere', async () => {
    const { world, sink } = await startedWithStaleLoads(1_000);
    await world.clock.advance(120_000);
    expect(await sink.done).toMatchObject({ reason: 'halted', error: { code: 'frontier-behind' } });
  });
});
