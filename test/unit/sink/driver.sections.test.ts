/** Spans of which a part is encoded before they close (batch/encode-ahead.ts). */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import type { RunningSink } from '../../../src/sink/driver.ts';
import type { SinkSettings } from '../../../src/sink/effects.ts';
import { type MemoryWorld, settled } from '../../doubles/memory-world.ts';
import { readTable } from '../../doubles/read-json-table.ts';
import { LIMITS, TINY, insert, remove, started } from '../../doubles/started-sink.ts';

const OVER: Partial<SinkSettings> = { sectionBytesMin: 1, commitIntervalMs: 10_000 };

/**
 * `1 a` and `2 b` are committed at 1001, and the span closes at 11001. One section is written: at 9000 key 1 was updated and key 3 came.
 */
async function withSection(over: Partial<SinkSettings> = {}, limits = LIMITS): Promise<{ world: MemoryWorld; sink: RunningSink }> {
  const { world, sink } = await started({ ...OVER, ...over }, limits);
  world.source.rows(remove('1\ta', 5_000n), insert('1\tA', 5_000n), insert('3\tc', 5_000n));
  world.source.progress(9_000n);
  await settled();
  return { world, sink };
}

const last = (world: MemoryWorld) => world.catalog.table().metadata.snapshots.at(-1);

describe('GIVEN a span that will close with the next progress', () => {
  test('THEN what it has is in storage before it closes, and not in the table', async () => {
    const { world, sink } = await withSection();
    expect(sink.state().open).toMatchObject({ upper: [9_000n], sections: 1, isWriting: false });
    expect([...world.store.objects.keys()].filter((path) => path.endsWith('.parquet'))).toHaveLength(3);
    expect(world.catalog.commits).toBe(1);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb']);
  });

  test('WHEN it closes THEN one snapshot has all of it, and later sections win over earlier ones', async () => {
    const { world } = await withSection();
    world.source.rows(remove('1\tA', 9_500n), insert('1\tAA', 9_500n), remove('3\tc', 9_500n), insert('4\td', 9_500n));
    world.source.progress(12_000n);
    await settled();
    expect(world.catalog.commits).toBe(2);
    expect(await readTable(world)).toEqual(['1\tAA', '2\tb', '4\td']);
    expect(last(world)).toMatchObject({ sequenceNumber: 3n, summary: { 'mz-frontier': '[12000]', 'added-data-files': '2', 'added-delete-files': '2' } });
  });

  test('WHEN nothing more comes before it closes THEN what was encoded is committed all the same', async () => {
    const { world, sink } = await withSection();
    world.source.progress(12_000n);
    await settled();
    expect(await readTable(world)).toEqual(['1\tA', '2\tb', '3\tc']);
    expect(last(world)).toMatchObject({ sequenceNumber: 2n, summary: { 'mz-frontier': '[12000]' } });
    expect(sink.state().open).toBeNull();
  });

  test('WHEN more comes again and again THEN there are a few sections, and the rest waits for the close', async () => {
    const { world, sink } = await withSection();
    for (const [index, time] of [9_200n, 9_400n, 9_600n, 9_800n, 10_900n].entries()) {
      const before = index === 0 ? '1\tA' : `1\tA${index - 1}`;
      world.source.rows(remove(before, time - 10n), insert(`1\tA${index}`, time - 10n));
      // Large steps of progress, so that each lies before the close as far as one can know.
      world.source.progress(time);
      await settled();
    }
    expect(sink.state().open?.sections).toBeLessThanOrEqual(3);
    world.source.progress(12_000n);
    await settled();
    expect(await readTable(world)).toEqual(['1\tA4', '2\tb', '3\tc']);
    expect(world.catalog.commits).toBe(2);
  });

  test('WHEN the head moves before it is committed THEN its sections get the numbers that follow', async () => {
    const { world } = await withSection();
    const { metadata } = world.catalog.table();
    const head = metadata.snapshots.at(-1);
    world.catalog.edit([
      { action: 'add-snapshot', snapshot: {
        'snapshot-id': 77n, 'parent-snapshot-id': head?.snapshotId ?? 0n, 'sequence-number': 2n, 'timestamp-ms': head?.timestampMs ?? 0n,
        'manifest-list': head?.manifestList ?? '', summary: { operation: 'replace' }, 'schema-id': 0n,
      } },
      { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': 77n },
    ]);
    world.source.rows(remove('1\tA', 9_500n), insert('1\tAA', 9_500n));
    world.source.progress(12_000n);
    await settled();
    await world.clock.advance(5_000);
    expect(last(world)).toMatchObject({ sequenceNumber: 4n, parentSnapshotId: 77n });
    expect(await readTable(world)).toEqual(['1\tAA', '2\tb', '3\tc']);
  });

  test('WHEN the source breaks off THEN what was encoded is given up, and comes again', async () => {
    const { world, sink } = await withSection();
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'planned') });
    await world.clock.advance(60_000);
    expect(sink.state()).toMatchObject({ phase: 'running', open: null });
    expect(world.source.requests.at(-1)?.asOf).toBe(1_000n);
    world.source.progress(1_000n);
    world.source.rows(remove('1\ta', 5_000n), insert('1\tA', 5_000n), insert('3\tc', 5_000n));
    world.source.progress(12_000n);
    await settled();
    expect(await readTable(world)).toEqual(['1\tA', '2\tb', '3\tc']);
  });

  test('WHEN the input ends THEN all of it is committed', async () => {
    const { world, sink } = await withSection();
    world.source.play({ kind: 'closed' });
    await settled();
    expect(await sink.done).toMatchObject({ reason: 'complete' });
    expect(await readTable(world)).toEqual(['1\tA', '2\tb', '3\tc']);
  });

  test('WHEN rows are on disk, later ones among them, THEN each is in its section once', async () => {
    const { world } = await started(OVER, TINY);
    const long = 'x'.repeat(120);
    world.source.rows(remove('1\ta', 5_000n), insert(`1\t${long}`, 5_000n), insert(`3\t${long}`, 9_500n), insert(`4\t${long}`, 5_000n));
    world.source.rows(insert('5\te', 5_000n), insert('6\tf', 9_600n));
    world.source.progress(9_000n);
    await settled();
    world.source.rows(remove(`4\t${long}`, 9_700n), insert(`7\t${long}`, 9_700n));
    world.source.progress(12_000n);
    await settled();
    expect(await readTable(world)).toEqual([`1\t${long}`, '2\tb', `3\t${long}`, '5\te', '6\tf', `7\t${long}`]);
  });

  test('WHEN the sink appends THEN no file is ended for it, and every change is there once', async () => {
    const { world, sink } = await withSection({ mode: 'append', keyColumns: [] });
    expect(sink.state().open).toMatchObject({ sections: 1, isWriting: false });
    world.source.rows(insert('4\td', 9_500n));
    world.source.progress(12_000n);
    await settled();
    expect(last(world)).toMatchObject({ sequenceNumber: 2n, summary: { 'added-data-files': '1' } });
    expect(await readTable(world)).toEqual(['-1@5000 1\ta', '1@1000 1\ta', '1@1000 2\tb', '1@5000 1\tA', '1@5000 3\tc', '1@9500 4\td']);
  });
});

describe('GIVEN a catalog that asks for the next sequence number', () => {
  test('WHEN a span has sections THEN the sink starts over and commits it in one', async () => {
    const { world, sink } = await withSection();
    world.catalog.wantsNextNumber = true;
    world.source.rows(insert('4\td', 9_500n));
    world.source.progress(12_000n);
    await world.clock.advance(60_000);
    expect(sink.state()).toMatchObject({ phase: 'running', encodeAhead: false });
    world.source.progress(1_000n);
    world.source.rows(remove('1\ta', 5_000n), insert('1\tA', 5_000n), insert('3\tc', 5_000n));
    world.source.progress(9_000n);
    await settled();
    expect(sink.state().open).toBeNull();
    world.source.rows(insert('4\td', 9_500n));
    world.source.progress(12_000n);
    await settled();
    expect(last(world)?.sequenceNumber).toBe(2n);
    expect(await readTable(world)).toEqual(['1\tA', '2\tb', '3\tc', '4\td']);
  });
});
