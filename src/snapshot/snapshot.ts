/**
 * The snapshot of one attempt to commit: pure. In: the head it comes after, the manifests of the batch and those of the
 * head; out: the snapshot for `add-snapshot` and the bytes of its manifest list.
 *
 * Everything that depends on the head (sequence number, carried manifests, totals) is made here, anew for each attempt;
 * everything that does not (files, manifests, snapshot id) comes in and is the same in all of them.
 */
import { SinkError, invariant } from '../errors.ts';
import type { Snapshot } from '../iceberg/metadata.ts';
import { type ManifestFile, hasLiveFiles, writeManifestList } from './manifest-list.ts';
import type { Progress } from './progress.ts';
import { type AddedFiles, snapshotSummary } from './summary.ts';

export interface SnapshotPlan {
  /** main's head; null for the first snapshot. */
  readonly parent: Snapshot | null;
  /** The table's, of all branches. */
  readonly lastSequenceNumber: bigint;
  readonly schemaId: number;
  readonly snapshotId: bigint;
  readonly timestampMs: bigint;
  /** Of the batch, and merged ones: sequence number null. */
  readonly newManifests: readonly ManifestFile[];
  /** The head's manifests without those that were merged. */
  readonly carried: readonly ManifestFile[];
  readonly added: AddedFiles;
  readonly progress: Progress;
  /** Where the manifest list will be put. */
  readonly manifestListPath: string;
  /** 16 random bytes. */
  readonly syncMarker: Uint8Array;
}

const MAX_SEQUENCE_NUMBER = 2n ** 63n - 1n;

export interface PlannedSnapshot {
  readonly snapshot: Snapshot;
  readonly manifestList: Uint8Array;
}

export function planSnapshot(plan: SnapshotPlan): PlannedSnapshot {
  const { parent } = plan;
  invariant(parent?.snapshotId !== plan.snapshotId, 'a snapshot is not its own parent');
  invariant(
    plan.newManifests.every((manifest) => manifest.sequenceNumber === null),
    'a new manifest has the number of its snapshot',
  );
  invariant(
    plan.carried.every((manifest) => manifest.sequenceNumber !== null),
    'a carried manifest has a number of its own',
  );
  const paths = new Set([...plan.newManifests, ...plan.carried].map((manifest) => manifest.path));
  invariant(
    paths.size === plan.newManifests.length + plan.carried.length,
    'a manifest listed twice doubles every row in it',
  );
  // A carried number above the table's would come from metadata that contradicts itself; the list writer checks that.
  const sequenceNumber = plan.lastSequenceNumber + 1n;
  if (sequenceNumber < 1n || sequenceNumber > MAX_SEQUENCE_NUMBER) {
    throw new SinkError('catalog-protocol', `the table's last sequence number ${plan.lastSequenceNumber} has no successor`);
  }
  const snapshot: Snapshot = {
    snapshotId: plan.snapshotId,
    parentSnapshotId: parent === null ? null : parent.snapshotId,
    sequenceNumber,
    timestampMs: plan.timestampMs,
    summary: snapshotSummary(parent, plan.added, plan.progress),
    manifestList: plan.manifestListPath,
    schemaId: plan.schemaId,
  };
  const manifestList = writeManifestList([...plan.newManifests, ...plan.carried.filter(hasLiveFiles)], {
    snapshotId: plan.snapshotId,
    parentSnapshotId: snapshot.parentSnapshotId,
    sequenceNumber,
    syncMarker: plan.syncMarker,
  });
  return { snapshot, manifestList };
}
