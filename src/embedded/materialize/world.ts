/**
 * The content of the stand-in: relations with their history, types, clusters. In: calls that change it. Out: what
 * sessions read, and events to whoever subscribed.
 *
 * Invariants: a change reaches the journal before anyone can see it, so a killed stand-in never forgets what it
 * showed; a relation is never compacted past what a running subscription still has to send.
 */
import { type Frontier, FRONTIER_EMPTY, formatFrontier, frontierAt, parseFrontier } from '../../time/frontier.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../../time/timestamp.ts';
import { type CopyColumn, type RowLine, joinCopyColumns } from './copy-text.ts';
import {
  type Multiset,
  type RelationHistory,
  advanceUpper,
  applyChanges,
  closeHistory,
  compactHistory,
  contentAt,
  createHistory,
} from './relation-history.ts';
import type { NamedType, NamedTypeDefinition, RelationDefinition } from './relation-definition.ts';
import type { WireError } from './wire-frames.ts';

/** A change as tests write it: columns that are COPY text already (escaped), null for NULL. */
export interface RowChange {
  readonly row: readonly CopyColumn[];
  readonly diff: number;
}

/** A change whose columns are joined already: tab separated, one character per byte. */
export interface LineChange {
  readonly line: RowLine;
  readonly diff: number;
}

export interface StandInRelation extends RelationDefinition {
  /** `u…`; a recreated relation has another one. */
  readonly id: string;
  readonly oid: number;
  readonly history: RelationHistory;
  /** What evaluating the relation fails with; null when it is sound. */
  error: string | null;
  dropped: boolean;
  /** Grows with every change of content. */
  version: number;
  readonly subscribers: Set<RelationSubscriber>;
}

/** What a running SUBSCRIBE gives the relation it reads. */
export interface RelationSubscriber {
  /** Something is new: changes, the upper, or the cluster came back. */
  changed(): void;
  fail(error: WireError): void;
  notice(notice: WireError): void;
  /** Latest time up to which compaction loses nothing for it. */
  hold(): Timestamp;
}

export type JournalEntry =
  | { readonly op: 'create'; readonly id: string; readonly start: string; readonly definition: RelationDefinition }
  /** Ids of dropped objects are never given again. */
  | { readonly op: 'ids'; readonly next: number }
  | { readonly op: 'type'; readonly id: string; readonly definition: NamedTypeDefinition }
  | { readonly op: 'apply'; readonly id: string; readonly time: string; readonly changes: readonly [RowLine, number][] }
  | { readonly op: 'advance'; readonly id: string | null; readonly time: string }
  | { readonly op: 'compact'; readonly id: string; readonly since: string }
  | { readonly op: 'close' | 'drop'; readonly id: string }
  | { readonly op: 'error'; readonly id: string; readonly message: string | null }
  | { readonly op: 'replicas'; readonly cluster: string; readonly count: number }
  /** A compacted journal starts relations from their content. */
  | {
      readonly op: 'content';
      readonly id: string;
      readonly since: string;
      readonly upper: string;
      readonly base: readonly [RowLine, number][];
    };

export interface World {
  readonly relations: ReadonlyMap<string, StandInRelation>;
  readonly namedTypes: ReadonlyMap<string, NamedType>;
  /** Replicas by cluster name. */
  readonly clusters: ReadonlyMap<string, number>;
  /** Grows whenever a catalog table would read differently (frontiers aside). */
  catalogVersion(): number;
  createType(definition: NamedTypeDefinition): NamedType;
  createRelation(definition: RelationDefinition, start: Timestamp): StandInRelation;
  applyLines(relation: StandInRelation, time: Timestamp, changes: readonly LineChange[]): void;
  apply(relation: StandInRelation, time: Timestamp, changes: readonly RowChange[]): void;
  /** Moves the upper of one relation, or of every open one that is not there yet. */
  advance(time: Timestamp, relation?: StandInRelation): void;
  compact(relation: StandInRelation, since: Timestamp): void;
  /** Empty upper: nothing will ever change again. */
  close(relation: StandInRelation): void;
  drop(relation: StandInRelation): void;
  setError(relation: StandInRelation, message: string | null): void;
  setReplicas(cluster: string, count: number): void;
  /** Throws a RangeError when `time` is compacted. */
  snapshotAt(relation: StandInRelation, time: Timestamp): Multiset;
  findRelation(database: string, schema: string, name: string): StandInRelation | null;
  /** Does again what a journal says; nothing is written to the journal meanwhile. */
  replay(entries: Iterable<JournalEntry>): void;
  /** The shortest journal that leads here. */
  compactedJournal(): JournalEntry[];
}

export type WriteJournal = (entry: JournalEntry) => void;

export function createWorld(writeJournal: WriteJournal): World {
  const relations = new Map<string, StandInRelation>();
  const namedTypes = new Map<string, NamedType>();
  const clusters = new Map<string, number>([['quickstart', 1], ['mz_catalog_server', 1]]);
  let nextId = 1;
  let version = 1;
  let replaying = false;
  const record = (entry: JournalEntry): void => {
    if (!replaying) writeJournal(entry);
  };

  const retain = (relation: StandInRelation): void => {
    const upper = relation.history.upper[0];
    if (upper === undefined) return;
    const since = upper - BigInt(relation.retainHistoryMs ?? DEFAULT_RETAIN_HISTORY_MS);
    compactWithin(relation, since);
  };
  const notify = (relation: StandInRelation): void => {
    for (const subscriber of relation.subscribers) subscriber.changed();
  };
  const advanceOne = (relation: StandInRelation, time: Timestamp): void => {
    advanceUpper(relation.history, frontierAt(time));
    notify(relation);
    retain(relation);
  };

  const world: World = {
    relations,
    namedTypes,
    clusters,
    catalogVersion: () => version,
    createType(definition) {
      const number = nextId++;
      const id = `u${number}`;
      record({ op: 'type', id, definition });
      const created = { ...definition, id, oid: FIRST_USER_OID + number };
      namedTypes.set(definition.name, created);
      version++;
      return created;
    },
    createRelation(definition, start) {
      const number = nextId++;
      const id = `u${number}`;
      record({ op: 'create', id, start: String(start), definition });
      const history = createHistory(start);
      const live = { error: null, dropped: false, version: 0, subscribers: new Set<RelationSubscriber>() };
      const relation = { ...definition, ...live, id, oid: FIRST_USER_OID + number, history };
      relations.set(id, relation);
      if (!clusters.has(definition.cluster ?? DEFAULT_CLUSTER)) clusters.set(definition.cluster ?? DEFAULT_CLUSTER, 1);
      version++;
      return relation;
    },
    applyLines(relation, time, changes) {
      record({ op: 'apply', id: relation.id, time: String(time), changes: changes.map((c) => [c.line, c.diff]) });
      applyChanges(relation.history, time, changes.map(({ line, diff }) => ({ row: line, diff })));
      relation.version++;
    },
    apply(relation, time, changes) {
      for (const { row } of changes) {
        if (row.length !== relation.columns.length) throw new RangeError(`${relation.name} has ${relation.columns.length} columns`);
      }
      world.applyLines(relation, time, changes.map(({ row, diff }) => ({ line: joinCopyColumns(row), diff })));
    },
    advance(time, relation) {
      record({ op: 'advance', id: relation?.id ?? null, time: String(time) });
      if (relation !== undefined) return advanceOne(relation, time);
      for (const each of relations.values()) {
        const upper = each.history.upper[0];
        if (upper !== undefined && upper <= time) advanceOne(each, time);
      }
    },
    compact(relation, since) {
      record({ op: 'compact', id: relation.id, since: String(since) });
      compactWithin(relation, since);
    },
    close(relation) {
      record({ op: 'close', id: relation.id });
      closeHistory(relation.history);
      notify(relation);
    },
    drop(relation) {
      record({ op: 'drop', id: relation.id });
      relation.dropped = true;
      relations.delete(relation.id);
      version++;
      const message = `relation '${qualifiedName(relation)}' was dropped`;
      for (const subscriber of relation.subscribers) subscriber.fail({ sqlstate: '42704', message });
    },
    setError(relation, message) {
      record({ op: 'error', id: relation.id, message });
      relation.error = message;
      if (message === null) return;
      for (const subscriber of relation.subscribers) subscriber.fail({ sqlstate: 'XX000', message });
    },
    setReplicas(cluster, count) {
      record({ op: 'replicas', cluster, count });
      const before = clusters.get(cluster) ?? 0;
      clusters.set(cluster, count);
      version++;
      const status = count < before ? 'offline' : 'online';
      const replica = `${cluster}.r${Math.max(count, before)}`;
      const message = `cluster replica ${replica} changed status to "${status}"`;
      for (const relation of relations.values()) {
        for (const subscriber of relation.subscribers) {
          if (count !== before) subscriber.notice({ sqlstate: '00000', message });
          subscriber.changed();
        }
      }
    },
    snapshotAt(relation, time) {
      if (time < relation.history.since) throw new RangeError(`time ${time} is before since ${relation.history.since}`);
      return contentAt(relation.history, time);
    },
    findRelation(database, schema, name) {
      for (const relation of relations.values()) {
        if (relation.name === name && relation.schema === schema && relation.database === database) return relation;
      }
      return null;
    },
    replay(entries) {
      replaying = true;
      let highest = nextId;
      for (const entry of entries) {
        if (entry.op === 'create' || entry.op === 'type') nextId = Number(entry.id.slice(1));
        if (entry.op === 'ids') nextId = entry.next;
        else replayEntry(world, entry);
        highest = Math.max(highest, nextId);
      }
      nextId = highest;
      replaying = false;
    },
    compactedJournal: () => [{ op: 'ids', next: nextId }, ...compactedJournalOf(world)],
  };
  return world;
}

export const DEFAULT_CLUSTER = 'quickstart';
const DEFAULT_RETAIN_HISTORY_MS = 1000;
const FIRST_USER_OID = 20000;

export function qualifiedName(relation: RelationDefinition): string {
  return `${relation.database}.${relation.schema}.${relation.name}`;
}

function compactWithin(relation: StandInRelation, wanted: Timestamp): void {
  let since = wanted < 0n ? 0n : wanted > TIMESTAMP_MAX ? TIMESTAMP_MAX : wanted;
  for (const subscriber of relation.subscribers) {
    const hold = subscriber.hold();
    if (hold < since) since = hold;
  }
  compactHistory(relation.history, since);
}

function replayEntry(world: World, entry: Exclude<JournalEntry, { op: 'ids' }>): void {
  if (entry.op === 'type') return void world.createType(entry.definition);
  if (entry.op === 'create') return void world.createRelation(entry.definition, BigInt(entry.start));
  if (entry.op === 'replicas') return world.setReplicas(entry.cluster, entry.count);
  if (entry.op === 'advance' && entry.id === null) return world.advance(BigInt(entry.time));
  const relation = world.relations.get(entry.id ?? '');
  if (relation === undefined) return;
  switch (entry.op) {
    case 'apply':
      return world.applyLines(relation, BigInt(entry.time), entry.changes.map(([line, diff]) => ({ line, diff })));
    case 'advance':
      return world.advance(BigInt(entry.time), relation);
    case 'compact':
      return world.compact(relation, BigInt(entry.since));
    case 'close':
      return world.close(relation);
    case 'drop':
      return world.drop(relation);
    case 'error':
      return world.setError(relation, entry.message);
    case 'content':
      return restoreContent(relation, entry.base, BigInt(entry.since), parseFrontier(entry.upper) ?? FRONTIER_EMPTY);
  }
}

function restoreContent(relation: StandInRelation, base: readonly [RowLine, number][], since: Timestamp, upper: Frontier): void {
  relation.history.since = since;
  for (const [row, diff] of base) relation.history.base.set(row, diff);
  relation.history.upper = upper;
  relation.version++;
}

function compactedJournalOf(world: World): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (const [cluster, count] of world.clusters) entries.push({ op: 'replicas', cluster, count });
  for (const { id, oid: _oid, ...definition } of world.namedTypes.values()) entries.push({ op: 'type', id, definition });
  for (const relation of world.relations.values()) {
    const { id, history, error } = relation;
    const { name, schema, database, kind, columns, keys, cluster, retainHistoryMs, columnTypeNames } = relation;
    const optional = {
      ...(cluster !== undefined && { cluster }),
      ...(retainHistoryMs !== undefined && { retainHistoryMs }),
      ...(columnTypeNames !== undefined && { columnTypeNames }),
    };
    const definition = { name, schema, database, kind, columns, keys, ...optional };
    const since = String(history.since);
    entries.push({ op: 'create', id, start: since, definition });
    // The upper of the start is the since, so the log can be applied again; the true upper follows it.
    entries.push({ op: 'content', id, since, upper: formatFrontier(frontierAt(history.since)), base: [...history.base] });
    for (const { time, changes } of history.log) entries.push({ op: 'apply', id, time: String(time), changes: [...changes] });
    const [upper] = history.upper;
    if (upper === undefined) entries.push({ op: 'close', id });
    else entries.push({ op: 'advance', id, time: String(upper) });
    if (error !== null) entries.push({ op: 'error', id, message: error });
  }
  return entries;
}
