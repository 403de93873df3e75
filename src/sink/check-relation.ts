/** The checks of a definition that need the relation: kind, columns, key (all that SQL text alone can't decide). */
import { SinkError } from '../errors.ts';
import type { Relation } from '../relation/relation.ts';
import { canBeEqualityKey } from '../write/type-mapping.ts';
import type { SinkSettings } from './effects.ts';

/** The first thing that makes the relation unfit for the sink, null when it fits. */
export function checkRelation(relation: Relation, settings: SinkSettings): SinkError | null {
  if (relation.kind !== 'table' && relation.kind !== 'source' && relation.kind !== 'materialized-view') {
    return new SinkError('relation-unsupported', `${relation.name} is a ${relation.kind}, which an Iceberg sink cannot read`);
  }
  return settings.mode === 'upsert' ? checkKey(relation, settings) : null;
}

/** Indices of the key columns, in the order of KEY; only after `checkRelation`. */
export function keyColumnIndices(relation: Relation, keyColumns: readonly string[]): readonly number[] {
  return keyColumns.map((name) => relation.columns.findIndex((column) => column.name === name));
}

function checkKey(relation: Relation, settings: SinkSettings): SinkError | null {
  for (const name of settings.keyColumns) {
    const matches = relation.columns.filter((column) => column.name === name);
    const [column] = matches;
    if (column === undefined) return keyError(`column referenced in KEY does not exist: ${name}`);
    if (matches.length > 1) return keyError(`column referenced in KEY is ambiguous: ${name}`);
    if (!canBeEqualityKey(column.type)) return keyError(`column "${name}" cannot be used as an Iceberg equality delete key`);
  }
  if (!settings.keyEnforced) return null;
  const given = new Set(keyColumnIndices(relation, settings.keyColumns));
  const unique = relation.uniqueKeys ?? [];
  if (unique.some((key) => key.every((index) => given.has(index)))) return null;
  return keyError(`upsert key could not be validated as unique: (${settings.keyColumns.map(quote).join(', ')}) ${describeKeys(relation)}`);
}

function describeKeys(relation: Relation): string {
  const keys = relation.uniqueKeys ?? [];
  if (keys.length === 0) return 'has no proof. There are no known valid unique keys for the upstream relation.';
  const texts = keys.map((key) => `(${key.map((index) => quote(relation.columns[index]?.name ?? '?')).join(', ')})`);
  return `is not among the keys known to be unique: ${texts.join(', ')}`;
}

const quote = (name: string): string => `"${name}"`;

function keyError(message: string): SinkError {
  return new SinkError('key-invalid', message);
}
