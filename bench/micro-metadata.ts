/** The metadata stages of `micro`: manifests, lists, merging, and the table as the catalog answers it. */
import { parseTableResponse } from '../src/io/table-response.ts';
import type { DataFile } from '../src/iceberg/data-file.ts';
import type { Schema } from '../src/iceberg/types.ts';
import { type ManifestFile, readManifestList, writeManifestList } from '../src/snapshot/manifest-list.ts';
import { type ManifestEntry, readManifest, writeManifest } from '../src/snapshot/manifest.ts';
import { mergeEntries } from '../src/snapshot/merge.ts';

export interface MetadataStage {
  readonly stage: string;
  readonly entries: number;
  readonly run: () => void;
}

const COLUMNS = 7;

const SCHEMA: Schema = {
  schemaId: 0, identifierFieldIds: [1],
  fields: Array.from({ length: COLUMNS }, (_, index) => ({ id: index + 1, name: `c${index}`, required: index === 0, type: { kind: 'long' } as const })),
};

/** `count`: manifests of a list, snapshots of a table. */
export function metadataStages(count: number): readonly MetadataStage[] {
  const entries = Array.from({ length: 100 }, (_, index) => entryOf(index));
  const hundred = writeManifest(entries, facts(0));
  const singles = Array.from({ length: 100 }, (_, index) => writeManifest([entryOf(index)], facts(index)));
  const sources = singles.map(({ bytes, manifest }) => ({ manifest: committed(manifest), contents: readManifest(bytes) }));
  const manifests = Array.from({ length: count }, (_, index) => ({ ...committed(hundred.manifest), path: `s3://lake/warehouse/t/metadata/${index}.avro` }));
  const listFacts = { snapshotId: 7n, parentSnapshotId: 6n, sequenceNumber: 9n, syncMarker: new Uint8Array(16) };
  const list = writeManifestList(manifests, listFacts);
  const answer = tableAnswer(count);
  return [
    { stage: 'write a manifest of 1 file', entries: 1, run: () => void writeManifest(entries.slice(0, 1), facts(1)) },
    { stage: 'write a manifest of 100 files', entries: 100, run: () => void writeManifest(entries, facts(1)) },
    { stage: 'read a manifest of 100 files', entries: 100, run: () => void readManifest(hundred.bytes) },
    { stage: 'merge 100 manifests of 1 file', entries: 100, run: () => void mergeEntries(sources) },
    { stage: `write a list of ${count} manifests`, entries: count, run: () => void writeManifestList(manifests, listFacts) },
    { stage: `read a list of ${count} manifests`, entries: count, run: () => void readManifestList(list) },
    { stage: `read a table answer of ${count} snapshots`, entries: count, run: () => void parseTableResponse(answer, 'load table') },
  ];
}

function facts(index: number): Parameters<typeof writeManifest>[1] {
  return {
    content: 'data', schema: SCHEMA, partitionSpecId: 0, snapshotId: BigInt(index + 1), path: `s3://lake/warehouse/t/metadata/m${index}.avro`,
    syncMarker: new Uint8Array(16),
  };
}

function committed(manifest: ManifestFile): ManifestFile {
  return { ...manifest, sequenceNumber: 3n, minSequenceNumber: 3n };
}

function entryOf(index: number): ManifestEntry {
  const counts = (value: bigint): ReadonlyMap<number, bigint> => new Map(SCHEMA.fields.map(({ id }) => [id, value] as const));
  const bounds = new Map(SCHEMA.fields.map(({ id }) => [id, new Uint8Array(8)] as const));
  const file: DataFile = {
    content: 'data', path: `s3://lake/warehouse/bench/t/data/0123456789abcdef-${index}.parquet`, recordCount: 1_000_000n, fileSizeBytes: 30_000_000n,
    metrics: {
      columnSizes: counts(4_000_000n), valueCounts: counts(1_000_000n), nullValueCounts: counts(0n), nanValueCounts: new Map(),
      lowerBounds: bounds, upperBounds: bounds,
    },
    splitOffsets: [4n, 4_000_000n], equalityFieldIds: [],
  };
  return { status: 'added', snapshotId: BigInt(index + 1), sequenceNumber: null, fileSequenceNumber: null, file };
}

/** What a catalog answers to a load, as text: the snapshots carry the summary that the sink writes. */
function tableAnswer(snapshots: number): string {
  const summary = {
    'operation': 'overwrite', 'mz-frontier': '[1767225600000]', 'mz-sink-id': 'bench', 'mz-sink-version': '0', 'added-data-files': '1', 'added-records': '1000',
    'added-files-size': '30000', 'total-data-files': '1000', 'total-records': '1000000', 'total-files-size': '30000000', 'total-delete-files': '1000',
    'total-position-deletes': '0', 'total-equality-deletes': '500000',
  };
  const metadata = {
    'format-version': 2, 'table-uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1', 'location': 's3://lake/warehouse/bench/t', 'last-sequence-number': snapshots,
    'last-updated-ms': 1_767_225_600_000 + snapshots, 'last-column-id': COLUMNS, 'current-schema-id': 0,
    'schemas': [{ 'type': 'struct', 'schema-id': 0, 'identifier-field-ids': [1], 'fields': SCHEMA.fields.map((field) => ({ ...field, type: 'long' })) }],
    'default-spec-id': 0, 'partition-specs': [{ 'spec-id': 0, 'fields': [] }], 'last-partition-id': 999, 'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, 'fields': [] }], 'properties': {}, 'current-snapshot-id': snapshots,
    'refs': { main: { 'snapshot-id': snapshots, 'type': 'branch' } },
    'snapshots': Array.from({ length: snapshots }, (_, index) => ({
      'snapshot-id': index + 1, ...(index === 0 ? {} : { 'parent-snapshot-id': index }), 'sequence-number': index + 1, 'timestamp-ms': 1_767_225_600_000 + index,
      'manifest-list': `s3://lake/warehouse/bench/t/metadata/snap-${index}.avro`, 'schema-id': 0, summary,
    })),
    'snapshot-log': Array.from({ length: snapshots }, (_, index) => ({ 'snapshot-id': index + 1, 'timestamp-ms': 1_767_225_600_000 + index })),
    'metadata-log': [],
  };
  return JSON.stringify({ 'metadata-location': 's3://lake/warehouse/bench/t/metadata/1.metadata.json', metadata, 'config': {} });
}
