/**
 * Typed access to Avro records of other writers, by field id (spec: "Avro", schema evolution by id).
 *
 * Names differ between writers and years (`added_data_files_count` became `added_files_count`); ids don't. Where a
 * writer has left the ids out, the names of the specification are taken.
 */
import { SinkError } from '../errors.ts';
import type { AvroRecord, AvroValue } from './avro-container.ts';
import { type JsonValue, isJsonArray, isJsonObject } from './json.ts';

export interface AvroRecordReader {
  text(record: AvroRecord, field: string): string;
  int(record: AvroRecord, field: string): number;
  optionalInt(record: AvroRecord, field: string): number | null;
  long(record: AvroRecord, field: string): bigint;
  optionalLong(record: AvroRecord, field: string): bigint | null;
  optionalBytes(record: AvroRecord, field: string): Uint8Array | null;
  record(record: AvroRecord, field: string): AvroRecord;
  /** A list of records; empty where absent or null. */
  records(record: AvroRecord, field: string): readonly AvroRecord[];
  /** The raw value; null where absent. */
  value(record: AvroRecord, field: string): AvroValue;
  /** Fields of the writer that are none of `ours`, by the writer's names. */
  readonly unknownFields: readonly string[];
}

/**
 * A reader for records of `writerSchema`, addressed by the field names of `ourSchema`. Wrong or missing values throw
 * `catalog-protocol` naming `what` and the field.
 */
export function avroRecordReader(writerSchema: JsonValue, ourSchema: JsonValue, what: string): AvroRecordReader {
  const writerFields = fieldsOf(writerSchema);
  const byId = new Map(writerFields.filter((field) => field.id !== null).map((field) => [field.id, field.name]));
  const byName = new Set(writerFields.filter((field) => field.id === null).map((field) => field.name));
  const names = new Map<string, string>();
  for (const { name, id } of fieldsOf(ourSchema)) {
    const theirs = byId.get(id) ?? (byName.has(name) ? name : undefined);
    if (theirs !== undefined) names.set(name, theirs);
  }
  const known = new Set(names.values());
  const value = (record: AvroRecord, field: string): AvroValue => {
    const theirs = names.get(field);
    return theirs === undefined ? null : record[theirs] ?? null;
  };
  const wrong = (field: string, expected: string): SinkError =>
    new SinkError('catalog-protocol', `${what}: ${field} must be ${expected}`);
  const must = <T>(found: T | null, field: string, expected: string): T => {
    if (found === null) throw wrong(field, expected);
    return found;
  };
  const optionalInt = (record: AvroRecord, field: string): number | null => {
    const found = value(record, field);
    if (found === null || typeof found === 'number') return found;
    if (typeof found === 'bigint' && BigInt.asIntN(32, found) === found) return Number(found);
    throw wrong(field, 'an int');
  };
  const optionalLong = (record: AvroRecord, field: string): bigint | null => {
    const found = value(record, field);
    if (found === null || typeof found === 'bigint') return found;
    if (typeof found === 'number' && Number.isSafeInteger(found)) return BigInt(found);
    throw wrong(field, 'a long');
  };
  return {
    unknownFields: writerFields.map((field) => field.name).filter((name) => !known.has(name)),
    value,
    optionalInt,
    optionalLong,
    int: (record, field) => must(optionalInt(record, field), field, 'an int'),
    long: (record, field) => must(optionalLong(record, field), field, 'a long'),
    text: (record, field) => {
      const found = value(record, field);
      if (typeof found !== 'string') throw wrong(field, 'a string');
      return found;
    },
    optionalBytes: (record, field) => {
      const found = value(record, field);
      if (found === null) return null;
      if (!(found instanceof Uint8Array)) throw wrong(field, 'bytes');
      return Uint8Array.from(found);
    },
    record: (record, field) => {
      const found = value(record, field);
      if (!isAvroRecord(found)) throw wrong(field, 'a record');
      return found;
    },
    records: (record, field) => {
      const found = value(record, field);
      if (found === null) return [];
      if (!isAvroArray(found) || !found.every(isAvroRecord)) throw wrong(field, 'a list of records');
      return found;
    },
  };
}

/** The schema of a record's field, unions with null unwrapped; null where there is none. By field id, else by name. */
export function fieldSchema(schema: JsonValue, id: number, name: string): JsonValue {
  const fields = isJsonObject(schema) && isJsonArray(schema['fields']) ? schema['fields'].filter(isJsonObject) : [];
  const byId = fields.find((candidate) => candidate['field-id'] === id);
  const field = byId ?? fields.find((candidate) => candidate['name'] === name);
  const type = field?.['type'] ?? null;
  return isJsonArray(type) ? type.find((branch) => branch !== 'null') ?? null : type;
}

export function isAvroArray(value: AvroValue): value is readonly AvroValue[] {
  return Array.isArray(value);
}

function isAvroRecord(value: AvroValue): value is AvroRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function fieldsOf(schema: JsonValue): readonly { readonly name: string; readonly id: number | null }[] {
  if (!isJsonObject(schema) || !isJsonArray(schema['fields'])) return [];
  return schema['fields'].filter(isJsonObject).map((field) => ({
    name: typeof field['name'] === 'string' ? field['name'] : '',
    id: typeof field['field-id'] === 'number' ? field['field-id'] : null,
  }));
}
