import { describe, expect, it } from 'vitest';
import { type JsonObject, asObject, parseJson } from '../../../src/iceberg/json.ts';
import { requirementToJson } from '../../../src/iceberg/metadata-json.ts';
import { checkRequirement } from '../../../src/iceberg/requirements.ts';

const METADATA: JsonObject = asObject(parseJson(`{
  "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "last-column-id": 3, "current-schema-id": 1,
  "last-partition-id": 1000, "default-spec-id": 2, "default-sort-order-id": 3, "current-snapshot-id": 5735460159761889537,
  "refs": {"main": {"snapshot-id": 5735460159761889537, "type": "branch"}, "v1": {"snapshot-id": 7, "type": "tag"}}
}`), '$');

const HOLDING: readonly JsonObject[] = [
  { type: 'assert-table-uuid', uuid: '9C12D441-03FE-4693-9A96-A0705DDF69C1' },
  { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 5735460159761889537n },
  { type: 'assert-ref-snapshot-id', ref: 'v1', 'snapshot-id': 7 },
  { type: 'assert-ref-snapshot-id', ref: 'other', 'snapshot-id': null },
  { type: 'assert-ref-snapshot-id', ref: 'toString', 'snapshot-id': null },
  { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 3 },
  { type: 'assert-current-schema-id', 'current-schema-id': 1 },
  { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 1000 },
  { type: 'assert-default-spec-id', 'default-spec-id': 2 },
  { type: 'assert-default-sort-order-id', 'default-sort-order-id': 3 },
];

// The words of Apache Polaris 1.4.1, as it was recorded to answer.
const FAILING: readonly (readonly [JsonObject, string])[] = [
  [{ type: 'assert-create' }, 'table already exists'],
  [{ type: 'assert-table-uuid', uuid: 'x' }, 'UUID does not match: expected 9c12d441-03fe-4693-9a96-a0705ddf69c1 != x'],
  // The same double as the head, another id: the reason for bigints.
  [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': 5735460159761889536n },
    'branch main has changed: expected id 5735460159761889536 != 5735460159761889537'],
  [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }, 'branch main was created concurrently'],
  [{ type: 'assert-ref-snapshot-id', ref: 'v1', 'snapshot-id': 8 }, 'tag v1 has changed: expected id 8 != 7'],
  [{ type: 'assert-ref-snapshot-id', ref: 'gone', 'snapshot-id': 12345 }, 'branch or tag gone is missing, expected 12345'],
  [{ type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 2 }, 'last assigned field id changed: expected id 2 != 3'],
  [{ type: 'assert-current-schema-id', 'current-schema-id': 0 }, 'current schema changed: expected id 0 != 1'],
  [{ type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 999 }, 'last assigned partition id changed: expected id 999 != 1000'],
  [{ type: 'assert-default-spec-id', 'default-spec-id': 0 }, 'default partition spec changed: expected id 0 != 2'],
  [{ type: 'assert-default-sort-order-id', 'default-sort-order-id': 0 }, 'default sort order changed: expected id 0 != 3'],
];

describe('GIVEN the metadata of a table', () => {
  it.each(HOLDING)('WHEN %o is checked THEN it holds', (requirement) => {
    expect(checkRequirement(METADATA, requirement)).toBeNull();
  });

  it.each(FAILING)('WHEN %o is checked THEN it fails as a real catalog words it', (requirement, why) => {
    expect(checkRequirement(METADATA, requirement)).toBe(`Requirement failed: ${why}`);
  });

  it('WHEN refs are absent THEN main is the current snapshot', () => {
    const { refs: _refs, ...older } = METADATA;
    expect(checkRequirement(older, requirementToJson({ type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: 5735460159761889537n }))).toBeNull();
    expect(checkRequirement({ ...older, 'current-snapshot-id': -1 }, { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null })).toBeNull();
  });

  it('WHEN a requirement is unknown THEN it is refused, not skipped', () => {
    expect(() => checkRequirement(METADATA, { type: 'assert-weather' })).toThrow("unknown requirement 'assert-weather'");
  });
});

describe('GIVEN that the table does not exist', () => {
  it('WHEN assert-create is checked THEN it holds, and everything else fails', () => {
    expect(checkRequirement(null, { type: 'assert-create' })).toBeNull();
    expect(checkRequirement(null, { type: 'assert-table-uuid', uuid: 'x' })).toBe('Requirement failed: table does not exist');
  });
});
