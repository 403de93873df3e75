/**
 * A snapshot's summary (spec: "Optional Snapshot Summary Fields"): what the snapshot added, the totals after it, and
 * the progress of the sink.
 *
 * Totals are the parent's plus what is added. Where the parent does not say one, neither do we: engines plan and
 * alert on these numbers, and one that silently starts at zero again is worse than none.
 */
import type { DataFile } from '../iceberg/data-file.ts';
import type { Snapshot } from '../iceberg/metadata.ts';
import { type Progress, progressToSummary } from './progress.ts';

/** What one snapshot adds. Delete files are equality deletes; the sink writes no others. */
export interface AddedFiles {
  readonly dataFiles: number;
  readonly dataRecords: bigint;
  readonly deleteFiles: number;
  /** Rows in the delete files: keys deleted. */
  readonly deleteRecords: bigint;
  /** Bytes of data and delete files together. */
  readonly filesBytes: bigint;
}

export const NOTHING_ADDED: AddedFiles = {
  dataFiles: 0,
  dataRecords: 0n,
  deleteFiles: 0,
  deleteRecords: 0n,
  filesBytes: 0n,
};

export function countAdded(files: readonly Omit<DataFile, 'path'>[]): AddedFiles {
  return files.reduce((sum, file): AddedFiles => {
    const filesBytes = sum.filesBytes + file.fileSizeBytes;
    return file.content === 'data'
      ? { ...sum, filesBytes, dataFiles: sum.dataFiles + 1, dataRecords: sum.dataRecords + file.recordCount }
      : { ...sum, filesBytes, deleteFiles: sum.deleteFiles + 1, deleteRecords: sum.deleteRecords + file.recordCount };
  }, NOTHING_ADDED);
}

/** `append` adds rows only (or nothing), `delete` removes only, `overwrite` does both. */
export function operationOf(added: AddedFiles): 'append' | 'overwrite' | 'delete' {
  if (added.deleteFiles === 0) return 'append';
  return added.dataFiles === 0 ? 'delete' : 'overwrite';
}

/** The whole summary, `operation` included. `parent` is the snapshot it comes after, null for the first. */
export function snapshotSummary(
  parent: Pick<Snapshot, 'summary'> | null, added: AddedFiles, progress: Progress,
): Readonly<Record<string, string>> {
  const counts = {
    'added-data-files': BigInt(added.dataFiles),
    'added-records': added.dataRecords,
    'added-files-size': added.filesBytes,
    'added-delete-files': BigInt(added.deleteFiles),
    'added-equality-delete-files': BigInt(added.deleteFiles),
    'added-equality-deletes': added.deleteRecords,
    // An unpartitioned table has one partition.
    'changed-partition-count': added.dataFiles + added.deleteFiles === 0 ? 0n : 1n,
  };
  const totals = {
    'total-data-files': totalAfter(parent, 'total-data-files', BigInt(added.dataFiles)),
    'total-records': totalAfter(parent, 'total-records', added.dataRecords),
    'total-files-size': totalAfter(parent, 'total-files-size', added.filesBytes),
    'total-delete-files': totalAfter(parent, 'total-delete-files', BigInt(added.deleteFiles)),
    'total-position-deletes': totalAfter(parent, 'total-position-deletes', 0n),
    'total-equality-deletes': totalAfter(parent, 'total-equality-deletes', added.deleteRecords),
  };
  return {
    operation: operationOf(added),
    // Zero counts of additions are left out, as Iceberg's own writers do; totals are always said.
    ...textOf(Object.entries(counts).filter(([, count]) => count !== 0n)),
    ...textOf(Object.entries(totals)),
    ...progressToSummary(progress),
  };
}

/** null when the parent does not say its own total. */
function totalAfter(parent: Pick<Snapshot, 'summary'> | null, key: string, added: bigint): bigint | null {
  if (parent === null) return added;
  const before = parent.summary[key];
  return before !== undefined && /^\d{1,19}$/.test(before) ? BigInt(before) + added : null;
}

function textOf(entries: readonly (readonly [string, bigint | null])[]): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.flatMap(([key, count]) => (count === null ? [] : [[key, count.toString()]])));
}
