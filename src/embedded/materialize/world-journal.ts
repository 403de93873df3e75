/**
 * The world as a list of what happened to it. In: entries of a journal, or a world. Out: the world again, or the
 * shortest journal that leads there.
 *
 * Invariant: replaying what `compactedJournalOf` gives makes the same relations with the same ids, content, since
 * and upper, so a restart is not visible but for the lost connections.
 */
import { type Frontier, FRONTIER_EMPTY, formatFrontier, frontierAt, parseFrontier } from '../../time/frontier.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { RowLine } from './copy-text.ts';
import type { NamedTypeDefinition, RelationDefinition } from './relation-definition.ts';
import type { StandInRelation, World } from './world.ts';

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

/** Does one entry again. */
export function replayEntry(world: World, entry: Exclude<JournalEntry, { op: 'ids' }>): void {
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

function restoreContent(
  relation: StandInRelation,
  base: readonly [RowLine, number][],
  since: Timestamp,
  upper: Frontier,
): void {
  relation.history.since = since;
  for (const [row, diff] of base) relation.history.base.set(row, diff);
  relation.history.upper = upper;
  relation.version++;
}

/** The shortest journal that leads to `world` as it is. */
export function compactedJournalOf(world: World): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (const [cluster, count] of world.clusters) entries.push({ op: 'replicas', cluster, count });
  for (const { id, oid: _oid, ...definition } of world.namedTypes.values()) {
    entries.push({ op: 'type', id, definition });
  }
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
    const upperOfStart = formatFrontier(frontierAt(history.since));
    entries.push({ op: 'content', id, since, upper: upperOfStart, base: [...history.base] });
    for (const { time, changes } of history.log) {
      entries.push({ op: 'apply', id, time: String(time), changes: [...changes] });
    }
    const [upper] = history.upper;
    if (upper === undefined) entries.push({ op: 'close', id });
    else entries.push({ op: 'advance', id, time: String(upper) });
    if (error !== null) entries.push({ op: 'error', id, message: error });
  }
  return entries;
}
