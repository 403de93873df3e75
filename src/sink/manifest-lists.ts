/**
 * The part of ④ that depends on the head: the manifest list and the snapshot of one attempt.
 *
 * The parent's list is read at most once: lists are immutable, and after a commit ours is the next parent's, so in the
 * steady state nothing is read at all. When many small manifests have gathered they are merged into one, so that the
 * list, and with it the cost of a commit, doesn't grow with the age of the table.
 */
import { SECTIONS_MAX } from '../batch/encode-ahead.ts';
import type { SinkIdentity } from '../commit/decide.ts';
import { SinkError } from '../errors.ts';
import type { Snapshot } from '../iceberg/metadata.ts';
import { type ManifestFile, checkManifestList, readManifestList } from '../snapshot/manifest-list.ts';
import { type ManifestEntry, type WrittenManifest, readManifest, writeManifest } from '../snapshot/manifest.ts';
import { DEFAULT_MERGE_LIMITS, type MergeSource, mergeEntries, planMerge } from '../snapshot/merge.ts';
import type { ObjectNames } from '../snapshot/object-names.ts';
import { planSnapshot } from '../snapshot/snapshot.ts';
import type { Effect } from './effects.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import type { Entropy } from './ports.ts';
import { syncMarkerOf } from './sync-marker.ts';
import type { Uploads } from './uploads.ts';

export interface ManifestListsOptions {
  readonly uploads: Uploads;
  readonly manifests: ManifestObjects;
  readonly names: ObjectNames;
  readonly entropy: Entropy;
  readonly identity: SinkIdentity;
}

type WriteList = Extract<Effect, { kind: 'write-list' }>;

interface Carried {
  readonly merged: readonly ManifestFile[];
  readonly kept: readonly ManifestFile[];
  /** The merged ones on their way into storage. */
  readonly stored: readonly Promise<void>[];
}

/** A batch has two of its own a section at most; merged ones count on from here, over all attempts of the incarnation. */
const FIRST_MERGED_ORDINAL = 2 * SECTIONS_MAX;

export class ManifestLists {
  readonly #options: ManifestListsOptions;
  /** The list read last, by its location. */
  #known: { readonly location: string; readonly manifests: readonly ManifestFile[] } | null = null;
  /** Manifests that say more than we could write again, so that they are read for merging only once. */
  readonly #notRewritable = new Set<string>();
  #mergedOrdinal = FIRST_MERGED_ORDINAL;

  constructor(options: ManifestListsOptions) {
    this.#options = options;
  }

  /** Puts the manifest list of an attempt into storage and returns the snapshot that refers to it. */
  async write(effect: WriteList): Promise<Snapshot> {
    const { base, written, attempt, timestampMs } = effect;
    const { uploads, names, identity, entropy } = this.#options;
    const { batch } = written;
    const carried = await this.#merge(await this.#manifestsOf(base), effect);
    const planned = planSnapshot({
      parent: base.parent,
      lastSequenceNumber: base.metadata.lastSequenceNumber,
      schemaId: base.metadata.currentSchemaId,
      snapshotId: batch.snapshotId,
      timestampMs,
      sections: written.sections,
      merged: carried.merged,
      carried: carried.kept,
      added: written.added,
      progress: { frontier: batch.span.upper, sinkId: identity.sinkId, version: identity.version },
      manifestListPath: names.manifestList(batch.snapshotId, batch.ordinal, attempt),
      syncMarker: syncMarkerOf(entropy.uuid()),
    });
    const stored = Promise.all([...carried.stored, uploads.put(planned.snapshot.manifestList, planned.manifestList)]);
    // Read while storage takes it. If storage never does, no snapshot refers to it either.
    this.#known = { location: planned.snapshot.manifestList, manifests: readManifestList(planned.manifestList) };
    await stored;
    return planned.snapshot;
  }

  async #manifestsOf({ parent, metadata }: WriteList['base']): Promise<readonly ManifestFile[]> {
    if (parent === null) return [];
    if (parent.manifestList === '') {
      throw new SinkError('table-unsupported', `snapshot ${parent.snapshotId} names its manifests inline, as format version 1 did`);
    }
    if (this.#known?.location === parent.manifestList) return this.#known.manifests;
    const manifests = readManifestList(await this.#options.uploads.get(parent.manifestList));
    checkManifestList(manifests, metadata.lastSequenceNumber);
    this.#known = { location: parent.manifestList, manifests };
    return manifests;
  }

  async #merge(manifests: readonly ManifestFile[], effect: WriteList): Promise<Carried> {
    const { defaultSpecId } = effect.base.metadata;
    const merged: ManifestFile[] = [];
    const stored: Promise<void>[] = [];
    const replaced = new Set<string>();
    for (const group of planMerge(manifests, defaultSpecId, DEFAULT_MERGE_LIMITS, this.#notRewritable)) {
      // Side by side: a commit waits for them. Together they are no larger than one merged manifest may be.
      const sources = await Promise.all(group.map(async (manifest): Promise<MergeSource> => ({
        manifest, contents: readManifest(await this.#options.manifests.get(manifest.path)),
      })));
      const result = mergeEntries(sources);
      for (const manifest of result.notRewritable) this.#notRewritable.add(manifest.path);
      const [first] = result.replaced;
      if (first === undefined) continue;
      const { manifest: joined, bytes } = this.#writeMerged(result.entries, first, effect);
      merged.push(joined);
      const put = this.#options.manifests.put(joined.path, bytes);
      // Told by `write`; if the other content's merge fails first, by that.
      put.catch(() => undefined);
      stored.push(put);
      for (const manifest of result.replaced) replaced.add(manifest.path);
    }
    return { merged, stored, kept: manifests.filter((manifest) => !replaced.has(manifest.path)) };
  }

  #writeMerged(entries: readonly ManifestEntry[], like: ManifestFile, effect: WriteList): WrittenManifest {
    const { names, entropy } = this.#options;
    const { metadata } = effect.base;
    const { batch } = effect.written;
    const schema = metadata.schemas.find((candidate) => candidate.schemaId === metadata.currentSchemaId);
    if (schema === undefined) throw new SinkError('table-unsupported', `the table metadata has no schema ${metadata.currentSchemaId}`);
    return writeManifest(entries, {
      path: names.manifest(batch.ordinal, this.#mergedOrdinal++),
      content: like.content,
      schema,
      partitionSpecId: metadata.defaultSpecId,
      snapshotId: batch.snapshotId,
      syncMarker: syncMarkerOf(entropy.uuid()),
    });
  }
}
