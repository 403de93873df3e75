/** The checks of a definition that need the relation: kind, columns, key (all that SQL text alone can't decide). */
import { SinkError } from '../errors.ts';
import type { Relation } from '../relation/relation.ts';
import { canBeEqualityKey } from '../write/type-mapping.ts';
import type { SinkSettings } from './effects.ts';

/** The first thing that makes the relation unfit for the sink, null when it fits. */
export function checkRelation(relation: Relation, settings: SinkSettings): SinkError | null {
  return relationProblems(relation, settings)[0] ?? null;
}

/** Everything that makes the relation unfit for the sink: its kind, then each key column, then the key as a whole. */
export function relationProblems(relation: Relation, settings: SinkSettings): readonly SinkError[] {
  const problems: SinkError[] = [];
  if (relation.kind !== 'table' && relation.kind !== 'source' && relation.kind !== 'materialized-view') {
    problems.push(new SinkError('relation-unsupported', `${relation.name} is a ${relation.kind}, which an Iceberg sink cannot read`));
  }
  return settings.mode === 'upsert' ? [...problems, ...keyProblems(relation, settings)] : problems;
}

/** Indices of the key columns, in the order of KEY; only after `checkRelation`. */
export function keyColumnIndices(relation: Relation, keyColumns: readonly string[]): readonly number[] {
  return keyColumns.map((name) => relation.columns.findIndex((column) => column.name === name));
}

function keyProblems(relation: Relation, settings: SinkSettings): readonly SinkError[] {
  const problems = settings.keyColumns.flatMap((name) => {
    const problem = keyColumnProblem(relation, name);
    return problem === null ? [] : [keyError(problem)];
  });
  // Whether a key is unique can be said only of columns that are there.
  if (problems.length > 0 || !settings.keyEnforced) return problems;
  const given = new Set(keyColumnIndices(relation, settings.keyColumns));
  const unique = relation.uniqueKeys ?? [];
  if (unique.some((key) => key.every((index) => given.has(index)))) return [];
  const columns = settings.keyColumns.map(quote).join(', ');
  return [keyError(`upsert key could not be validated as unique: (${columns}) ${describeKeys(relation)}`)];
}

function keyColumnProblem(relation: Relation, name: string): string | null {
  const matches = relation.columns.filter((column) => column.name === name);
  const [column] = matches;
  if (column === undefined) return `column referenced in KEY does not exist: ${name}`;
  if (matches.length > 1) return `column referenced in KEY is ambiguous: ${name}`;
  return canBeEqualityKey(column.type) ? null : `column "${name}" cannot be used as an Iceberg equality delete key`;
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
