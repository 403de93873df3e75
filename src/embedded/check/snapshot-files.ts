/**
 * The files of one snapshot: every manifest entry with its sequence number, and which of them are live.
 */
import { type ManifestEntry, type ManifestSummary, readManifest, readManifestList } from './manifests.ts';
import type { AvroFile } from './avro-container.ts';
import type { TableFiles } from './table-files.ts';
import type { TableSnapshot } from './table-metadata.ts';

export interface ManifestContent {
  readonly summary: ManifestSummary;
  readonly file: AvroFile;
  readonly entries: readonly ManifestEntry[];
}

export interface SnapshotFiles {
  readonly snapshot: TableSnapshot;
  readonly listFile: AvroFile;
  readonly manifests: readonly ManifestContent[];
  /** All entries that are not `deleted`, in the order of the manifests. */
  readonly live: readonly ManifestEntry[];
}

export type ManifestCache = Map<string, ManifestContent>;

/** `cache`: manifests are immutable and shared by many snapshots, so each is decoded once. */
export async function readSnapshotFiles(
  files: TableFiles, snapshot: TableSnapshot, cache: ManifestCache,
): Promise<SnapshotFiles> {
  const list = readManifestList(await files.bytes(snapshot.manifestList));
  const manifests: ManifestContent[] = [];
  for (const summary of list.manifests) {
    // The list's sequence number takes part in inheritance, so it is part of the identity.
    const identity = `${summary.path} ${summary.sequenceNumber} ${summary.addedSnapshotId}`;
    const content = cache.get(identity) ?? { summary, ...readManifest(await files.bytes(summary.path), summary) };
    cache.set(identity, content);
    manifests.push({ ...content, summary });
  }
  const live = manifests.flatMap((manifest) => manifest.entries).filter((entry) => entry.status !== 'deleted');
  return { snapshot, listFile: list.file, manifests, live };
}
