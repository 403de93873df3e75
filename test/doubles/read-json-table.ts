/** Rows of a table whose files `jsonEncoder` wrote, deletes applied by sequence number. */
import { readManifestList } from '../../src/snapshot/manifest-list.ts';
import { readManifest } from '../../src/snapshot/manifest.ts';
import type { MemoryWorld } from './memory-world.ts';

/** Upsert: each live row as often as it is there, sorted. Append: `diff@time row`. */
export async function readTable(world: Pick<MemoryWorld, 'catalog' | 'store'>, snapshotId?: bigint): Promise<string[]> {
  const { metadata } = world.catalog.table();
  const id = snapshotId ?? metadata.currentSnapshotId;
  const snapshot = metadata.snapshots.find((candidate) => candidate.snapshotId === id);
  if (snapshot === undefined) return [];
  const data: { sequence: bigint; rows: (readonly [string, number | string, string?])[] }[] = [];
  const deletes: { sequence: bigint; keys: Set<string> }[] = [];
  for (const manifest of readManifestList(await world.store.get(snapshot.manifestList))) {
    for (const entry of readManifest(await world.store.get(manifest.path)).entries) {
      if (entry.status === 'deleted') continue;
      const sequence = entry.sequenceNumber ?? manifest.sequenceNumber ?? 0n;
      const rows: unknown = JSON.parse(new TextDecoder().decode(await world.store.get(entry.file.path)));
      if (entry.file.content === 'data') data.push({ sequence, rows: rows as [string, number][] });
      else deletes.push({ sequence, keys: new Set(rows as string[]) });
    }
  }
  return data.flatMap(({ sequence, rows }) => rows.flatMap(([row, count, time]) => {
    if (time !== undefined) return [`${count}@${time} ${row}`];
    const key = row.split('\t')[0] ?? '';
    const deleted = deletes.some((file) => file.sequence > sequence && file.keys.has(key));
    return deleted ? [] : Array.from({ length: Number(count) }, () => row);
  })).sort();
}
