/**
 * The storage of one catalog table: an object store whose keys come from the catalog and are renewed while it is used.
 */
import { SinkError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import type { ObjectStore, ObjectUpload, TableIdentifier } from '../sink/ports.ts';
import type { CatalogConfig } from './catalog-config.ts';
import { formatIdentifier, tablePath } from './catalog-config.ts';
import type { CatalogDeps, CatalogSession } from './catalog-session.ts';
import { type StorageCredentials, createStorageCredentials } from './credentials.ts';
import { createFileStore } from './file-store.ts';
import { createObjectStore, writePrefixes } from './object-store.ts';
import { once } from './single-flight.ts';
import { type StorageCredential, type TableStorageProperties, withoutKeys } from './storage-properties.ts';
import { type TableResponse, parseCredentialsResponse } from './table-response.ts';

export interface TableStorage {
  readonly store: ObjectStore;
  /** For a timer, about every 30 s: renews keys ahead of their expiry, so that uploads don't wait for it. */
  prefetch(): Promise<void>;
  /** A table response that came by anyway: its keys and its locations. */
  offer(response: TableResponse): void;
  close(): void;
}

export interface TableStorageOptions {
  readonly session: CatalogSession;
  readonly deps: CatalogDeps;
  readonly table: TableIdentifier;
  readonly delegated: boolean;
  /** The catalog runs on this machine, so it may name local files. */
  readonly localFiles: boolean;
  /** null when the table is gone. */
  readonly load: () => Promise<TableResponse | null>;
}

export function createTableStorage(options: TableStorageOptions): TableStorage {
  let metadata: TableMetadata | null = null;
  const load = async (): Promise<TableResponse> => {
    const response = await options.load();
    if (response === null) {
      throw new SinkError('table-missing', `table ${formatIdentifier(options.table)} does not exist`);
    }
    metadata = response.table.metadata;
    return response;
  };
  const credentials = createStorageCredentials({
    clock: options.deps.clock,
    delegated: options.delegated,
    catalogProperties: async () => (await options.session.config()).properties,
    fetch: createFetch(options, load),
  });
  // The client for S3 is a quarter of what the program loads when it starts, and none of it is needed where tables are files of this machine.
  const s3 = once(async () => {
    const { createS3Store } = await import('./s3-store.ts');
    return createS3Store({ keys: credentials, clock: options.deps.clock, entropy: options.deps.entropy });
  });
  // Only tables of a catalog on this machine may be local files. For all others the client is loaded now, and not when rows come;
  // a failure is told to whoever needs it.
  if (!options.localFiles) s3.get().catch(() => undefined);
  const file = options.localFiles ? createFileStore() : null;
  // The prefixes follow the newest metadata seen, since write paths are properties that may be changed.
  const current = async (): Promise<ObjectStore> =>
    createObjectStore({ prefixes: writePrefixes(metadata ?? (await loadAndOffer(load, credentials))), s3: laterStore(s3.get), file });
  return {
    store: laterStore(current),
    prefetch: () => credentials.prefetch(),
    offer: (response) => {
      metadata = response.table.metadata;
      credentials.offer(response.storage);
    },
    close: () => void s3.begun()?.then((loaded) => loaded.close(), () => undefined),
  };
}

/** The store that `get` gives, asked for at each call. */
function laterStore(get: () => Promise<ObjectStore>): ObjectStore {
  return {
    open: (location) => openLater(async () => (await get()).open(location)),
    put: async (location, bytes) => await (await get()).put(location, bytes),
    get: async (location) => await (await get()).get(location),
    delete: async (location) => await (await get()).delete(location),
  };
}

/** The upload is the store's of the moment it first reaches; later parts belong to it whatever the table says by then. */
function openLater(open: () => Promise<ObjectUpload>): ObjectUpload {
  const upload = once(open);
  return {
    put: async (part) => await (await upload.get()).put(part),
    finish: async () => await (await upload.get()).finish(),
    abort: async () => {
      await upload.begun()?.then((opened) => opened.abort(), () => undefined);
    },
  };
}

async function loadAndOffer(
  load: () => Promise<TableResponse>, credentials: StorageCredentials,
): Promise<TableMetadata> {
  const response = await load();
  credentials.offer(response.storage);
  return response.table.metadata;
}

/** Statuses by which servers say that they have no such route. */
const NO_SUCH_ROUTE: ReadonlySet<number> = new Set([404, 405, 501]);

/**
 * Fresh keys: from the credentials route where there may be one, else by loading the table again, which also settles
 * what a failure of the route means: whether the table is gone, the right is missing or the catalog is down.
 */
function createFetch(
  options: TableStorageOptions, load: () => Promise<TableResponse>,
): (held: TableStorageProperties | null) => Promise<TableStorageProperties> {
  let routeMissing = false;
  return async (held) => {
    const config = await options.session.config();
    // The route vends only on delegation, and the first answer must tell endpoint and region, which it doesn't.
    const useRoute = options.delegated && !routeMissing && held !== null && mayHaveRoute(config, held);
    if (!useRoute) return (await load()).storage;
    const fetched = await fetchCredentials(options, config);
    if (typeof fetched !== 'string') return { config: withoutKeys(held.config), credentials: fetched };
    const { storage } = await load();
    // Only now is it certain that a 404 meant the route and not the table.
    routeMissing = fetched === 'no-route';
    return storage;
  };
}

const ROUTE = 'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials';

/** Advertised, or unknown because the catalog lists no endpoints, or named by the table's own properties. */
function mayHaveRoute(config: CatalogConfig, held: TableStorageProperties): boolean {
  if (config.endpoints === null || config.endpoints.has(ROUTE)) return true;
  return held.config['client.refresh-credentials-endpoint'] !== undefined;
}

/** The list, or why there is none. The address a server names for it isn't used: it could lead the token elsewhere. */
async function fetchCredentials(
  options: TableStorageOptions, config: CatalogConfig,
): Promise<readonly StorageCredential[] | 'no-route' | 'failed'> {
  const action = `fetch storage credentials of table ${formatIdentifier(options.table)}`;
  const path = `${tablePath(config, options.table)}/credentials`;
  const result = await options.session.send({ method: 'GET', path, body: null });
  if (result.kind === 'failure') return 'failed';
  if (result.status !== 200) return NO_SUCH_ROUTE.has(result.status) ? 'no-route' : 'failed';
  const credentials = parseCredentialsResponse(result.body, action);
  return credentials.length === 0 ? 'no-route' : credentials;
}
