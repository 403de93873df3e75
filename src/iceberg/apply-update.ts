/**
 * The updates of a commit applied to table metadata (REST specification, `TableUpdate`): what a catalog does between
 * checking the requirements and swapping the pointer. In: raw metadata JSON and updates in order; out: new metadata,
 * the input untouched. All or nothing: the first update that is not allowed refuses the whole commit.
 *
 * Metadata is kept as JSON and not as a parsed subset, so that what this code doesn't know survives a commit.
 * `metadata-log` is the catalog's, because only it knows where the previous metadata file lies.
 */
import { SinkError } from '../errors.ts';
import {
  addSnapshot, finishSnapshotLog, removeByKey, removeRef, removeSnapshots, setRef, setStatistics,
} from './apply-snapshot-update.ts';
import { highestFieldId } from './field-ids.ts';
import {
  type JsonObject, asInt32, asObject, asString, getArray, getInt32, getInt64, getObject, getOptionalArray,
  getOptionalInt32,
  getOptionalInt64, getOptionalString, getString, getStringMap, sameJson,
} from './json.ts';
import { type MetadataDraft, draftOf, objectsOf, put, refused } from './metadata-draft.ts';
import { parseSchema } from './schema-json.ts';

const NEWEST_VERSION = 3;
const LAST_ADDED = -1;
const LAST_UNASSIGNED_PARTITION_ID = 999;
/** Order id 0 is reserved for "unsorted". */
const FIRST_SORT_ORDER_ID = 1;

/**
 * Throws `commit-refused` with Iceberg's wording where an update is not allowed on this metadata, `catalog-protocol`
 * where it is malformed or unknown. Updates that change nothing leave even `last-updated-ms` alone.
 */
export function applyUpdates(metadata: JsonObject, updates: readonly JsonObject[], nowMs: bigint): JsonObject {
  const draft = draftOf(metadata, nowMs);
  for (const update of updates) {
    const action = getString(update, 'action', 'update');
    const apply = APPLIERS.get(action);
    if (apply === undefined) throw new SinkError('catalog-protocol', `unknown update '${action}'`);
    apply(draft, update);
  }
  if (!draft.changed) return metadata;
  draft.members['last-updated-ms'] = draft.lastUpdatedMs ?? nowMs;
  finishSnapshotLog(draft);
  return draft.members;
}

type Applier = (draft: MetadataDraft, update: JsonObject) => void;

const APPLIERS: ReadonlyMap<string, Applier> = new Map<string, Applier>([
  ['assign-uuid', assignUuid],
  ['upgrade-format-version', upgradeFormatVersion],
  ['add-schema', addSchema],
  ['set-current-schema', setCurrentSchema],
  ['remove-schemas', removeSchemas],
  ['add-spec', addSpec],
  ['set-default-spec', setDefaultSpec],
  ['remove-partition-specs', removeSpecs],
  ['add-sort-order', addSortOrder],
  ['set-default-sort-order', setDefaultSortOrder],
  ['add-snapshot', (draft, update) => addSnapshot(draft, getObject(update, 'snapshot', 'update'))],
  ['set-snapshot-ref', setRef],
  ['remove-snapshots', removeSnapshots],
  ['remove-snapshot-ref', (draft, update) => removeRef(draft, getString(update, 'ref-name', 'update'))],
  ['set-location', setLocation],
  ['set-properties', setProperties],
  ['remove-properties', removeProperties],
  ['set-statistics', statisticsSetter('statistics')],
  ['remove-statistics', statisticsRemover('statistics')],
  ['set-partition-statistics', statisticsSetter('partition-statistics')],
  ['remove-partition-statistics', statisticsRemover('partition-statistics')],
  ['add-encryption-key', addEncryptionKey],
  ['remove-encryption-key', removeEncryptionKey],
]);

function assignUuid(draft: MetadataDraft, update: JsonObject): void {
  const uuid = getString(update, 'uuid', 'update');
  const existing = getOptionalString(draft.members, 'table-uuid', 'metadata');
  if (existing === uuid) return;
  // The uuid is what tells a table from another of its name; every cached reader would take this one for the other.
  if (existing !== null) throw refused(`Cannot reassign uuid: ${existing} to ${uuid}`);
  put(draft, 'table-uuid', uuid);
}

function upgradeFormatVersion(draft: MetadataDraft, update: JsonObject): void {
  const version = getInt32(update, 'format-version', 'update');
  const current = getInt32(draft.members, 'format-version', 'metadata');
  if (version > NEWEST_VERSION) {
    throw refused(`Cannot upgrade table to unsupported format version: v${version} (supported: v${NEWEST_VERSION})`);
  }
  if (version < current) throw refused(`Cannot downgrade v${current} table to v${version}`);
  if (version === current) return;
  put(draft, 'format-version', version);
  draft.members['last-sequence-number'] ??= 0;
  if (version >= 3) draft.members['next-row-id'] ??= 0;
  delete draft.members['schema'];
  delete draft.members['partition-spec'];
}

function addSchema(draft: MetadataDraft, update: JsonObject): void {
  const schema = getObject(update, 'schema', 'update');
  const schemas = objectsOf(draft, 'schemas');
  const lastColumnId = getInt32(draft.members, 'last-column-id', 'metadata');
  const sent = getOptionalInt32(update, 'last-column-id', 'update') ?? 0;
  const newLastColumnId = Math.max(lastColumnId, sent, highestFieldId(parseSchema(schema, 'update.schema')));
  const same = schemas.find((candidate) => sameJson(withoutId(candidate), withoutId(schema)));
  const current = getOptionalInt32(draft.members, 'current-schema-id', 'metadata') ?? 0;
  const id = same === undefined ? freeId(schemas, 'schema-id', Math.max(current, 0)) : getInt32(same, 'schema-id');
  draft.lastAddedSchemaId = id;
  if (same !== undefined && newLastColumnId === lastColumnId) return;
  put(draft, 'last-column-id', newLastColumnId);
  if (same === undefined) put(draft, 'schemas', [...schemas, { ...schema, type: 'struct', 'schema-id': id }]);
}

/** A schema for comparing: absent identifier fields are none, and the id is the catalog's to give. */
function withoutId(schema: JsonObject): JsonObject {
  const { 'schema-id': _id, ...rest } = schema;
  return { ...rest, type: 'struct', 'identifier-field-ids': schema['identifier-field-ids'] ?? [] };
}

function setCurrentSchema(draft: MetadataDraft, update: JsonObject): void {
  const sent = getInt32(update, 'schema-id', 'update');
  const id = sent === LAST_ADDED ? draft.lastAddedSchemaId : sent;
  if (id === null) throw refused('Cannot set last added schema: no schema has been added');
  if (id === draft.members['current-schema-id']) return;
  if (!hasId(draft, 'schemas', 'schema-id', id)) throw refused(`Cannot set current schema to unknown schema: ${id}`);
  put(draft, 'current-schema-id', id);
}

function removeSchemas(draft: MetadataDraft, update: JsonObject): void {
  const ids = idList(update, 'schema-ids');
  if (ids.has(getInt32(draft.members, 'current-schema-id', 'metadata'))) {
    throw refused('Cannot remove the current schema');
  }
  if (ids.size === 0) return;
  put(draft, 'schemas', objectsOf(draft, 'schemas').filter((schema) => !ids.has(getInt32(schema, 'schema-id'))));
}

function addSpec(draft: MetadataDraft, update: JsonObject): void {
  const spec = getObject(update, 'spec', 'update');
  const known = getOptionalInt32(draft.members, 'last-partition-id', 'metadata');
  let lastPartitionId = known ?? LAST_UNASSIGNED_PARTITION_ID;
  const fields = getOptionalArray(spec, 'fields', 'update.spec').map((item, index): JsonObject => {
    const field = asObject(item, `update.spec.fields[${index}]`);
    const fieldId = getOptionalInt32(field, 'field-id', `update.spec.fields[${index}]`) ?? lastPartitionId + 1;
    lastPartitionId = Math.max(lastPartitionId, fieldId);
    return { ...field, 'field-id': fieldId };
  });
  const specs = objectsOf(draft, 'partition-specs');
  const same = specs.find((candidate) => sameJson(partitionShape(candidate), partitionShape({ fields })));
  if (same !== undefined) {
    draft.lastAddedSpecId = getInt32(same, 'spec-id');
    return;
  }
  const id = freeId(specs, 'spec-id', 0);
  put(draft, 'partition-specs', [...specs, { 'spec-id': id, fields }]);
  put(draft, 'last-partition-id', lastPartitionId);
  draft.lastAddedSpecId = id;
}

/** Field ids are left out: the same partitioning sent again without ids is the same spec. */
function partitionShape(spec: JsonObject): readonly JsonObject[] {
  return getOptionalArray(spec, 'fields').map((item) => {
    const { 'field-id': _id, ...shape } = asObject(item, 'spec.fields');
    return shape;
  });
}

function setDefaultSpec(draft: MetadataDraft, update: JsonObject): void {
  const sent = getInt32(update, 'spec-id', 'update');
  const id = sent === LAST_ADDED ? draft.lastAddedSpecId : sent;
  if (id === null) throw refused('Cannot set last added spec: no spec has been added');
  if (id === draft.members['default-spec-id']) return;
  if (!hasId(draft, 'partition-specs', 'spec-id', id)) throw refused(`Cannot set default spec to unknown spec: ${id}`);
  put(draft, 'default-spec-id', id);
}

function removeSpecs(draft: MetadataDraft, update: JsonObject): void {
  const ids = idList(update, 'spec-ids');
  if (ids.has(getInt32(draft.members, 'default-spec-id', 'metadata'))) {
    throw refused('Cannot remove the default partition spec');
  }
  if (ids.size === 0) return;
  const kept = objectsOf(draft, 'partition-specs').filter((spec) => !ids.has(getInt32(spec, 'spec-id')));
  put(draft, 'partition-specs', kept);
}

function addSortOrder(draft: MetadataDraft, update: JsonObject): void {
  const order = getObject(update, 'sort-order', 'update');
  const fields = getOptionalArray(order, 'fields', 'update.sort-order');
  const orders = objectsOf(draft, 'sort-orders');
  const same = orders.find((candidate) => sameJson(candidate['fields'] ?? [], fields));
  if (same !== undefined) {
    draft.lastAddedSortOrderId = getInt32(same, 'order-id');
    return;
  }
  const id = fields.length === 0 ? 0 : freeId(orders, 'order-id', FIRST_SORT_ORDER_ID);
  put(draft, 'sort-orders', [...orders, { 'order-id': id, fields }]);
  draft.lastAddedSortOrderId = id;
}

function setDefaultSortOrder(draft: MetadataDraft, update: JsonObject): void {
  const sent = getInt32(update, 'sort-order-id', 'update');
  const id = sent === LAST_ADDED ? draft.lastAddedSortOrderId : sent;
  if (id === null) throw refused('Cannot set last added sort order: no sort order has been added');
  if (id === draft.members['default-sort-order-id']) return;
  if (!hasId(draft, 'sort-orders', 'order-id', id)) {
    throw refused(`Cannot set default sort order to unknown sort order: ${id}`);
  }
  put(draft, 'default-sort-order-id', id);
}

function setLocation(draft: MetadataDraft, update: JsonObject): void {
  const location = getString(update, 'location', 'update');
  if (location !== draft.members['location']) put(draft, 'location', location);
}

function setProperties(draft: MetadataDraft, update: JsonObject): void {
  const updates = getStringMap(update, 'updates' in update ? 'updates' : 'updated', 'update');
  if (Object.keys(updates).length === 0) return;
  put(draft, 'properties', { ...getStringMap(draft.members, 'properties', 'metadata'), ...updates });
}

function removeProperties(draft: MetadataDraft, update: JsonObject): void {
  const key = 'removals' in update ? 'removals' : 'removed';
  const removals = new Set(getArray(update, key, 'update').map((name) => asString(name, `update.${key}`)));
  if (removals.size === 0) return;
  const properties = Object.entries(getStringMap(draft.members, 'properties', 'metadata'));
  put(draft, 'properties', Object.fromEntries(properties.filter(([name]) => !removals.has(name))));
}

function addEncryptionKey(draft: MetadataDraft, update: JsonObject): void {
  const key = getObject(update, 'encryption-key', 'update');
  const keys = objectsOf(draft, 'encryption-keys');
  if (keys.some((candidate) => candidate['key-id'] === key['key-id'])) return;
  put(draft, 'encryption-keys', [...keys, key]);
}

function removeEncryptionKey(draft: MetadataDraft, update: JsonObject): void {
  removeByKey(draft, 'encryption-keys', 'key-id', getString(update, 'key-id', 'update'));
}

function statisticsSetter(list: 'statistics' | 'partition-statistics'): Applier {
  return (draft, update) => setStatistics(draft, list, getObject(update, list, 'update'));
}

function statisticsRemover(list: 'statistics' | 'partition-statistics'): Applier {
  return (draft, update) => removeByKey(draft, list, 'snapshot-id', getInt64(update, 'snapshot-id', 'update'));
}

function hasId(draft: MetadataDraft, list: string, key: string, id: number): boolean {
  return objectsOf(draft, list).some((item) => getOptionalInt64(item, key) === BigInt(id));
}

/** One above the highest id in use, and at least `first`. */
function freeId(items: readonly JsonObject[], key: string, first: number): number {
  return items.reduce((next, item) => Math.max(next, getInt32(item, key) + 1), first);
}

function idList(update: JsonObject, key: string): ReadonlySet<number> {
  return new Set(getArray(update, key, 'update').map((id) => asInt32(id, `update.${key}`)));
}
