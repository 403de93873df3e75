/**
 * The requirements of a commit, checked against table metadata (REST specification, `TableRequirement`). In: raw
 * metadata JSON, null where the table does not exist, and a requirement as the request has it. Out: null when it
 * holds, else why not, worded as Iceberg's own catalogs word it, since clients and people look for those words.
 */
import { SinkError } from '../errors.ts';
import {
  type JsonObject, asObject, getInt32, getOptionalInt32, getOptionalInt64, getOptionalString, getString, isAbsent,
} from './json.ts';

/**
 * Throws `catalog-protocol` for a requirement that the specification does not have: skipping it would break a promise.
 */
export function checkRequirement(metadata: JsonObject | null, requirement: JsonObject): string | null {
  const type = getString(requirement, 'type', 'requirement');
  if (type === 'assert-create') return metadata === null ? null : 'Requirement failed: table already exists';
  if (!CHECKS.has(type)) throw new SinkError('catalog-protocol', `unknown requirement '${type}'`);
  if (metadata === null) return 'Requirement failed: table does not exist';
  return CHECKS.get(type)?.(metadata, requirement) ?? null;
}

type Check = (metadata: JsonObject, requirement: JsonObject) => string | null;

const CHECKS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['assert-table-uuid', checkUuid],
  ['assert-ref-snapshot-id', checkRef],
  ['assert-last-assigned-field-id', idCheck('last-assigned-field-id', 'last-column-id', 'last assigned field id')],
  ['assert-current-schema-id', idCheck('current-schema-id', 'current-schema-id', 'current schema')],
  [
    'assert-last-assigned-partition-id',
    idCheck('last-assigned-partition-id', 'last-partition-id', 'last assigned partition id'),
  ],
  ['assert-default-spec-id', idCheck('default-spec-id', 'default-spec-id', 'default partition spec')],
  ['assert-default-sort-order-id', idCheck('default-sort-order-id', 'default-sort-order-id', 'default sort order')],
]);

function checkUuid(metadata: JsonObject, requirement: JsonObject): string | null {
  const sent = getString(requirement, 'uuid', 'requirement');
  const actual = getOptionalString(metadata, 'table-uuid', 'metadata');
  if (actual !== null && actual.toLowerCase() === sent.toLowerCase()) return null;
  return `Requirement failed: UUID does not match: expected ${actual} != ${sent}`;
}

function checkRef(metadata: JsonObject, requirement: JsonObject): string | null {
  const name = getString(requirement, 'ref', 'requirement');
  const expected = getOptionalInt64(requirement, 'snapshot-id', 'requirement');
  const ref = findRef(metadata, name);
  if (ref === null) {
    return expected === null ? null : `Requirement failed: branch or tag ${name} is missing, expected ${expected}`;
  }
  if (expected === null) return `Requirement failed: ${ref.type} ${name} was created concurrently`;
  if (expected === ref.snapshotId) return null;
  return `Requirement failed: ${ref.type} ${name} has changed: expected id ${expected} != ${ref.snapshotId}`;
}

function findRef(metadata: JsonObject, name: string): { readonly type: string; readonly snapshotId: bigint } | null {
  if (!isAbsent(metadata, 'refs')) {
    const refs = asObject(metadata['refs'], 'metadata.refs');
    const at = `metadata.refs.${name}`;
    if (!Object.hasOwn(refs, name) || isAbsent(refs, name)) return null;
    const ref = asObject(refs[name], at);
    const snapshotId = getOptionalInt64(ref, 'snapshot-id', at);
    return snapshotId === null ? null : { type: getString(ref, 'type', at), snapshotId };
  }
  // Metadata from before branches existed has only a current snapshot, which is what main means.
  const current = getOptionalInt64(metadata, 'current-snapshot-id', 'metadata');
  return name === 'main' && current !== null && current >= 0n ? { type: 'branch', snapshotId: current } : null;
}

function idCheck(requirementKey: string, metadataKey: string, what: string): Check {
  return (metadata, requirement) => {
    const expected = getInt32(requirement, requirementKey, 'requirement');
    const actual = getOptionalInt32(metadata, metadataKey, 'metadata');
    return actual === expected ? null : `Requirement failed: ${what} changed: expected id ${expected} != ${actual}`;
  };
}
