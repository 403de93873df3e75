/** Commits without a look at the table: what they cost, and what is noticed all the same. */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { updateToJson } from '../../../src/iceberg/metadata-json.ts';
import { schemaToJson } from '../../../src/iceberg/schema-json.ts';
import type { Snapshot } from '../../../src/iceberg/metadata.ts';
import type { RunningSink } from '../../../src/sink/driver.ts';
import { type MemoryWorld, settled } from '../../doubles/memory-world.ts';
import { readTable } from '../../doubles/read-json-table.ts';
import { insert, started } from '../../doubles/started-sink.ts';

/** One more span with one row, on its way as far as it gets without time passing. */
async function commitOne(world: MemoryWorld, key: number): Promise<void> {
  world.source.rows(insert(`${key}\tz`, BigInt(key) * 1_000n + 500n));
  world.source.progress(BigInt(key) * 1_000n + 1_000n);
  await settled();
}

function counted(world: MemoryWorld): { readonly loads: number; readonly posts: number } {
  return { loads: world.catalog.loads, posts: world.catalog.commits };
}

/** On top of main, by somebody. */
function append(world: MemoryWorld, changes: Partial<Snapshot>): void {
  const { metadata } = world.catalog.table();
  const head = metadata.snapshots.find(({ snapshotId }) => snapshotId === metadata.currentSnapshotId)!;
  const snapshot: Snapshot = {
    ...head, snapshotId: 500n + BigInt(metadata.snapshots.length), parentSnapshotId: head.snapshotId,
    sequenceNumber: metadata.lastSequenceNumber + 1n, ...changes,
  };
  world.catalog.edit([
    updateToJson({ action: 'add-snapshot', snapshot }),
    updateToJson({ action: 'set-snapshot-ref', ref: 'main', snapshotId: snapshot.snapshotId, type: 'branch' }),
  ]);
}

const events = (world: MemoryWorld): readonly string[] => world.log.map(({ event }) => event);
const haltCode = async (sink: RunningSink): Promise<string | undefined> => (await sink.done).error?.code;

describe('GIVEN a sink whose commits are answered with yes', () => {
  test('THEN each of them is one POST and no load', async () => {
    const { world } = await started();
    const before = counted(world);
    for (let key = 3; key < 23; key++) await commitOne(world, key);
    expect(counted(world)).toEqual({ loads: before.loads, posts: before.posts + 20 });
    const { snapshots } = world.catalog.table().metadata;
    expect(snapshots.map(({ sequenceNumber }) => sequenceNumber)).toEqual(Array.from({ length: 21 }, (_, index) => BigInt(index + 1)));
    expect(await readTable(world)).toHaveLength(22);
  });

  test('WHEN the table was empty THEN the first commit looks, since not every catalog checks that it still is', async () => {
    const { world } = await started();
    // One to find that there is no table, one for the first commit.
    expect(counted(world)).toEqual({ loads: 2, posts: 1 });
  });

  test('WHEN five minutes have passed since the last look THEN the next commit looks again, and those after it do not', async () => {
    const { world } = await started();
    await world.clock.advance(299_000);
    const { loads } = world.catalog;
    await commitOne(world, 3);
    expect(world.catalog.loads).toBe(loads);
    await world.clock.advance(1_000);
    await commitOne(world, 4);
    expect(world.catalog.loads).toBe(loads + 1);
    await commitOne(world, 5);
    expect(world.catalog.loads).toBe(loads + 1);
  });

  test('WHEN the sink has started over THEN the look of its opening is enough for the first batch', async () => {
    const { world } = await started();
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'reset') });
    await world.clock.advance(1_000);
    const { loads } = world.catalog;
    world.source.progress(1_000n);
    await commitOne(world, 3);
    expect(world.catalog.loads).toBe(loads);
    expect(await readTable(world)).toContain('3\tz');
  });
});

describe('GIVEN an answer that was no plain yes', () => {
  test.each(['lost-after', 'lost-before', 'conflict'] as const)('WHEN it was %s THEN the table is loaded once, and the next batch goes without', async (fault) => {
    const { world } = await started();
    const { loads } = world.catalog;
    world.catalog.onCommit.push(fault);
    await commitOne(world, 3);
    await world.clock.advance(200);
    expect(world.catalog.loads).toBe(loads + 1);
    await commitOne(world, 4);
    expect(world.catalog.loads).toBe(loads + 1);
    expect(await readTable(world)).toEqual(['1\ta', '2\tb', '3\tz', '4\tz']);
  });

  test('WHEN our commit is found with a foreign snapshot on top THEN the next batch halts instead of burying it', async () => {
    const { world, sink } = await started();
    world.catalog.onCommit.push('lost-after');
    await commitOne(world, 3);
    append(world, { summary: { operation: 'append' } });
    await world.clock.advance(200);
    expect(events(world).at(-1)).toBe('committed');
    const { posts } = counted(world);
    await commitOne(world, 4);
    expect(await haltCode(sink)).toBe('foreign-writer');
    expect(counted(world).posts).toBe(posts);
  });
});

describe('GIVEN somebody who changes the table between two commits', () => {
  test('WHEN a compaction lies on top THEN it is noticed by a 409 and built upon without a pause', async () => {
    const { world } = await started();
    append(world, { summary: { operation: 'replace' } });
    await commitOne(world, 3);
    const { metadata } = world.catalog.table();
    expect(metadata.snapshots.map(({ summary }) => summary['operation'])).toEqual(['append', 'replace', 'append']);
    expect(events(world)).toContain('table-changed');
    expect(events(world)).not.toContain('commit-retry');
  });

  test('WHEN the schema is another THEN nothing is committed and the sink halts', async () => {
    const { world, sink } = await started();
    const [schema] = world.catalog.table().metadata.schemas;
    const extra = { id: 99, name: 'extra', required: false, type: { kind: 'string' as const } };
    world.catalog.edit([
      { action: 'add-schema', schema: schemaToJson({ ...schema!, schemaId: 1, fields: [...schema!.fields, extra] }) },
      { action: 'set-current-schema', 'schema-id': -1 },
    ]);
    await commitOne(world, 3);
    expect(await haltCode(sink)).toBe('schema-changed');
    expect(world.catalog.table().metadata.snapshots).toHaveLength(1);
  });

  test('WHEN the partition spec is another THEN nothing is committed and the sink halts', async () => {
    const { world, sink } = await started();
    const fields = [{ 'source-id': 1, 'field-id': 1000, name: 'id_bucket', transform: 'bucket[4]' }];
    world.catalog.edit([
      { action: 'add-spec', spec: { 'spec-id': 1, fields } },
      { action: 'set-default-spec', 'spec-id': -1 },
    ]);
    await commitOne(world, 3);
    expect(await haltCode(sink)).toBe('spec-changed');
    expect(world.catalog.table().metadata.snapshots).toHaveLength(1);
  });

  test('WHEN main goes back THEN the sink halts as behind', async () => {
    const { world, sink } = await started();
    await commitOne(world, 3);
    const [first] = world.catalog.table().metadata.snapshots;
    world.catalog.edit([updateToJson({ action: 'set-snapshot-ref', ref: 'main', snapshotId: first!.snapshotId, type: 'branch' })]);
    await commitOne(world, 4);
    expect(await haltCode(sink)).toBe('frontier-behind');
  });

  test('WHEN properties change THEN the commit goes through, for it rests on none of them', async () => {
    const { world, sink } = await started();
    const { loads } = world.catalog;
    world.catalog.edit([{ action: 'set-properties', updates: { 'write.metadata.delete-after-commit.enabled': 'true' } }]);
    await commitOne(world, 3);
    expect(sink.state()).toMatchObject({ phase: 'running', committed: [4_000n] });
    expect(world.catalog.loads).toBe(loads);
    expect(world.catalog.table().metadata.properties['write.metadata.delete-after-commit.enabled']).toBe('true');
  });
});
