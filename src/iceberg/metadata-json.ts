/**
 * Table metadata from its JSON, and the JSON of what a commit sends (spec: "Table Metadata Fields", "Appendix C", and
 * the REST specification's requirements and updates).
 *
 * Reading is tolerant where writers differ (absent, null and -1 for "no snapshot"; format version 1 spellings) and
 * strict where a wrong guess would write to the wrong place: a present field of the wrong type is `catalog-protocol`.
 */
import { SinkError } from '../errors.ts';
import {
  type JsonObject, asObject, getArray, getInt32, getInt64, getObject, getOptionalArray, getOptionalInt32,
  getOptionalInt64,
  getOptionalString, getString, getStringMap, isAbsent,
} from './json.ts';
import type {
  PartitionField, PartitionSpec, Requirement, Snapshot, SnapshotRef, TableMetadata, Update,
} from './metadata.ts';
import { parseSchema } from './schema-json.ts';
import type { Schema } from './types.ts';

const NEWEST_READABLE_VERSION = 3;

/** Partition field ids of format version 1 specs, which don't carry any, count up from here. */
const FIRST_PARTITION_FIELD_ID = 1000;

/**
 * Reads table metadata of format versions 1 to 3. Throws `catalog-protocol` naming the JSON path of what is wrong, and
 * `table-unsupported` for a later version.
 */
export function parseTableMetadata(value: unknown): TableMetadata {
  const at = 'metadata';
  const json = asObject(value, at);
  const formatVersion = getInt32(json, 'format-version', at);
  if (formatVersion < 1 || formatVersion > NEWEST_READABLE_VERSION) {
    throw new SinkError('table-unsupported', `this sink can't read tables of format version ${formatVersion}`);
  }
  const currentSnapshotId = snapshotIdOrNull(json, 'current-snapshot-id', at);
  const schemas = parseSchemas(json, at);
  return {
    formatVersion,
    tableUuid: parseUuid(json, formatVersion, at),
    location: getString(json, 'location', at),
    lastSequenceNumber: getOptionalInt64(json, 'last-sequence-number', at) ?? 0n,
    lastUpdatedMs: getInt64(json, 'last-updated-ms', at),
    lastColumnId: getInt32(json, 'last-column-id', at),
    schemas,
    currentSchemaId: getOptionalInt32(json, 'current-schema-id', at) ?? schemas[0]?.schemaId ?? 0,
    partitionSpecs: parsePartitionSpecs(json, at),
    defaultSpecId: getOptionalInt32(json, 'default-spec-id', at) ?? 0,
    defaultSortOrderId: getOptionalInt32(json, 'default-sort-order-id', at) ?? 0,
    properties: getStringMap(json, 'properties', at),
    currentSnapshotId,
    snapshots: getOptionalArray(json, 'snapshots', at).map(
      (item, index) => parseSnapshot(asObject(item, `${at}.snapshots[${index}]`), `${at}.snapshots[${index}]`),
    ),
    refs: parseRefs(json, currentSnapshotId, at),
    snapshotLogLength: getOptionalArray(json, 'snapshot-log', at).length,
  };
}

/** Tables of version 1 may have no uuid; later ones must. */
function parseUuid(json: JsonObject, formatVersion: number, at: string): string {
  if (formatVersion === 1 && isAbsent(json, 'table-uuid')) return '';
  return getString(json, 'table-uuid', at);
}

/** The schema that new files must have. Throws `catalog-protocol` when the metadata contradicts itself. */
export function currentSchema(metadata: TableMetadata): Schema {
  const schema = metadata.schemas.find((candidate) => candidate.schemaId === metadata.currentSchemaId);
  if (schema === undefined) {
    const message = `metadata.current-schema-id ${metadata.currentSchemaId} is not among metadata.schemas`;
    throw new SinkError('catalog-protocol', message);
  }
  return schema;
}

/** Polaris says -1 for version 2 tables, null for version 3; others leave the field out. No real id is negative. */
function snapshotIdOrNull(json: JsonObject, key: string, at: string): bigint | null {
  const id = getOptionalInt64(json, key, at);
  return id === null || id < 0n ? null : id;
}

function parseSchemas(json: JsonObject, at: string): readonly Schema[] {
  if (isAbsent(json, 'schemas')) return [parseSchema(getObject(json, 'schema', at), `${at}.schema`)];
  return getArray(json, 'schemas', at).map(
    (item, index) => parseSchema(asObject(item, `${at}.schemas[${index}]`), `${at}.schemas[${index}]`),
  );
}

function parsePartitionSpecs(json: JsonObject, at: string): readonly PartitionSpec[] {
  if (isAbsent(json, 'partition-specs')) {
    return [{ specId: 0, fields: parsePartitionFields(json, 'partition-spec', at) }];
  }
  return getArray(json, 'partition-specs', at).map((item, index) => {
    const path = `${at}.partition-specs[${index}]`;
    const spec = asObject(item, path);
    return { specId: getInt32(spec, 'spec-id', path), fields: parsePartitionFields(spec, 'fields', path) };
  });
}

function parsePartitionFields(json: JsonObject, key: string, at: string): readonly PartitionField[] {
  return getOptionalArray(json, key, at).map((item, index) => {
    const path = `${at}.${key}[${index}]`;
    const field = asObject(item, path);
    // Version 3 transforms over several columns have `source-ids` instead; such tables are only ever refused.
    const sourceId = getOptionalInt32(field, 'source-id', path) ?? -1;
    return {
      sourceId,
      fieldId: getOptionalInt32(field, 'field-id', path) ?? FIRST_PARTITION_FIELD_ID + index,
      name: getString(field, 'name', path),
      transform: getString(field, 'transform', path),
    };
  });
}

/** Reads one snapshot. A version 1 snapshot without a manifest list has an empty `manifestList`. */
export function parseSnapshot(json: JsonObject, at = '$'): Snapshot {
  return {
    snapshotId: getInt64(json, 'snapshot-id', at),
    parentSnapshotId: snapshotIdOrNull(json, 'parent-snapshot-id', at),
    sequenceNumber: getOptionalInt64(json, 'sequence-number', at) ?? 0n,
    timestampMs: getInt64(json, 'timestamp-ms', at),
    summary: getStringMap(json, 'summary', at),
    manifestList: getOptionalString(json, 'manifest-list', at) ?? '',
    schemaId: getOptionalInt32(json, 'schema-id', at),
  };
}

function parseRefs(
  json: JsonObject, currentSnapshotId: bigint | null, at: string,
): Readonly<Record<string, SnapshotRef>> {
  if (isAbsent(json, 'refs')) {
    return currentSnapshotId === null ? {} : { main: { snapshotId: currentSnapshotId, type: 'branch' } };
  }
  const refs = Object.entries(getObject(json, 'refs', at)).map(([name, item]): [string, SnapshotRef] => {
    const path = `${at}.refs.${name}`;
    const ref = asObject(item, path);
    const type = getString(ref, 'type', path);
    return [name, { snapshotId: getInt64(ref, 'snapshot-id', path), type: type === 'tag' ? 'tag' : 'branch' }];
  });
  return Object.fromEntries(refs);
}

// --- Commits ---------------------------------------------------------------------------------------

/** A snapshot as metadata and `add-snapshot` have it; the first snapshot has no `parent-snapshot-id` at all. */
export function snapshotToJson(snapshot: Snapshot): JsonObject {
  return {
    'snapshot-id': snapshot.snapshotId,
    ...(snapshot.parentSnapshotId === null ? {} : { 'parent-snapshot-id': snapshot.parentSnapshotId }),
    'sequence-number': snapshot.sequenceNumber,
    'timestamp-ms': snapshot.timestampMs,
    summary: snapshot.summary,
    'manifest-list': snapshot.manifestList,
    ...(snapshot.schemaId === null ? {} : { 'schema-id': snapshot.schemaId }),
  };
}

export function requirementToJson(requirement: Requirement): JsonObject {
  switch (requirement.type) {
    case 'assert-create':
      return { type: requirement.type };
    case 'assert-table-uuid':
      return { type: requirement.type, uuid: requirement.uuid };
    case 'assert-ref-snapshot-id':
      // null is said, not left out: it asserts that the ref does not exist.
      return { type: requirement.type, ref: requirement.ref, 'snapshot-id': requirement.snapshotId };
    case 'assert-current-schema-id':
      return { type: requirement.type, 'current-schema-id': requirement.currentSchemaId };
    case 'assert-default-spec-id':
      return { type: requirement.type, 'default-spec-id': requirement.defaultSpecId };
  }
}

export function updateToJson(update: Update): JsonObject {
  switch (update.action) {
    case 'add-snapshot':
      return { action: update.action, snapshot: snapshotToJson(update.snapshot) };
    case 'set-snapshot-ref':
      return { action: update.action, 'ref-name': update.ref, type: update.type, 'snapshot-id': update.snapshotId };
    case 'set-properties':
      return { action: update.action, updates: update.updates };
  }
}
