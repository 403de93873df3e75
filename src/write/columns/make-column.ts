/**
 * The column for a SQL type going into an Iceberg type. The SQL type says how the text reads, the table's type
 * how the value is kept (a uuid may go into fixed(16), string or uuid).
 */
import { type List, type Map_, Struct } from 'apache-arrow/type';

import { invariant } from '../../errors.ts';
import type { IcebergType, NestedField, PrimitiveType, StructType } from '../../iceberg/types.ts';
import type { RecordField, SqlType } from '../../relation/sql-type.ts';
import { arrowType } from '../arrow-types.ts';
import { BytesColumn, UuidColumn } from './bytes.ts';
import type { Column, LeafSpec, NullingPolicy, Slot } from './column.ts';
import { Int32Column, Int64Column, notPlain } from './integers.ts';
import { parseInt64, parseSmallInteger, plainInt32, plainInt64 } from './number-text.ts';
import { BoolColumn, DecimalColumn, FloatColumn } from './numbers.ts';
import { ListColumn, MapColumn } from './repeated.ts';
import { ArrayColumn, RangeColumn, RecordColumn } from './structs.ts';
import {
  parseDate, parseTime, parseTimestamp, parseTimestamptz, plainDate, plainTimestamp, plainTimestamptz,
} from './time-text.ts';

/** The slot of a top-level column. */
export function makeSlot(sqlType: SqlType, field: NestedField, policy: NullingPolicy): Slot {
  return slotFor(sqlType, field, policy, true);
}

function slotFor(sqlType: SqlType, field: NestedField, policy: NullingPolicy, bounded: boolean): Slot {
  return { column: makeColumn(sqlType, field.type, field.id, policy, bounded), required: field.required, policy };
}

function makeColumn(
  sqlType: SqlType, type: IcebergType, id: number, policy: NullingPolicy, bounded: boolean,
): Column {
  switch (sqlType.kind) {
    case 'scalar':
      return makeScalar(sqlType, { fieldId: id, type: primitive(type), bounded });
    case 'list':
      return makeList(sqlType.element, type, policy);
    case 'map':
      return makeMap(sqlType.value, type, policy);
    case 'record':
      return makeRecord(sqlType.fields, type, policy, bounded);
    case 'array':
      return makeArray(sqlType.element, type, policy, bounded);
    case 'range':
      return makeRange(sqlType.bound, type, policy, bounded);
    case 'unsupported':
      invariant(false, `the type ${sqlType.name} never enters a write plan`);
  }
}

function primitive(type: IcebergType): PrimitiveType {
  invariant(
    type.kind !== 'struct' && type.kind !== 'list' && type.kind !== 'map' && type.kind !== 'unknown',
    'a scalar goes into a primitive type',
  );
  return type;
}

const INT2 = { min: -32_768, max: 32_767 };
const UINT2 = { min: 0, max: 65_535 };
const INT4 = { min: -2_147_483_648, max: 2_147_483_647 };

function int32(spec: LeafSpec, bounds: { readonly min: number; readonly max: number }): Int32Column {
  const { min, max } = bounds;
  return new Int32Column(spec, {
    parse: (bytes, start, end) => parseSmallInteger(bytes, start, end, min, max),
    plain: (bytes, start, end, words, at) => plainInt32(bytes, start, end, min, max, words, at),
  });
}

function makeScalar(sqlType: SqlType & { readonly kind: 'scalar' }, spec: LeafSpec): Column {
  switch (sqlType.name) {
    case 'boolean': return new BoolColumn(spec);
    case 'smallint': return int32(spec, INT2);
    case 'uint2': return int32(spec, UINT2);
    case 'integer': return int32(spec, INT4);
    case 'bigint':
    case 'uint4':
    case 'oid':
    case 'regclass':
    case 'regproc':
    case 'regtype':
      return new Int64Column(spec, { parse: parseInt64, plain: plainInt64 });
    case 'uint8':
    case 'mz_timestamp':
    case 'numeric':
      return new DecimalColumn(spec);
    case 'real':
    case 'double precision':
      return new FloatColumn(spec);
    case 'date': return new Int32Column(spec, { parse: parseDate, plain: plainDate });
    case 'time': return new Int64Column(spec, { parse: parseTime, plain: notPlain });
    case 'timestamp': return new Int64Column(spec, { parse: parseTimestamp, plain: plainTimestamp });
    case 'timestamptz': return new Int64Column(spec, { parse: parseTimestamptz, plain: plainTimestamptz });
    case 'bytea': return new BytesColumn(spec, 'hex');
    case '"char"': return new BytesColumn(spec, 'char');
    case 'uuid': return spec.type.kind === 'string' ? new BytesColumn(spec, 'uuid') : new UuidColumn(spec);
    case 'text':
    case 'varchar':
    case 'character':
    case 'name':
    case 'jsonb':
    case 'interval':
    case 'mz_aclitem':
    case 'aclitem':
    case 'int2vector':
      return new BytesColumn(spec, 'text');
  }
}

function makeList(element: SqlType, type: IcebergType, policy: NullingPolicy): ListColumn {
  invariant(type.kind === 'list', 'a list goes into a list');
  const column = makeColumn(element, type.element, type.elementId, policy, false);
  return new ListColumn(arrowType(type) as List, { column, required: type.elementRequired, policy });
}

function makeMap(value: SqlType, type: IcebergType, policy: NullingPolicy): MapColumn {
  invariant(type.kind === 'map', 'a map goes into a map');
  const key = new BytesColumn({ fieldId: type.keyId, type: primitive(type.key), bounded: false }, 'text');
  const column = makeColumn(value, type.value, type.valueId, policy, false);
  return new MapColumn(arrowType(type) as Map_, key, { column, required: type.valueRequired, policy });
}

function structParts(
  type: IcebergType, names: readonly string[],
): { readonly arrow: Struct; readonly fields: readonly NestedField[]; readonly order: readonly number[] } {
  invariant(type.kind === 'struct', 'a composite value goes into a struct');
  const fields = names.map((name) => {
    const field = (type as StructType).fields.find((candidate) => candidate.name === name);
    invariant(field !== undefined, 'a planned struct has every field');
    return field;
  });
  const arrow = arrowType(type);
  invariant(arrow instanceof Struct, 'a struct is a struct in Arrow');
  return { arrow, fields, order: type.fields.map((field) => names.indexOf(field.name)) };
}

function makeRecord(
  members: readonly RecordField[], type: IcebergType, policy: NullingPolicy, bounded: boolean,
): RecordColumn {
  const { arrow, fields, order } = structParts(type, members.map((member) => member.name));
  const slots = members.map((member, index) => {
    const field = fields[index];
    invariant(field !== undefined, 'a field for each member');
    return slotFor(member.type, field, policy, bounded);
  });
  return new RecordColumn(arrow, slots, order);
}

const NO_NULLING: NullingPolicy = { enabled: false, count: 0 };

/** A bound that is NULL means "unbounded", so a bound that can't be held must never become NULL: its range does. */
function makeRange(bound: SqlType, type: IcebergType, policy: NullingPolicy, bounded: boolean): RangeColumn {
  const names = ['lower', 'upper', 'lower_inclusive', 'upper_inclusive', 'empty'];
  const { arrow, fields, order } = structParts(type, names);
  const slots = fields.map((field, index): Slot => {
    if (index < 2) return slotFor(bound, field, NO_NULLING, bounded);
    const column = new BoolColumn({ fieldId: field.id, type: primitive(field.type), bounded });
    return { column, required: true, policy };
  });
  return new RangeColumn(arrow, slots, order);
}

function makeArray(element: SqlType, type: IcebergType, policy: NullingPolicy, bounded: boolean): ArrayColumn {
  const { arrow, fields, order } = structParts(type, ['items', 'dimensions']);
  const [items, dimensions] = fields;
  invariant(items !== undefined && dimensions !== undefined, 'an array is items and dimensions');
  const count = int32({ fieldId: dimensions.id, type: primitive(dimensions.type), bounded }, INT4);
  const slots: readonly Slot[] = [
    { column: makeList(element, items.type, policy), required: true, policy },
    { column: count, required: true, policy },
  ];
  return new ArrayColumn(arrow, slots, order);
}
