/**
 * The object store of one table: each location goes to the storage that its scheme names.
 *
 * Invariant: nothing is written or deleted outside the table. A location comes from the catalog's answers, and a
 * catalog that is mistaken or hostile must not be able to point our keys, or the local disk, at anything else.
 * Reads are free within the storages that are allowed: manifests of a table that was moved lie where it was before.
 */
import { SinkError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import type { ObjectStore } from '../sink/ports.ts';
import { isInside, parseLocation, shown, withoutTrailingSlashes } from './location.ts';

export interface ObjectStoreOptions {
  /** Where this table may write: its location and its write paths, see `writePrefixes`. */
  readonly prefixes: readonly string[];
  readonly s3: ObjectStore;
  /** null: the catalog is on another machine, and has no say over the files of this one. */
  readonly file: ObjectStore | null;
}

export function createObjectStore(options: ObjectStoreOptions): ObjectStore {
  const kinds = new Set(options.prefixes.map((prefix) => parseLocation(prefix).kind));
  const storeFor = (location: string): ObjectStore => {
    const { kind } = parseLocation(location);
    if (!kinds.has(kind)) throw outside(location, 'it is in another storage than the table');
    if (kind === 's3') return options.s3;
    if (options.file === null) throw outside(location, 'a catalog on another machine may not name files of this one');
    return options.file;
  };
  const storeInside = (location: string): ObjectStore => {
    const inside = options.prefixes.some((prefix) => isInside(location, prefix));
    if (!inside) throw outside(location, 'it lies outside the table');
    return storeFor(location);
  };
  return {
    open: (location) => storeInside(location).open(location),
    put: async (location, bytes) => await storeInside(location).put(location, bytes),
    get: async (location) => await storeFor(location).get(location),
    delete: async (location) => await storeInside(location).delete(location),
  };
}

/**
 * The places a table's files go to: `write.data.path`, the older `write.folder-storage.path`, `write.metadata.path` and the location itself, which some
 * services give as the path of a metadata file.
 */
export function writePrefixes(metadata: TableMetadata): readonly string[] {
  const { properties } = metadata;
  const root = metadata.location.replace(/\/metadata\/[^/]+\.metadata\.json$/, '');
  const paths = [root, properties['write.data.path'] ?? '', properties['write.folder-storage.path'] ?? '', properties['write.metadata.path'] ?? ''];
  return paths.filter((path) => path !== '').map(withoutTrailingSlashes);
}

function outside(location: string, why: string): SinkError {
  return new SinkError('table-location-unsupported', `location '${shown(location)}' is refused: ${why}`);
}
