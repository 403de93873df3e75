/**
 * Table metadata while updates are applied to it: a private copy of the top-level members, and what one commit must
 * remember beside them ("the last one added" of schema, spec and sort order; which snapshots it added or removed).
 */
import { SinkError } from '../errors.ts';
import { type JsonObject, type JsonValue, asObject, getOptionalArray, getOptionalInt64, isAbsent } from './json.ts';

export interface MetadataDraft {
  readonly members: Record<string, JsonValue>;
  readonly nowMs: bigint;
  changed: boolean;
  lastUpdatedMs: bigint | null;
  lastAddedSchemaId: number | null;
  lastAddedSpecId: number | null;
  lastAddedSortOrderId: number | null;
  readonly addedSnapshotIds: Set<bigint>;
  /** Snapshots that were main's head within this commit and are not at its end: no time travel leads to them. */
  readonly passedHeadIds: Set<bigint>;
  removedSnapshots: boolean;
}

/**
 * The draft; metadata of format version 1 gets the lists and refs that later versions have. The input stays as it is.
 */
export function draftOf(metadata: JsonObject, nowMs: bigint): MetadataDraft {
  const members: Record<string, JsonValue> = { ...metadata };
  if (isAbsent(members, 'schemas')) {
    members['schemas'] = [{ 'schema-id': 0, ...asObject(members['schema'], 'metadata.schema') }];
    members['current-schema-id'] = 0;
  }
  if (isAbsent(members, 'partition-specs')) {
    members['partition-specs'] = [{ 'spec-id': 0, fields: members['partition-spec'] ?? [] }];
    members['default-spec-id'] = 0;
  }
  if (isAbsent(members, 'sort-orders')) {
    members['sort-orders'] = [{ 'order-id': 0, fields: [] }];
    members['default-sort-order-id'] = 0;
  }
  if (isAbsent(members, 'refs')) {
    const current = getOptionalInt64(members, 'current-snapshot-id', 'metadata');
    const main = { 'snapshot-id': members['current-snapshot-id'] ?? null, type: 'branch' };
    members['refs'] = current !== null && current >= 0n ? { main } : {};
  }
  return {
    members,
    nowMs,
    changed: false,
    lastUpdatedMs: null,
    lastAddedSchemaId: null,
    lastAddedSpecId: null,
    lastAddedSortOrderId: null,
    addedSnapshotIds: new Set(),
    passedHeadIds: new Set(),
    removedSnapshots: false,
  };
}

export function put(draft: MetadataDraft, key: string, value: JsonValue): void {
  draft.members[key] = value;
  draft.changed = true;
}

/** A list of objects of the metadata, such as `schemas`; empty where absent. */
export function objectsOf(draft: MetadataDraft, key: string): readonly JsonObject[] {
  const items = getOptionalArray(draft.members, key, 'metadata');
  return items.map((item, index) => asObject(item, `metadata.${key}[${index}]`));
}

export function refused(message: string): SinkError {
  return new SinkError('commit-refused', message);
}
