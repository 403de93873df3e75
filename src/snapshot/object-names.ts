/**
 * Where the objects of a table go and how the sink names them.
 *
 * Invariant: a name is never used twice. It holds the sink id (so that a person sees whose it is), the uuid of the
 * incarnation (so that two copies of one sink can't collide), the batch, whose ordinal stands for its span within the
 * incarnation, and an ordinal within the batch. So an object found under one of our names is ours, byte for byte.
 */
import type { TableMetadata } from '../iceberg/metadata.ts';

export interface TableLocations {
  /** Folder of data and delete files, without a trailing slash. */
  readonly data: string;
  /** Folder of manifests and manifest lists, without a trailing slash. */
  readonly metadata: string;
}

type Placed = Pick<TableMetadata, 'location' | 'properties'>;

export function tableLocations(table: Placed): TableLocations {
  return { data: dataLocation(table), metadata: metadataLocation(table) };
}

/** `write.data.path`, else the older `write.folder-storage.path`, else `data` below the table. */
export function dataLocation(table: Placed): string {
  const set = table.properties['write.data.path'] ?? table.properties['write.folder-storage.path'];
  return cleanLocation(set ?? `${tableRoot(table)}/data`);
}

/** `write.metadata.path`, else `metadata` below the table. */
export function metadataLocation(table: Placed): string {
  return cleanLocation(table.properties['write.metadata.path'] ?? `${tableRoot(table)}/metadata`);
}

/** Some catalogs give the location of the metadata file for that of the table. */
function tableRoot(table: Placed): string {
  return cleanLocation(table.location.replace(/\/metadata\/[^/]*\.metadata\.json$/, ''));
}

/** Without trailing slashes; `s3a` and `s3n` are Hadoop's names for `s3`, and not every reader knows them. */
function cleanLocation(location: string): string {
  return location.replace(/\/+$/, '').replace(/^s3[an]:\/\//, 's3://');
}

/** What one incarnation of a sink calls its objects; all absolute locations. */
export interface ObjectNames {
  /** `batch` counts the spans of the incarnation, `ordinal` the data files of the span. */
  dataFile(batch: number, ordinal: number): string;
  deleteFile(batch: number, ordinal: number): string;
  /** `ordinal` counts the manifests of the batch, merged ones included, over all attempts. */
  manifest(batch: number, ordinal: number): string;
  /** Each attempt to commit has its own list. The snapshot id leads the name, as Iceberg's own writers have it. */
  manifestList(snapshotId: bigint, batch: number, attempt: number): string;
}

/** `incarnation` is a random uuid, drawn once when the incarnation starts. */
export function objectNames(locations: TableLocations, sinkId: string, incarnation: string): ObjectNames {
  const owner = `${safeName(sinkId)}-${incarnation}`;
  return {
    dataFile: (batch, ordinal) => `${locations.data}/${owner}-${digits(batch)}-data-${digits(ordinal)}.parquet`,
    deleteFile: (batch, ordinal) => `${locations.data}/${owner}-${digits(batch)}-deletes-${digits(ordinal)}.parquet`,
    manifest: (batch, ordinal) => `${locations.metadata}/${owner}-${digits(batch)}-m${ordinal}.avro`,
    manifestList: (snapshotId, batch, attempt) =>
      `${locations.metadata}/snap-${snapshotId}-${attempt}-${owner}-${digits(batch)}.avro`,
  };
}

const LONGEST_SINK_ID = 64;

/** Only characters that mean the same in an S3 key, a URL and a file name; the uuid beside it keeps names apart. */
function safeName(sinkId: string): string {
  const safe = sinkId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST_SINK_ID);
  return safe === '' ? 'sink' : safe;
}

/** Padded so that names sort in the order of writing. */
function digits(ordinal: number): string {
  return String(ordinal).padStart(5, '0');
}
