/**
 * When to merge manifests, and what the merged one holds: pure; the reading and writing of the files is the driver's.
 *
 * Each commit adds a manifest or two and carries all earlier ones by reference, so without merging the list, and with
 * it the cost of a commit and of planning a scan, grows with the table's age. Manifests are merged in tiers, by the
 * number of files in them: `fanIn` of a tier become one of the next. So a file's entry is written again about once a
 * tier (four times in a million commits), at most one merge a content happens in a commit, and a tier never holds many
 * more than `fanIn`.
 */
import { SinkError, invariant } from '../errors.ts';
import type { ManifestContents, ManifestEntry } from './manifest.ts';
import { type ManifestContent, type ManifestFile, hasLiveFiles } from './manifest-list.ts';

export interface MergeLimits {
  /** Manifests of one tier that become one. At least 2. */
  readonly fanIn: number;
  /** A merged manifest stays about below this. */
  readonly targetBytes: bigint;
}

/**
 * Iceberg's own writers merge a hundred at once (`commit.manifest.min-count-to-merge`). In tiers a third of that is better in all that
 * counts: after ten thousand commits a list of about 100 manifests instead of 300, a sixth less written a commit, as many reads a
 * commit and a third of them at once; and it hardly grows from a hundred commits on. The size is that of Iceberg's own
 * (`commit.manifest.target-size-bytes`).
 */
export const DEFAULT_MERGE_LIMITS: MergeLimits = { fanIn: 32, targetBytes: 8n * 1024n * 1024n };

/**
 * Groups of the carried manifests, each to be merged into one; at most one a content, none when there is nothing to
 * gain. `specId` is the unpartitioned spec; manifests of other specs have partition values and are left alone, as are
 * those in `notRewritable` (paths found so by `mergeEntries` before).
 */
export function planMerge(
  carried: readonly ManifestFile[], specId: number, limits: MergeLimits, notRewritable: ReadonlySet<string>,
): readonly (readonly ManifestFile[])[] {
  invariant(limits.fanIn >= 2, 'merging one manifest into one would go on for ever');
  return (['data', 'deletes'] as const).flatMap((content) => {
    const group = planContent(carried, content, specId, limits, notRewritable);
    return group === null ? [] : [group];
  });
}

function planContent(
  carried: readonly ManifestFile[], content: ManifestContent, specId: number, limits: MergeLimits,
  notRewritable: ReadonlySet<string>,
): readonly ManifestFile[] | null {
  const tiers = new Map<number, ManifestFile[]>();
  for (const manifest of carried) {
    // Two that are below half of the target always fit together, so a full tier always shrinks.
    const isFull = manifest.lengthBytes * 2n > limits.targetBytes;
    const canBeWritten = manifest.partitionSpecId === specId && manifest.keyMetadata === null
      && !notRewritable.has(manifest.path);
    if (manifest.content !== content || isFull || !canBeWritten || !hasLiveFiles(manifest)) continue;
    const tier = tierOf(manifest, limits.fanIn);
    tiers.set(tier, [...(tiers.get(tier) ?? []), manifest]);
  }
  const fullTiers = [...tiers].filter(([, members]) => members.length >= limits.fanIn);
  const [lowest] = fullTiers.sort(([a], [b]) => a - b);
  return lowest === undefined ? null : oldestThatFit(lowest[1], limits.targetBytes);
}

/** 0 for fewer than `fanIn` live files, 1 for fewer than its square, and so on. */
function tierOf(manifest: ManifestFile, fanIn: number): number {
  let tier = 0;
  const liveFiles = manifest.addedFilesCount + manifest.existingFilesCount;
  for (let files = liveFiles; files >= fanIn; files = Math.floor(files / fanIn)) tier++;
  return tier;
}

/**
 * Oldest first, so that the merged manifest covers one stretch of the table's history and keeps tight bounds in time.
 */
function oldestThatFit(members: readonly ManifestFile[], targetBytes: bigint): readonly ManifestFile[] {
  const oldestFirst = members.toSorted((a, b) => Number((a.sequenceNumber ?? 0n) - (b.sequenceNumber ?? 0n)));
  let bytes = 0n;
  const group: ManifestFile[] = [];
  for (const manifest of oldestFirst) {
    bytes += manifest.lengthBytes;
    if (bytes > targetBytes) break;
    group.push(manifest);
  }
  return group;
}

export interface MergeSource {
  readonly manifest: ManifestFile;
  readonly contents: ManifestContents;
}

export interface Merged {
  /** Entries of the merged manifest, all EXISTING; empty when fewer than two sources could be merged. */
  readonly entries: readonly ManifestEntry[];
  /** Sources that the merged manifest replaces. */
  readonly replaced: readonly ManifestFile[];
  /** Sources that say more than we could write again; to be carried, and not to be tried again. */
  readonly notRewritable: readonly ManifestFile[];
}

/**
 * The entries of one manifest in place of several. DELETED entries are dropped: they only tell what one past snapshot
 * removed. What was inherited from a manifest is said explicitly from now on.
 */
export function mergeEntries(sources: readonly MergeSource[]): Merged {
  // A list and a manifest that disagree about its content are left as they are, like what we can't write again.
  const canBeMerged = ({ manifest, contents }: MergeSource): boolean =>
    contents.rewritable && contents.content === manifest.content;
  const mergeable = sources.filter(canBeMerged);
  const notRewritable = sources.filter((source) => !canBeMerged(source)).map((source) => source.manifest);
  if (mergeable.length < 2) return { entries: [], replaced: [], notRewritable };
  return {
    entries: mergeable.flatMap(({ manifest, contents }) => contents.entries
      .filter((entry) => entry.status !== 'deleted')
      .map((entry) => asExisting(entry, manifest))),
    replaced: mergeable.map((source) => source.manifest),
    notRewritable,
  };
}

function asExisting(entry: ManifestEntry, manifest: ManifestFile): ManifestEntry {
  const inherited = entry.status === 'added' ? manifest.sequenceNumber : null;
  const sequenceNumber = entry.sequenceNumber ?? inherited;
  const fileSequenceNumber = entry.fileSequenceNumber ?? inherited;
  if (sequenceNumber === null || fileSequenceNumber === null) {
    throw new SinkError('catalog-protocol', `manifest ${manifest.path}: an existing file lacks its sequence number`);
  }
  return {
    status: 'existing',
    snapshotId: entry.snapshotId ?? manifest.addedSnapshotId,
    sequenceNumber,
    fileSequenceNumber,
    file: entry.file,
  };
}
