import { describe, expect, it } from 'vitest';
import { type JsonObject, formatJson, parseJson } from '../../../src/iceberg/json.ts';
import { currentSchema, parseTableMetadata } from '../../../src/iceberg/metadata-json.ts';
import { newTableMetadata } from '../../../src/iceberg/new-table-metadata.ts';
import { schemaToJson } from '../../../src/iceberg/schema-json.ts';

const NEW_TABLE = {
  uuid: 'u', location: 's3://b/t', partitionSpec: null, writeOrder: null, properties: { p: 'v' }, nowMs: 7n, formatVersion: 2,
} as const;

const NESTED: JsonObject = {
  type: 'struct',
  'schema-id': 9,
  'identifier-field-ids': [30],
  fields: [
    { id: 10, name: 's', required: false, doc: 'kept', type: { type: 'struct', fields: [
      { id: 11, name: 'a', required: true, type: 'int' },
      { id: 12, name: 'l', required: false, type: { type: 'list', 'element-id': 13, element: { type: 'struct', fields: [
        { id: 14, name: 'b', required: false, type: 'string' }] }, 'element-required': true } },
    ] } },
    { id: 20, name: 'm', required: false, type: { type: 'map', 'key-id': 21, key: 'string', 'value-id': 22,
      value: { type: 'list', 'element-id': 23, element: 'decimal(38,10)', 'element-required': false }, 'value-required': false } },
    { id: 30, name: 'k', required: true, type: 'long' },
  ],
};

describe('GIVEN a nested schema with the client\'s own ids', () => {
  it('WHEN a table is made THEN ids are those of Iceberg Java: a struct\'s fields first, then what is below each', () => {
    const read = parseTableMetadata(parseJson(formatJson(newTableMetadata({ ...NEW_TABLE, schema: NESTED }))));
    expect(schemaToJson(currentSchema(read))).toEqual({
      type: 'struct',
      'schema-id': 0,
      'identifier-field-ids': [3],
      fields: [
        { id: 1, name: 's', required: false, doc: 'kept', type: { type: 'struct', fields: [
          { id: 4, name: 'a', required: true, type: 'int' },
          { id: 5, name: 'l', required: false, type: { type: 'list', 'element-id': 6, element: { type: 'struct', fields: [
            { id: 7, name: 'b', required: false, type: 'string' }] }, 'element-required': true } },
        ] } },
        { id: 2, name: 'm', required: false, type: { type: 'map', 'key-id': 8, key: 'string', 'value-id': 9,
          value: { type: 'list', 'element-id': 10, element: 'decimal(38, 10)', 'element-required': false }, 'value-required': false } },
        { id: 3, name: 'k', required: true, type: 'long' },
      ],
    });
    expect(read).toMatchObject({ lastColumnId: 10, lastSequenceNumber: 0n, currentSnapshotId: null, refs: {}, properties: { p: 'v' }, lastUpdatedMs: 7n });
  });

  it('WHEN spec and order name columns THEN they follow them to their new ids', () => {
    const metadata = newTableMetadata({
      ...NEW_TABLE, schema: NESTED,
      partitionSpec: { 'spec-id': 4, fields: [{ 'source-id': 30, 'field-id': 5, name: 'kb', transform: 'bucket[8]' }] },
      writeOrder: { 'order-id': 6, fields: [{ 'source-id': 30, transform: 'identity', direction: 'desc', 'null-order': 'nulls-last' }] },
    });
    expect(metadata['partition-specs']).toEqual([{ 'spec-id': 0, fields: [{ 'source-id': 3, 'field-id': 1000, name: 'kb', transform: 'bucket[8]' }] }]);
    expect(metadata['sort-orders']).toEqual([{ 'order-id': 1, fields: [{ 'source-id': 3, transform: 'identity', direction: 'desc', 'null-order': 'nulls-last' }] }]);
    expect(metadata).toMatchObject({ 'last-partition-id': 1000, 'default-sort-order-id': 1 });
  });

  it('WHEN an identifier or a source is no column THEN the table is refused', () => {
    expect(() => newTableMetadata({ ...NEW_TABLE, schema: { ...NESTED, 'identifier-field-ids': [1] } })).toThrow('identifier field: 1');
    expect(() => newTableMetadata({ ...NEW_TABLE, schema: NESTED, partitionSpec: { fields: [{ 'source-id': 99, name: 'x', transform: 'identity' }] } }))
      .toThrow(expect.objectContaining({ code: 'commit-refused' }));
  });

  it('WHEN the table has version 3 THEN it counts row ids', () => {
    expect(newTableMetadata({ ...NEW_TABLE, schema: NESTED, formatVersion: 3 })).toMatchObject({ 'next-row-id': 0, 'current-snapshot-id': null });
  });
});
