/**
 * `EXPLAIN OPTIMIZED PLAN WITH (types, keys) AS TEXT FOR SELECT * FROM x`: the only place that shows the inside of
 * anonymous lists, maps and records, and the known keys. In: a relation. Out: the plan's text.
 */
import { formatSqlType } from '../../relation/sql-type-text.ts';
import { DEFAULT_CLUSTER, type StandInRelation, qualifiedName } from './world.ts';

export interface ExplainOptions {
  readonly types: boolean;
  readonly keys: boolean;
  readonly arity: boolean;
}

export function explainText(relation: StandInRelation, schemaOfTypes: string, options: ExplainOptions): string {
  const attributes: string[] = [];
  if (options.arity) attributes.push(`arity: ${relation.columns.length}`);
  if (options.types) {
    const types = relation.columns.map((_, i) => columnType(relation, schemaOfTypes, i));
    attributes.push(`types: "(${types.join(', ')})"`);
  }
  if (options.keys) attributes.push(`keys: "(${relation.keys.map((key) => `[${key.join(', ')}]`).join(', ')})"`);
  const comment = attributes.length === 0 ? '' : ` // { ${attributes.join(', ')} }`;
  const name = qualifiedName(relation);
  const lines = ['Explained Query:', `  ReadStorage ${name}${comment}`, '', `Source ${name}`, ''];
  return `${[...lines, `Target cluster: ${relation.cluster ?? DEFAULT_CLUSTER}`].join('\n')}\n`;
}

function columnType(relation: StandInRelation, schemaOfTypes: string, index: number): string {
  const column = relation.columns[index];
  if (column === undefined) return '';
  const named = relation.columnTypeNames?.[column.name];
  const text = named === undefined ? formatSqlType(column.type) : `${schemaOfTypes}.${named}`;
  return column.nullable ? `${text}?` : text;
}
