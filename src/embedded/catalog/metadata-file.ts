/**
 * Table metadata as the catalog keeps it: whole JSON objects, never a parsed subset, so that what a client wrote
 * comes back unchanged. Names of metadata files, the bounded log of earlier ones, and the few fields that the
 * catalog itself looks at.
 */
import { randomUUID } from 'node:crypto';
import { formatJson, parseJson } from '../../iceberg/json.ts';
import type { JsonObject } from '../../iceberg/json.ts';
import type { IcebergContext } from './iceberg-context.ts';
import { isObject, objectsField, propertiesField, stringField } from './request.ts';
import { isInside, withoutTrailingSlashes } from './storage-config.ts';

/** Properties that send files elsewhere than below the table's location. */
const PATH_PROPERTIES = [
  'write.data.path', 'write.metadata.path', 'write.object-storage.path', 'write.folder-storage.path',
] as const;

const DEFAULT_PREVIOUS_VERSIONS = 100;

export async function readMetadata(context: IcebergContext, location: string): Promise<JsonObject> {
  const value: unknown = parseJson(await context.stores.storage.read(context.catalog, location));
  if (!isObject(value)) throw new Error(`metadata file is not a JSON object: ${location}`);
  return value;
}

export async function writeMetadata(context: IcebergContext, location: string, metadata: JsonObject): Promise<void> {
  await context.stores.storage.write(context.catalog, location, formatJson(metadata));
}

/** `00003-<uuid>.metadata.json`: the number is one more than that of the file before, the uuid makes it unique. */
export function nextMetadataLocation(metadata: JsonObject, previousLocation: string | null): string {
  const ownFolder = `${withoutTrailingSlashes(stringField(metadata, 'location'))}/metadata`;
  const folder = propertiesField(metadata, 'properties')['write.metadata.path'] ?? ownFolder;
  const previous = /\/(\d+)-[^/]*$/.exec(previousLocation ?? '')?.[1];
  const version = previous === undefined ? 0 : Number(previous) + 1;
  return `${withoutTrailingSlashes(folder)}/${String(version).padStart(5, '0')}-${randomUUID()}.metadata.json`;
}

/**
 * The metadata with its predecessor entered into `metadata-log`, cut to `write.metadata.previous-versions-max`;
 * and the files that fell out, empty unless the table asks for their deletion.
 */
export function withMetadataLog(
  next: JsonObject, base: JsonObject, baseLocation: string,
): { readonly metadata: JsonObject; readonly obsolete: readonly string[] } {
  const properties = propertiesField(next, 'properties');
  const log: JsonObject[] = Array.isArray(base['metadata-log']) ? objectsField(base, 'metadata-log') : [];
  const whole = [...log, { 'timestamp-ms': base['last-updated-ms'] ?? 0, 'metadata-file': baseLocation }];
  const wanted = Number(properties['write.metadata.previous-versions-max'] ?? DEFAULT_PREVIOUS_VERSIONS);
  const kept = whole.slice(-Math.max(1, Number.isInteger(wanted) ? wanted : DEFAULT_PREVIOUS_VERSIONS));
  const dropped = whole.slice(0, whole.length - kept.length);
  const deletes = properties['write.metadata.delete-after-commit.enabled'] === 'true';
  return {
    metadata: { ...next, 'metadata-log': kept },
    obsolete: deletes ? dropped.map((entry) => stringField(entry, 'metadata-file')) : [],
  };
}

/** Locations outside of the table's own that its files may go to. */
export function extraLocations(metadata: JsonObject): string[] {
  const properties = propertiesField(metadata, 'properties');
  const location = stringField(metadata, 'location');
  return PATH_PROPERTIES
    .map((key) => properties[key])
    .filter((path): path is string => path !== undefined && !isInside(path, location));
}

/** `snapshots=refs`: only the snapshots that a branch or tag points at. */
export function withReferencedSnapshots(metadata: JsonObject): JsonObject {
  const refs: unknown = metadata['refs'];
  const snapshots: unknown = metadata['snapshots'];
  if (!isObject(refs) || !Array.isArray(snapshots)) return metadata;
  const ids = new Set(Object.values(refs).map((ref: unknown) => (isObject(ref) ? ref['snapshot-id'] : null)));
  const referenced = objectsField(metadata, 'snapshots').filter((snapshot) => ids.has(snapshot['snapshot-id'] ?? null));
  return { ...metadata, snapshots: referenced };
}

/**
 * Metadata of a table that is only about to be made, for the updates of its first commit to build upon. Without
 * schema, spec and sort order: the commit brings them, as the specification asks of `assert-create`.
 */
export function unbornMetadata(location: string, updates: readonly JsonObject[]): JsonObject {
  const version = updates.find((update) => update['action'] === 'upgrade-format-version')?.['format-version'];
  const formatVersion = typeof version === 'number' ? version : 2;
  const bringsUuid = updates.some((update) => update['action'] === 'assign-uuid');
  return {
    ...(bringsUuid ? {} : { 'table-uuid': randomUUID() }),
    'format-version': formatVersion,
    location,
    'last-sequence-number': 0,
    'last-updated-ms': 0,
    'last-column-id': 0,
    schemas: [],
    'current-schema-id': -1,
    'partition-specs': [],
    'default-spec-id': -1,
    'last-partition-id': 999,
    'sort-orders': [],
    'default-sort-order-id': -1,
    properties: {},
    'current-snapshot-id': formatVersion >= 3 ? null : -1,
    refs: {},
    snapshots: [],
    'snapshot-log': [],
    'metadata-log': [],
    ...(formatVersion >= 3 ? { 'next-row-id': 0 } : {}),
  };
}
