/**
 * The Parquet schema of an Iceberg schema (Iceberg spec, Appendix A "Parquet"; parquet-format, LogicalTypes.md):
 * a tree of groups and leaves, each with its field id, its repetition and the names that readers look for,
 * `list.element` and `key_value.key` / `value`. Logical and converted types are those that Iceberg's Java writes.
 */
import { invariant } from '../errors.ts';
import type { IcebergType, ListType, MapType, NestedField, PrimitiveType, Schema } from '../iceberg/types.ts';

/** `optional` adds a definition level, `repeated` a definition and a repetition level. */
export type Repetition = 'required' | 'optional' | 'repeated';

export interface ParquetNode {
  readonly name: string;
  /** null: the repeated groups inside of lists and maps, which Iceberg doesn't know. */
  readonly fieldId: number | null;
  readonly repetition: Repetition;
  readonly shape: 'leaf' | 'struct' | 'list' | 'map';
  /** Of leaves; null for groups. */
  readonly type: PrimitiveType | null;
  readonly children: readonly ParquetNode[];
}

/** Where a leaf's levels end and how its values are kept. */
export interface ParquetColumn {
  readonly path: readonly string[];
  readonly fieldId: number;
  readonly type: PrimitiveType;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
}

export function parquetTree(schema: Schema): readonly ParquetNode[] {
  return schema.fields.map(fieldNode);
}

function fieldNode(field: NestedField): ParquetNode {
  return node(field.name, field.id, field.required, field.type);
}

function node(name: string, fieldId: number, required: boolean, type: IcebergType): ParquetNode {
  const common = { name, fieldId, repetition: required ? 'required' : 'optional' } as const;
  switch (type.kind) {
    case 'struct': return { ...common, shape: 'struct', type: null, children: type.fields.map(fieldNode) };
    case 'list': return { ...common, shape: 'list', type: null, children: [listItems(type)] };
    case 'map': return { ...common, shape: 'map', type: null, children: [mapEntries(type)] };
    case 'unknown':
      invariant(false, `the type ${type.text} never enters a write plan`);
      break;
    default: return { ...common, shape: 'leaf', type, children: [] };
  }
}

function listItems(type: ListType): ParquetNode {
  return repeatedGroup('list', [node('element', type.elementId, type.elementRequired, type.element)]);
}

function mapEntries(type: MapType): ParquetNode {
  const value = node('value', type.valueId, type.valueRequired, type.value);
  return repeatedGroup('key_value', [node('key', type.keyId, true, type.key), value]);
}

function repeatedGroup(name: string, children: readonly ParquetNode[]): ParquetNode {
  return { name, fieldId: null, repetition: 'repeated', shape: 'struct', type: null, children };
}

/** The leaves in the order of the column chunks: depth first. */
export function parquetColumns(tree: readonly ParquetNode[]): readonly ParquetColumn[] {
  const columns: ParquetColumn[] = [];
  const visit = (at: ParquetNode, above: readonly string[], definition: number, repetition: number): void => {
    const path = [...above, at.name];
    const maxDefinition = at.repetition === 'required' ? definition : definition + 1;
    const maxRepetition = at.repetition === 'repeated' ? repetition + 1 : repetition;
    if (at.type !== null && at.fieldId !== null) {
      columns.push({ path, fieldId: at.fieldId, type: at.type, maxDefinition, maxRepetition });
    }
    for (const child of at.children) visit(child, path, maxDefinition, maxRepetition);
  };
  for (const root of tree) visit(root, [], 0, 0);
  return columns;
}

/** Physical types by their number in parquet.thrift. */
export const PHYSICAL = {
  boolean: 0, int32: 1, int64: 2, float: 4, double: 5, bytes: 6, fixed: 7,
} as const;
export type PhysicalType = keyof typeof PHYSICAL;

export function physicalType(type: PrimitiveType): PhysicalType {
  switch (type.kind) {
    case 'boolean': return 'boolean';
    case 'int': case 'date': return 'int32';
    case 'long': case 'time': case 'timestamp': case 'timestamptz': return 'int64';
    case 'float': return 'float';
    case 'double': return 'double';
    case 'string': case 'binary': return 'bytes';
    case 'uuid': case 'fixed': return 'fixed';
    case 'decimal':
      if (type.precision <= 9) return 'int32';
      return type.precision <= 18 ? 'int64' : 'fixed';
  }
}

/** Bytes of a value whose physical type is `fixed`. */
export function fixedLength(type: PrimitiveType): number {
  if (type.kind === 'fixed') return type.length;
  if (type.kind === 'uuid') return 16;
  invariant(type.kind === 'decimal', 'only fixed, uuid and decimal are of a fixed length');
  return decimalLength(type.precision);
}

/** The fewest bytes whose two's complement holds every value of the precision. */
function decimalLength(precision: number): number {
  const largest = 10n ** BigInt(precision);
  let length = 1;
  while (1n << BigInt(length * 8 - 1) < largest) length += 1;
  return length;
}
