/**
 * A reader of tables that shares no code with the sink (spec: "Scan Planning", "Sequence Number Inheritance"): which
 * files are live in a snapshot, and which rows. Containers that stand for their records are opened directly, real ones
 * by the reader of the independent check.
 */
import type { Snapshot } from '../../src/iceberg/metadata.ts';
import * as strict from '../../src/embedded/check/manifests.ts';
import { addChange, addTo, keyOf } from './history.ts';
import { containerOf } from './memory-avro.ts';
import { isParquet, parquetContent } from './parquet-files.ts';

export interface LiveFile {
  readonly path: string;
  readonly content: 'data' | 'position-deletes' | 'equality-deletes';
  readonly sequenceNumber: bigint;
  readonly recordCount: bigint;
  readonly sizeBytes: bigint;
}

export interface ManifestRow {
  readonly path: string;
  readonly length: bigint;
  readonly content: 'data' | 'deletes';
  readonly sequenceNumber: bigint;
  readonly minSequenceNumber: bigint;
  readonly addedFiles: bigint;
  readonly existingFiles: bigint;
  readonly deletedFiles: bigint;
  readonly entries: readonly ManifestEntry[];
}

export interface ManifestEntry extends LiveFile {
  readonly status: 'existing' | 'added' | 'deleted';
  readonly fileSequenceNumber: bigint;
}

export type Objects = ReadonlyMap<string, Uint8Array>;

/** Throws an Error that names what is missing or malformed. */
export function readManifests(
  objects: Objects, snapshot: Snapshot, cache: Map<string, ManifestRow['entries']>,
): readonly ManifestRow[] {
  const bytes = objectAt(objects, snapshot.manifestList);
  const container = containerOf(bytes);
  if (container === null) {
    return strict.readManifestList(bytes).manifests.map((summary) => realManifest(objects, summary));
  }
  return container.records.map((record) => {
    const path = record['manifest_path'] as string;
    const sequenceNumber = record['sequence_number'] as bigint;
    const key = `${path} ${sequenceNumber}`;
    let entries = cache.get(key);
    if (entries === undefined) {
      entries = memoryEntries(objectAt(objects, path), path, sequenceNumber);
      cache.set(key, entries);
    } else objectAt(objects, path);
    return {
      path, sequenceNumber, entries,
      length: record['manifest_length'] as bigint,
      content: record['content'] === 0 ? 'data' : 'deletes',
      minSequenceNumber: record['min_sequence_number'] as bigint,
      addedFiles: BigInt(record['added_files_count'] as number),
      existingFiles: BigInt(record['existing_files_count'] as number),
      deletedFiles: BigInt(record['deleted_files_count'] as number),
    };
  });
}

function realManifest(objects: Objects, summary: strict.ManifestSummary): ManifestRow {
  const { entries } = strict.readManifest(objectAt(objects, summary.path), summary);
  return {
    path: summary.path, length: summary.length, content: summary.content,
    sequenceNumber: summary.sequenceNumber, minSequenceNumber: summary.minSequenceNumber,
    addedFiles: summary.counts.added.files,
    existingFiles: summary.counts.existing.files,
    deletedFiles: summary.counts.deleted.files,
    entries: entries.map((entry) => ({ ...entry, content: entry.kind })),
  };
}

const STATUSES = ['existing', 'added', 'deleted'] as const;
const CONTENTS = ['data', 'position-deletes', 'equality-deletes'] as const;

function memoryEntries(bytes: Uint8Array, path: string, listed: bigint): ManifestRow['entries'] {
  const container = containerOf(bytes);
  if (container === null) throw new Error(`${path} is no manifest`);
  return container.records.map((record) => {
    const file = record['data_file'] as Readonly<Record<string, unknown>>;
    const status = STATUSES[record['status'] as number];
    const content = CONTENTS[file['content'] as number];
    if (status === undefined || content === undefined) {
      throw new Error(`${path} has an entry of unknown status or content`);
    }
    const inherited = (value: unknown): bigint => {
      if (value !== null) return value as bigint;
      if (status !== 'added') throw new Error(`${path} has an entry that is ${status} and has no sequence number`);
      return listed;
    };
    return {
      status, content,
      path: file['file_path'] as string,
      sequenceNumber: inherited(record['sequence_number']),
      fileSequenceNumber: inherited(record['file_sequence_number']),
      recordCount: file['record_count'] as bigint,
      sizeBytes: file['file_size_in_bytes'] as bigint,
    };
  });
}

function objectAt(objects: Objects, path: string): Uint8Array {
  const bytes = objects.get(path);
  if (bytes === undefined) throw new Error(`${path} does not exist`);
  return bytes;
}

export function liveFiles(manifests: readonly ManifestRow[]): readonly LiveFile[] {
  return manifests.flatMap((manifest) => manifest.entries.filter((entry) => entry.status !== 'deleted'));
}

const decoder = new TextDecoder();

/**
 * Upsert: row → copies. Append: `±1@time row` → how often. `parsed` keeps the contents of files, which don't change.
 */
export function readRows(
  objects: Objects, files: readonly LiveFile[], parsed: Map<string, unknown>,
): ReadonlyMap<string, number> {
  const contentOf = (path: string): unknown => {
    const bytes = objectAt(objects, path);
    let content = parsed.get(path);
    if (content === undefined) {
      content = isParquet(bytes) ? parquetContent(bytes) : JSON.parse(decoder.decode(bytes));
      parsed.set(path, content);
    }
    return content;
  };
  // The latest sequence number at which a key is deleted decides: it applies to every row of a lower one.
  const deletedAt = new Map<string, bigint>();
  for (const file of files) {
    if (file.content !== 'equality-deletes') continue;
    for (const key of contentOf(file.path) as readonly string[]) {
      const known = deletedAt.get(key);
      if (known === undefined || file.sequenceNumber > known) deletedAt.set(key, file.sequenceNumber);
    }
  }
  const rows = new Map<string, number>();
  for (const file of files) {
    if (file.content !== 'data') continue;
    for (const [row, count, time] of contentOf(file.path) as readonly (readonly [string, number, string?])[]) {
      if (time !== undefined) addChange(rows, { row, diff: count, time: BigInt(time) });
      else if (!((deletedAt.get(keyOf(row)) ?? -1n) > file.sequenceNumber)) addTo(rows, row, count);
    }
  }
  return rows;
}
