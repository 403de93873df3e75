/**
 * The updates that concern snapshots: adding and removing them, moving branches and tags, statistics of snapshots, and
 * the snapshot log that follows main (spec: "Snapshots", "Snapshot References").
 *
 * Invariants of the result: every ref names a snapshot that exists; main is the current snapshot; sequence numbers grow
 * along a branch. Equality deletes apply to lower sequence numbers only, so a number that came twice would let them
 * miss.
 */
import {
  type JsonObject, type JsonValue, asInt32, getArray, getInt32, getInt64, getObject, getOptionalInt64,
  getOptionalString, getString,
  isAbsent, sameJson,
} from './json.ts';
import { type MetadataDraft, objectsOf, put, refused } from './metadata-draft.ts';

const MAIN = 'main';
const FIRST_VERSION_WITH_SEQUENCE_NUMBERS = 2;
const FIRST_VERSION_WITH_ROW_LINEAGE = 3;

/** Clocks of writers differ; Iceberg accepts a snapshot that seems older than the last by at most this. */
const CLOCK_TOLERANCE_MS = 60_000n;

export function addSnapshot(draft: MetadataDraft, snapshot: JsonObject): void {
  const needed = [['schemas', 'schema'], ['partition-specs', 'partition spec'], ['sort-orders', 'sort order']] as const;
  for (const [list, what] of needed) {
    if (objectsOf(draft, list).length === 0) throw refused(`Attempting to add a snapshot before a ${what} is added`);
  }
  const id = getInt64(snapshot, 'snapshot-id', 'update.snapshot');
  const timestampMs = getInt64(snapshot, 'timestamp-ms', 'update.snapshot');
  const snapshots = objectsOf(draft, 'snapshots');
  if (snapshots.some((existing) => getInt64(existing, 'snapshot-id') === id)) {
    throw refused(`Snapshot already exists for id: ${id}`);
  }
  getString(getObject(snapshot, 'summary', 'update.snapshot'), 'operation', 'update.snapshot.summary');
  const hasList = getOptionalString(snapshot, 'manifest-list', 'update.snapshot') !== null;
  if (!hasList && version(draft) >= FIRST_VERSION_WITH_SEQUENCE_NUMBERS) {
    throw refused('Cannot add a snapshot without a manifest list');
  }
  checkTimestamp(draft, timestampMs);
  takeSequenceNumber(draft, snapshot);
  takeRowIds(draft, snapshot);
  draft.lastUpdatedMs = timestampMs;
  draft.addedSnapshotIds.add(id);
  put(draft, 'snapshots', [...snapshots, snapshot]);
}

function takeSequenceNumber(draft: MetadataDraft, snapshot: JsonObject): void {
  if (version(draft) < FIRST_VERSION_WITH_SEQUENCE_NUMBERS) return;
  const sequenceNumber = getInt64(snapshot, 'sequence-number', 'update.snapshot');
  const last = getOptionalInt64(draft.members, 'last-sequence-number', 'metadata') ?? 0n;
  // A snapshot without a parent begins a history of its own, where no earlier delete can apply.
  if (sequenceNumber <= last && !isAbsent(snapshot, 'parent-snapshot-id')) {
    throw refused(`Cannot add snapshot with sequence number ${sequenceNumber} older than last sequence number ${last}`);
  }
  if (sequenceNumber > last) put(draft, 'last-sequence-number', snapshot['sequence-number'] ?? null);
}

function takeRowIds(draft: MetadataDraft, snapshot: JsonObject): void {
  if (version(draft) < FIRST_VERSION_WITH_ROW_LINEAGE) return;
  const firstRowId = getOptionalInt64(snapshot, 'first-row-id', 'update.snapshot');
  const nextRowId = getOptionalInt64(draft.members, 'next-row-id', 'metadata') ?? 0n;
  if (firstRowId === null) throw refused('Cannot add a snapshot: first-row-id is null');
  if (firstRowId < nextRowId) {
    throw refused(`Cannot add a snapshot, first-row-id is behind table next-row-id: ${firstRowId} < ${nextRowId}`);
  }
  put(draft, 'next-row-id', nextRowId + (getOptionalInt64(snapshot, 'added-rows', 'update.snapshot') ?? 0n));
}

function checkTimestamp(draft: MetadataDraft, timestampMs: bigint): void {
  const last = objectsOf(draft, 'snapshot-log').at(-1);
  if (last === undefined) return;
  const lastMs = getInt64(last, 'timestamp-ms', 'metadata.snapshot-log');
  if (timestampMs < lastMs - CLOCK_TOLERANCE_MS) {
    throw refused(`Invalid update timestamp ${timestampMs}: before last snapshot log entry at ${lastMs}`);
  }
}

export function setRef(draft: MetadataDraft, update: JsonObject): void {
  const name = getString(update, 'ref-name', 'update');
  const { action: _action, 'ref-name': _name, ...ref } = update;
  const type = getString(ref, 'type', 'update');
  const id = getInt64(ref, 'snapshot-id', 'update');
  const refs = getObject(draft.members, 'refs', 'metadata');
  const before = Object.hasOwn(refs, name) ? refs[name] : undefined;
  if (sameJson(before, ref)) return;
  const snapshot = objectsOf(draft, 'snapshots').find((candidate) => getInt64(candidate, 'snapshot-id') === id);
  if (snapshot === undefined) throw refused(`Cannot set ${name} to unknown snapshot: ${id}`);
  if (type !== 'branch' && type !== 'tag') throw refused(`Invalid snapshot ref type: ${type}`);
  if (draft.addedSnapshotIds.has(id)) draft.lastUpdatedMs = getInt64(snapshot, 'timestamp-ms');
  put(draft, 'refs', { ...refs, [name]: ref });
  if (name !== MAIN) return;
  if (type !== 'branch') throw refused('Cannot set main to a tag, it must be a branch');
  const head = getOptionalInt64(draft.members, 'current-snapshot-id', 'metadata');
  if (head === id) return;
  if (head !== null && draft.addedSnapshotIds.has(head)) draft.passedHeadIds.add(head);
  const snapshotId = ref['snapshot-id'] ?? null;
  draft.lastUpdatedMs ??= draft.nowMs;
  put(draft, 'current-snapshot-id', snapshotId);
  const entry = { 'timestamp-ms': draft.lastUpdatedMs, 'snapshot-id': snapshotId };
  put(draft, 'snapshot-log', [...objectsOf(draft, 'snapshot-log'), entry]);
}

/** Removing a ref that is not there changes nothing. */
export function removeRef(draft: MetadataDraft, name: string): void {
  const { [name]: removed, ...rest } = getObject(draft.members, 'refs', 'metadata');
  if (removed === undefined) return;
  put(draft, 'refs', rest);
  if (name === MAIN) put(draft, 'current-snapshot-id', noSnapshot(draft));
}

/** How "no current snapshot" is spelled: -1 up to version 2, null since. */
function noSnapshot(draft: MetadataDraft): JsonValue {
  return version(draft) < FIRST_VERSION_WITH_ROW_LINEAGE ? -1 : null;
}

/** Removes snapshots with their statistics, and the refs that would dangle. Ids that do not exist are skipped. */
export function removeSnapshots(draft: MetadataDraft, update: JsonObject): void {
  const list: JsonObject[] = getArray(update, 'snapshot-ids', 'update').map((id) => ({ id }));
  const ids = new Set(list.map((holder) => getInt64(holder, 'id', 'update.snapshot-ids')));
  const snapshots = objectsOf(draft, 'snapshots');
  const kept = snapshots.filter((snapshot) => !ids.has(getInt64(snapshot, 'snapshot-id')));
  if (kept.length === snapshots.length) return;
  put(draft, 'snapshots', kept);
  draft.removedSnapshots = true;
  for (const id of ids) {
    removeByKey(draft, 'statistics', 'snapshot-id', id);
    removeByKey(draft, 'partition-statistics', 'snapshot-id', id);
  }
  const keptIds = new Set(kept.map((snapshot) => getInt64(snapshot, 'snapshot-id')));
  const refs = getObject(draft.members, 'refs', 'metadata');
  for (const name of Object.keys(refs)) {
    if (!keptIds.has(getInt64(getObject(refs, name, 'metadata.refs'), 'snapshot-id'))) removeRef(draft, name);
  }
}

/** One statistics file a snapshot: a new one takes the place of the former. */
export function setStatistics(
  draft: MetadataDraft, list: 'statistics' | 'partition-statistics', file: JsonObject,
): void {
  const id = getInt64(file, 'snapshot-id', `update.${list}`);
  const others = objectsOf(draft, list).filter((other) => getInt64(other, 'snapshot-id') !== id);
  put(draft, list, [...others, file]);
}

/** Removes the entries of a list whose `key` is `value`. */
export function removeByKey(draft: MetadataDraft, list: string, key: string, value: bigint | string): void {
  const items = objectsOf(draft, list);
  const kept = items.filter((item) => (typeof value === 'bigint' ? getInt64(item, key) : item[key]) !== value);
  if (kept.length !== items.length) put(draft, list, kept);
}

/**
 * Brings the snapshot log in line with what is left. A gap (an entry whose snapshot was removed) ends the history
 * before it: time travel across a gap would show the wrong state for the times within.
 */
export function finishSnapshotLog(draft: MetadataDraft): void {
  const head = getOptionalInt64(draft.members, 'current-snapshot-id', 'metadata');
  const passed = [...draft.passedHeadIds].filter((id) => id !== head);
  if (passed.length === 0 && !draft.removedSnapshots) return;
  const existing = new Set(objectsOf(draft, 'snapshots').map((snapshot) => getInt64(snapshot, 'snapshot-id')));
  let log: JsonObject[] = [];
  for (const entry of objectsOf(draft, 'snapshot-log')) {
    const id = getInt64(entry, 'snapshot-id', 'metadata.snapshot-log');
    if (!existing.has(id)) log = [];
    else if (!passed.includes(id)) log.push(entry);
  }
  draft.members['snapshot-log'] = log;
}

function version(draft: MetadataDraft): number {
  return asInt32(getInt32(draft.members, 'format-version', 'metadata'), 'metadata.format-version');
}
