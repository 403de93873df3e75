/**
 * Iceberg types as Arrow types, with the field id on every field at every depth (`PARQUET:field_id`, which
 * parquet-wasm turns into the Parquet field id) and Iceberg's names inside lists and maps.
 */
import { Field, Schema as ArrowSchema } from 'apache-arrow/schema';
import {
  Binary, Bool, type DataType, DateDay, Decimal, FixedSizeBinary, Float32, Float64, Int32, Int64, List, Map_, Struct,
  TimeMicrosecond, TimestampMicrosecond, Utf8,
} from 'apache-arrow/type';

import { invariant } from '../errors.ts';
import type { IcebergType, ListType, MapType, NestedField, Schema } from '../iceberg/types.ts';

export function arrowSchema(schema: Schema): ArrowSchema {
  return new ArrowSchema(schema.fields.map(arrowField));
}

export function arrowField(field: NestedField): Field {
  return namedField(field.name, field.id, field.required, field.type);
}

function namedField(name: string, id: number, required: boolean, type: IcebergType): Field<DataType> {
  return new Field<DataType>(name, arrowType(type), !required, new Map([['PARQUET:field_id', String(id)]]));
}

export function arrowType(type: IcebergType): DataType {
  switch (type.kind) {
    case 'boolean': return new Bool();
    case 'int': return new Int32();
    case 'long': return new Int64();
    case 'float': return new Float32();
    case 'double': return new Float64();
    case 'decimal': return new Decimal(type.scale, type.precision, 128);
    case 'date': return new DateDay();
    case 'time': return new TimeMicrosecond();
    case 'timestamp': return new TimestampMicrosecond(null);
    case 'timestamptz': return new TimestampMicrosecond('UTC');
    case 'string': return new Utf8();
    case 'binary': return new Binary();
    case 'uuid': return new FixedSizeBinary(16);
    case 'fixed': return new FixedSizeBinary(type.length);
    case 'struct': return new Struct(type.fields.map(arrowField));
    case 'list': return listType(type);
    case 'map': return mapType(type);
    case 'unknown':
      invariant(false, `the type ${type.text} never enters a write plan`);
  }
}

function listType(type: ListType): List {
  return new List(namedField('element', type.elementId, type.elementRequired, type.element));
}

/** apache-arrow renames the entries; Parquet's group must be `key_value`, so the name is put back. */
function mapType(type: MapType): Map_ {
  const key = namedField('key', type.keyId, true, type.key);
  const value = namedField('value', type.valueId, type.valueRequired, type.value);
  const entries = new Field('key_value', new Struct<{ key: DataType; value: DataType }>([key, value]), false);
  const map = new Map_(entries);
  Object.assign(entries, { name: 'key_value' });
  return map;
}
