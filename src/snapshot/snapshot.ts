/**
 * The snapshot of one attempt to commit: pure. In: the head it comes after, the manifests of the batch and those of the
 * head; out: the snapshot for `add-snapshot` and the bytes of its manifest list.
 *
 * Everything that depends on the head (sequence number, carried manifests, totals) is made here, anew for each attempt;
 * everything that does not (files, manifests, snapshot id) comes in and is the same in all of them.
 *
 * A span that was encoded in sections (batch/encode-ahead.ts) takes as many sequence numbers as it has sections, and the snapshot has the
 * last of them. Each section's manifests are listed with the number of the section, which its files inherit. So the deletes of a section
 * apply to the rows of all earlier sections and not to its own (spec, "Scan Planning"): for a reader it is as if each had been
 * committed by itself, one after the other, only that nobody can see the table in between. With one number for all, a key that is in two
 * sections would be there twice; which happens to writers that put two intervals into one snapshot (iceberg#10431).
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
  /** Of the batch, by section, the oldest first: sequence number null. */
  readonly sections: readonly (readonly ManifestFile[])[];
  /** What some of the head's were merged into: sequence number null. */
  readonly merged: readonly ManifestFile[];
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
    [...plan.sections.flat(), ...plan.merged].every((manifest) => manifest.sequenceNumber === null),
    'a new manifest is given its number here',
  );
  invariant(
    plan.carried.every((manifest) => manifest.sequenceNumber !== null),
    'a carried manifest has a number of its own',
  );
  // A carried number above the table's would come from metadata that contradicts itself; the list writer checks that.
  const sequenceNumber = plan.lastSequenceNumber + BigInt(Math.max(1, plan.sections.length));
  if (plan.lastSequenceNumber < 0n || sequenceNumber > MAX_SEQUENCE_NUMBER) {
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
  const sections = plan.sections.flatMap((manifests, index) => manifests.map((manifest) => (
    { ...manifest, sequenceNumber: plan.lastSequenceNumber + BigInt(index + 1) }
  )));
  const manifests = [...sections, ...plan.merged, ...plan.carried];
  invariant(new Set(manifests.map(({ path }) => path)).size === manifests.length, 'a manifest listed twice doubles every row in it');
  const manifestList = writeManifestList(manifests.filter(hasLiveFiles), {
    snapshotId: plan.snapshotId,
    parentSnapshotId: snapshot.parentSnapshotId,
    sequenceNumber,
    syncMarker: plan.syncMarker,
  });
  return { snapshot, manifestList };
}
