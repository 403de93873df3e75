/**
 * The first metadata of a table, as a catalog makes it from a createTable request (spec: "Table Metadata Fields").
 * In: what the request says; out: raw metadata JSON with fresh field ids. The ids of the request are only for it to
 * refer to its own columns from the partition spec, the sort order and the identifier fields.
 */
import { SinkError, invariant } from '../errors.ts';
import { assignFreshIds } from './field-ids.ts';
import {
  type JsonObject, asInt32, asObject, getInt32, getOptionalArray, getOptionalString, getString,
} from './json.ts';
import { parseSchema, schemaToJson } from './schema-json.ts';

export interface NewTable {
  readonly uuid: string;
  readonly location: string;
  readonly schema: JsonObject;
  /** null: unpartitioned. */
  readonly partitionSpec: JsonObject | null;
  /** null: unsorted. */
  readonly writeOrder: JsonObject | null;
  readonly properties: Readonly<Record<string, string>>;
  readonly nowMs: bigint;
  /** 2 or 3. */
  readonly formatVersion: number;
}

const FIRST_PARTITION_FIELD_ID = 1000;

/**
 * Throws `catalog-protocol` when schema, spec or order are malformed, `commit-refused` when they contradict each other.
 */
export function newTableMetadata(table: NewTable): JsonObject {
  invariant(table.formatVersion === 2 || table.formatVersion === 3, 'a new table has format version 2 or 3');
  const sent = parseSchema(table.schema, 'schema');
  const { schema, lastColumnId, newIds } = assignFreshIds(sent);
  for (const id of sent.identifierFieldIds) {
    if (!newIds.has(id)) throw unknownColumn('identifier field', id);
  }
  const partitionFields = partitionFieldsOf(table.partitionSpec, newIds);
  const sortFields = sortFieldsOf(table.writeOrder, newIds);
  const sortOrderId = sortFields.length === 0 ? 0 : 1;
  return {
    'format-version': table.formatVersion,
    'table-uuid': table.uuid,
    location: table.location,
    'last-sequence-number': 0,
    'last-updated-ms': table.nowMs,
    'last-column-id': lastColumnId,
    'current-schema-id': 0,
    schemas: [schemaToJson(schema)],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: partitionFields }],
    'last-partition-id': FIRST_PARTITION_FIELD_ID + partitionFields.length - 1,
    'default-sort-order-id': sortOrderId,
    'sort-orders': [{ 'order-id': sortOrderId, fields: sortFields }],
    properties: table.properties,
    // A real Polaris says -1 for version 2 tables and null for version 3.
    'current-snapshot-id': table.formatVersion === 2 ? -1 : null,
    ...(table.formatVersion === 3 ? { 'next-row-id': 0 } : {}),
    refs: {},
    snapshots: [],
    statistics: [],
    'partition-statistics': [],
    'snapshot-log': [],
    'metadata-log': [],
  };
}

function partitionFieldsOf(spec: JsonObject | null, newIds: ReadonlyMap<number, number>): readonly JsonObject[] {
  if (spec === null) return [];
  return getOptionalArray(spec, 'fields', 'partition-spec').map((item, index) => {
    const at = `partition-spec.fields[${index}]`;
    const field = asObject(item, at);
    return {
      'source-id': freshId(field, at, newIds),
      'field-id': FIRST_PARTITION_FIELD_ID + index,
      name: getString(field, 'name', at),
      transform: getString(field, 'transform', at),
    };
  });
}

function sortFieldsOf(order: JsonObject | null, newIds: ReadonlyMap<number, number>): readonly JsonObject[] {
  if (order === null) return [];
  return getOptionalArray(order, 'fields', 'write-order').map((item, index) => {
    const at = `write-order.fields[${index}]`;
    const field = asObject(item, at);
    return {
      transform: getString(field, 'transform', at),
      'source-id': freshId(field, at, newIds),
      direction: getOptionalString(field, 'direction', at) ?? 'asc',
      'null-order': getOptionalString(field, 'null-order', at) ?? 'nulls-first',
    };
  });
}

function freshId(field: JsonObject, at: string, newIds: ReadonlyMap<number, number>): number {
  const sourceId = getInt32(field, 'source-id', at);
  const id = newIds.get(sourceId);
  if (id === undefined) throw unknownColumn(at, sourceId);
  return asInt32(id, at);
}

function unknownColumn(what: string, id: number): SinkError {
  return new SinkError('commit-refused', `Cannot find source column for ${what}: ${id}`);
}
