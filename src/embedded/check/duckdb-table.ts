/**
 * An Iceberg v2 table read by DuckDB, as a judge of what the sink wrote.
 *
 * Shares nothing with the rest of `src`: metadata, manifests, sequence numbers and single values are decoded here from the
 * specification, and the data files are read by DuckDB by field id. So a mistake of the writer can't be undone by the
 * same mistake in the reader. The demo ends with it, and the tests judge with it.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { rowLine, sortLines } from './canonical-json.ts';
import { compareRows, type Comparison, type ExpectedRows } from './compare-rows.ts';
import { createLiveRows } from './live-rows.ts';
import type { ManifestEntry } from './manifests.ts';
import { readRows } from './parquet-files.ts';
import { type ManifestCache, readSnapshotFiles, type SnapshotFiles } from './snapshot-files.ts';
import { snapshotFaults, type Violation } from './snapshot-faults.ts';
import { type FetchFile, openTableFiles, type TableFiles } from './table-files.ts';
import { mainAncestry, parseTableMetadata, type TableField, type TableMetadata, type TableSnapshot } from './table-metadata.ts';

export interface TableSource {
  /** Location of a metadata.json: an absolute path, `file://…`, or whatever `fetchFile` takes. */
  readonly metadataLocation: string;
  /** Needed where metadata or files are not local. */
  readonly fetchFile?: FetchFile;
}

export interface DuckdbTable {
  readonly metadata: TableMetadata;
  /** Main's ancestry, oldest first. */
  snapshots(): readonly TableSnapshot[];
  /** The live data and delete files of a snapshot, the current one by default. */
  liveFiles(snapshotId?: bigint): Promise<readonly ManifestEntry[]>;
  /** Canonical JSON lines, sorted by bytes; none where the table has no snapshot. */
  rows(snapshotId?: bigint): Promise<readonly string[]>;
  /** Multiset comparison inside of DuckDB, for tables of millions of rows. */
  compareWith(expected: ExpectedRows, snapshotId?: bigint): Promise<Comparison>;
  /** Structural checks of the current snapshot, or of every one of main's ancestry. Empty when all hold. */
  checkTable(scope?: 'current' | 'history'): Promise<readonly Violation[]>;
  /** Frees DuckDB and the temporary folder. */
  close(): void;
}

/** Rejects where the metadata can't be read or is not of format version 2. */
export async function openDuckdbTable(source: TableSource): Promise<DuckdbTable> {
  const files = openTableFiles(source.fetchFile ?? null);
  try {
    const metadata = parseTableMetadata(Buffer.from(await files.bytes(source.metadataLocation)).toString('utf8'));
    if (metadata.formatVersion !== 2) throw new Error(`format version ${metadata.formatVersion} is not judged here, only 2`);
    const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return new Reader(metadata, files, instance, connection);
  } catch (thrown) {
    files.close();
    throw thrown;
  }
}

class Reader implements DuckdbTable {
  readonly metadata: TableMetadata;
  readonly #files: TableFiles;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #manifests: ManifestCache = new Map();

  constructor(metadata: TableMetadata, files: TableFiles, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.metadata = metadata;
    this.#files = files;
    this.#instance = instance;
    this.#connection = connection;
  }

  snapshots(): readonly TableSnapshot[] {
    return mainAncestry(this.metadata);
  }

  async liveFiles(snapshotId?: bigint): Promise<readonly ManifestEntry[]> {
    return (await this.#snapshotFiles(snapshotId))?.live ?? [];
  }

  async rows(snapshotId?: bigint): Promise<readonly string[]> {
    const fields = this.#fields(snapshotId);
    if (!await this.#createLive(fields, snapshotId)) return [];
    const columns = fields.map((field) => `c${field.id}`).join(', ');
    const rows = await readRows(this.#connection, `SELECT ${columns} FROM live`);
    return sortLines(rows.map((values) => rowLine(fields, values)));
  }

  async compareWith(expected: ExpectedRows, snapshotId?: bigint): Promise<Comparison> {
    const fields = this.#fields(snapshotId);
    if (!await this.#createLive(fields, snapshotId)) {
      throw new Error('the table has no snapshot to compare with');
    }
    return await compareRows(this.#connection, 'live', fields, expected);
  }

  async checkTable(scope: 'current' | 'history' = 'current'): Promise<readonly Violation[]> {
    const history = this.snapshots();
    const checked = scope === 'history' ? history : history.slice(-1);
    const violations: Violation[] = [];
    for (const snapshot of checked) {
      const content = await readSnapshotFiles(this.#files, snapshot, this.#manifests);
      violations.push(...await snapshotFaults({
        connection: this.#connection, metadata: this.metadata, files: this.#files, snapshot: content,
        fields: this.#fields(snapshot.snapshotId),
      }));
    }
    return violations;
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
    this.#files.close();
  }

  /** A past snapshot is read with the schema it was written under, the current one with the current schema. */
  #fields(snapshotId?: bigint): readonly TableField[] {
    const ownSchema = snapshotId === undefined ? null : this.#snapshot(snapshotId).schemaId;
    const schemaId = ownSchema ?? this.metadata.currentSchemaId;
    const schema = this.metadata.schemas.find((candidate) => candidate.schemaId === schemaId);
    if (schema === undefined) throw new Error(`the table has no schema ${schemaId}`);
    return schema.fields;
  }

  #snapshot(snapshotId: bigint): TableSnapshot {
    const snapshot = this.metadata.snapshots.find((candidate) => candidate.snapshotId === snapshotId);
    if (snapshot === undefined) throw new Error(`the table has no snapshot ${snapshotId}`);
    return snapshot;
  }

  async #snapshotFiles(snapshotId?: bigint): Promise<SnapshotFiles | null> {
    const id = snapshotId ?? this.metadata.mainSnapshotId;
    return id === null ? null : await readSnapshotFiles(this.#files, this.#snapshot(id), this.#manifests);
  }

  async #createLive(fields: readonly TableField[], snapshotId?: bigint): Promise<boolean> {
    const snapshot = await this.#snapshotFiles(snapshotId);
    if (snapshot === null) return false;
    await createLiveRows({ connection: this.#connection, metadata: this.metadata, name: 'live' }, this.#files, snapshot, fields);
    return true;
  }
}

export type { Comparison, ExpectedRows, FetchFile, ManifestEntry, TableSnapshot, Violation };
