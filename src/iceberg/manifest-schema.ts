/**
 * The Avro schemas of manifests and manifest lists in format version 2 (spec: "Manifests" and "Manifest Lists"), for an
 * unpartitioned table, with the field ids that readers go by. Record names follow the specification's convention
 * (`r` and the field id), which Iceberg's own readers expect of nested records.
 */
import type { JsonObject, JsonValue } from './json.ts';

function field(id: number, name: string, type: JsonValue): JsonObject {
  return { name, type, 'field-id': id };
}

function optional(id: number, name: string, type: JsonValue): JsonObject {
  return { name, type: ['null', type], default: null, 'field-id': id };
}

function listOf(elementId: number, items: JsonValue): JsonObject {
  return { type: 'array', items, 'element-id': elementId };
}

/** Maps with keys other than strings are arrays of key-value records (spec: "Avro", maps). */
function mapOf(keyId: number, valueId: number, value: JsonValue): JsonObject {
  const fields = [field(keyId, 'key', 'int'), field(valueId, 'value', value)];
  return { type: 'array', logicalType: 'map', items: { type: 'record', name: `k${keyId}_v${valueId}`, fields } };
}

/** `data_file`; the partition is a struct without fields, since only unpartitioned tables are written. */
export const DATA_FILE_SCHEMA: JsonObject = {
  type: 'record',
  name: 'r2',
  fields: [
    field(134, 'content', 'int'),
    field(100, 'file_path', 'string'),
    field(101, 'file_format', 'string'),
    field(102, 'partition', { type: 'record', name: 'r102', fields: [] }),
    field(103, 'record_count', 'long'),
    field(104, 'file_size_in_bytes', 'long'),
    optional(108, 'column_sizes', mapOf(117, 118, 'long')),
    optional(109, 'value_counts', mapOf(119, 120, 'long')),
    optional(110, 'null_value_counts', mapOf(121, 122, 'long')),
    optional(137, 'nan_value_counts', mapOf(138, 139, 'long')),
    optional(125, 'lower_bounds', mapOf(126, 127, 'bytes')),
    optional(128, 'upper_bounds', mapOf(129, 130, 'bytes')),
    optional(131, 'key_metadata', 'bytes'),
    optional(132, 'split_offsets', listOf(133, 'long')),
    optional(135, 'equality_ids', listOf(136, 'int')),
    optional(140, 'sort_order_id', 'int'),
  ],
};

export const MANIFEST_ENTRY_SCHEMA: JsonObject = {
  type: 'record',
  name: 'manifest_entry',
  fields: [
    field(0, 'status', 'int'),
    optional(1, 'snapshot_id', 'long'),
    optional(3, 'sequence_number', 'long'),
    optional(4, 'file_sequence_number', 'long'),
    field(2, 'data_file', DATA_FILE_SCHEMA),
  ],
};

/** One record of a manifest list. */
export const MANIFEST_FILE_SCHEMA: JsonObject = {
  type: 'record',
  name: 'manifest_file',
  fields: [
    field(500, 'manifest_path', 'string'),
    field(501, 'manifest_length', 'long'),
    field(502, 'partition_spec_id', 'int'),
    field(517, 'content', 'int'),
    field(515, 'sequence_number', 'long'),
    field(516, 'min_sequence_number', 'long'),
    field(503, 'added_snapshot_id', 'long'),
    field(504, 'added_files_count', 'int'),
    field(505, 'existing_files_count', 'int'),
    field(506, 'deleted_files_count', 'int'),
    field(512, 'added_rows_count', 'long'),
    field(513, 'existing_rows_count', 'long'),
    field(514, 'deleted_rows_count', 'long'),
    optional(507, 'partitions', listOf(508, {
      type: 'record',
      name: 'r508',
      fields: [
        field(509, 'contains_null', 'boolean'),
        optional(518, 'contains_nan', 'boolean'),
        optional(510, 'lower_bound', 'bytes'),
        optional(511, 'upper_bound', 'bytes'),
      ],
    })),
    optional(519, 'key_metadata', 'bytes'),
  ],
};
