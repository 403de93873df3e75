/**
 * Schemas and types to their JSON form and back (spec: "Appendix C: JSON serialization").
 *
 * Invariant: what this version does not know is kept, not refused: a table with one column of a later type must still
 * load, so that the message can name that column. Default values are not kept; the sink writes every column itself.
 */
import { SinkError } from '../errors.ts';
import {
  type JsonObject, type JsonValue, asInt32, asObject, formatJson, getArray, getBoolean, getInt32, getOptionalArray,
  getOptionalInt32, getOptionalString, getString, isJsonObject, parseJson,
} from './json.ts';
import type { IcebergType, ListType, MapType, NestedField, PrimitiveType, Schema } from './types.ts';

type PlainKind = Exclude<PrimitiveType['kind'], 'decimal' | 'fixed'>;

const PLAIN_KINDS: ReadonlySet<string> = new Set<PlainKind>([
  'boolean', 'int', 'long', 'float', 'double', 'date', 'time', 'timestamp', 'timestamptz', 'string', 'uuid', 'binary',
]);

/** A schema in the form of `schemas` in table metadata and of createTable. */
export function schemaToJson(schema: Schema): JsonObject {
  return {
    type: 'struct',
    'schema-id': schema.schemaId,
    'identifier-field-ids': [...schema.identifierFieldIds],
    fields: schema.fields.map(fieldToJson),
  };
}

/** Reads a schema; a missing `schema-id` (format version 1) is 0. Throws `catalog-protocol` with the JSON path. */
export function parseSchema(json: JsonObject, at = '$'): Schema {
  return {
    schemaId: getOptionalInt32(json, 'schema-id', at) ?? 0,
    fields: parseFields(json, at),
    identifierFieldIds: getOptionalArray(json, 'identifier-field-ids', at).map(
      (id, index) => asInt32(id, `${at}.identifier-field-ids[${index}]`),
    ),
  };
}

export function typeToJson(type: IcebergType): JsonValue {
  switch (type.kind) {
    case 'decimal': return `decimal(${type.precision}, ${type.scale})`;
    case 'fixed': return `fixed[${type.length}]`;
    case 'struct': return { type: 'struct', fields: type.fields.map(fieldToJson) };
    case 'list': return {
      type: 'list',
      'element-id': type.elementId,
      element: typeToJson(type.element),
      'element-required': type.elementRequired,
    };
    case 'map': return {
      type: 'map',
      'key-id': type.keyId,
      key: typeToJson(type.key),
      'value-id': type.valueId,
      value: typeToJson(type.value),
      'value-required': type.valueRequired,
    };
    case 'unknown': return type.text.startsWith('{') ? asObject(parseJson(type.text), '$') : type.text;
    case 'boolean': case 'int': case 'long': case 'float': case 'double': case 'date': case 'time':
    case 'timestamp': case 'timestamptz': case 'string': case 'uuid': case 'binary':
      return type.kind;
  }
}

export function parseType(json: JsonValue | undefined, at = '$'): IcebergType {
  if (typeof json === 'string') return parseTypeText(json);
  if (!isJsonObject(json)) throw new SinkError('catalog-protocol', `${at} must be a type`);
  const kind = json['type'];
  if (kind === 'struct') return { kind, fields: parseFields(json, at) };
  if (kind === 'list') return parseList(json, at);
  if (kind === 'map') return parseMap(json, at);
  return { kind: 'unknown', text: formatJson(json) };
}

function parseTypeText(text: string): IcebergType {
  if (PLAIN_KINDS.has(text)) return { kind: text as PlainKind };
  const decimal = /^decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  if (decimal !== null) return { kind: 'decimal', precision: Number(decimal[1]), scale: Number(decimal[2]) };
  const fixed = /^fixed\[\s*(\d{1,9})\s*\]$/.exec(text);
  if (fixed !== null) return { kind: 'fixed', length: Number(fixed[1]) };
  return { kind: 'unknown', text };
}

function parseList(json: JsonObject, at: string): ListType {
  return {
    kind: 'list',
    elementId: getInt32(json, 'element-id', at),
    element: parseType(json['element'], `${at}.element`),
    elementRequired: getBoolean(json, 'element-required', at),
  };
}

function parseMap(json: JsonObject, at: string): MapType {
  return {
    kind: 'map',
    keyId: getInt32(json, 'key-id', at),
    key: parseType(json['key'], `${at}.key`),
    valueId: getInt32(json, 'value-id', at),
    value: parseType(json['value'], `${at}.value`),
    valueRequired: getBoolean(json, 'value-required', at),
  };
}

function fieldToJson(field: NestedField): JsonObject {
  const json = { id: field.id, name: field.name, required: field.required, type: typeToJson(field.type) };
  return field.doc === undefined ? json : { ...json, doc: field.doc };
}

function parseFields(json: JsonObject, at: string): readonly NestedField[] {
  return getArray(json, 'fields', at).map((item, index) => parseField(item, `${at}.fields[${index}]`));
}

function parseField(item: JsonValue, at: string): NestedField {
  const json = asObject(item, at);
  const field: NestedField = {
    id: getInt32(json, 'id', at),
    name: getString(json, 'name', at),
    required: getBoolean(json, 'required', at),
    type: parseType(json['type'], `${at}.type`),
  };
  const doc = getOptionalString(json, 'doc', at);
  return doc === null ? field : { ...field, doc };
}
