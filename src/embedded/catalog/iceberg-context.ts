/**
 * What the Iceberg REST handlers share: the catalog a request is about, the caller, the stores behind, and
 * look-ups that answer as Polaris does. A missing namespace or table is 404 before a missing privilege is 403.
 */
import { createHash } from 'node:crypto';
import type { AccessModel, CatalogEntity } from './access-state.ts';
import { Refusal, forbidden } from './answer.ts';
import type { Operation } from './authorize.ts';
import { authorize, isAuthorized } from './authorize.ts';
import type { MetadataStorage } from './metadata-storage.ts';
import type { Namespaces } from './namespaces.ts';
import type { CatalogRequest } from './request.ts';
import type { SessionKeysSource } from './session-keys.ts';
import { isInside, withoutTrailingSlashes } from './storage-config.ts';
import type { TablePointer, TablePointers } from './table-pointers.ts';
import type { Caller } from './tokens.ts';

export interface CatalogStores {
  readonly pointers: TablePointers;
  readonly namespaces: Namespaces;
  readonly storage: MetadataStorage;
  readonly sessionKeys: SessionKeysSource;
  readonly nowMs: () => number;
  /** Fault point: between writing a metadata file and moving the pointer to it. */
  readonly beforeSwap: () => void | Promise<void>;
}

export interface IcebergContext {
  readonly request: CatalogRequest;
  readonly caller: Caller;
  readonly model: AccessModel;
  readonly catalog: CatalogEntity;
  readonly stores: CatalogStores;
}

export interface TableIdentifier {
  readonly namespace: readonly string[];
  readonly name: string;
}

export function formatIdentifier(table: TableIdentifier): string {
  return [...table.namespace, table.name].join('.');
}

export function splitNamespace(text: string): string[] {
  return text.split('\u001f');
}

export function noSuchTable(table: TableIdentifier): Refusal {
  return new Refusal(404, 'NoSuchTableException', `Table does not exist: ${formatIdentifier(table)}`);
}

/** The pointer of a table; 404 when it or its namespace is missing. */
export function needTable(context: IcebergContext, table: TableIdentifier): TablePointer {
  const { catalog, stores } = context;
  stores.namespaces.need(catalog.name, table.namespace);
  const pointer = stores.pointers.find(catalog.name, table.namespace, table.name);
  if (pointer === null) throw noSuchTable(table);
  return pointer;
}

/**
 * Makes the pointer, or null when the name is taken. Looks for the namespace once more: it may have been dropped while
 * the metadata file was written, and a table in a missing namespace could never be reached again.
 */
export function createPointer(
  context: IcebergContext, table: TableIdentifier, metadataLocation: string,
): TablePointer | null {
  const { catalog, stores } = context;
  stores.namespaces.need(catalog.name, table.namespace);
  return stores.pointers.create(catalog.name, table.namespace, table.name, metadataLocation);
}

export function authorizeTable(context: IcebergContext, operation: Operation, table: TableIdentifier): void {
  authorize(context.model, context.caller, operation, {
    catalog: context.catalog.name, namespace: table.namespace, table: table.name,
  });
}

export function mayTable(context: IcebergContext, operation: Operation, table: TableIdentifier): boolean {
  return isAuthorized(context.model, context.caller, operation, {
    catalog: context.catalog.name, namespace: table.namespace, table: table.name,
  });
}

export function authorizeNamespace(context: IcebergContext, operation: Operation, namespace: readonly string[]): void {
  authorize(context.model, context.caller, operation, { catalog: context.catalog.name, namespace, table: null });
}

/** Where the tables of a namespace live: its own `location`, or its parent's with the name appended. */
export function namespaceLocation(context: IcebergContext, levels: readonly string[]): string {
  const { catalog, stores } = context;
  const own = stores.namespaces.find(catalog.name, levels)?.properties['location'];
  if (own !== undefined) return withoutTrailingSlashes(own);
  const last = levels.at(-1);
  if (last === undefined) return withoutTrailingSlashes(catalog.properties['default-base-location'] ?? '');
  return `${namespaceLocation(context, levels.slice(0, -1))}/${pathSegment(last)}`;
}

export function tableLocation(context: IcebergContext, table: TableIdentifier): string {
  return `${namespaceLocation(context, table.namespace)}/${pathSegment(table.name)}`;
}

/**
 * A name as one path segment that no client has to escape. Names that need changing get a hash of the original,
 * so that two of them never share a folder.
 */
export function pathSegment(name: string): string {
  const safe = name.replaceAll(/[^\p{L}\p{N}_.-]/gu, '_');
  if (safe === name && !/^\.+$/.test(name)) return name;
  return `${safe.replaceAll('.', '_')}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** 403 unless every location lies inside of the namespace's and of what the catalog may touch. */
export function checkLocations(context: IcebergContext, table: TableIdentifier, locations: readonly string[]): void {
  const allowed = context.catalog.storage.allowedLocations;
  const parent = namespaceLocation(context, table.namespace);
  const valid = (location: string): boolean =>
    isInside(location, parent) && allowed.some((root) => isInside(location, root));
  const invalid = locations.filter((location) => !valid(location));
  if (invalid.length === 0) return;
  throw forbidden(`Invalid locations '[${invalid.join(', ')}]' for identifier '${formatIdentifier(table)}': `
    + `not in the list of allowed locations: [${parent}]`);
}
