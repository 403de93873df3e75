/**
 * The relation and the table meet here, and only here: what schema a missing table gets (`planSchema`), and how
 * rows go into the table that was loaded (`planWrite`).
 *
 * Invariant: fields are found by name, never by id or position. Catalogs assign ids of their own on create
 * (Java's breadth-first, ours depth-first), so ids agree only by accident; the ids written are the table's.
 */
import { type IcebergType, type NestedField, type Schema, formatType } from '../iceberg/types.ts';
import type { Relation } from '../relation/relation.ts';
import type { SqlType } from '../relation/sql-type.ts';
import type { CompressionCodec, RowErrorPolicy, SinkMode, WriteColumn, WritePlan } from './plan.ts';
import { type UuidMapping, canBeEqualityKey, fieldIdsFrom, nestedField } from './type-mapping.ts';

export const DIFF_COLUMN = '_mz_diff';
export const TIMESTAMP_COLUMN = '_mz_timestamp';

export interface SchemaRequest {
  readonly relation: Relation;
  readonly mode: SinkMode;
  /** Indices into the relation's columns; empty in append mode. */
  readonly keyColumns: readonly number[];
  readonly uuidMapping: UuidMapping;
}

export type SchemaPlan =
  | { readonly kind: 'schema'; readonly schema: Schema }
  /** A column of the relation has the name of a column that append mode adds. */
  | { readonly kind: 'conflict'; readonly message: string };

/**
 * The schema to create the table with: ids depth-first from 1, required = NOT NULL, the system columns of
 * append mode last. The key becomes the identifier fields where the spec allows it: all columns required.
 * Call `checkMappable` before; an unmappable type throws a RangeError here.
 */
export function planSchema(request: SchemaRequest): SchemaPlan {
  const { relation, mode, uuidMapping } = request;
  const conflict = mode === 'append' ? systemColumnConflict(relation) : null;
  if (conflict !== null) return { kind: 'conflict', message: conflict };

  const nextId = fieldIdsFrom(1);
  const names = distinctNames(relation.columns.map((column) => column.name));
  const fields = relation.columns.map((column, index) =>
    nestedField(names[index] ?? column.name, !column.nullable, column.type, uuidMapping, nextId));
  if (mode === 'append') {
    fields.push({ id: nextId(), name: DIFF_COLUMN, required: true, type: { kind: 'int' } });
    fields.push({ id: nextId(), name: TIMESTAMP_COLUMN, required: true, type: { kind: 'long' } });
  }
  return { kind: 'schema', schema: { schemaId: 0, fields, identifierFieldIds: identifierIds(request, fields) } };
}

/** Catalogs that fold case would see `_MZ_Diff` as a duplicate, so the comparison ignores case. */
function systemColumnConflict(relation: Relation): string | null {
  const clash = relation.columns.find((column) => {
    const name = column.name.toLowerCase();
    return name === DIFF_COLUMN || name === TIMESTAMP_COLUMN;
  });
  if (clash === undefined) return null;
  return `column "${clash.name}" conflicts with the system column that MODE APPEND adds to the Iceberg table`;
}

/** The spec forbids optional and float fields as identifiers; the table then simply has none. */
function identifierIds(request: SchemaRequest, fields: readonly NestedField[]): readonly number[] {
  const keys = request.keyColumns.map((index) => ({ column: request.relation.columns[index], field: fields[index] }));
  const ids: number[] = [];
  for (const { column, field } of keys) {
    if (column === undefined || field === undefined) throw new RangeError('a key column lies outside of the relation');
    if (column.nullable || !canBeEqualityKey(column.type)) return [];
    ids.push(field.id);
  }
  return ids;
}

/**
 * Later duplicates get the first free number from 2 on; free means: no column has that name, also none further
 * right. `a, a, a2` becomes `a, a3, a2`.
 */
export function distinctNames(names: readonly string[]): readonly string[] {
  const given = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let suffix = 2;
    while (given.has(`${name}${suffix}`) || seen.has(`${name}${suffix}`)) suffix += 1;
    const unique = `${name}${suffix}`;
    seen.add(unique);
    return unique;
  });
}

export interface WriteSettings {
  readonly codec: CompressionCodec;
  readonly codecLevel: number;
  readonly targetFileSizeBytes: number;
  readonly rowErrorPolicy: RowErrorPolicy;
}

export type WritePlanOutcome =
  | { readonly kind: 'plan'; readonly plan: WritePlan }
  | { readonly kind: 'conflict'; readonly message: string }
  | { readonly kind: 'mismatch'; readonly message: string };

/**
 * Lines the relation up with the loaded table. A uuid column is served as it is found (fixed(16), string or
 * uuid), whatever a new table would get; everything else must be equal by name, type and nullability.
 */
export function planWrite(
  request: SchemaRequest, tableName: string, loaded: Schema, settings: WriteSettings,
): WritePlanOutcome {
  const planned = planSchema(request);
  if (planned.kind === 'conflict') return planned;
  const expected = planned.schema;
  const byName = new Map(loaded.fields.map((field) => [field.name, field]));
  const sqlTypes = request.relation.columns.map((column) => column.type);
  const matches = loaded.fields.length === expected.fields.length && byName.size === loaded.fields.length
    && expected.fields.every((field, index) => fieldMatches(byName.get(field.name), field, sqlTypes[index] ?? null));
  if (!matches) {
    const message = `Iceberg table '${tableName}' schema does not match expected schema. `
      + `Current schema: ${formatSchema(loaded)}, expected schema: ${formatSchema(expected)}`;
    return { kind: 'mismatch', message };
  }
  const columns = request.relation.columns.map((column, index): WriteColumn => {
    const field = byName.get(expected.fields[index]?.name ?? '');
    if (field === undefined) throw new RangeError('a matched schema lost a field');
    return { sourceName: column.name, sqlType: column.type, field };
  });
  const { database, schema, name } = request.relation;
  const plan: WritePlan = {
    relationName: `${database}.${schema}.${name}`,
    mode: request.mode,
    columns,
    keyColumns: request.mode === 'upsert' ? request.keyColumns : [],
    schema: loaded,
    ...settings,
  };
  return { kind: 'plan', plan };
}

/** `{1: "id" required long, …}` with nested types in full, for the mismatch message. */
function formatSchema(schema: Schema): string {
  return `{${schema.fields.map(formatField).join(', ')}}`;
}

function formatField(field: NestedField): string {
  return `"${field.name}" ${field.required ? 'required' : 'optional'} ${formatTypeWithNullability(field.type)}`;
}

/** Nullability belongs in the text: without it two schemas that differ only there would read alike. */
function formatTypeWithNullability(type: IcebergType): string {
  if (type.kind === 'struct') return `struct<${type.fields.map(formatField).join(', ')}>`;
  if (type.kind === 'list') {
    return `list<${type.elementRequired ? 'required' : 'optional'} ${formatTypeWithNullability(type.element)}>`;
  }
  if (type.kind !== 'map') return formatType(type);
  const value = `${type.valueRequired ? 'required' : 'optional'} ${formatTypeWithNullability(type.value)}`;
  return `map<${formatTypeWithNullability(type.key)}, ${value}>`;
}

function fieldMatches(found: NestedField | undefined, expected: NestedField, sqlType: SqlType | null): boolean {
  return found !== undefined && found.required === expected.required && typeMatches(found.type, expected.type, sqlType);
}

function typeMatches(found: IcebergType, expected: IcebergType, sqlType: SqlType | null): boolean {
  if (sqlType?.kind === 'scalar' && sqlType.name === 'uuid') return isUuidHolder(found);
  if (expected.kind === 'struct') {
    return found.kind === 'struct' && structMatches(found.fields, expected.fields, sqlType);
  }
  if (expected.kind === 'list') {
    return found.kind === 'list' && found.elementRequired === expected.elementRequired
      && typeMatches(found.element, expected.element, elementType(sqlType));
  }
  if (expected.kind === 'map') {
    return found.kind === 'map' && found.valueRequired === expected.valueRequired
      && typeMatches(found.key, expected.key, null)
      && typeMatches(found.value, expected.value, sqlType?.kind === 'map' ? sqlType.value : null);
  }
  return found.kind === expected.kind && formatType(found) === formatType(expected);
}

function isUuidHolder(type: IcebergType): boolean {
  return type.kind === 'uuid' || type.kind === 'string' || (type.kind === 'fixed' && type.length === 16);
}

function structMatches(
  found: readonly NestedField[], expected: readonly NestedField[], sqlType: SqlType | null,
): boolean {
  const byName = new Map(found.map((field) => [field.name, field]));
  return found.length === expected.length && byName.size === found.length
    && expected.every((field, index) =>
      fieldMatches(byName.get(field.name), field, memberType(sqlType, field.name, index)));
}

/** The SQL type behind the element of a list; behind the `items` of an array it is the array's. */
function elementType(sqlType: SqlType | null): SqlType | null {
  return sqlType?.kind === 'list' || sqlType?.kind === 'array' ? sqlType.element : null;
}

function memberType(sqlType: SqlType | null, name: string, index: number): SqlType | null {
  if (sqlType?.kind === 'record') return sqlType.fields[index]?.type ?? null;
  if (sqlType?.kind === 'array') return name === 'items' ? sqlType : null;
  if (sqlType?.kind === 'range') return index < 2 ? sqlType.bound : null;
  return null;
}
