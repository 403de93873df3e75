/**
 * A table built on local disk without a catalog: Parquet by DuckDB, manifests, lists and metadata by us. Small enough to
 * see by hand what every reader must show.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { applyUpdates } from '../../../src/iceberg/apply-update.ts';
import type { DataFile, FileContent, FileMetrics } from '../../../src/iceberg/data-file.ts';
import { type JsonObject, formatJson } from '../../../src/iceberg/json.ts';
import { currentSchema, parseTableMetadata, updateToJson } from '../../../src/iceberg/metadata-json.ts';
import { newTableMetadata } from '../../../src/iceberg/new-table-metadata.ts';
import { encodeSingleValue } from '../../../src/iceberg/single-value.ts';
import { type ManifestFile, readManifestList } from '../../../src/snapshot/manifest-list.ts';
import { readManifest, writeManifest, type ManifestEntry } from '../../../src/snapshot/manifest.ts';
import { mergeEntries } from '../../../src/snapshot/merge.ts';
import { objectNames, tableLocations } from '../../../src/snapshot/object-names.ts';
import { planSnapshot } from '../../../src/snapshot/snapshot.ts';
import { countAdded } from '../../../src/snapshot/summary.ts';
import { frontierAt } from '../../../src/time/frontier.ts';

export type Row = readonly [id: bigint, name: string | null];

export class HandMadeTable {
  metadata: JsonObject;
  readonly root: string;
  metadataPath = '';
  #commits = 0;

  constructor(root: string) {
    this.root = root;
    this.metadata = newTableMetadata({
      uuid: randomUUID(),
      location: root,
      schema: {
        type: 'struct',
        'identifier-field-ids': [10],
        fields: [{ id: 10, name: 'id', required: true, type: 'long' }, { id: 20, name: 'name', required: false, type: 'string' }],
      },
      partitionSpec: null,
      writeOrder: null,
      properties: {},
      nowMs: BigInt(Date.now()),
      formatVersion: 2,
    });
  }

  /** One snapshot with these rows and deleted ids; `merge` also rewrites all earlier manifests of data into one. */
  async commit(rows: readonly Row[], deletedIds: readonly bigint[], merge = false): Promise<bigint> {
    const table = parseTableMetadata(this.metadata);
    const batch = this.#commits++;
    const snapshotId = BigInt.asUintN(63, randomBytes(8).readBigUInt64BE()) | (1n << 62n);
    const names = objectNames(tableLocations(table), 'u42', randomUUID());
    const schema = currentSchema(table);
    const facts = { schema, partitionSpecId: 0, snapshotId, syncMarker: randomBytes(16) };
    const files: DataFile[] = [];
    const newManifests: ManifestFile[] = [];
    let manifests = 0;
    const addManifest = async (content: 'data' | 'deletes', entries: readonly ManifestEntry[]): Promise<void> => {
      const { manifest, bytes } = writeManifest(entries, { ...facts, content, path: names.manifest(batch, manifests++) });
      await writeFile(manifest.path, bytes);
      newManifests.push(manifest);
    };
    const added = async (content: FileContent, path: string, values: readonly Row[]): Promise<void> => {
      const file = await writeParquet(content, path, values);
      files.push(file);
      const entry = { status: 'added', snapshotId, sequenceNumber: null, fileSequenceNumber: null, file } as const;
      await addManifest(content === 'data' ? 'data' : 'deletes', [entry]);
    };
    await mkdir(join(this.root, 'data'), { recursive: true });
    await mkdir(join(this.root, 'metadata'), { recursive: true });
    if (rows.length > 0) await added('data', names.dataFile(batch, 0), rows);
    if (deletedIds.length > 0) await added('equality-deletes', names.deleteFile(batch, 0), deletedIds.map((id) => [id, null]));
    const parent = table.snapshots.find((snapshot) => snapshot.snapshotId === table.currentSnapshotId) ?? null;
    let carried = parent === null ? [] : readManifestList(await readFile(parent.manifestList));
    if (merge) {
      const sources = carried.filter((manifest) => manifest.content === 'data');
      const merged = mergeEntries(await Promise.all(sources.map(async (manifest) =>
        ({ manifest, contents: readManifest(await readFile(manifest.path)) }))));
      await addManifest('data', merged.entries);
      carried = carried.filter((manifest) => !merged.replaced.includes(manifest));
    }
    const { snapshot, manifestList } = planSnapshot({
      parent, lastSequenceNumber: table.lastSequenceNumber, schemaId: schema.schemaId, snapshotId,
      timestampMs: BigInt(Date.now()), sections: [newManifests], merged: [], carried, added: countAdded(files),
      progress: { frontier: frontierAt(BigInt(batch + 1)), sinkId: 'u42', version: 0n },
      manifestListPath: names.manifestList(snapshotId, batch, 1), syncMarker: randomBytes(16),
    });
    await writeFile(snapshot.manifestList, manifestList);
    this.metadata = applyUpdates(this.metadata, [
      updateToJson({ action: 'add-snapshot', snapshot }),
      updateToJson({ action: 'set-snapshot-ref', ref: 'main', snapshotId, type: 'branch' }),
    ], BigInt(Date.now()));
    this.metadataPath = join(this.root, 'metadata', `${String(batch).padStart(5, '0')}-${randomUUID()}.metadata.json`);
    await writeFile(this.metadataPath, formatJson(this.metadata));
    return snapshotId;
  }
}

export async function emptyTable(): Promise<HandMadeTable> {
  return new HandMadeTable(await mkdtemp(join(tmpdir(), 'hand-made-table-')));
}

async function writeParquet(content: FileContent, path: string, rows: readonly Row[]): Promise<DataFile> {
  const duckdb = await DuckDBInstance.create(':memory:');
  const connection = await duckdb.connect();
  const values = rows.map(([id, name]) => `(${id}::BIGINT, ${name === null ? 'NULL' : `'${name}'`}::VARCHAR)`).join(', ');
  const columns = content === 'data' ? 'id, name' : 'id';
  const fieldIds = content === 'data' ? '{id: 1, name: 2}' : '{id: 1}';
  await connection.run(`COPY (SELECT ${columns} FROM (VALUES ${values}) t(id, name)) TO '${path}' (FORMAT parquet, FIELD_IDS ${fieldIds})`);
  connection.closeSync();
  return {
    content,
    path,
    recordCount: BigInt(rows.length),
    fileSizeBytes: BigInt((await stat(path)).size),
    metrics: metricsOf(content, rows),
    splitOffsets: [4n],
    equalityFieldIds: content === 'data' ? [] : [1],
  };
}

function metricsOf(content: FileContent, rows: readonly Row[]): FileMetrics {
  const ids = rows.map(([id]) => id).toSorted((a, b) => (a < b ? -1 : 1));
  const nulls = rows.filter(([, name]) => name === null).length;
  const withName = content === 'data';
  const bound = (id: bigint | undefined): Uint8Array => encodeSingleValue({ kind: 'long' }, id ?? 0n);
  return {
    columnSizes: new Map(),
    valueCounts: new Map([[1, BigInt(rows.length)], ...(withName ? [[2, BigInt(rows.length)]] as const : [])]),
    nullValueCounts: new Map([[1, 0n], ...(withName ? [[2, BigInt(nulls)]] as const : [])]),
    nanValueCounts: new Map(),
    lowerBounds: new Map([[1, bound(ids[0])]]),
    upperBounds: new Map([[1, bound(ids.at(-1))]]),
  };
}
