/**
 * By which columns a relation is cut into slices. In: the relation and the columns of the sink's key. Out: names of
 * columns whose text is hashed, or null when no column serves.
 *
 * Any function of a row alone puts every row into exactly one slice, so the choice is never about correctness. It is
 * about balance, which a unique key gives (equal values would share a slice), and about what the server can turn into
 * text without looking elsewhere: the names behind regclass and its like come from the catalog, which would become an
 * input of the SUBSCRIBE; a "char" need not be UTF-8.
 */
import type { Column, Relation } from '../relation/relation.ts';
import type { ScalarName } from '../relation/sql-type.ts';

const WITHOUT_PLAIN_TEXT: ReadonlySet<ScalarName> = new Set([
  'regclass', 'regproc', 'regtype', '"char"', 'aclitem', 'mz_aclitem', 'int2vector',
]);

/** The sink's key, else the shortest key that Materialize knows, else the whole row, as far as they serve. */
export function slicingColumns(relation: Relation, keyColumns: readonly number[]): readonly string[] | null {
  const { columns, uniqueKeys } = relation;
  const known = (uniqueKeys ?? []).toSorted((a, b) => a.length - b.length);
  for (const key of [keyColumns, ...known, [...columns.keys()]]) {
    const names = key.flatMap((index) => {
      const column = columns[index];
      return column !== undefined && serves(column, columns) ? [column.name] : [];
    });
    if (names.length > 0) return names;
  }
  return null;
}

function serves({ name, type }: Column, columns: readonly Column[]): boolean {
  if (type.kind === 'record' || type.kind === 'unsupported') return false;
  if (type.kind === 'scalar' && WITHOUT_PLAIN_TEXT.has(type.name)) return false;
  // A name that stands twice can't be referred to.
  return columns.filter((column) => column.name === name).length === 1;
}
