/**
 * The part of ④ that depends on the head: the manifest list and the snapshot of one attempt.
 *
 * The parent's list is read at most once: lists are immutable, and after a commit ours is the next parent's, so in the
 * steady state nothing is read at all. When many small manifests have gathered they are merged into one, so that the
 * list, and with it the cost of a commit, doesn't grow with the age of the table.
 */
import type { SinkIdentity } from '../commit/decide.ts';
import { SinkError } from '../errors.ts';
import type { Snapshot } from '../iceberg/metadata.ts';
import { type ManifestFile, hasLiveFiles, readManifestList, writeManifestList } from '../snapshot/manifest-list.ts';
import type { ObjectNames } from '../snapshot/object-names.ts';
import { snapshotSummary } from '../snapshot/summary.ts';
import type { Effect } from './effects.ts';
import type { Entropy } from './ports.ts';
import { syncMarkerOf } from './sync-marker.ts';
import type { Uploads } from './uploads.ts';

export interface ManifestListsOptions {
  readonly uploads: Uploads;
  readonly names: ObjectNames;
  readonly entropy: Entropy;
  readonly identity: SinkIdentity;
}

type WriteList = Extract<Effect, { kind: 'write-list' }>;

export class ManifestLists {
  readonly #options: ManifestListsOptions;
  /** The list read or written last, by its location. */
  #known: { readonly location: string; readonly manifests: readonly ManifestFile[] } | null = null;

  constructor(options: ManifestListsOptions) {
    this.#options = options;
  }

  async write(effect: WriteList): Promise<Snapshot> {
    const { base, written, attempt, timestampMs } = effect;
    const { uploads, names, identity, entropy } = this.#options;
    const { batch } = written;
    const carried = await this.#carried(base.parent);
    const kept = carried.filter(hasLiveFiles);
    const manifestList = names.manifestList(batch.snapshotId, batch.ordinal, attempt);
    const sequenceNumber = base.metadata.lastSequenceNumber + 1n;
    const manifests = [...written.manifests, ...kept];
    await uploads.put(manifestList, writeManifestList(manifests, {
      snapshotId: batch.snapshotId,
      parentSnapshotId: base.parent?.snapshotId ?? null,
      sequenceNumber,
      syncMarker: syncMarkerOf(entropy.uuid()),
    }));
    return {
      snapshotId: batch.snapshotId,
      parentSnapshotId: base.parent?.snapshotId ?? null,
      sequenceNumber,
      timestampMs,
      summary: snapshotSummary(base.parent, written.added, { frontier: batch.span.upper, sinkId: identity.sinkId, version: identity.version }),
      manifestList,
      schemaId: base.metadata.currentSchemaId,
    };
  }

  async #carried(parent: Snapshot | null): Promise<readonly ManifestFile[]> {
    if (parent === null) return [];
    if (parent.manifestList === '') {
      throw new SinkError('table-unsupported', `snapshot ${parent.snapshotId} names its manifests inline, as format version 1 did`);
    }
    if (this.#known?.location === parent.manifestList) return this.#known.manifests;
    const manifests = readManifestList(await this.#options.uploads.get(parent.manifestList));
    this.#known = { location: parent.manifestList, manifests };
    return manifests;
  }

}
