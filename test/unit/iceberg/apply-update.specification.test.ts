import { describe, expect, it } from 'vitest';
import { applyUpdates } from '../../../src/iceberg/apply-update.ts';
import { type JsonObject, type JsonValue, asObject, formatJson, parseJson } from '../../../src/iceberg/json.ts';
import { parseTableMetadata } from '../../../src/iceberg/metadata-json.ts';
import { newTableMetadata } from '../../../src/iceberg/new-table-metadata.ts';

const NOW = 1_800_000_000_000n;

function freshTable(formatVersion = 2): JsonObject {
  return newTableMetadata({
    uuid: 'u-1', location: 's3://b/t', partitionSpec: null, writeOrder: null, properties: { a: '1' }, nowMs: 1000n, formatVersion,
    schema: { type: 'struct', fields: [{ id: 1, name: 'x', required: true, type: 'long' }] },
  });
}

function snapshot(id: number | bigint, sequenceNumber: number, timestampMs: number, more: JsonObject = {}): JsonObject {
  return {
    action: 'add-snapshot',
    snapshot: {
      'snapshot-id': id, 'sequence-number': sequenceNumber, 'timestamp-ms': timestampMs, summary: { operation: 'append' },
      'manifest-list': `s3://b/t/metadata/${id}.avro`, 'schema-id': 0, ...more,
    },
  };
}

function setMain(id: number | bigint): JsonObject {
  return { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id };
}

function apply(metadata: JsonObject, ...updates: JsonObject[]): JsonObject {
  return applyUpdates(metadata, updates, NOW);
}

/** A table whose main went 1 → 2 → 3. */
function withThree(): JsonObject {
  let table = freshTable();
  for (const id of [1, 2, 3]) {
    table = apply(table, snapshot(id, id, 1000 * id, id === 1 ? {} : { 'parent-snapshot-id': id - 1 }), setMain(id));
  }
  return table;
}

function logOf(table: JsonObject): JsonValue[] {
  return (table['snapshot-log'] as readonly JsonObject[]).map((entry) => entry['snapshot-id'] ?? null);
}

describe('GIVEN snapshots are committed', () => {
  it('WHEN a snapshot is added and main set to it THEN current id, sequence number, log and time follow', () => {
    const id = 5735460159761889537n;
    const table = apply(freshTable(), snapshot(id, 1, 5000), setMain(id));
    expect(table).toMatchObject({ 'current-snapshot-id': id, 'last-sequence-number': 1, 'last-updated-ms': 5000n });
    expect(table['snapshot-log']).toEqual([{ 'timestamp-ms': 5000n, 'snapshot-id': id }]);
    expect(parseTableMetadata(parseJson(formatJson(table))).refs).toEqual({ main: { snapshotId: id, type: 'branch' } });
  });

  it('WHEN the input is looked at afterwards THEN it has not changed', () => {
    const before = withThree();
    const text = formatJson(before);
    apply(before, snapshot(4, 4, 9000, { 'parent-snapshot-id': 3 }), setMain(4), { action: 'remove-snapshots', 'snapshot-ids': [1] });
    expect(formatJson(before)).toBe(text);
  });

  it.each([
    ['an id that exists', snapshot(3, 9, 9000, { 'parent-snapshot-id': 3 }), 'Snapshot already exists for id: 3'],
    ['an old sequence number', snapshot(4, 3, 9000, { 'parent-snapshot-id': 3 }), 'Cannot add snapshot with sequence number 3 older than last sequence number 3'],
    ['a time far before the last', { ...snapshot(4, 4, 9000), snapshot: { ...asObject(snapshot(4, 4, 9000)['snapshot'], '$'), 'timestamp-ms': -60000 } }, 'Invalid update timestamp'],
    ['a ref to nowhere', setMain(99), 'Cannot set main to unknown snapshot: 99'],
    ['main as a tag', { ...setMain(2), type: 'tag' }, 'Cannot set main to a tag'],
  ])('WHEN a commit has %s THEN it is refused', (_what, update, why) => {
    expect(() => apply(withThree(), update)).toThrow(expect.objectContaining({ code: 'commit-refused', message: expect.stringContaining(why) as string }));
  });

  it('WHEN two snapshots come in one commit THEN only the last one is in the log', () => {
    const table = apply(freshTable(), snapshot(1, 1, 1000), setMain(1), snapshot(2, 2, 2000, { 'parent-snapshot-id': 1 }), setMain(2));
    expect(logOf(table)).toEqual([2]);
  });

  it('WHEN main is rolled back THEN the log says so at the time of the commit', () => {
    const table = apply(withThree(), setMain(1));
    expect(table).toMatchObject({ 'current-snapshot-id': 1, 'last-updated-ms': NOW, 'last-sequence-number': 3 });
    expect((table['snapshot-log'] as readonly JsonObject[]).at(-1)).toEqual({ 'timestamp-ms': NOW, 'snapshot-id': 1 });
  });

  it('WHEN snapshots are removed THEN their refs and statistics go and the log begins after the gap', () => {
    const tagged = apply(withThree(), { action: 'set-snapshot-ref', 'ref-name': 't', type: 'tag', 'snapshot-id': 2, 'max-ref-age-ms': 5 },
      { action: 'set-statistics', statistics: { 'snapshot-id': 2, 'statistics-path': 'p' } });
    expect(tagged['refs']).toMatchObject({ t: { 'snapshot-id': 2, type: 'tag', 'max-ref-age-ms': 5 } });
    const table = apply(tagged, { action: 'remove-snapshots', 'snapshot-ids': [2, 77] });
    expect(Object.keys(asObject(table['refs'], '$'))).toEqual(['main']);
    expect(table['statistics']).toEqual([]);
    expect(logOf(table)).toEqual([3]);
  });

  it('WHEN main is removed THEN there is no current snapshot', () => {
    expect(apply(withThree(), { action: 'remove-snapshot-ref', 'ref-name': 'main' })).toMatchObject({ refs: {}, 'current-snapshot-id': -1 });
  });

  it('WHEN the table has version 3 THEN row ids are asked for and counted', () => {
    expect(() => apply(freshTable(3), snapshot(1, 1, 1000))).toThrow('first-row-id is null');
    const table = apply(freshTable(3), snapshot(1, 1, 1000, { 'first-row-id': 0, 'added-rows': 5 }));
    expect(table['next-row-id']).toBe(5n);
    expect(() => apply(table, snapshot(2, 2, 2000, { 'first-row-id': 4, 'added-rows': 1 }))).toThrow('behind table next-row-id: 4 < 5');
  });
});

describe('GIVEN the shape of a table is changed', () => {
  const wider: JsonObject = {
    type: 'struct',
    fields: [{ id: 1, name: 'x', required: true, type: 'long' },
      { id: 2, name: 'l', required: false, type: { type: 'list', 'element-id': 7, element: 'string', 'element-required': false } }],
  };

  it('WHEN a schema is added and made current THEN it gets the next id and last-column-id counts nested ids', () => {
    const table = apply(freshTable(), { action: 'add-schema', schema: { ...wider, 'schema-id': 0 } }, { action: 'set-current-schema', 'schema-id': -1 });
    expect(table).toMatchObject({ 'current-schema-id': 1, 'last-column-id': 7 });
    const again = apply(table, { action: 'add-schema', schema: wider }, { action: 'set-current-schema', 'schema-id': -1 });
    expect(again).toBe(table);
  });

  it('WHEN "the last added" is set but nothing was added THEN it is refused', () => {
    for (const update of [
      { action: 'set-current-schema', 'schema-id': -1 }, { action: 'set-default-spec', 'spec-id': -1 }, { action: 'set-default-sort-order', 'sort-order-id': -1 },
      { action: 'set-current-schema', 'schema-id': 5 }, { action: 'set-default-spec', 'spec-id': 5 }, { action: 'set-default-sort-order', 'sort-order-id': 5 },
      { action: 'remove-schemas', 'schema-ids': [0] }, { action: 'remove-partition-specs', 'spec-ids': [0] },
    ]) expect(() => apply(freshTable(), update)).toThrow(expect.objectContaining({ code: 'commit-refused' }));
  });

  it('WHEN spec and sort order are added THEN ids are assigned and reused for the same ones', () => {
    const spec = { action: 'add-spec', spec: { fields: [{ 'source-id': 1, name: 'xb', transform: 'bucket[4]' }] } };
    const order = { action: 'add-sort-order', 'sort-order': { 'order-id': 1, fields: [{ 'source-id': 1, transform: 'identity', direction: 'asc', 'null-order': 'nulls-first' }] } };
    const table = apply(freshTable(), spec, { action: 'set-default-spec', 'spec-id': -1 }, order, { action: 'set-default-sort-order', 'sort-order-id': -1 });
    expect(table).toMatchObject({ 'default-spec-id': 1, 'last-partition-id': 1000, 'default-sort-order-id': 1 });
    expect((table['partition-specs'] as readonly JsonObject[])[1]).toEqual({ 'spec-id': 1, fields: [{ 'source-id': 1, name: 'xb', transform: 'bucket[4]', 'field-id': 1000 }] });
    expect(apply(table, spec, { action: 'set-default-spec', 'spec-id': -1 }, order)).toBe(table);
    const back = apply(table, { action: 'set-default-spec', 'spec-id': 0 }, { action: 'remove-partition-specs', 'spec-ids': [1] });
    expect(back['partition-specs']).toHaveLength(1);
  });

  it('WHEN properties and location change THEN only those do, and the time is that of the commit', () => {
    const table = apply(freshTable(), { action: 'set-properties', updates: { b: '2', a: '3' } },
      { action: 'remove-properties', removals: ['a'] }, { action: 'set-location', location: 's3://b/other' });
    expect(table).toMatchObject({ properties: { b: '2' }, location: 's3://b/other', 'last-updated-ms': NOW });
    expect(table['properties']).not.toHaveProperty('a');
  });

  it('WHEN nothing changes THEN the very same metadata comes back', () => {
    const table = withThree();
    expect(apply(table, setMain(3), { action: 'set-properties', updates: {} }, { action: 'assign-uuid', uuid: 'u-1' },
      { action: 'set-current-schema', 'schema-id': 0 }, { action: 'upgrade-format-version', 'format-version': 2 })).toBe(table);
  });

  it('WHEN uuid or version would go back THEN it is refused', () => {
    expect(() => apply(freshTable(), { action: 'assign-uuid', uuid: 'other' })).toThrow('Cannot reassign uuid');
    expect(() => apply(freshTable(3), { action: 'upgrade-format-version', 'format-version': 2 })).toThrow('Cannot downgrade v3 table to v2');
    expect(apply(freshTable(), { action: 'upgrade-format-version', 'format-version': 3 })).toMatchObject({ 'format-version': 3, 'next-row-id': 0 });
  });

  it('WHEN an update is unknown THEN the whole commit is refused', () => {
    expect(() => apply(freshTable(), { action: 'set-properties', updates: { z: '1' } }, { action: 'make-coffee' })).toThrow("unknown update 'make-coffee'");
  });
});

describe('GIVEN version 1 metadata', () => {
  it('WHEN it is upgraded THEN schema and spec move into the lists', () => {
    const table = apply({
      'format-version': 1, 'table-uuid': 'u', location: 's3://b/v1', 'last-updated-ms': 1, 'last-column-id': 1,
      schema: { type: 'struct', fields: [{ id: 1, name: 'x', required: true, type: 'long' }] }, 'partition-spec': [], 'current-snapshot-id': -1,
    }, { action: 'upgrade-format-version', 'format-version': 2 });
    const read = parseTableMetadata(parseJson(formatJson(table)));
    expect(read).toMatchObject({ formatVersion: 2, currentSchemaId: 0, lastSequenceNumber: 0n, currentSnapshotId: null });
    expect(table).not.toHaveProperty('schema');
  });
});
