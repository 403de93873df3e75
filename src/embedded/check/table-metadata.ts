/**
 * The metadata JSON of an Iceberg table (spec: "Table Metadata", format version 2) as a judge reads it: strict, with
 * every snapshot id and sequence number a bigint, and written apart from the rest of `src` so that one mistake can't
 * hide in writer and judge both.
 */
export interface TableField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: TableType;
}

export type TableType =
  | { readonly kind: PlainKind }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'fixed'; readonly length: number }
  | { readonly kind: 'struct'; readonly fields: readonly TableField[] }
  | { readonly kind: 'list'; readonly elementId: number; readonly elementRequired: boolean; readonly element: TableType }
  | {
    readonly kind: 'map'; readonly keyId: number; readonly key: TableType;
    readonly valueId: number; readonly valueRequired: boolean; readonly value: TableType;
  };

const PLAIN_KINDS = [
  'boolean', 'int', 'long', 'float', 'double', 'date', 'time', 'timestamp', 'timestamptz', 'string', 'uuid', 'binary',
] as const;
type PlainKind = (typeof PLAIN_KINDS)[number];

export interface TableSchema {
  readonly schemaId: number;
  readonly fields: readonly TableField[];
  readonly identifierFieldIds: readonly number[];
}

export interface TableSnapshot {
  readonly snapshotId: bigint;
  readonly parentSnapshotId: bigint | null;
  readonly sequenceNumber: bigint;
  readonly timestampMs: bigint;
  readonly manifestList: string;
  readonly schemaId: number | null;
  readonly operation: string;
  /** All of the summary but `operation`. */
  readonly summary: Readonly<Record<string, string>>;
}

export interface TableMetadata {
  readonly formatVersion: number;
  readonly tableUuid: string;
  readonly location: string;
  readonly lastSequenceNumber: bigint;
  readonly lastColumnId: number;
  readonly currentSchemaId: number;
  readonly schemas: readonly TableSchema[];
  /** Ids of the specs without partition fields: an equality delete written under one applies to every partition. */
  readonly unpartitionedSpecIds: ReadonlySet<number>;
  readonly snapshots: readonly TableSnapshot[];
  readonly mainSnapshotId: bigint | null;
  readonly properties: Readonly<Record<string, string>>;
}

type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

/** Throws an Error naming the member that is missing or of another type. */
export function parseTableMetadata(text: string): TableMetadata {
  const root = object(parseJson(text), 'metadata');
  const current = integerOrNull(root, 'current-snapshot-id');
  const main = 'refs' in root ? object(root['refs'], 'refs')['main'] : undefined;
  return {
    formatVersion: number(root, 'format-version'),
    tableUuid: string(root, 'table-uuid'),
    location: string(root, 'location'),
    lastSequenceNumber: integerOrNull(root, 'last-sequence-number') ?? 0n,
    lastColumnId: number(root, 'last-column-id'),
    currentSchemaId: number(root, 'current-schema-id'),
    schemas: array(root['schemas'], 'schemas').map((schema) => parseSchema(object(schema, 'schema'))),
    unpartitionedSpecIds: unpartitionedSpecs(root),
    snapshots: array(root['snapshots'] ?? [], 'snapshots').map((snapshot) => parseSnapshot(object(snapshot, 'snapshot'))),
    mainSnapshotId: main === undefined ? noSnapshotAsNull(current) : integer(object(main, 'refs.main'), 'snapshot-id'),
    properties: texts(object(root['properties'] ?? {}, 'properties'), 'properties'),
  };
}

/** A plain JSON.parse rounds 64-bit ids; the source text of the number is still at hand in the reviver. */
function parseJson(text: string): Json {
  const reviver = (_key: string, value: Json, context?: { readonly source?: string }): Json =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '')
      ? BigInt(context?.source ?? '')
      : value;
  return JSON.parse(text, reviver) as Json;
}

/** Old writers say -1 for "no snapshot". */
function noSnapshotAsNull(snapshotId: bigint | null): bigint | null {
  return snapshotId === -1n ? null : snapshotId;
}

function unpartitionedSpecs(root: JsonObject): ReadonlySet<number> {
  const ids = new Set<number>();
  for (const item of array(root['partition-specs'], 'partition-specs')) {
    const spec = object(item, 'partition-spec');
    if (array(spec['fields'], 'partition-spec.fields').length === 0) ids.add(number(spec, 'spec-id'));
  }
  return ids;
}

function parseSchema(schema: JsonObject): TableSchema {
  return {
    schemaId: number(schema, 'schema-id'),
    fields: array(schema['fields'], 'schema.fields').map((field) => parseField(object(field, 'field'))),
    identifierFieldIds: array(schema['identifier-field-ids'] ?? [], 'identifier-field-ids').map(Number),
  };
}

function parseField(field: JsonObject): TableField {
  return {
    id: number(field, 'id'), name: string(field, 'name'), required: boolean(field, 'required'),
    type: parseType(field['type'] ?? null),
  };
}

export function parseType(json: Json): TableType {
  if (typeof json === 'string') return parsePrimitive(json);
  const type = object(json, 'type');
  const kind = string(type, 'type');
  switch (kind) {
    case 'struct':
      return { kind: 'struct', fields: array(type['fields'], 'struct.fields').map((field) => parseField(object(field, 'field'))) };
    case 'list':
      return {
        kind: 'list', elementId: number(type, 'element-id'), elementRequired: boolean(type, 'element-required'),
        element: parseType(type['element'] ?? null),
      };
    case 'map':
      return {
        kind: 'map', keyId: number(type, 'key-id'), key: parseType(type['key'] ?? null),
        valueId: number(type, 'value-id'), valueRequired: boolean(type, 'value-required'), value: parseType(type['value'] ?? null),
      };
    default: throw new Error(`the type ${kind} is not one of format version 2`);
  }
}

function parsePrimitive(text: string): TableType {
  const decimal = /^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$/.exec(text);
  if (decimal !== null) return { kind: 'decimal', precision: Number(decimal[1]), scale: Number(decimal[2]) };
  const fixed = /^fixed\[\s*(\d+)\s*\]$/.exec(text);
  if (fixed !== null) return { kind: 'fixed', length: Number(fixed[1]) };
  const plain = PLAIN_KINDS.find((kind) => kind === text);
  if (plain === undefined) throw new Error(`the type ${text} is not one of format version 2`);
  return { kind: plain };
}

function parseSnapshot(snapshot: JsonObject): TableSnapshot {
  const { operation = '', ...summary } = texts(object(snapshot['summary'] ?? {}, 'summary'), 'summary');
  return {
    snapshotId: integer(snapshot, 'snapshot-id'),
    parentSnapshotId: integerOrNull(snapshot, 'parent-snapshot-id'),
    sequenceNumber: integerOrNull(snapshot, 'sequence-number') ?? 0n,
    timestampMs: integer(snapshot, 'timestamp-ms'),
    manifestList: string(snapshot, 'manifest-list'),
    schemaId: snapshot['schema-id'] === undefined ? null : number(snapshot, 'schema-id'),
    operation, summary,
  };
}

/** Main's history, oldest first. It ends where a parent is not in the metadata any more (expired). */
export function mainAncestry(metadata: TableMetadata): readonly TableSnapshot[] {
  const byId = new Map(metadata.snapshots.map((snapshot) => [snapshot.snapshotId, snapshot]));
  const path: TableSnapshot[] = [];
  let next = metadata.mainSnapshotId === null ? undefined : byId.get(metadata.mainSnapshotId);
  while (next !== undefined && !path.includes(next)) {
    path.push(next);
    next = next.parentSnapshotId === null ? undefined : byId.get(next.parentSnapshotId);
  }
  return path.reverse();
}

/** Every field at every depth by its id, `element`, `key` and `value` included. Later schemas win. */
export function fieldsById(schemas: readonly TableSchema[]): ReadonlyMap<number, TableField> {
  const byId = new Map<number, TableField>();
  const visit = (field: TableField): void => {
    byId.set(field.id, field);
    childFields(field.type).forEach(visit);
  };
  for (const schema of schemas) schema.fields.forEach(visit);
  return byId;
}

/** The fields directly below a type: a struct's members, `element`, or `key` and `value`. */
export function childFields(type: TableType): readonly TableField[] {
  if (type.kind === 'struct') return type.fields;
  if (type.kind === 'list') return [{ id: type.elementId, name: 'element', required: type.elementRequired, type: type.element }];
  if (type.kind !== 'map') return [];
  return [
    { id: type.keyId, name: 'key', required: true, type: type.key },
    { id: type.valueId, name: 'value', required: type.valueRequired, type: type.value },
  ];
}

function object(json: Json | undefined, what: string): JsonObject {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Error(`${what} is not a JSON object`);
  return json as JsonObject;
}

function array(json: Json | undefined, what: string): readonly Json[] {
  if (!Array.isArray(json)) throw new Error(`${what} is not a JSON array`);
  return json as readonly Json[];
}

function number(parent: JsonObject, member: string): number {
  const value = parent[member];
  if (typeof value !== 'number') throw new Error(`${member} is not a number`);
  return value;
}

function integer(parent: JsonObject, member: string): bigint {
  const value = integerOrNull(parent, member);
  if (value === null) throw new Error(`${member} is missing`);
  return value;
}

function integerOrNull(parent: JsonObject, member: string): bigint | null {
  const value = parent[member] ?? null;
  if (value === null) return null;
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Error(`${member} is not an integer`);
  return BigInt(value);
}

function string(parent: JsonObject, member: string): string {
  const value = parent[member];
  if (typeof value !== 'string') throw new Error(`${member} is not a string`);
  return value;
}

function boolean(parent: JsonObject, member: string): boolean {
  const value = parent[member];
  if (typeof value !== 'boolean') throw new Error(`${member} is not a boolean`);
  return value;
}

function texts(parent: JsonObject, what: string): Readonly<Record<string, string>> {
  const entries = Object.entries(parent).map(([key, value]) => {
    if (typeof value !== 'string') throw new Error(`${what}.${key} is not a string`);
    return [key, value] as const;
  });
  return Object.fromEntries(entries);
}
