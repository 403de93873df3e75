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

/** 409 unless all hold on `base`; null: the table doesn't exist. */
export function checkRequirements(base: JsonObject | null, requirements: readonly JsonObject[]): void {
  for (const requirement of requirements) {
    const failure = answeringInvalid(() => checkRequirement(base, requirement));
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
