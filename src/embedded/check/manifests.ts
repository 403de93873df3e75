/**
 * Manifest list and manifests of a snapshot (spec: "Manifest Lists", "Manifests"), found by field id, with the
 * inheritance of snapshot id and sequence numbers done as the specification says.
 */
import { type AvroFile, type AvroRecord, type AvroValue, readAvroContainer } from './avro-container.ts';

export type FileKind = 'data' | 'position-deletes' | 'equality-deletes';
export type EntryStatus = 'existing' | 'added' | 'deleted';

export interface ManifestSummary {
  readonly path: string;
  readonly length: bigint;
  readonly partitionSpecId: number;
  readonly content: 'data' | 'deletes';
  readonly sequenceNumber: bigint;
  readonly minSequenceNumber: bigint;
  readonly addedSnapshotId: bigint;
  readonly counts: Readonly<Record<EntryStatus, { readonly files: bigint; readonly rows: bigint }>>;
}

export interface FileMetricsRecord {
  readonly valueCounts: ReadonlyMap<number, bigint> | null;
  readonly nullCounts: ReadonlyMap<number, bigint> | null;
  readonly nanCounts: ReadonlyMap<number, bigint> | null;
  readonly columnSizes: ReadonlyMap<number, bigint> | null;
  readonly lowerBounds: ReadonlyMap<number, Uint8Array> | null;
  readonly upperBounds: ReadonlyMap<number, Uint8Array> | null;
}

export interface ManifestEntry {
  readonly status: EntryStatus;
  readonly snapshotId: bigint;
  readonly sequenceNumber: bigint;
  readonly fileSequenceNumber: bigint;
  readonly kind: FileKind;
  readonly path: string;
  readonly format: string;
  /** Spec id and partition values in one text, equal exactly for equal partitions. */
  readonly partition: string;
  readonly partitionSpecId: number;
  readonly recordCount: bigint;
  readonly sizeBytes: bigint;
  readonly equalityIds: readonly number[];
  readonly splitOffsets: readonly bigint[];
  readonly metrics: FileMetricsRecord;
}

const LIST_FIELDS = {
  500: 'path', 501: 'length', 502: 'specId', 517: 'content', 515: 'sequence', 516: 'minSequence', 503: 'snapshot',
  504: 'addedFiles', 505: 'existingFiles', 506: 'deletedFiles', 512: 'addedRows', 513: 'existingRows', 514: 'deletedRows',
  507: 'partitions', 509: 'containsNull', 518: 'containsNan', 510: 'lower', 511: 'upper', 519: 'keyMetadata',
} as const;

const ENTRY_FIELDS = {
  0: 'status', 1: 'snapshot', 3: 'sequence', 4: 'fileSequence', 2: 'file', 134: 'content', 100: 'path', 101: 'format',
  102: 'partition', 103: 'records', 104: 'size', 108: 'columnSizes', 109: 'valueCounts', 110: 'nullCounts',
  137: 'nanCounts', 125: 'lowerBounds', 128: 'upperBounds', 131: 'keyMetadata', 132: 'splitOffsets', 135: 'equalityIds',
  140: 'sortOrder', 143: 'referencedFile',
} as const;

/** Key and value ids of the six maps, each of which is an array of pairs. */
const PAIR_FIELDS: Readonly<Record<number, string>> = Object.fromEntries(
  [117, 119, 121, 138, 126, 129].flatMap((keyId) => [[keyId, 'key'], [keyId + 1, 'value']]),
);

const STATUSES = ['existing', 'added', 'deleted'] as const;
const KINDS = ['data', 'position-deletes', 'equality-deletes'] as const;

export function readManifestList(bytes: Uint8Array): { readonly file: AvroFile; readonly manifests: readonly ManifestSummary[] } {
  const file = readAvroContainer(bytes, LIST_FIELDS);
  return { file, manifests: file.records.map(manifestSummary) };
}

function manifestSummary(record: AvroRecord): ManifestSummary {
  return {
    path: text(record, 'path'),
    length: long(record, 'length'),
    partitionSpecId: Number(long(record, 'specId')),
    content: long(record, 'content') === 0n ? 'data' : 'deletes',
    sequenceNumber: long(record, 'sequence'),
    minSequenceNumber: long(record, 'minSequence'),
    addedSnapshotId: long(record, 'snapshot'),
    counts: {
      added: { files: long(record, 'addedFiles'), rows: long(record, 'addedRows') },
      existing: { files: long(record, 'existingFiles'), rows: long(record, 'existingRows') },
      deleted: { files: long(record, 'deletedFiles'), rows: long(record, 'deletedRows') },
    },
  };
}

export function readManifest(
  bytes: Uint8Array, summary: ManifestSummary,
): { readonly file: AvroFile; readonly entries: readonly ManifestEntry[] } {
  const file = readAvroContainer(bytes, { ...PAIR_FIELDS, ...ENTRY_FIELDS });
  return { file, entries: file.records.map((record) => manifestEntry(record, summary)) };
}

function manifestEntry(record: AvroRecord, summary: ManifestSummary): ManifestEntry {
  const file = record['file'] as AvroRecord | undefined;
  if (file === undefined) throw new Error('a manifest entry has no data_file (field id 2)');
  const status = STATUSES[Number(long(record, 'status'))];
  const kind = KINDS[Number(optionalLong(file, 'content') ?? 0n)];
  if (status === undefined || kind === undefined) throw new Error('a manifest entry has an unknown status or content');
  return {
    status, kind,
    snapshotId: optionalLong(record, 'snapshot') ?? summary.addedSnapshotId,
    sequenceNumber: inheritedSequence(record, 'sequence', status, summary),
    fileSequenceNumber: inheritedSequence(record, 'fileSequence', status, summary),
    path: text(file, 'path'),
    format: text(file, 'format'),
    partition: `${summary.partitionSpecId}:${partitionText(file['partition'] ?? null)}`,
    partitionSpecId: summary.partitionSpecId,
    recordCount: long(file, 'records'),
    sizeBytes: long(file, 'size'),
    equalityIds: longs(file, 'equalityIds').map(Number),
    splitOffsets: longs(file, 'splitOffsets'),
    metrics: {
      valueCounts: longMap(file, 'valueCounts'), nullCounts: longMap(file, 'nullCounts'),
      nanCounts: longMap(file, 'nanCounts'), columnSizes: longMap(file, 'columnSizes'),
      lowerBounds: bytesMap(file, 'lowerBounds'), upperBounds: bytesMap(file, 'upperBounds'),
    },
  };
}

/** Spec, "Sequence Number Inheritance": null stands for the manifest's own number, in `added` entries only. */
function inheritedSequence(record: AvroRecord, field: string, status: EntryStatus, summary: ManifestSummary): bigint {
  const own = optionalLong(record, field);
  if (own !== null) return own;
  if (status !== 'added') throw new Error(`an entry that is ${status} has no ${field} of its own in ${summary.path}`);
  return summary.sequenceNumber;
}

/** Only equality of partitions matters here, so any injective text does. */
function partitionText(value: AvroValue): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'bigint') return { long: part.toString() };
    return part instanceof Uint8Array ? { bytes: Buffer.from(part).toString('hex') } : part;
  });
}

function text(record: AvroRecord, field: string): string {
  const value = record[field];
  if (typeof value !== 'string') throw new Error(`the manifest field ${field} is missing under its field id`);
  return value;
}

function long(record: AvroRecord, field: string): bigint {
  const value = optionalLong(record, field);
  if (value === null) throw new Error(`the manifest field ${field} is missing under its field id`);
  return value;
}

function optionalLong(record: AvroRecord, field: string): bigint | null {
  const value = record[field] ?? null;
  if (value !== null && typeof value !== 'bigint') throw new Error(`the manifest field ${field} is not a number`);
  return value;
}

function longs(record: AvroRecord, field: string): readonly bigint[] {
  return ((record[field] ?? []) as readonly AvroValue[]).map((value) => value as bigint);
}

function pairs<T extends AvroValue>(record: AvroRecord, field: string): ReadonlyMap<number, T> | null {
  const value = record[field] ?? null;
  if (value === null) return null;
  const entries = (value as readonly AvroRecord[]).map((pair) => {
    if (pair['key'] === undefined || pair['value'] === undefined) throw new Error(`the pairs of ${field} lack their field ids`);
    return [Number(pair['key']), pair['value'] as T] as const;
  });
  return new Map(entries);
}

function longMap(record: AvroRecord, field: string): ReadonlyMap<number, bigint> | null {
  return pairs<bigint>(record, field);
}

function bytesMap(record: AvroRecord, field: string): ReadonlyMap<number, Uint8Array> | null {
  return pairs<Uint8Array>(record, field);
}
