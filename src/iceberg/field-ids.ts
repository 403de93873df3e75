/**
 * Field ids across a schema: the highest one, and fresh ones for a new table.
 *
 * The order of fresh ids is Iceberg Java's (and so that of Polaris and every Java catalog): all fields of a struct get
 * theirs before anything below them; a list's element, then what is in it; a map's key and value, then what is in them.
 * A test that runs against the embedded catalog would otherwise see other ids than a real one gives.
 */
import type { IcebergType, NestedField, Schema } from './types.ts';

/** 0 for a schema without fields. */
export function highestFieldId(schema: Schema): number {
  return schema.fields.reduce((highest, field) => Math.max(highest, field.id, highestId(field.type)), 0);
}

function highestId(type: IcebergType): number {
  switch (type.kind) {
    case 'struct':
      return type.fields.reduce((highest, field) => Math.max(highest, field.id, highestId(field.type)), 0);
    case 'list':
      return Math.max(type.elementId, highestId(type.element));
    case 'map':
      return Math.max(type.keyId, type.valueId, highestId(type.key), highestId(type.value));
    case 'boolean': case 'int': case 'long': case 'float': case 'double': case 'date': case 'time': case 'timestamp':
    case 'timestamptz': case 'string': case 'uuid': case 'binary': case 'decimal': case 'fixed': case 'unknown':
      return 0;
  }
}

export interface FreshSchema {
  readonly schema: Schema;
  readonly lastColumnId: number;
  /** From the ids the schema came with to those it has now. */
  readonly newIds: ReadonlyMap<number, number>;
}

/** `schema` with ids from 1 on; identifier fields follow their columns. */
export function assignFreshIds(schema: Schema): FreshSchema {
  const newIds = new Map<number, number>();
  let last = 0;
  const fresh = (id: number): number => {
    last++;
    newIds.set(id, last);
    return last;
  };
  const freshFields = (fields: readonly NestedField[]): readonly NestedField[] => {
    const ids = fields.map((field) => fresh(field.id));
    return fields.map((field, index) => ({ ...field, id: ids[index] ?? 0, type: freshType(field.type) }));
  };
  const freshType = (type: IcebergType): IcebergType => {
    if (type.kind === 'struct') return { kind: 'struct', fields: freshFields(type.fields) };
    if (type.kind === 'list') {
      const elementId = fresh(type.elementId);
      return { ...type, elementId, element: freshType(type.element) };
    }
    if (type.kind === 'map') {
      const keyId = fresh(type.keyId);
      const valueId = fresh(type.valueId);
      return { ...type, keyId, valueId, key: freshType(type.key), value: freshType(type.value) };
    }
    return type;
  };
  const fields = freshFields(schema.fields);
  const identifierFieldIds = schema.identifierFieldIds.map((id) => newIds.get(id) ?? id);
  return { schema: { schemaId: 0, fields, identifierFieldIds }, lastColumnId: last, newIds };
}
