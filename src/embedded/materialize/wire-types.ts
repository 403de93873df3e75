/**
 * SQL types as the catalog and RowDescription show them. In: an SQL type. Out: OID, typmod, catalog name, and the
 * text that EXPLAIN prints. On the wire every list is 16384, every map 16385, every record 2249.
 */
import { type RangeName, type ScalarName, type SqlType, range, scalar } from '../../relation/sql-type.ts';

interface ScalarOids {
  readonly oid: number;
  readonly array: number;
}

export const SCALAR_OIDS: Readonly<Record<ScalarName, ScalarOids>> = {
  boolean: { oid: 16, array: 1000 },
  bytea: { oid: 17, array: 1001 },
  '"char"': { oid: 18, array: 1002 },
  name: { oid: 19, array: 1003 },
  bigint: { oid: 20, array: 1016 },
  smallint: { oid: 21, array: 1005 },
  int2vector: { oid: 22, array: 1006 },
  integer: { oid: 23, array: 1007 },
  regproc: { oid: 24, array: 1008 },
  text: { oid: 25, array: 1009 },
  oid: { oid: 26, array: 1028 },
  real: { oid: 700, array: 1021 },
  'double precision': { oid: 701, array: 1022 },
  aclitem: { oid: 1033, array: 1034 },
  character: { oid: 1042, array: 1014 },
  varchar: { oid: 1043, array: 1015 },
  date: { oid: 1082, array: 1182 },
  time: { oid: 1083, array: 1183 },
  timestamp: { oid: 1114, array: 1115 },
  timestamptz: { oid: 1184, array: 1185 },
  interval: { oid: 1186, array: 1187 },
  numeric: { oid: 1700, array: 1231 },
  regclass: { oid: 2205, array: 2210 },
  regtype: { oid: 2206, array: 2211 },
  uuid: { oid: 2950, array: 2951 },
  jsonb: { oid: 3802, array: 3807 },
  uint2: { oid: 16460, array: 16461 },
  uint4: { oid: 16462, array: 16463 },
  uint8: { oid: 16464, array: 16465 },
  mz_timestamp: { oid: 16552, array: 16553 },
  mz_aclitem: { oid: 16566, array: 16567 },
};

export const RANGE_OIDS: Readonly<Record<RangeName, ScalarOids>> = {
  int4range: { oid: 3904, array: 3905 },
  numrange: { oid: 3906, array: 3907 },
  tsrange: { oid: 3908, array: 3909 },
  tstzrange: { oid: 3910, array: 3911 },
  daterange: { oid: 3912, array: 3913 },
  int8range: { oid: 3926, array: 3927 },
};

const LIST_OID = 16384;
const MAP_OID = 16385;
const RECORD_OID = 2249;
const RECORD_ARRAY_OID = 2287;

/** Stands for a type that the catalog names and nobody knows more of. */
const UNKNOWN_OID = 19999;

const NUMERIC_MAX_PRECISION = 39;

export function typeOidOf(type: SqlType): number {
  switch (type.kind) {
    case 'scalar':
      return SCALAR_OIDS[type.name].oid;
    case 'range':
      return RANGE_OIDS[type.name].oid;
    case 'list':
      return LIST_OID;
    case 'map':
      return MAP_OID;
    case 'record':
      return RECORD_OID;
    case 'array':
      return arrayOidOf(type.element);
    case 'unsupported':
      return UNKNOWN_OID;
  }
}

/** The type behind an OID; what is inside of lists, maps and records does not show in it. Unknown ones are text. */
export function typeOfOid(oid: number): SqlType {
  return TYPES_BY_OID.get(oid) ?? scalar('text');
}

const TYPES_BY_OID: ReadonlyMap<number, SqlType> = new Map<number, SqlType>([
  ...Object.entries(SCALAR_OIDS).flatMap(([name, { oid, array }]) => typesOf(scalar(name as ScalarName), oid, array)),
  ...Object.entries(RANGE_OIDS).flatMap(([name, { oid, array }]) => typesOf(range(name as RangeName), oid, array)),
  [LIST_OID, { kind: 'list', element: scalar('text') }],
  [MAP_OID, { kind: 'map', value: scalar('text') }],
]);

function typesOf(type: SqlType, oid: number, array: number): [number, SqlType][] {
  return [[oid, type], [array, { kind: 'array', element: type }]];
}

function arrayOidOf(element: SqlType): number {
  if (element.kind === 'scalar') return SCALAR_OIDS[element.name].array;
  if (element.kind === 'range') return RANGE_OIDS[element.name].array;
  return element.kind === 'record' ? RECORD_ARRAY_OID : UNKNOWN_OID;
}

/** numeric with a scale carries `((39 << 16) | scale) + 4`; everything else -1. */
export function typmodOf(type: SqlType): number {
  if (type.kind !== 'scalar' || type.name !== 'numeric' || type.scale === null) return -1;
  return ((NUMERIC_MAX_PRECISION << 16) | type.scale) + 4;
}

const CATALOG_NAMES: Partial<Readonly<Record<ScalarName, string>>> = {
  timestamp: 'timestamp without time zone',
  timestamptz: 'timestamp with time zone',
  varchar: 'character varying',
};

/** The name in `mz_columns.type`: lists, maps and records don't show what is inside. */
export function catalogNameOf(type: SqlType): string {
  switch (type.kind) {
    case 'scalar':
      return CATALOG_NAMES[type.name] ?? type.name;
    case 'list':
    case 'map':
    case 'record':
      return type.kind;
    case 'array':
      return `${catalogNameOf(type.element)}[]`;
    case 'range':
    case 'unsupported':
      return type.name;
  }
}
