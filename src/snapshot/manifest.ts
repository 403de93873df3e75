/**
 * Manifests: lists of data or delete files with their status (spec: "Manifests"), format version 2, unpartitioned.
 *
 * New files are written with null sequence numbers and so inherit the snapshot's (spec: "Sequence Number Inheritance"):
 * the manifest is made once and stays right whichever attempt to commit lands. EXISTING files must say theirs, since an
 * inherited one would make every older delete miss them and every newer row be deleted.
 */
import { SinkError, invariant } from '../errors.ts';
import { type AvroRecord, avroBytes, readAvroContainer, writeAvroContainer } from '../iceberg/avro-container.ts';
import { type AvroRecordReader, avroRecordReader, fieldSchema, isAvroArray } from '../iceberg/avro-record-reader.ts';
import type { DataFile, FileContent, FileMetrics } from '../iceberg/data-file.ts';
import { formatJson } from '../iceberg/json.ts';
import { DATA_FILE_SCHEMA, MANIFEST_ENTRY_SCHEMA } from '../iceberg/manifest-schema.ts';
import { schemaToJson } from '../iceberg/schema-json.ts';
import type { Schema } from '../iceberg/types.ts';
import type { ManifestContent, ManifestFile } from './manifest-list.ts';

export type EntryStatus = 'existing' | 'added' | 'deleted';

export interface ManifestEntry {
  readonly status: EntryStatus;
  /** Snapshot that added (or deleted) the file; null: inherited from the manifest. */
  readonly snapshotId: bigint | null;
  /** Data sequence number; null: inherited, for added files only. */
  readonly sequenceNumber: bigint | null;
  readonly fileSequenceNumber: bigint | null;
  readonly file: DataFile;
}

export interface ManifestFacts {
  readonly content: ManifestContent;
  /** The table's schema the files were written with. */
  readonly schema: Schema;
  readonly partitionSpecId: number;
  /** Snapshot that brings the manifest into the table. */
  readonly snapshotId: bigint;
  /** Where the manifest will be put. */
  readonly path: string;
  /** 16 random bytes. */
  readonly syncMarker: Uint8Array;
}

export interface WrittenManifest {
  readonly manifest: ManifestFile;
  readonly bytes: Uint8Array;
}

const STATUS_CODES: readonly EntryStatus[] = ['existing', 'added', 'deleted'];
const CONTENT_CODES: readonly FileContent[] = ['data', 'position-deletes', 'equality-deletes'];

/** The bytes of a manifest and its entry for the manifest list. */
export function writeManifest(entries: readonly ManifestEntry[], facts: ManifestFacts): WrittenManifest {
  for (const entry of entries) checkEntry(entry, facts.content);
  const bytes = writeAvroContainer({
    schema: MANIFEST_ENTRY_SCHEMA,
    records: entries.map(toRecord),
    metadata: {
      schema: formatJson(schemaToJson(facts.schema)),
      'schema-id': String(facts.schema.schemaId),
      'partition-spec': '[]',
      'partition-spec-id': String(facts.partitionSpecId),
      'format-version': '2',
      content: facts.content,
    },
    codec: 'deflate',
    syncMarker: facts.syncMarker,
  });
  return { bytes, manifest: describe(entries, facts, BigInt(bytes.length)) };
}

function checkEntry(entry: ManifestEntry, content: ManifestContent): void {
  invariant((entry.file.content === 'data') === (content === 'data'), 'a manifest holds either data or delete files');
  invariant(
    entry.status === 'added' || (entry.sequenceNumber !== null && entry.fileSequenceNumber !== null),
    'only added files may inherit their sequence numbers',
  );
  invariant(
    (entry.file.content === 'equality-deletes') === (entry.file.equalityFieldIds.length > 0),
    'equality deletes name their key fields, and no other file does',
  );
}

function describe(entries: readonly ManifestEntry[], facts: ManifestFacts, lengthBytes: bigint): ManifestFile {
  const added = entries.filter((entry) => entry.status === 'added');
  const existing = entries.filter((entry) => entry.status === 'existing');
  const deleted = entries.filter((entry) => entry.status === 'deleted');
  const sequenceNumbers = entries.filter((entry) => entry.status !== 'deleted').map((entry) => entry.sequenceNumber);
  // An inherited number is the snapshot's, which is above every explicit one; so it is the lowest only when alone.
  const explicit = sequenceNumbers.filter((number) => number !== null);
  const [first = null, ...rest] = explicit;
  const minSequenceNumber = rest.reduce((min, number) => (min === null || number < min ? number : min), first);
  return {
    path: facts.path,
    lengthBytes,
    partitionSpecId: facts.partitionSpecId,
    content: facts.content,
    sequenceNumber: null,
    minSequenceNumber,
    addedSnapshotId: facts.snapshotId,
    addedFilesCount: added.length,
    existingFilesCount: existing.length,
    deletedFilesCount: deleted.length,
    addedRowsCount: rowsOf(added),
    existingRowsCount: rowsOf(existing),
    deletedRowsCount: rowsOf(deleted),
    partitions: [],
    keyMetadata: null,
  };
}

function rowsOf(entries: readonly ManifestEntry[]): bigint {
  return entries.reduce((sum, entry) => sum + entry.file.recordCount, 0n);
}

function toRecord(entry: ManifestEntry): AvroRecord {
  const { file } = entry;
  return {
    status: STATUS_CODES.indexOf(entry.status),
    snapshot_id: entry.snapshotId,
    sequence_number: entry.sequenceNumber,
    file_sequence_number: entry.fileSequenceNumber,
    data_file: {
      content: CONTENT_CODES.indexOf(file.content),
      file_path: file.path,
      file_format: 'PARQUET',
      partition: {},
      record_count: file.recordCount,
      file_size_in_bytes: file.fileSizeBytes,
      column_sizes: mapRecords(file.metrics.columnSizes),
      value_counts: mapRecords(file.metrics.valueCounts),
      null_value_counts: mapRecords(file.metrics.nullValueCounts),
      nan_value_counts: mapRecords(file.metrics.nanValueCounts),
      lower_bounds: boundRecords(file.metrics.lowerBounds),
      upper_bounds: boundRecords(file.metrics.upperBounds),
      key_metadata: null,
      split_offsets: file.splitOffsets.length === 0 ? null : file.splitOffsets,
      equality_ids: file.equalityFieldIds.length === 0 ? null : file.equalityFieldIds,
      sort_order_id: null,
    },
  };
}

function mapRecords(map: ReadonlyMap<number, bigint>): readonly AvroRecord[] | null {
  return map.size === 0 ? null : Array.from(map, ([key, value]) => ({ key, value }));
}

function boundRecords(map: ReadonlyMap<number, Uint8Array>): readonly AvroRecord[] | null {
  return map.size === 0 ? null : Array.from(map, ([key, value]) => ({ key, value: avroBytes(value) }));
}

// --- Reading ---------------------------------------------------------------------------------------

export interface ManifestContents {
  readonly content: ManifestContent;
  readonly entries: readonly ManifestEntry[];
  /**
   * True when writing the entries again would keep all that they say. False for partitioned, encrypted or non-Parquet
   * files and for fields of later versions (row ids, deletion vectors): such a manifest is carried, never rewritten.
   */
  readonly rewritable: boolean;
}

/** `sort_order_id` is a hint, `distinct_counts` and `block_size_in_bytes` are deprecated: losing them loses nothing. */
const DROPPABLE: ReadonlySet<string> = new Set(['sort_order_id', 'distinct_counts', 'block_size_in_bytes']);

/**
 * Reads a manifest of any writer; sequence numbers come as written, null where they are inherited. Throws
 * `catalog-protocol` when the bytes are not a manifest.
 */
export function readManifest(bytes: Uint8Array): ManifestContents {
  const { schema, records, metadata } = readAvroContainer(bytes);
  const entryReader = avroRecordReader(schema, MANIFEST_ENTRY_SCHEMA, 'manifest entry');
  const fileSchema = fieldSchema(schema, 2, 'data_file');
  const fileReader = avroRecordReader(fileSchema, DATA_FILE_SCHEMA, 'manifest data_file');
  const isVersion1 = (metadata.get('format-version') ?? '1') === '1';
  const content = metadata.get('content') === 'deletes' ? 'deletes' : 'data';
  let rewritable = true;
  const entries = records.map((record): ManifestEntry => {
    const fileRecord = entryReader.record(record, 'data_file');
    const file = readDataFile(fileReader, fileRecord);
    rewritable &&= isRewritable(fileReader, fileRecord) && isOfContent(file, content);
    const status = STATUS_CODES[entryReader.int(record, 'status')];
    if (status === undefined) throw new SinkError('catalog-protocol', 'manifest entry: unknown status');
    // Files of version 1 come before every numbered one (spec: "Appendix E", reading v1 metadata for v2).
    const absent = isVersion1 ? 0n : null;
    return {
      status,
      snapshotId: entryReader.optionalLong(record, 'snapshot_id'),
      sequenceNumber: entryReader.optionalLong(record, 'sequence_number') ?? absent,
      fileSequenceNumber: entryReader.optionalLong(record, 'file_sequence_number') ?? absent,
      file,
    };
  });
  return { content, entries, rewritable };
}

/** What `writeManifest` demands. A manifest that contradicts itself is left to its writer and its readers. */
function isOfContent(file: DataFile, content: ManifestContent): boolean {
  const hasKeys = file.equalityFieldIds.length > 0;
  return (file.content === 'data') === (content === 'data') && (file.content === 'equality-deletes') === hasKeys;
}

function isRewritable(reader: AvroRecordReader, record: AvroRecord): boolean {
  const partition = reader.value(record, 'partition');
  const isPartitioned = partition !== null && Object.keys(partition).length > 0;
  const format = reader.text(record, 'file_format').toUpperCase();
  const saysMore = reader.unknownFields.some((name) => !DROPPABLE.has(name) && (record[name] ?? null) !== null);
  return !isPartitioned && format === 'PARQUET' && reader.value(record, 'key_metadata') === null && !saysMore;
}

function readDataFile(reader: AvroRecordReader, record: AvroRecord): DataFile {
  const content = CONTENT_CODES[reader.optionalInt(record, 'content') ?? 0];
  if (content === undefined) throw new SinkError('catalog-protocol', 'manifest data_file: unknown content');
  return {
    content,
    path: reader.text(record, 'file_path'),
    recordCount: notNegative(reader.long(record, 'record_count'), 'record_count'),
    fileSizeBytes: notNegative(reader.long(record, 'file_size_in_bytes'), 'file_size_in_bytes'),
    metrics: readMetrics(reader, record),
    splitOffsets: longs(reader, record, 'split_offsets'),
    equalityFieldIds: longs(reader, record, 'equality_ids').map((id) => fieldId(id, 'equality_ids')),
  };
}

function readMetrics(reader: AvroRecordReader, record: AvroRecord): FileMetrics {
  const counts = (field: string): ReadonlyMap<number, bigint> =>
    new Map(reader.records(record, field).flatMap((pair): [number, bigint][] => {
      const value = pair['value'];
      return typeof value === 'bigint' ? [[fieldId(pair['key'], field), value]] : [];
    }));
  const bounds = (field: string): ReadonlyMap<number, Uint8Array> =>
    new Map(reader.records(record, field).flatMap((pair): [number, Uint8Array][] => {
      const value = pair['value'];
      return value instanceof Uint8Array ? [[fieldId(pair['key'], field), Uint8Array.from(value)]] : [];
    }));
  return {
    columnSizes: counts('column_sizes'),
    valueCounts: counts('value_counts'),
    nullValueCounts: counts('null_value_counts'),
    nanValueCounts: counts('nan_value_counts'),
    lowerBounds: bounds('lower_bounds'),
    upperBounds: bounds('upper_bounds'),
  };
}

function fieldId(value: unknown, field: string): number {
  const id = typeof value === 'bigint' ? Number(value) : value;
  if (typeof id === 'number' && (id | 0) === id) return id;
  throw new SinkError('catalog-protocol', `manifest data_file: ${field} must name field ids`);
}

function notNegative(value: bigint, field: string): bigint {
  if (value < 0n) throw new SinkError('catalog-protocol', `manifest data_file: ${field} is negative`);
  return value;
}

function longs(reader: AvroRecordReader, record: AvroRecord, field: string): readonly bigint[] {
  const list = reader.value(record, field);
  if (list === null) return [];
  if (!isAvroArray(list)) throw new SinkError('catalog-protocol', `manifest data_file: ${field} must be a list`);
  return list.map((item) => {
    if (typeof item !== 'bigint' && typeof item !== 'number') {
      throw new SinkError('catalog-protocol', `manifest data_file: ${field} must be a list of integers`);
    }
    return BigInt(item);
  });
}
