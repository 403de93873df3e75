/**
 * The manifest list of a snapshot (spec: "Snapshots", `manifest_file`): which manifests make up the table, with the
 * counts and sequence numbers by which readers choose among them. Written in format version 2; lists of version 1 and
 * of other writers are read by field id, since field names changed over the years.
 */
import { SinkError, invariant } from '../errors.ts';
import { type AvroRecord, avroBytes, readAvroContainer, writeAvroContainer } from '../iceberg/avro-container.ts';
import { avroRecordReader } from '../iceberg/avro-record-reader.ts';
import { MANIFEST_FILE_SCHEMA } from '../iceberg/manifest-schema.ts';

export type ManifestContent = 'data' | 'deletes';

export interface PartitionFieldSummary {
  readonly containsNull: boolean;
  readonly containsNan: boolean | null;
  readonly lowerBound: Uint8Array | null;
  readonly upperBound: Uint8Array | null;
}

export interface ManifestFile {
  readonly path: string;
  readonly lengthBytes: bigint;
  readonly partitionSpecId: number;
  readonly content: ManifestContent;
  /**
   * null: of the snapshot being made. A manifest is written once, while the sequence number changes with every attempt
   * to commit; `planSnapshot` gives it.
   */
  readonly sequenceNumber: bigint | null;
  /** Lowest data sequence number of its live files; null: as `sequenceNumber`. */
  readonly minSequenceNumber: bigint | null;
  readonly addedSnapshotId: bigint;
  readonly addedFilesCount: number;
  readonly existingFilesCount: number;
  readonly deletedFilesCount: number;
  readonly addedRowsCount: bigint;
  readonly existingRowsCount: bigint;
  readonly deletedRowsCount: bigint;
  /** One a partition field: none of ours, kept of other writers'. */
  readonly partitions: readonly PartitionFieldSummary[];
  readonly keyMetadata: Uint8Array | null;
}

export interface ManifestListFacts {
  readonly snapshotId: bigint;
  readonly parentSnapshotId: bigint | null;
  readonly sequenceNumber: bigint;
  /** 16 random bytes. */
  readonly syncMarker: Uint8Array;
}

/** The bytes of a manifest list. New manifests (sequence number null) get the snapshot's. */
export function writeManifestList(manifests: readonly ManifestFile[], facts: ManifestListFacts): Uint8Array {
  return writeAvroContainer({
    schema: MANIFEST_FILE_SCHEMA,
    records: manifests.map((manifest) => toRecord(manifest, facts)),
    metadata: {
      'snapshot-id': facts.snapshotId.toString(),
      'parent-snapshot-id': facts.parentSnapshotId === null ? 'null' : facts.parentSnapshotId.toString(),
      'sequence-number': facts.sequenceNumber.toString(),
      'format-version': '2',
    },
    codec: 'deflate',
    syncMarker: facts.syncMarker,
  });
}

function toRecord(manifest: ManifestFile, facts: ManifestListFacts): AvroRecord {
  const sequenceNumber = manifest.sequenceNumber ?? facts.sequenceNumber;
  invariant(sequenceNumber <= facts.sequenceNumber, 'a manifest of a later sequence number than its snapshot');
  return {
    manifest_path: manifest.path,
    manifest_length: manifest.lengthBytes,
    partition_spec_id: manifest.partitionSpecId,
    content: manifest.content === 'data' ? 0 : 1,
    sequence_number: sequenceNumber,
    min_sequence_number: manifest.minSequenceNumber ?? sequenceNumber,
    added_snapshot_id: manifest.addedSnapshotId,
    added_files_count: manifest.addedFilesCount,
    existing_files_count: manifest.existingFilesCount,
    deleted_files_count: manifest.deletedFilesCount,
    added_rows_count: manifest.addedRowsCount,
    existing_rows_count: manifest.existingRowsCount,
    deleted_rows_count: manifest.deletedRowsCount,
    partitions: manifest.partitions.map((summary) => ({
      contains_null: summary.containsNull,
      contains_nan: summary.containsNan,
      lower_bound: summary.lowerBound === null ? null : avroBytes(summary.lowerBound),
      upper_bound: summary.upperBound === null ? null : avroBytes(summary.upperBound),
    })),
    key_metadata: manifest.keyMetadata === null ? null : avroBytes(manifest.keyMetadata),
  };
}

/**
 * Reads a manifest list of any writer. Throws `catalog-protocol` when the bytes are no Avro container or a record lacks
 * what the specification requires, `table-unsupported` for lists of before counts were recorded.
 */
export function readManifestList(bytes: Uint8Array): readonly ManifestFile[] {
  const { schema, records } = readAvroContainer(bytes);
  const reader = avroRecordReader(schema, MANIFEST_FILE_SCHEMA, 'manifest list');
  return records.map((record): ManifestFile => {
    const count = (name: string): number => notNegative(required(reader.optionalInt(record, name), name), name);
    const rows = (name: string): bigint => notNegative(required(reader.optionalLong(record, name), name), name);
    return {
      path: reader.text(record, 'manifest_path'),
      lengthBytes: notNegative(reader.long(record, 'manifest_length'), 'manifest_length'),
      partitionSpecId: reader.int(record, 'partition_spec_id'),
      // Version 1 has data manifests only, and no sequence numbers: 0 stands for all of them (spec: "Appendix E").
      content: contentOf(reader.optionalInt(record, 'content') ?? 0),
      sequenceNumber: reader.optionalLong(record, 'sequence_number') ?? 0n,
      minSequenceNumber: reader.optionalLong(record, 'min_sequence_number') ?? 0n,
      addedSnapshotId: reader.optionalLong(record, 'added_snapshot_id') ?? 0n,
      addedFilesCount: count('added_files_count'),
      existingFilesCount: count('existing_files_count'),
      deletedFilesCount: count('deleted_files_count'),
      addedRowsCount: rows('added_rows_count'),
      existingRowsCount: rows('existing_rows_count'),
      deletedRowsCount: rows('deleted_rows_count'),
      partitions: reader.records(record, 'partitions').map((summary) => ({
        containsNull: summary['contains_null'] === true,
        containsNan: typeof summary['contains_nan'] === 'boolean' ? summary['contains_nan'] : null,
        lowerBound: bytesOrNull(summary['lower_bound']),
        upperBound: bytesOrNull(summary['upper_bound']),
      })),
      keyMetadata: reader.optionalBytes(record, 'key_metadata'),
    };
  });
}

/** True when a later snapshot has to carry the manifest: it holds at least one file that is not deleted. */
export function hasLiveFiles(manifest: ManifestFile): boolean {
  return manifest.addedFilesCount + manifest.existingFilesCount > 0;
}

function contentOf(code: number): ManifestContent {
  if (code === 0) return 'data';
  if (code === 1) return 'deletes';
  throw new SinkError('catalog-protocol', `manifest list: unknown content ${code}`);
}

function required<T>(value: T | null, name: string): T {
  if (value !== null) return value;
  // A made-up count would make readers skip the manifest, or this sink drop it.
  throw new SinkError('table-unsupported', `the manifest list lacks ${name}; rewrite the manifests of the table first`);
}

/** A manifest of -1 added and 1 existing files would count as empty, and not be carried: its rows would be lost. */
function notNegative<T extends number | bigint>(value: T, name: string): T {
  if (value < 0) throw new SinkError('catalog-protocol', `manifest list: ${name} is negative`);
  return value;
}

/**
 * Throws `catalog-protocol` when the list of a snapshot contradicts its table: a manifest listed twice, which would
 * double its rows, or one of a later sequence number than any snapshot, from which newer deletes would keep off.
 */
export function checkManifestList(manifests: readonly ManifestFile[], lastSequenceNumber: bigint): void {
  const paths = new Set<string>();
  for (const { path, sequenceNumber } of manifests) {
    if (paths.has(path)) throw new SinkError('catalog-protocol', `manifest list: ${shortPath(path)} is listed twice`);
    paths.add(path);
    if (sequenceNumber !== null && (sequenceNumber < 0n || sequenceNumber > lastSequenceNumber)) {
      throw new SinkError('catalog-protocol', `manifest list: ${shortPath(path)} has the sequence number `
        + `${sequenceNumber}, and the table's last one is ${lastSequenceNumber}`);
    }
  }
}

function shortPath(path: string): string {
  return path.length > 300 ? `${path.slice(0, 300)}…` : path;
}

function bytesOrNull(value: unknown): Uint8Array | null {
  return value instanceof Uint8Array ? Uint8Array.from(value) : null;
}
