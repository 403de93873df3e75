/**
 * Materialize's SQL types as the sink sees them. Spellings follow its catalog and EXPLAIN output.
 */

export const SCALAR_NAMES = [
  'boolean', 'smallint', 'integer', 'bigint', 'uint2', 'uint4', 'uint8', 'real', 'double precision',
  'numeric', 'date', 'time', 'timestamp', 'timestamptz', 'text', 'varchar', 'character', '"char"', 'name',
  'bytea', 'uuid', 'jsonb', 'interval', 'oid', 'regclass', 'regproc', 'regtype', 'mz_timestamp',
  'mz_aclitem', 'aclitem', 'int2vector',
] as const;

export type ScalarName = (typeof SCALAR_NAMES)[number];

export const RANGE_NAMES = ['int4range', 'int8range', 'numrange', 'daterange', 'tsrange', 'tstzrange'] as const;
export type RangeName = (typeof RANGE_NAMES)[number];

export type SqlType =
  /** `scale` only for numeric: the declared number of fraction digits, null when undeclared. */
  | { readonly kind: 'scalar'; readonly name: ScalarName; readonly scale: number | null }
  | { readonly kind: 'list'; readonly element: SqlType }
  | { readonly kind: 'array'; readonly element: SqlType }
  | { readonly kind: 'map'; readonly value: SqlType }
  | { readonly kind: 'record'; readonly fields: readonly RecordField[] }
  | { readonly kind: 'range'; readonly name: RangeName; readonly bound: SqlType }
  /** A type that the catalog names and the sink has no mapping for, or whose inside can't be discovered. */
  | { readonly kind: 'unsupported'; readonly name: string };

export interface RecordField {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable: boolean;
}

export function scalar(name: ScalarName, scale: number | null = null): SqlType {
  return { kind: 'scalar', name, scale };
}

const RANGE_BOUNDS: Readonly<Record<RangeName, ScalarName>> = {
  int4range: 'integer', int8range: 'bigint', numrange: 'numeric', daterange: 'date', tsrange: 'timestamp', tstzrange: 'timestamptz',
};

export function range(name: RangeName): SqlType {
  return { kind: 'range', name, bound: scalar(RANGE_BOUNDS[name]) };
}
