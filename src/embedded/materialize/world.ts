/**
 * The content of the stand-in: relations with their history, types, clusters. In: calls that change it. Out: what
 * sessions read, and events to whoever subscribed.
 *
 * Invariants: a change reaches the journal before anyone can see it, so a killed stand-in never forgets what it
 * showed; a relation is never compacted past what a running subscription still has to send.
 */
import { frontierAt } from '../../time/frontier.ts';
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
import { type JournalEntry, compactedJournalOf, replayEntry } from './world-journal.ts';

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

/** The system clock, in milliseconds since 1970. */
export type ReadClock = () => number;

/** What the parts of a world share. */
interface WorldState {
  readonly relations: Map<string, StandInRelation>;
  readonly namedTypes: Map<string, NamedType>;
  readonly clusters: Map<string, number>;
  nextId: number;
  version: number;
  record(entry: JournalEntry): void;
}

/** `nowMs` only dates notices. */
export function createWorld(writeJournal: WriteJournal, nowMs: ReadClock = Date.now): World {
  let replaying = false;
  const state: WorldState = {
    relations: new Map(),
    namedTypes: new Map(),
    clusters: new Map([['quickstart', 1], ['mz_catalog_server', 1]]),
    nextId: 1,
    version: 1,
    record(entry) {
      if (!replaying) writeJournal(entry);
    },
  };
  const { relations, namedTypes, clusters } = state;
  const world: World = {
    relations,
    namedTypes,
    clusters,
    catalogVersion: () => state.version,
    ...definitionsOf(state),
    ...contentOf(state),
    ...failuresOf(state, nowMs),
    findRelation(database, schema, name) {
      for (const relation of relations.values()) {
        if (relation.name === name && relation.schema === schema && relation.database === database) return relation;
      }
      return null;
    },
    replay(entries) {
      replaying = true;
      let highest = state.nextId;
      for (const entry of entries) {
        if (entry.op === 'create' || entry.op === 'type') state.nextId = Number(entry.id.slice(1));
        if (entry.op === 'ids') state.nextId = entry.next;
        else replayEntry(world, entry);
        highest = Math.max(highest, state.nextId);
      }
      state.nextId = highest;
      replaying = false;
    },
    compactedJournal: () => [{ op: 'ids', next: state.nextId }, ...compactedJournalOf(world)],
  };
  return world;
}

/** Types and relations come and go; an id is given once. */
function definitionsOf(state: WorldState): Pick<World, 'createType' | 'createRelation' | 'drop'> {
  const { relations, namedTypes, clusters, record } = state;
  return {
    createType(definition) {
      const number = state.nextId++;
      const id = `u${number}`;
      record({ op: 'type', id, definition });
      const created = { ...definition, id, oid: FIRST_USER_OID + number };
      namedTypes.set(definition.name, created);
      state.version++;
      return created;
    },
    createRelation(definition, start) {
      const number = state.nextId++;
      const id = `u${number}`;
      record({ op: 'create', id, start: String(start), definition });
      const history = createHistory(start);
      const live = { error: null, dropped: false, version: 0, subscribers: new Set<RelationSubscriber>() };
      const relation = { ...definition, ...live, id, oid: FIRST_USER_OID + number, history };
      relations.set(id, relation);
      const cluster = definition.cluster ?? DEFAULT_CLUSTER;
      if (!clusters.has(cluster)) clusters.set(cluster, 1);
      state.version++;
      return relation;
    },
    drop(relation) {
      record({ op: 'drop', id: relation.id });
      relation.dropped = true;
      relations.delete(relation.id);
      state.version++;
      const message = `relation '${qualifiedName(relation)}' was dropped`;
      for (const subscriber of relation.subscribers) subscriber.fail({ sqlstate: '42704', message });
    },
  };
}

/** Rows, and the two frontiers between which they can be read. */
function contentOf(
  state: WorldState,
): Pick<World, 'applyLines' | 'apply' | 'advance' | 'compact' | 'close' | 'snapshotAt'> {
  const { relations, record } = state;
  const applyLines = (relation: StandInRelation, time: Timestamp, changes: readonly LineChange[]): void => {
    record({ op: 'apply', id: relation.id, time: String(time), changes: changes.map((c) => [c.line, c.diff]) });
    applyChanges(relation.history, time, changes.map(({ line, diff }) => ({ row: line, diff })));
    relation.version++;
  };
  return {
    applyLines,
    apply(relation, time, changes) {
      const { name, columns } = relation;
      const wrong = changes.some(({ row }) => row.length !== columns.length);
      if (wrong) throw new RangeError(`${name} has ${columns.length} columns`);
      applyLines(relation, time, changes.map(({ row, diff }) => ({ line: joinCopyColumns(row), diff })));
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
    snapshotAt(relation, time) {
      if (time < relation.history.since) {
        throw new RangeError(`time ${time} is before since ${relation.history.since}`);
      }
      return contentAt(relation.history, time);
    },
  };
}

/** What goes wrong around content: evaluation errors and replicas that come and go. */
function failuresOf(state: WorldState, nowMs: ReadClock): Pick<World, 'setError' | 'setReplicas'> {
  const { relations, clusters, record } = state;
  return {
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
      state.version++;
      const status = count < before ? 'offline' : 'online';
      const replica = `${cluster}.r${Math.max(count, before)}`;
      const message = `cluster replica ${replica} changed status to "${status}" at ${noticeTime(nowMs())}`;
      for (const relation of relations.values()) {
        for (const subscriber of relation.subscribers) {
          if (count !== before) subscriber.notice({ sqlstate: '00000', message });
          subscriber.changed();
        }
      }
    },
  };
}

export const DEFAULT_CLUSTER = 'quickstart';
const DEFAULT_RETAIN_HISTORY_MS = 1000;
const FIRST_USER_OID = 20000;

export function qualifiedName(relation: RelationDefinition): string {
  return `${relation.database}.${relation.schema}.${relation.name}`;
}

/** `2026-01-02 03:04:05.678 UTC`. */
function noticeTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

function notify(relation: StandInRelation): void {
  for (const subscriber of relation.subscribers) subscriber.changed();
}

function advanceOne(relation: StandInRelation, time: Timestamp): void {
  advanceUpper(relation.history, frontierAt(time));
  notify(relation);
  const { retainHistoryMs = DEFAULT_RETAIN_HISTORY_MS } = relation;
  compactWithin(relation, time - BigInt(retainHistoryMs));
}

function compactWithin(relation: StandInRelation, wanted: Timestamp): void {
  let since = wanted < 0n ? 0n : wanted > TIMESTAMP_MAX ? TIMESTAMP_MAX : wanted;
  for (const subscriber of relation.subscribers) {
    const hold = subscriber.hold();
    if (hold < since) since = hold;
  }
  compactHistory(relation.history, since);
}
