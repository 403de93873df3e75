/**
 * The rows of a snapshot after its deletes, as a table in DuckDB (spec: "Scan Planning").
 *
 * - A position delete removes a row of the data file it names if its sequence number is not below the data file's.
 * - An equality delete removes rows whose key is equal, null equal to null, of data files with a strictly lower
 *   sequence number, in its own partition, or in all where its partition spec has no fields.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import type { ManifestEntry } from './manifests.ts';
import { byShape, describeParquetFiles, selectByFieldId } from './parquet-files.ts';
import { duckdbType, sqlName, sqlText } from './parquet-columns.ts';
import type { SnapshotFiles } from './snapshot-files.ts';
import type { TableFiles } from './table-files.ts';
import { fieldsById, type TableField, type TableMetadata } from './table-metadata.ts';

/** Reserved by the specification for position deletes. */
const DELETED_PATH: TableField = { id: 2_147_483_546, name: 'file_path', required: true, type: { kind: 'string' } };
const DELETED_POSITION: TableField = { id: 2_147_483_545, name: 'pos', required: true, type: { kind: 'long' } };
export const POSITION_DELETE_FIELDS: readonly TableField[] = [DELETED_PATH, DELETED_POSITION];

interface Scan {
  readonly connection: DuckDBConnection;
  readonly metadata: TableMetadata;
  /** Prefix of the temporary tables of this scan. */
  readonly name: string;
}

/** Creates the temporary table `name` with a column `c<id>` for each of `fields`, in their order. */
export async function createLiveRows(
  scan: Scan, files: TableFiles, snapshot: SnapshotFiles, fields: readonly TableField[],
): Promise<void> {
  const unreadable = snapshot.live.find((entry) => entry.format.toLowerCase() !== 'parquet');
  if (unreadable !== undefined) throw new Error(`only Parquet files can be read, not ${unreadable.format}: ${unreadable.path}`);
  const dataFiles = snapshot.live.filter((entry) => entry.kind === 'data');
  const positionDeletes = snapshot.live.filter((entry) => entry.kind === 'position-deletes');
  const equalityDeletes = [...Map.groupBy(
    snapshot.live.filter((entry) => entry.kind === 'equality-deletes'),
    // Deletes that hold in all partitions are joined apart from those that hold in their own.
    (entry) => `${entry.equalityIds.toSorted(ascending).join()} ${partitionKey(scan.metadata, entry) === ''}`,
  ).values()];
  const allFields = fieldsById(scan.metadata.schemas);
  const deleteIds = new Set(equalityDeletes.flatMap((group) => group[0]?.equalityIds ?? []));
  const known = new Set(fields.map((field) => field.id));
  const hidden = [...deleteIds].filter((id) => !known.has(id)).map((id) => fieldOf(allFields, id));

  const scanned = `${scan.name}_scanned`;
  await createFileRows(scan, scanned, files, dataFiles, [...fields, ...hidden], positionDeletes.length > 0);
  const joins: DeleteJoin[] = [];
  if (positionDeletes.length > 0) joins.push(await positionJoin(scan, files, positionDeletes));
  for (const [ordinal, group] of equalityDeletes.entries()) {
    joins.push(await equalityJoin(scan, files, group, allFields, ordinal));
  }
  const columns = fields.map((field) => `r.c${field.id}`);
  const sources = joins.reduce((from, { join, survives }) => `(SELECT r.* FROM ${from} r ${join} WHERE ${survives})`, scanned);
  await scan.connection.run(`CREATE OR REPLACE TEMP TABLE ${scan.name} AS SELECT ${columns.join(', ')} FROM ${sources} r`);
  await scan.connection.run(`DROP TABLE ${scanned}`);
}

function ascending(left: number, right: number): number {
  return left - right;
}

function fieldOf(allFields: ReadonlyMap<number, TableField>, id: number): TableField {
  const field = allFields.get(id);
  if (field === undefined) throw new Error(`the equality field id ${id} is in no schema of the table`);
  return field;
}

/** A table of all rows of `entries` with `$path`, `$sequence`, `$partition` (and `$position`) beside the fields. */
async function createFileRows(
  scan: Scan, name: string, files: TableFiles, entries: readonly ManifestEntry[], fields: readonly TableField[],
  withPositions: boolean,
): Promise<void> {
  const local = new Map<string, ManifestEntry>();
  for (const entry of entries) local.set(await files.localPath(entry.path), entry);
  const described = await describeParquetFiles(scan.connection, [...local.keys()]);
  const values = [...local].map(([path, entry]) =>
    `(${sqlText(path)}, ${sqlText(entry.path)}, ${entry.sequenceNumber}::BIGINT, ${sqlText(partitionKey(scan.metadata, entry))})`);
  const selects = byShape(described.values()).map(([shape, paths]) => selectByFieldId(shape, paths, fields, withPositions));
  const extra = `f.path AS "$path", f.sequence AS "$sequence", f.partition AS "$partition"`;
  if (selects.length === 0) {
    const empty = fields.map((field) => `NULL::${duckdbType(field.type)} AS c${field.id}`);
    await scan.connection.run(`CREATE OR REPLACE TEMP TABLE ${name} AS SELECT ${empty.join(', ')}, '' AS "$path",
      0::BIGINT AS "$sequence", '' AS "$partition", 0::BIGINT AS "$position" WHERE false`);
    return;
  }
  await scan.connection.run(`CREATE OR REPLACE TEMP TABLE ${name} AS
    SELECT r.* EXCLUDE (${sqlName('$file')}), ${extra}
    FROM (${selects.join(' UNION ALL ')}) r
    JOIN (VALUES ${values.join(', ')}) f(local, path, sequence, partition) ON r."$file" = f.local`);
}

/** Empty for a spec without fields: such an equality delete is global. */
function partitionKey(metadata: TableMetadata, entry: ManifestEntry): string {
  return metadata.unpartitionedSpecIds.has(entry.partitionSpecId) ? '' : entry.partition;
}

/** A join and the condition under which a row survives it. Equalities only in the join, so that DuckDB hashes. */
interface DeleteJoin {
  readonly join: string;
  readonly survives: string;
}

async function positionJoin(scan: Scan, files: TableFiles, deletes: readonly ManifestEntry[]): Promise<DeleteJoin> {
  const name = `${scan.name}_positions`;
  const all = `${name}_all`;
  await createFileRows(scan, all, files, deletes, POSITION_DELETE_FIELDS, false);
  await youngestPerKey(scan, name, all, [`c${DELETED_PATH.id}`, `c${DELETED_POSITION.id}`, '"$partition"']);
  return {
    join: `LEFT JOIN ${name} d ON d.c${DELETED_PATH.id} = r."$path" AND d.c${DELETED_POSITION.id} = r."$position"
      AND d."$partition" = r."$partition"`,
    survives: 'd."$sequence" IS NULL OR d."$sequence" < r."$sequence"',
  };
}

async function equalityJoin(
  scan: Scan, files: TableFiles, deletes: readonly ManifestEntry[], allFields: ReadonlyMap<number, TableField>, ordinal: number,
): Promise<DeleteJoin> {
  const ids = (deletes[0]?.equalityIds ?? []).toSorted(ascending);
  if (ids.length === 0) throw new Error('an equality delete file names no fields');
  const name = `${scan.name}_equality_${ordinal}`;
  const all = `${name}_all`;
  await createFileRows(scan, all, files, deletes, ids.map((id) => fieldOf(allFields, id)), false);
  const global = deletes.every((entry) => partitionKey(scan.metadata, entry) === '');
  await youngestPerKey(scan, name, all, [...ids.map((id) => `c${id}`), ...(global ? [] : ['"$partition"'])]);
  const equal = ids.map((id) => `d.c${id} IS NOT DISTINCT FROM r.c${id}`);
  const conditions = global ? equal : [...equal, 'd."$partition" = r."$partition"'];
  return {
    join: `LEFT JOIN ${name} d ON ${conditions.join(' AND ')}`,
    survives: 'd."$sequence" IS NULL OR d."$sequence" <= r."$sequence"',
  };
}

/** Only the youngest delete of a key matters: it removes everything that an older one would. */
async function youngestPerKey(scan: Scan, name: string, all: string, keys: readonly string[]): Promise<void> {
  const columns = keys.join(', ');
  await scan.connection.run(`CREATE OR REPLACE TEMP TABLE ${name} AS
    SELECT ${columns}, max("$sequence") AS "$sequence" FROM ${all} GROUP BY ${columns}`);
  await scan.connection.run(`DROP TABLE ${all}`);
}
