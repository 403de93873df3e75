/**
 * Iceberg types and schemas (spec: "Schemas and Data Types"), the subset of format version 2.
 * JSON forms are read and written by `schema-json.ts`.
 */
export type PrimitiveType =
  | {
      readonly kind:
        | 'boolean' | 'int' | 'long' | 'float' | 'double' | 'date' | 'time' | 'timestamp' | 'timestamptz' | 'string'
        | 'uuid' | 'binary';
    }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
  | { readonly kind: 'fixed'; readonly length: number };

export interface StructType {
  readonly kind: 'struct';
  readonly fields: readonly NestedField[];
}

export interface ListType {
  readonly kind: 'list';
  readonly elementId: number;
  readonly element: IcebergType;
  readonly elementRequired: boolean;
}

export interface MapType {
  readonly kind: 'map';
  readonly keyId: number;
  readonly key: IcebergType;
  readonly valueId: number;
  readonly value: IcebergType;
  readonly valueRequired: boolean;
}

/** `unknown` keeps a type this version of the sink doesn't know (v3 types), so that metadata stays readable. */
export interface UnknownType {
  readonly kind: 'unknown';
  readonly text: string;
}

export type IcebergType = PrimitiveType | StructType | ListType | MapType | UnknownType;

export interface NestedField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: IcebergType;
  readonly doc?: string;
}

export interface Schema {
  readonly schemaId: number;
  readonly fields: readonly NestedField[];
  readonly identifierFieldIds: readonly number[];
}

/**
 * Spec spelling: `decimal(38,10)`, `fixed(16)` as reported to people, `list<int>`, `struct<a: int, b: string>`,
 * `map<string, int>`.
 */
export function formatType(type: IcebergType): string {
  switch (type.kind) {
    case 'decimal': return `decimal(${type.precision},${type.scale})`;
    case 'fixed': return `fixed(${type.length})`;
    case 'list': return `list<${formatType(type.element)}>`;
    case 'map': return `map<${formatType(type.key)}, ${formatType(type.value)}>`;
    case 'struct': {
      const fields = type.fields.map((field) => `${field.name}: ${formatType(field.type)}`);
      return `struct<${fields.join(', ')}>`;
    }
    case 'unknown': return type.text;
    case 'boolean': case 'int': case 'long': case 'float': case 'double': case 'date': case 'time':
    case 'timestamp': case 'timestamptz': case 'string': case 'uuid': case 'binary':
      return type.kind;
  }
}
