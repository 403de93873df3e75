import { describe, expect, it } from 'vitest';
import type { DataFile } from '../../../src/iceberg/data-file.ts';
import { type AvroRecord, avroBytes, readAvroContainer, writeAvroContainer } from '../../../src/iceberg/avro-container.ts';
import { type JsonObject, formatJson, parseJson } from '../../../src/iceberg/json.ts';
import { MANIFEST_ENTRY_SCHEMA, MANIFEST_FILE_SCHEMA } from '../../../src/iceberg/manifest-schema.ts';
import { type ManifestEntry, type ManifestFacts, readManifest, writeManifest } from '../../../src/snapshot/manifest.ts';
import { type ManifestFile, readManifestList, writeManifestList } from '../../../src/snapshot/manifest-list.ts';

const SYNC = new Uint8Array(16).fill(7);
const SNAPSHOT = 5735460159761889537n;

const FACTS: ManifestFacts = {
  content: 'data', partitionSpecId: 0, snapshotId: SNAPSHOT, path: 's3://b/t/metadata/m0.avro', syncMarker: SYNC,
  schema: { schemaId: 3, fields: [{ id: 1, name: 'x', required: true, type: { kind: 'long' } }], identifierFieldIds: [1] },
};

function dataFile(path: string, recordCount: bigint): DataFile {
  return {
    content: 'data', path, recordCount, fileSizeBytes: 1234n, splitOffsets: [4n, 4_000_000_000n], equalityFieldIds: [],
    metrics: {
      columnSizes: new Map([[1, 99n]]), valueCounts: new Map([[1, recordCount]]), nullValueCounts: new Map([[1, 0n]]),
      nanValueCounts: new Map([[1, 2n]]), lowerBounds: new Map([[1, Uint8Array.of(1, 0)]]), upperBounds: new Map([[1, Uint8Array.of(255)]]),
    },
  };
}

function added(file: DataFile): ManifestEntry {
  return { status: 'added', snapshotId: SNAPSHOT, sequenceNumber: null, fileSequenceNumber: null, file };
}

describe('GIVEN entries of a manifest', () => {
  it('WHEN written and read THEN every field is the same, and the list entry counts them', () => {
    const entries: ManifestEntry[] = [
      added(dataFile('s3://b/1', 10n)),
      { status: 'existing', snapshotId: 4n, sequenceNumber: 5n, fileSequenceNumber: 6n, file: dataFile('s3://b/2', 20n) },
      { status: 'deleted', snapshotId: 4n, sequenceNumber: 1n, fileSequenceNumber: 1n, file: dataFile('s3://b/3', 30n) },
    ];
    const { manifest, bytes } = writeManifest(entries, FACTS);
    expect(readManifest(bytes)).toEqual({ content: 'data', entries, rewritable: true });
    expect(manifest).toMatchObject({
      addedFilesCount: 1, existingFilesCount: 1, deletedFilesCount: 1, addedRowsCount: 10n, existingRowsCount: 20n, deletedRowsCount: 30n,
      // The deleted entry's 1 does not count: the number is about live files.
      sequenceNumber: null, minSequenceNumber: 5n, lengthBytes: BigInt(bytes.length),
    });
  });

  it('WHEN the header is read THEN it has the keys of the specification', () => {
    const { metadata } = readAvroContainer(writeManifest([added(dataFile('p', 1n))], FACTS).bytes);
    expect(metadata.get('schema-id')).toBe('3');
    expect(metadata.get('partition-spec')).toBe('[]');
    expect(metadata.get('partition-spec-id')).toBe('0');
    expect(metadata.get('format-version')).toBe('2');
    expect(metadata.get('content')).toBe('data');
    expect(parseJson(metadata.get('schema') ?? '')).toMatchObject({ 'schema-id': 3, 'identifier-field-ids': [1] });
  });

  it('WHEN they are equality deletes THEN the key fields are kept', () => {
    const file: DataFile = { ...dataFile('d', 2n), content: 'equality-deletes', equalityFieldIds: [1, 7] };
    const { manifest, bytes } = writeManifest([added(file)], { ...FACTS, content: 'deletes' });
    expect(readManifest(bytes)).toMatchObject({ content: 'deletes', entries: [{ file }] });
    expect(manifest.content).toBe('deletes');
  });

  it('WHEN an entry would corrupt the table THEN an invariant breaks', () => {
    const existing: ManifestEntry = { ...added(dataFile('p', 1n)), status: 'existing' };
    expect(() => writeManifest([existing], FACTS)).toThrow(/only added files may inherit/);
    expect(() => writeManifest([added(dataFile('p', 1n))], { ...FACTS, content: 'deletes' })).toThrow(/either data or delete/);
    expect(() => writeManifest([added({ ...dataFile('p', 1n), content: 'equality-deletes' })], { ...FACTS, content: 'deletes' }))
      .toThrow(/name their key fields/);
  });
});

/** Our manifest as another writer would have it: its schema text or its records changed. */
function foreign(change: (schemaText: string) => string, records: (record: AvroRecord) => AvroRecord, metadata: Record<string, string>): Uint8Array {
  const ours = readAvroContainer(writeManifest([added(dataFile('s3://b/1', 10n))], FACTS).bytes);
  const schema = parseJson(change(formatJson(MANIFEST_ENTRY_SCHEMA))) as JsonObject;
  return writeAvroContainer({ schema, records: ours.records.map(records), metadata, codec: 'deflate', syncMarker: SYNC });
}

describe('GIVEN manifests of other writers', () => {
  it('WHEN fields have other names but the ids of the specification THEN they are found by id', () => {
    const renamed = foreign((text) => text.replace('"record_count"', '"rows"'), (record) => {
      const { record_count: rows, ...file } = record['data_file'] as AvroRecord;
      return { ...record, data_file: { ...file, rows: rows ?? null } };
    }, { 'format-version': '2' });
    expect(readManifest(renamed).entries[0]?.file.recordCount).toBe(10n);
  });

  it('WHEN ids are missing THEN names count', () => {
    const bytes = foreign((text) => text.replaceAll(/,"field-id":\d+/g, ''), (record) => record, { 'format-version': '2' });
    expect(readManifest(bytes).entries[0]?.file.path).toBe('s3://b/1');
  });

  it('WHEN the manifest is of version 1 THEN inherited sequence numbers are 0', () => {
    const bytes = foreign((text) => text, (record) => record, { 'format-version': '1' });
    expect(readManifest(bytes).entries[0]).toMatchObject({ sequenceNumber: 0n, fileSequenceNumber: 0n });
  });

  it.each([
    ['partition values', '"name":"r102","fields":[]', '"name":"r102","fields":[{"name":"p","type":"int","field-id":1000}]', { partition: { p: 5 } }],
    ['a deletion vector', '{"name":"sort_order_id"', '{"name":"referenced_data_file","type":["null","string"],"field-id":143},{"name":"sort_order_id"', { referenced_data_file: 'x' }],
    ['another file format', '', '', { file_format: 'ORC' }],
    ['an encryption key', '', '', { key_metadata: avroBytes(Uint8Array.of(1)) }],
  ])('WHEN files have %s THEN the manifest is readable but must not be rewritten', (_what, from, to, more) => {
    const bytes = foreign((text) => text.replace(from, to), (record) => ({ ...record, data_file: { ...(record['data_file'] as AvroRecord), ...more } }), { 'format-version': '2' });
    expect(readManifest(bytes).rewritable).toBe(false);
  });

  it('WHEN files only have a sort order beside ours THEN the manifest may be rewritten', () => {
    const bytes = foreign((text) => text, (record) => ({ ...record, data_file: { ...(record['data_file'] as AvroRecord), sort_order_id: 0 } }), { 'format-version': '2' });
    expect(readManifest(bytes).rewritable).toBe(true);
  });
});

describe('GIVEN a manifest list', () => {
  const carried: ManifestFile = {
    path: 's3://b/old.avro', lengthBytes: 77n, partitionSpecId: 1, content: 'deletes', sequenceNumber: 3n, minSequenceNumber: 2n,
    addedSnapshotId: 9n, addedFilesCount: 1, existingFilesCount: 2, deletedFilesCount: 3, addedRowsCount: 4n, existingRowsCount: 5n,
    deletedRowsCount: 6n, keyMetadata: Uint8Array.of(8),
    partitions: [{ containsNull: true, containsNan: null, lowerBound: Uint8Array.of(1), upperBound: null }],
  };

  it('WHEN written THEN new manifests get the snapshot\'s number and carried ones keep all of theirs', () => {
    const { manifest } = writeManifest([added(dataFile('p', 1n))], FACTS);
    const bytes = writeManifestList([manifest, carried], { snapshotId: SNAPSHOT, parentSnapshotId: 9n, sequenceNumber: 4n, syncMarker: SYNC });
    expect(readManifestList(bytes)).toEqual([{ ...manifest, sequenceNumber: 4n, minSequenceNumber: 4n }, carried]);
    const { metadata } = readAvroContainer(bytes);
    expect(Object.fromEntries(metadata)).toMatchObject({
      'snapshot-id': '5735460159761889537', 'parent-snapshot-id': '9', 'sequence-number': '4', 'format-version': '2',
    });
  });

  it('WHEN a carried manifest is of the future THEN an invariant breaks', () => {
    expect(() => writeManifestList([carried], { snapshotId: 1n, parentSnapshotId: null, sequenceNumber: 2n, syncMarker: SYNC })).toThrow(/later sequence number/);
  });

  it('WHEN the list is of version 1 with the old names THEN it is read as data of sequence number 0', () => {
    const names = (text: string): string => text.replaceAll(/"(added|existing|deleted)_files_count"/g, '"$1_data_files_count"');
    const v1 = parseJson(names(formatJson(MANIFEST_FILE_SCHEMA))) as { readonly fields: readonly { readonly name: string }[] };
    const dropped = new Set(['content', 'sequence_number', 'min_sequence_number']);
    const schema = { ...v1, fields: v1.fields.filter((field) => !dropped.has(field.name)) } as unknown as JsonObject;
    const record: AvroRecord = {
      manifest_path: 'm', manifest_length: 5n, partition_spec_id: 0, added_snapshot_id: 2n, added_data_files_count: 1, existing_data_files_count: 0,
      deleted_data_files_count: 0, added_rows_count: 3n, existing_rows_count: 0n, deleted_rows_count: 0n, partitions: null, key_metadata: null,
    };
    const bytes = writeAvroContainer({ schema, records: [record], metadata: {}, codec: 'null', syncMarker: SYNC });
    expect(readManifestList(bytes)).toMatchObject([{ content: 'data', sequenceNumber: 0n, minSequenceNumber: 0n, addedFilesCount: 1, addedRowsCount: 3n }]);
  });
});
