/**
 * SQL type in, Iceberg type out, at every depth: the table of the product guide ("Type mapping") and its
 * extensions (arrays, oid, mz_timestamp, …).
 *
 * Invariant: a type that `unmappableTypes` passes has exactly one Iceberg type here, and a column writer for
 * it in `columns/make-column.ts`. So nothing is found out to be unsupported by the first row.
 */
import type { IcebergType, NestedField, PrimitiveType } from '../iceberg/types.ts';
import type { Column } from '../relation/relation.ts';
import type { RecordField, ScalarName, SqlType } from '../relation/sql-type.ts';

/** Iceberg's widest decimal. Materialize's numeric holds 39 digits, hence scale 39 has no column type. */
export const DECIMAL_PRECISION = 38;
/** Fraction digits of a `numeric` column that declares none. */
export const DECIMAL_DEFAULT_SCALE = 10;

/** How uuid columns of a table that the sink creates are typed. */
export type UuidMapping = 'fixed' | 'string' | 'uuid';

/** Hands out field ids in the order of a depth-first walk, parents before children. */
export type NextId = () => number;

export function fieldIdsFrom(first: number): NextId {
  let next = first;
  return () => next++;
}

const SCALARS: Readonly<Record<Exclude<ScalarName, 'numeric' | 'uuid'>, PrimitiveType>> = {
  'boolean': { kind: 'boolean' },
  'smallint': { kind: 'int' },
  'integer': { kind: 'int' },
  'bigint': { kind: 'long' },
  'uint2': { kind: 'int' },
  'uint4': { kind: 'long' },
  // 64 bits without a sign exceed Iceberg's long; 20 digits hold 2^64-1.
  'uint8': { kind: 'decimal', precision: 20, scale: 0 },
  'mz_timestamp': { kind: 'decimal', precision: 20, scale: 0 },
  'real': { kind: 'float' },
  'double precision': { kind: 'double' },
  'date': { kind: 'date' },
  'time': { kind: 'time' },
  'timestamp': { kind: 'timestamp' },
  'timestamptz': { kind: 'timestamptz' },
  'text': { kind: 'string' },
  'varchar': { kind: 'string' },
  'character': { kind: 'string' },
  '"char"': { kind: 'string' },
  'name': { kind: 'string' },
  'bytea': { kind: 'binary' },
  'jsonb': { kind: 'string' },
  'interval': { kind: 'string' },
  'oid': { kind: 'long' },
  'regclass': { kind: 'long' },
  'regproc': { kind: 'long' },
  'regtype': { kind: 'long' },
  'mz_aclitem': { kind: 'string' },
  'aclitem': { kind: 'string' },
  'int2vector': { kind: 'string' },
};

export const UUID_TYPES: Readonly<Record<UuidMapping, PrimitiveType>> = {
  fixed: { kind: 'fixed', length: 16 },
  string: { kind: 'string' },
  uuid: { kind: 'uuid' },
};

/** The Iceberg type of a mappable SQL type. Throws a RangeError for one that `unmappableTypes` refuses. */
export function icebergType(type: SqlType, uuidMapping: UuidMapping, nextId: NextId): IcebergType {
  switch (type.kind) {
    case 'scalar':
      return scalarType(type.name, type.scale, uuidMapping);
    case 'list':
      return listType(type.element, uuidMapping, nextId);
    case 'array':
      return arrayType(type.element, uuidMapping, nextId);
    case 'map':
      return mapType(type.value, uuidMapping, nextId);
    case 'record':
      return {
        kind: 'struct',
        fields: type.fields.map((field) => nestedField(field.name, !field.nullable, field.type, uuidMapping, nextId)),
      };
    case 'range':
      return rangeType(type.bound, uuidMapping, nextId);
    case 'unsupported':
      throw new RangeError(`no Iceberg type for ${type.name}`);
  }
}

export function nestedField(
  name: string, required: boolean, type: SqlType, uuidMapping: UuidMapping, nextId: NextId,
): NestedField {
  const id = nextId();
  return { id, name, required, type: icebergType(type, uuidMapping, nextId) };
}

function scalarType(name: ScalarName, scale: number | null, uuidMapping: UuidMapping): PrimitiveType {
  if (name === 'numeric') {
    return { kind: 'decimal', precision: DECIMAL_PRECISION, scale: scale ?? DECIMAL_DEFAULT_SCALE };
  }
  return name === 'uuid' ? UUID_TYPES[uuidMapping] : SCALARS[name];
}

function listType(element: SqlType, uuidMapping: UuidMapping, nextId: NextId): IcebergType {
  const elementId = nextId();
  return { kind: 'list', elementId, element: icebergType(element, uuidMapping, nextId), elementRequired: false };
}

/** A SQL array keeps its elements in row-major order and the number of its dimensions; its shape is lost. */
function arrayType(element: SqlType, uuidMapping: UuidMapping, nextId: NextId): IcebergType {
  const itemsId = nextId();
  const itemsType = listType(element, uuidMapping, nextId);
  const items: NestedField = { id: itemsId, name: 'items', required: true, type: itemsType };
  const dimensions: NestedField = { id: nextId(), name: 'dimensions', required: true, type: { kind: 'int' } };
  return { kind: 'struct', fields: [items, dimensions] };
}

/** The entries struct takes an id of its own as Materialize counts, though Iceberg has no place to show it. */
function mapType(value: SqlType, uuidMapping: UuidMapping, nextId: NextId): IcebergType {
  nextId();
  const keyId = nextId();
  const valueId = nextId();
  const valueType = icebergType(value, uuidMapping, nextId);
  return { kind: 'map', keyId, key: { kind: 'string' }, valueId, value: valueType, valueRequired: false };
}

function rangeType(bound: SqlType, uuidMapping: UuidMapping, nextId: NextId): IcebergType {
  const flag = (name: string): NestedField => ({ id: nextId(), name, required: true, type: { kind: 'boolean' } });
  const lower = nestedField('lower', false, bound, uuidMapping, nextId);
  const upper = nestedField('upper', false, bound, uuidMapping, nextId);
  return { kind: 'struct', fields: [lower, upper, flag('lower_inclusive'), flag('upper_inclusive'), flag('empty')] };
}

/** SQL spelling of a type, for messages. */
export function formatSqlType(type: SqlType): string {
  switch (type.kind) {
    case 'scalar':
      return type.name === 'numeric' && type.scale !== null ? `numeric(39,${type.scale})` : type.name;
    case 'list': return `${formatSqlType(type.element)} list`;
    case 'array': return `${formatSqlType(type.element)}[]`;
    case 'map': return `map[text=>${formatSqlType(type.value)}]`;
    case 'record': return `record(${type.fields.map(formatSqlField).join(',')})`;
    case 'range': return type.name;
    case 'unsupported': return type.name;
  }
}

function formatSqlField(field: RecordField): string {
  return `${field.name}: ${formatSqlType(field.type)}${field.nullable ? '?' : ''}`;
}

export type MappabilityCheck =
  | { readonly kind: 'mappable' }
  | { readonly kind: 'unmappable'; readonly message: string };

/** Names every column that has no Iceberg type, all at once, each with the reason at the depth where it lies. */
export function checkMappable(columns: readonly Column[]): MappabilityCheck {
  const refused = columns.flatMap((column) => {
    const reason = refusal(column.type);
    return reason === null ? [] : [`"${column.name}" ${formatSqlType(column.type)}: ${reason}`];
  });
  if (refused.length === 0) return { kind: 'mappable' };
  return { kind: 'unmappable', message: `Cannot encode the following columns/types: [${refused.join('; ')}]` };
}

function refusal(type: SqlType): string | null {
  switch (type.kind) {
    case 'scalar':
      if (type.scale === null || type.scale <= DECIMAL_PRECISION) return null;
      return `Numeric max scale ${type.scale} out of range`;
    case 'list':
    case 'array':
      return refusal(type.element);
    case 'map':
      return refusal(type.value);
    case 'record':
      return recordRefusal(type.fields);
    case 'range':
      return refusal(type.bound);
    case 'unsupported':
      return `type ${type.name} has no Iceberg type`;
  }
}

function recordRefusal(fields: readonly Column[]): string | null {
  // Parquet has no group without children, so neither has Iceberg a struct without fields on disk.
  if (fields.length === 0) return 'a record without fields has no Parquet form';
  if (new Set(fields.map((field) => field.name)).size !== fields.length) return 'the record has two fields of one name';
  for (const field of fields) {
    const reason = refusal(field.type);
    if (reason !== null) return `field "${field.name}": ${reason}`;
  }
  return null;
}

/**
 * Whether rows may be deleted by equality on a column of this type. Floats are out because the spec's equality
 * deletes compare values and NaN and -0 have no agreed equality; nested types because Iceberg allows only
 * primitive fields outside of lists and maps.
 */
export function canBeEqualityKey(type: SqlType): boolean {
  return type.kind === 'scalar' && type.name !== 'real' && type.name !== 'double precision';
}

/** Names the key columns whose type can't be a key; null when all can. */
export function checkKeyTypes(columns: readonly Column[], keyColumns: readonly number[]): string | null {
  const refused = keyColumns.flatMap((index) => {
    const column = columns[index];
    if (column === undefined || canBeEqualityKey(column.type)) return [];
    return [`"${column.name}" ${formatSqlType(column.type)}`];
  });
  return refused.length === 0 ? null : `${refused.join(', ')} cannot be used as an Iceberg equality delete key`;
}
