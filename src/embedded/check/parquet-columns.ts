/**
 * What a Parquet file really holds, at every depth, and how to read it by field id alone.
 *
 * DuckDB's `schema => MAP{id: …}` finds top-level columns by field id, but matches the members of structs by name. So the
 * judge takes the file's own tree (`parquet_schema`), finds each nested field by its id there, and writes the expression
 * that carries it to its place. A field whose id is missing or wrong reads as NULL, exactly as a strict engine reads it.
 */
import { type DuckDBType, DuckDBListType, DuckDBMapType, DuckDBStructType } from '@duckdb/node-api';
import { childFields, type TableField, type TableType } from './table-metadata.ts';

export interface ParquetNode {
  readonly name: string;
  readonly fieldId: number | null;
  readonly repetition: 'REQUIRED' | 'OPTIONAL' | 'REPEATED';
  readonly physicalType: string | null;
  readonly typeLength: number | null;
  readonly logicalType: string | null;
  readonly children: readonly ParquetNode[];
}

export interface ParquetSchemaRow extends Omit<ParquetNode, 'children'> {
  readonly childCount: number;
}

/** `rows` in the order of the file: a preorder walk that begins with the root. */
export function parquetColumns(rows: readonly ParquetSchemaRow[]): readonly ParquetNode[] {
  let at = 0;
  const next = (): ParquetNode => {
    const row = rows[at];
    if (row === undefined) throw new Error('a Parquet schema ends inside of a group');
    at += 1;
    const { childCount, ...node } = row;
    return { ...node, children: Array.from({ length: childCount }, next) };
  };
  return next().children;
}

/** The node that holds a list's element, or a map's key and value: what stands below the repeated group. */
function entryNodes(node: ParquetNode): readonly ParquetNode[] {
  return node.children[0]?.children ?? [];
}

/** The Parquet children that belong to `childFields(type)`. */
export function nestedNodes(node: ParquetNode, type: TableType): readonly ParquetNode[] {
  return type.kind === 'struct' ? node.children : entryNodes(node);
}

/** How the tree of a file differs from the fields it should hold; empty when each id and each flag is right. */
export function columnFaults(
  columns: readonly ParquetNode[], fields: readonly TableField[], where: string, mustHaveAll: boolean,
): readonly string[] {
  const faults: string[] = [];
  const byId = new Map(fields.map((field) => [field.id, field]));
  for (const column of columns) {
    const path = `${where}${column.name}`;
    const field = column.fieldId === null ? undefined : byId.get(column.fieldId);
    if (column.fieldId === null) faults.push(`${path} has no field id`);
    else if (field === undefined) faults.push(`${path} has the field id ${column.fieldId}, which the schema has not here`);
    if (field === undefined) continue;
    if (field.required !== (column.repetition === 'REQUIRED')) {
      faults.push(`${path} is ${column.repetition}, but the schema says ${field.required ? 'required' : 'optional'}`);
    }
    faults.push(...layoutFaults(column, field.type, path));
    faults.push(...columnFaults(nestedNodes(column, field.type), childFields(field.type), `${path}.`, mustHaveAll));
  }
  if (mustHaveAll) {
    const present = new Set(columns.map((column) => column.fieldId));
    const absent = fields.filter((field) => !present.has(field.id));
    faults.push(...absent.map((field) => `${where}${field.name} (field id ${field.id}) is not in the file`));
  }
  return faults;
}

/** Parquet's three-level list and its map, and the physical types that the specification gives (Appendix A: Parquet). */
function layoutFaults(column: ParquetNode, type: TableType, path: string): readonly string[] {
  const physical = expectedPhysicalTypes(type);
  if (physical !== null) {
    const found = column.physicalType === 'FIXED_LEN_BYTE_ARRAY' ? `FIXED_LEN_BYTE_ARRAY(${column.typeLength})` : column.physicalType;
    return physical.includes(found ?? '') ? [] : [`${path} is stored as ${found}, not as ${physical.join(' or ')}`];
  }
  if (type.kind === 'struct') return column.children.length > 0 ? [] : [`${path} is not a group`];
  const [repeated] = column.children;
  const members = type.kind === 'list' ? 1 : 2;
  return column.children.length === 1 && repeated?.repetition === 'REPEATED' && repeated.children.length === members
    ? []
    : [`${path} has not the standard layout of a ${type.kind}`];
}

function expectedPhysicalTypes(type: TableType): readonly string[] | null {
  switch (type.kind) {
    case 'boolean': return ['BOOLEAN'];
    case 'int':
    case 'date': return ['INT32'];
    case 'long':
    case 'time':
    case 'timestamp':
    case 'timestamptz': return ['INT64'];
    case 'float': return ['FLOAT'];
    case 'double': return ['DOUBLE'];
    case 'string':
    case 'binary': return ['BYTE_ARRAY'];
    case 'fixed': return [`FIXED_LEN_BYTE_ARRAY(${type.length})`];
    case 'uuid': return ['FIXED_LEN_BYTE_ARRAY(16)'];
    case 'decimal': return decimalPhysicalTypes(type.precision);
    case 'list':
    case 'map':
    case 'struct': return null;
  }
}

/** Appendix A asks for INT32 up to 9 digits, INT64 up to 18, and the fewest bytes that hold the precision above. */
function decimalPhysicalTypes(precision: number): readonly string[] {
  if (precision <= 9) return ['INT32'];
  if (precision <= 18) return ['INT64'];
  let bytes = 1;
  while (2n ** BigInt(8 * bytes - 1) < 10n ** BigInt(precision)) bytes += 1;
  return [`FIXED_LEN_BYTE_ARRAY(${bytes})`];
}

/** SQL text for an Iceberg type as the judge's queries yield it: structs by field id, maps as lists of pairs. */
export function duckdbType(type: TableType): string {
  switch (type.kind) {
    case 'boolean': return 'BOOLEAN';
    case 'int': return 'INTEGER';
    case 'long': return 'BIGINT';
    case 'float': return 'FLOAT';
    case 'double': return 'DOUBLE';
    case 'decimal': return `DECIMAL(${type.precision},${type.scale})`;
    case 'date': return 'DATE';
    case 'time': return 'TIME';
    case 'timestamp': return 'TIMESTAMP';
    case 'timestamptz': return 'TIMESTAMPTZ';
    case 'string': return 'VARCHAR';
    case 'uuid': return 'UUID';
    case 'fixed':
    case 'binary': return 'BLOB';
    case 'list': return `${duckdbType(type.element)}[]`;
    case 'map': return `STRUCT(k ${duckdbType(type.key)}, v ${duckdbType(type.value)})[]`;
    case 'struct': return `STRUCT(${type.fields.map((field) => `f${field.id} ${duckdbType(field.type)}`).join(', ')})`;
  }
}

/** An expression of `duckdbType(type)` that reads `source`, whose Parquet node and DuckDB type are given. */
export function readExpression(source: string, type: TableType, node: ParquetNode, stored: DuckDBType, depth = 0): string {
  const variable = `e${depth}`;
  if (type.kind === 'struct') {
    const members = type.fields.map((field) => `f${field.id} := ${memberExpression(source, field, node.children, stored, depth)}`);
    return `CASE WHEN ${source} IS NULL THEN NULL ELSE struct_pack(${members.join(', ')}) END`;
  }
  if (type.kind === 'list') {
    const element = entryNodes(node).find((child) => child.fieldId === type.elementId);
    if (element === undefined || !(stored instanceof DuckDBListType)) return `NULL::${duckdbType(type)}`;
    const body = readExpression(variable, type.element, element, stored.valueType, depth + 1);
    return `list_transform(${source}, lambda ${variable}: ${body})`;
  }
  if (type.kind === 'map') {
    const [key, value] = entryNodes(node);
    if (key?.fieldId !== type.keyId || value?.fieldId !== type.valueId || !(stored instanceof DuckDBMapType)) {
      return `NULL::${duckdbType(type)}`;
    }
    const readKey = readExpression(`${variable}.key`, type.key, key, stored.keyType, depth + 1);
    const readValue = readExpression(`${variable}.value`, type.value, value, stored.valueType, depth + 1);
    return `list_transform(map_entries(${source}), lambda ${variable}: struct_pack(k := ${readKey}, v := ${readValue}))`;
  }
  // Fixed bytes without Parquet's UUID annotation come as a blob.
  if (type.kind === 'uuid' && stored.toString() === 'BLOB') return `hex(${source})::UUID`;
  return `${source}::${duckdbType(type)}`;
}

function memberExpression(
  source: string, field: TableField, children: readonly ParquetNode[], stored: DuckDBType, depth: number,
): string {
  const position = children.findIndex((child) => child.fieldId === field.id);
  const node = children[position];
  if (node === undefined || !(stored instanceof DuckDBStructType)) return `NULL::${duckdbType(field.type)}`;
  // DuckDB renames members that differ in case only, so its name counts and not the file's.
  const name = stored.entryNames[position] ?? node.name;
  const type = stored.entryTypes[position];
  if (type === undefined) return `NULL::${duckdbType(field.type)}`;
  return readExpression(`struct_extract(${source}, ${sqlText(name)})`, field.type, node, type, depth);
}

export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
