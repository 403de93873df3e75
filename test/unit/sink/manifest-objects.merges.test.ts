/** What merging manifests costs the commit that waits for it, and that what is remembered is bounded. */
import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { ManifestObjects } from '../../../src/sink/manifest-objects.ts';
import { readManifestList } from '../../../src/snapshot/manifest-list.ts';
import { type MemoryWorld, settled } from '../../doubles/memory-world.ts';
import { readTable } from '../../doubles/read-json-table.ts';
import { insert, started } from '../../doubles/started-sink.ts';

async function commitKeys(world: MemoryWorld, from: number, to: number): Promise<void> {
  for (let key = from; key < to; key++) {
    world.source.rows(insert(`${key}\tz`, BigInt(key) * 1_000n + 500n));
    world.source.progress(BigInt(key) * 1_000n + 1_000n);
    await settled();
  }
}

function manifestsOfHead({ catalog, store }: MemoryWorld): number {
  const { metadata } = catalog.table();
  const head = metadata.snapshots.find(({ snapshotId }) => snapshotId === metadata.currentSnapshotId)!;
  return readManifestList(store.objects.get(head.manifestList)!).length;
}

describe('GIVEN a sink that commits one file at a time', () => {
  test('WHEN 32 manifests are merged THEN nothing is read from storage, and the table is whole', async () => {
    const { world } = await started();
    await commitKeys(world, 3, 36);
    expect(manifestsOfHead(world)).toBeLessThan(5);
    expect(world.store.reads).toEqual([]);
    expect(await readTable(world)).toHaveLength(35);
  });

  test('WHEN it has started over before the merge THEN it reads what it does not remember, and the table is whole', async () => {
    const { world } = await started();
    await commitKeys(world, 3, 23);
    world.source.play({ kind: 'failed', error: new SinkError('source-disconnected', 'reset') });
    await world.clock.advance(1_000);
    world.source.progress(23_000n);
    await commitKeys(world, 23, 36);
    expect(manifestsOfHead(world)).toBeLessThan(5);
    // The head's list, and the manifests of the commits before the restart: of the snapshot and of twenty spans.
    expect(world.store.reads).toHaveLength(22);
    expect(await readTable(world)).toHaveLength(35);
  });
});

describe('GIVEN manifests that were put', () => {
  const objects = new Map<string, Uint8Array>();
  const reads: string[] = [];
  const manifests = new ManifestObjects({
    put: async (path, bytes) => void objects.set(path, bytes),
    get: async (path) => {
      reads.push(path);
      return objects.get(path)!;
    },
  });

  test('WHEN they are more than may be remembered THEN the oldest are read from storage', async () => {
    for (let index = 0; index < 20; index++) await manifests.put(`m${index}`, new Uint8Array(50_000).fill(index));
    for (let index = 0; index < 20; index++) expect(await manifests.get(`m${index}`)).toEqual(objects.get(`m${index}`));
    expect(reads).toEqual(Array.from({ length: 10 }, (_, index) => `m${index}`));
  });

  test('WHEN one is large THEN it is read from storage, and the small ones stay remembered', async () => {
    reads.length = 0;
    await manifests.put('large', new Uint8Array(400_000));
    await manifests.get('large');
    await manifests.get('m19');
    expect(reads).toEqual(['large']);
  });
});
