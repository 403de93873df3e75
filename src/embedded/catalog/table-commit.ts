/**
 * Commits: requirements checked against the metadata the pointer names, updates applied to it, a new metadata
 * file written, and the pointer moved to it if it still is where it was read. Several tables move together or
 * not at all. Between the file and the pointer nothing is lost by a crash: the old state stays, the new file
 * is an orphan.
 */
import type { JsonObject } from '../../iceberg/json.ts';
import { commitFailed } from './answer.ts';
import type { Refusal } from './answer.ts';
import type { IcebergContext, TableIdentifier } from './iceberg-context.ts';
import { checkLocations, formatIdentifier, createPointer, noSuchTable, tableLocation } from './iceberg-context.ts';
import { changedMetadata, checkRequirements } from './metadata-change.ts';
import {
  extraLocations, nextMetadataLocation, readMetadata, unbornMetadata, withMetadataLog, writeMetadata,
} from './metadata-file.ts';
import { stringField } from './request.ts';
import type { PointerSwap, TablePointer } from './table-pointers.ts';

export interface TableChange {
  readonly table: TableIdentifier;
  readonly requirements: readonly JsonObject[];
  readonly updates: readonly JsonObject[];
}

export interface CommittedTable {
  readonly metadataLocation: string;
  readonly metadata: JsonObject;
}

interface PreparedChange extends CommittedTable {
  readonly table: TableIdentifier;
  /** null: the change makes the table. */
  readonly pointer: TablePointer | null;
  /** Metadata files that fall out of the bounded history once this is committed. */
  readonly obsolete: readonly string[];
}

/** Commits one table. Rejects with 404, 409 or 403; 409 also when another commit was faster. */
export async function commitTable(context: IcebergContext, change: TableChange): Promise<CommittedTable> {
  const prepared = await prepare(context, change);
  await commitPrepared(context, [prepared]);
  return prepared;
}

/** Commits several existing tables, all or none. */
export async function commitTables(context: IcebergContext, changes: readonly TableChange[]): Promise<void> {
  const prepared: PreparedChange[] = [];
  for (const change of changes) prepared.push(await prepare(context, change));
  await commitPrepared(context, prepared);
}

async function prepare(context: IcebergContext, change: TableChange): Promise<PreparedChange> {
  const { table, requirements, updates } = change;
  const pointer = context.stores.pointers.find(context.catalog.name, table.namespace, table.name);
  const creates = requirements.some((requirement) => requirement['type'] === 'assert-create');
  if (pointer === null && !creates) throw noSuchTable(table);
  const base = pointer === null ? null : await readMetadata(context, pointer.metadataLocation);
  checkRequirements(base, requirements);
  const start = base ?? unbornMetadata(tableLocation(context, table), updates);
  const next = changedMetadata(start, updates, context.stores.nowMs());
  const known = base === null ? [] : locationsOf(base);
  checkLocations(context, table, locationsOf(next).filter((location) => !known.includes(location)));
  if (pointer === null || base === null) {
    return { table, pointer: null, metadata: next, metadataLocation: nextMetadataLocation(next, null), obsolete: [] };
  }
  const { metadata, obsolete } = withMetadataLog(next, base, pointer.metadataLocation);
  const metadataLocation = nextMetadataLocation(metadata, pointer.metadataLocation);
  return { table, pointer, metadata, metadataLocation, obsolete };
}

function locationsOf(metadata: JsonObject): string[] {
  return [stringField(metadata, 'location'), ...extraLocations(metadata)];
}

async function commitPrepared(context: IcebergContext, prepared: readonly PreparedChange[]): Promise<void> {
  for (const change of prepared) await writeMetadata(context, change.metadataLocation, change.metadata);
  await context.stores.beforeSwap();
  const refusal = movePointers(context, prepared);
  // Lost the race, so the files just written are nobody's; or won it, and the log dropped some old ones.
  const unreferenced = prepared.flatMap((change) => (refusal === null ? change.obsolete : [change.metadataLocation]));
  await Promise.allSettled(unreferenced.map((location) => context.stores.storage.remove(context.catalog, location)));
  if (refusal !== null) throw refusal;
}

/** Synchronous: nothing can come between the comparison and the swap. */
function movePointers(context: IcebergContext, prepared: readonly PreparedChange[]): Refusal | null {
  const { pointers } = context.stores;
  const [first] = prepared;
  if (first !== undefined && first.pointer === null) {
    const { table, metadataLocation } = first;
    const made = createPointer(context, table, metadataLocation);
    return made === null ? commitFailed('Requirement failed: table already exists') : null;
  }
  const swaps: PointerSwap[] = prepared.flatMap(
    ({ pointer, metadataLocation }) => (pointer === null ? [] : [{ pointer, metadataLocation }]),
  );
  const lost = pointers.swap(swaps);
  if (lost === null) return null;
  const { expected, found } = lost;
  const table = formatIdentifier(expected);
  if (found === null) return noSuchTable(expected);
  return commitFailed(`Cannot commit to table ${table} metadata location from ${expected.metadataLocation} `
    + `to ${swaps.find((swap) => swap.pointer.id === expected.id)?.metadataLocation ?? ''} `
    + `because it has been concurrently modified to ${found.metadataLocation}`);
}
