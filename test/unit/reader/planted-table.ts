/**
 * A sound one-file table on local disk, with hooks that spoil one thing of it each. Parquet by DuckDB; manifests, list and
 * metadata by the project's own writer, whose soundness other engines vouch for in the interop suite.
 */
import { mkdtemp, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { applyUpdates } from '../../../src/iceberg/apply-update.ts';
import type { DataFile, FileMetrics } from '../../../src/iceberg/data-file.ts';
import { formatJson, type JsonObject } from '../../../src/iceberg/json.ts';
import { currentSchema, parseTableMetadata, updateToJson } from '../../../src/iceberg/metadata-json.ts';
import { newTableMetadata } from '../../../src/iceberg/new-table-metadata.ts';
import { type ManifestEntry, writeManifest } from '../../../src/snapshot/manifest.ts';
import type { ManifestFile } from '../../../src/snapshot/manifest-list.ts';
import { planSnapshot } from '../../../src/snapshot/snapshot.ts';
import { countAdded } from '../../../src/snapshot/summary.ts';
import { frontierAt } from '../../../src/time/frontier.ts';

export interface Spoil {
  /** Changes what the manifest says of the file. */
  readonly file?: (file: DataFile) => DataFile;
  readonly entries?: (entries: readonly ManifestEntry[]) => readonly ManifestEntry[];
  /** Changes what the list says of the manifest. */
  readonly manifest?: (manifest: ManifestFile) => ManifestFile;
  readonly metadata?: (metadata: JsonObject) => JsonObject;
  /** DuckDB's FIELD_IDS for the file. */
  readonly fieldIds?: string;
}

/** Ids as the table assigns them: top level first, then what is nested. */
export const IDS = { id: 1, s: 2, l: 3, x: 4, element: 5 } as const;
const FIELD_IDS = '{id: 1, s: {__duckdb_field_id: 2, x: 4}, l: {__duckdb_field_id: 3, element: 5}}';
export const SOUND_ROWS = [
  '{"id":-5,"s":{"x":"zebra"},"l":[1.5,null]}', '{"id":7,"s":{"x":"ant"},"l":[]}', '{"id":null,"s":null,"l":null}',
];
const SNAPSHOT_ID = 6_917_529_027_641_081_857n;

/** Returns the location of the metadata. */
export async function plantTable(spoil: Spoil = {}): Promise<{ readonly root: string; readonly metadataLocation: string }> {
  const root = await mkdtemp(join(tmpdir(), 'planted-table-'));
  const created = newTableMetadata({
    uuid: '6a3cf2f1-6a50-4a4a-9f0a-2f1f0d1d7c11', location: root, partitionSpec: null, writeOrder: null, properties: {},
    nowMs: 1_700_000_000_000n, formatVersion: 2,
    schema: {
      type: 'struct',
      fields: [
        { id: 1, name: 'id', required: false, type: 'long' },
        { id: 2, name: 's', required: false, type: { type: 'struct', fields: [{ id: 4, name: 'x', required: false, type: 'string' }] } },
        { id: 3, name: 'l', required: false, type: { type: 'list', 'element-id': 5, 'element-required': false, element: 'double' } },
      ],
    },
  });
  const table = parseTableMetadata(created);
  const file = await writeData(join(root, 'data.parquet'), spoil.fieldIds ?? FIELD_IDS);
  const entry: ManifestEntry = {
    status: 'added', snapshotId: SNAPSHOT_ID, sequenceNumber: null, fileSequenceNumber: null, file: spoil.file?.(file) ?? file,
  };
  const { manifest, bytes } = writeManifest(spoil.entries?.([entry]) ?? [entry], {
    schema: currentSchema(table), partitionSpecId: 0, snapshotId: SNAPSHOT_ID, syncMarker: new Uint8Array(16).fill(7),
    content: 'data', path: join(root, 'manifest.avro'),
  });
  await writeFile(manifest.path, bytes);
  const { snapshot, manifestList } = planSnapshot({
    parent: null, lastSequenceNumber: 0n, schemaId: 0, snapshotId: SNAPSHOT_ID, timestampMs: 1_700_000_000_001n,
    sections: [[spoil.manifest?.(manifest) ?? manifest]], merged: [], carried: [], added: countAdded([file]),
    progress: { frontier: frontierAt(1n), sinkId: 'u1', version: 0n },
    manifestListPath: join(root, 'list.avro'), syncMarker: new Uint8Array(16).fill(9),
  });
  await writeFile(snapshot.manifestList, manifestList);
  const applied = applyUpdates(created, [
    updateToJson({ action: 'add-snapshot', snapshot }),
    updateToJson({ action: 'set-snapshot-ref', ref: 'main', snapshotId: SNAPSHOT_ID, type: 'branch' }),
  ], 1_700_000_000_002n);
  const metadataLocation = join(root, '00000.metadata.json');
  await writeFile(metadataLocation, formatJson(spoil.metadata?.(applied) ?? applied));
  return { root, metadataLocation };
}

async function writeData(path: string, fieldIds: string): Promise<DataFile> {
  const duckdb = await DuckDBInstance.create(':memory:');
  const connection = await duckdb.connect();
  await connection.run(`COPY (SELECT * FROM (VALUES
      (7::BIGINT, {x: 'ant'}, []::DOUBLE[]), (-5, {x: 'zebra'}, [1.5, NULL]), (NULL, NULL, NULL)) t(id, s, l))
    TO '${path}' (FORMAT parquet, FIELD_IDS ${fieldIds})`);
  connection.closeSync();
  duckdb.closeSync();
  return {
    content: 'data', path, recordCount: 3n, fileSizeBytes: BigInt((await stat(path)).size), metrics: soundMetrics(),
    splitOffsets: [4n], equalityFieldIds: [],
  };
}

function soundMetrics(): FileMetrics {
  return {
    columnSizes: new Map(),
    valueCounts: new Map([[IDS.id, 3n], [IDS.x, 3n], [IDS.element, 2n]]),
    nullValueCounts: new Map([[IDS.id, 1n], [IDS.x, 1n], [IDS.element, 1n]]),
    nanValueCounts: new Map([[IDS.element, 0n]]),
    lowerBounds: new Map([[IDS.id, long(-5n)], [IDS.x, Buffer.from('ant')]]),
    // A bound may be wider than the values.
    upperBounds: new Map([[IDS.id, long(7n)], [IDS.x, Buffer.from('zf')]]),
  };
}

/** Eight bytes, little-endian. */
export function long(value: bigint): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}
