import { describe, expect, it } from 'vitest';
import { formatJson, parseJson } from '../../../src/iceberg/json.ts';
import {
  currentSchema, parseTableMetadata, requirementToJson, snapshotToJson, updateToJson,
} from '../../../src/iceberg/metadata-json.ts';
import { formatType } from '../../../src/iceberg/types.ts';

const V2 = {
  'format-version': 2,
  'table-uuid': '9c12d441-03fe-4693-9a96-a0705ddf69c1',
  location: 's3://bucket/test/location',
  'last-sequence-number': 34,
  'last-updated-ms': 1602638573590,
  'last-column-id': 3,
  'current-schema-id': 1,
  schemas: [
    { type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'x', required: true, type: 'long' }] },
    {
      type: 'struct', 'schema-id': 1, 'identifier-field-ids': [1, 2],
      fields: [
        { id: 1, name: 'x', required: true, type: 'long' },
        { id: 2, name: 'y', required: true, type: 'decimal(9, 2)', doc: 'comment' },
        { id: 3, name: 'z', required: false, type: 'fixed[16]' },
      ],
    },
  ],
  'default-spec-id': 0,
  'partition-specs': [{ 'spec-id': 0, fields: [{ name: 'x', transform: 'identity', 'source-id': 1, 'field-id': 1000 }] }],
  'last-partition-id': 1000,
  'default-sort-order-id': 3,
  'sort-orders': [],
  properties: { 'read.split.target.size': '134217728' },
};

function metadata(more: string): ReturnType<typeof parseTableMetadata> {
  const base = JSON.stringify(V2);
  return parseTableMetadata(parseJson(more === '' ? base : `${base.slice(0, -1)},${more}}`));
}

describe('GIVEN version 2 metadata', () => {
  it('WHEN it has snapshots THEN ids beyond 2^53 are exact', () => {
    const read = metadata(`"current-snapshot-id":3055729675574597004,"snapshots":[
      {"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770,"sequence-number":0,"summary":{"operation":"append"},"manifest-list":"s3://a/b/1.avro"},
      {"snapshot-id":3055729675574597004,"parent-snapshot-id":3051729675574597004,"timestamp-ms":1555100955770,"sequence-number":1,
       "summary":{"operation":"append"},"manifest-list":"s3://a/b/2.avro","schema-id":1}],
      "snapshot-log":[{"snapshot-id":3051729675574597004,"timestamp-ms":1515100955770}],
      "refs":{"main":{"snapshot-id":3055729675574597004,"type":"branch"},"t":{"snapshot-id":3051729675574597004,"type":"tag","max-ref-age-ms":1}}`);
    expect(read.currentSnapshotId).toBe(3055729675574597004n);
    expect(read.snapshots.map((snapshot) => snapshot.parentSnapshotId)).toEqual([null, 3051729675574597004n]);
    expect(read.snapshots[1]?.schemaId).toBe(1);
    expect(read.refs).toEqual({
      main: { snapshotId: 3055729675574597004n, type: 'branch' },
      t: { snapshotId: 3051729675574597004n, type: 'tag' },
    });
    expect(read.snapshotLogLength).toBe(1);
    expect(currentSchema(read).fields.map((field) => formatType(field.type))).toEqual(['long', 'decimal(9,2)', 'fixed(16)']);
    expect(currentSchema(read).identifierFieldIds).toEqual([1, 2]);
  });

  it.each(['', '"current-snapshot-id":null', '"current-snapshot-id":-1,"snapshots":null,"refs":{}'])(
    'WHEN "no snapshot" is spelled %s THEN it is null and there is no ref',
    (spelling) => {
      const read = metadata(spelling);
      expect(read.currentSnapshotId).toBeNull();
      expect(read.refs).toEqual({});
      expect(read.snapshots).toEqual([]);
    },
  );

  it('WHEN refs are absent THEN main is the current snapshot', () => {
    const read = metadata('"current-snapshot-id":7,"snapshots":[{"snapshot-id":7,"timestamp-ms":1,"sequence-number":1,"summary":{},"manifest-list":"m"}]');
    expect(read.refs).toEqual({ main: { snapshotId: 7n, type: 'branch' } });
  });

  it('WHEN a field has the wrong type THEN the error names where', () => {
    expect(() => metadata('"refs":{"main":{"snapshot-id":"7","type":"branch"}}')).toThrow('metadata.refs.main.snapshot-id must be');
    expect(() => parseTableMetadata({ ...V2, schemas: [{ fields: [{ id: 1, name: 'x', required: true }] }] }))
      .toThrow('metadata.schemas[0].fields[0].type');
  });

  it('WHEN a schema holds types of a later version THEN it is readable and they keep their names', () => {
    const fields = [
      { id: 1, name: 'v', required: false, type: 'variant' },
      { id: 2, name: 'n', required: false, type: 'timestamp_ns', 'initial-default': 'x', 'write-default': 'y' },
    ];
    const read = parseTableMetadata({ ...V2, 'format-version': 3, 'current-schema-id': 0, schemas: [{ 'schema-id': 0, fields }] });
    expect(currentSchema(read).fields.map((field) => formatType(field.type))).toEqual(['variant', 'timestamp_ns']);
  });

  it('WHEN the version is unknown THEN the table is unsupported, not malformed', () => {
    expect(() => parseTableMetadata({ ...V2, 'format-version': 4 })).toThrow(expect.objectContaining({ code: 'table-unsupported' }));
  });
});

describe('GIVEN version 1 metadata', () => {
  it('WHEN it has the old spellings only THEN schema, spec and snapshots are read', () => {
    const read = parseTableMetadata({
      'format-version': 1,
      'table-uuid': 'd20125c8-7284-442c-9aea-15fee620737c',
      location: 's3://bucket/v1',
      'last-updated-ms': 1602638573874,
      'last-column-id': 3,
      schema: { type: 'struct', fields: [{ id: 1, name: 'x', required: true, type: 'long' }] },
      'partition-spec': [{ name: 'x', transform: 'identity', 'source-id': 1 }],
      properties: {},
      'current-snapshot-id': -1,
      snapshots: [{ 'snapshot-id': 1, 'timestamp-ms': 1515100955770, 'manifest-list': 's3://a/1.avro' }],
    });
    expect(read.partitionSpecs).toEqual([{ specId: 0, fields: [{ sourceId: 1, fieldId: 1000, name: 'x', transform: 'identity' }] }]);
    expect(currentSchema(read).fields).toHaveLength(1);
    expect(read.snapshots[0]).toMatchObject({ sequenceNumber: 0n, summary: {} });
    expect(read.lastSequenceNumber).toBe(0n);
  });
});

describe('GIVEN the parts of a commit', () => {
  const snapshot = {
    snapshotId: 5735460159761889537n, parentSnapshotId: null, sequenceNumber: 1n, timestampMs: 1700000000000n,
    summary: { operation: 'append', 'mz-frontier': '[5]' }, manifestList: 's3://b/m/snap.avro', schemaId: 0,
  };

  it('WHEN written THEN they are the JSON of the REST specification', () => {
    expect(formatJson(updateToJson({ action: 'add-snapshot', snapshot }))).toBe(
      '{"action":"add-snapshot","snapshot":{"snapshot-id":5735460159761889537,"sequence-number":1,"timestamp-ms":1700000000000,'
      + '"summary":{"operation":"append","mz-frontier":"[5]"},"manifest-list":"s3://b/m/snap.avro","schema-id":0}}',
    );
    expect(snapshotToJson({ ...snapshot, parentSnapshotId: 9n })['parent-snapshot-id']).toBe(9n);
    expect(formatJson(updateToJson({ action: 'set-snapshot-ref', ref: 'main', snapshotId: 5735460159761889537n, type: 'branch' }))).toBe(
      '{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":5735460159761889537}',
    );
    expect(formatJson(updateToJson({ action: 'set-properties', updates: { a: 'b' } }))).toBe('{"action":"set-properties","updates":{"a":"b"}}');
  });

  it('WHEN a ref must not exist THEN its snapshot id is said to be null', () => {
    expect(formatJson(requirementToJson({ type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: null })))
      .toBe('{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}');
    expect(formatJson(requirementToJson({ type: 'assert-table-uuid', uuid: 'u' }))).toBe('{"type":"assert-table-uuid","uuid":"u"}');
    expect(formatJson(requirementToJson({ type: 'assert-create' }))).toBe('{"type":"assert-create"}');
  });
});
