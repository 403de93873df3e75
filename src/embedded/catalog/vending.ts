/**
 * What a table answer carries besides the metadata: the `config` a client configures its file access with,
 * and `storage-credentials`. Shapes and key names as recorded of Polaris 1.4.1: endpoint, region and path
 * style are in `config` only, and a refreshed answer carries neither.
 */
import type { JsonObject } from '../../iceberg/json.ts';
import type { CatalogEntity } from './access-state.ts';
import { Refusal } from './answer.ts';
import type { CatalogRequest } from './request.ts';
import type { SessionKeys, SessionKeysSource } from './session-keys.ts';
import { withoutTrailingSlashes } from './storage-config.ts';

/** A table that keys are asked for. */
export interface VendedTable {
  readonly catalog: CatalogEntity;
  readonly namespace: readonly string[];
  readonly name: string;
  readonly location: string;
  /** From the table's properties, where they lie outside of the location. */
  readonly extraLocations: readonly string[];
}

/** True when the client asked for vended credentials; rejects modes that aren't served. */
export function wantsVendedCredentials(request: CatalogRequest): boolean {
  const header = request.headers['x-iceberg-access-delegation'] ?? '';
  const modes = header.split(',').map((mode) => mode.trim()).filter((mode) => mode !== '');
  if (modes.includes('vended-credentials')) return true;
  const unknown = modes[0];
  if (unknown !== undefined) {
    throw new Refusal(400, 'IllegalArgumentException', `Unsupported access delegation mode: ${unknown}`);
  }
  return false;
}

/** `config` without any keys; empty for local files. */
export function plainConfig(catalog: CatalogEntity): Record<string, string> {
  const { storage } = catalog;
  if (storage.storageType === 'FILE') return {};
  return {
    ...(storage.region === null ? {} : { 'client.region': storage.region }),
    's3.path-style-access': String(storage.pathStyleAccess),
    ...(storage.endpoint === null ? {} : { 's3.endpoint': storage.endpoint }),
  };
}

/** null where the catalog has nothing to vend: local files. Rejects with the refusal that Polaris gives. */
export async function vendKeys(
  source: SessionKeysSource, table: VendedTable, writable: boolean,
): Promise<SessionKeys | null> {
  const { storage } = table.catalog;
  if (storage.storageType === 'FILE') return null;
  if (storage.stsUnavailable) throw noCredentials(table);
  return source.get(storage, [table.location, ...table.extraLocations].map(withoutTrailingSlashes), writable);
}

export function noCredentials(table: VendedTable): Refusal {
  const identifier = [...table.namespace, table.name].join('.');
  return new Refusal(400, 'IllegalArgumentException',
    `Credential vending was requested for table ${identifier}, but no credentials are available`);
}

/** `config` and `storage-credentials` of a load or create that asked for keys. */
export function vendedFields(table: VendedTable, keys: SessionKeys): JsonObject {
  return {
    config: {
      ...plainConfig(table.catalog),
      ...keysConfig(keys),
      'client.refresh-credentials-endpoint': refreshPath(table),
    },
    'storage-credentials': storageCredentials(table, keys),
  };
}

export function storageCredentials(table: VendedTable, keys: SessionKeys | null): JsonObject[] {
  if (keys === null) return [];
  return [table.location, ...table.extraLocations].map((location) => ({
    prefix: withoutTrailingSlashes(location), config: keysConfig(keys),
  }));
}

function keysConfig(keys: SessionKeys): Record<string, string> {
  return {
    's3.access-key-id': keys.accessKeyId,
    's3.secret-access-key': keys.secretAccessKey,
    's3.session-token': keys.sessionToken,
    'expiration-time': String(keys.expiresMs),
    's3.session-token-expires-at-ms': String(keys.expiresMs),
  };
}

/** Relative to the catalog's base URL, without a leading slash. */
function refreshPath(table: VendedTable): string {
  const names = [table.catalog.name, table.namespace.join('\u001f'), table.name];
  const [catalog, namespace, name] = names.map(encodeURIComponent);
  return `v1/${catalog}/namespaces/${namespace}/tables/${name}/credentials`;
}
