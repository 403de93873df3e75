/**
 * The specification's metadata logic of `iceberg/`, with its refusals turned into the answers a client of Polaris
 * sees: a requirement that fails is 409, anything the server can't read is 400.
 */
import { SinkError } from '../../errors.ts';
import { applyUpdates } from '../../iceberg/apply-update.ts';
import type { JsonObject } from '../../iceberg/json.ts';
import { newTableMetadata } from '../../iceberg/new-table-metadata.ts';
import type { NewTable } from '../../iceberg/new-table-metadata.ts';
import { checkRequirement } from '../../iceberg/requirements.ts';
import { Refusal, commitFailed, unreadableRequest } from './answer.ts';

const REQUIREMENT_TYPES: ReadonlySet<unknown> = new Set([
  'assert-create', 'assert-table-uuid', 'assert-ref-snapshot-id', 'assert-last-assigned-field-id', 'assert-current-schema-id',
  'assert-last-assigned-partition-id', 'assert-default-spec-id', 'assert-default-sort-order-id',
]);

const UPDATE_ACTIONS: ReadonlySet<unknown> = new Set([
  'assign-uuid', 'upgrade-format-version', 'add-schema', 'set-current-schema', 'remove-schemas', 'add-spec', 'set-default-spec',
  'remove-partition-specs', 'add-sort-order', 'set-default-sort-order', 'add-snapshot', 'set-snapshot-ref', 'remove-snapshots',
  'remove-snapshot-ref', 'set-location', 'set-properties', 'remove-properties', 'set-statistics', 'remove-statistics',
  'set-partition-statistics', 'remove-partition-statistics',
]);

/**
 * 400 when a requirement or an update is one the specification doesn't have. Before any of them is looked at: a
 * server that skipped what it doesn't know would break the promise the client asked for.
 */
export function refuseUnknown(requirements: readonly JsonObject[], updates: readonly JsonObject[]): void {
  const known = requirements.every((requirement) => REQUIREMENT_TYPES.has(requirement['type']))
    && updates.every((update) => UPDATE_ACTIONS.has(update['action']));
  if (!known) throw unreadableRequest();
}

/** 409 unless all hold on `base`; null: the table doesn't exist. */
export function checkRequirements(base: JsonObject | null, requirements: readonly JsonObject[]): void {
  for (const requirement of requirements) {
    const failure = checkRequirement(base, requirement);
    if (failure !== null) throw commitFailed(failure);
  }
}

export function changedMetadata(base: JsonObject, updates: readonly JsonObject[], nowMs: number): JsonObject {
  return answeringInvalid(() => applyUpdates(base, updates, BigInt(nowMs)));
}

export function bornMetadata(table: NewTable): JsonObject {
  return answeringInvalid(() => newTableMetadata(table));
}

function answeringInvalid<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof SinkError)) throw thrown;
    if (thrown.code === 'commit-refused') throw new Refusal(400, 'ValidationException', thrown.message);
    if (thrown.code === 'catalog-protocol') throw unreadableRequest();
    throw thrown;
  }
}
