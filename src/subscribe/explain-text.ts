/**
 * What the sink reads from `EXPLAIN OPTIMIZED PLAN WITH (types | keys) AS TEXT FOR SELECT * FROM …`. Each node of
 * the plan carries a comment such as `// { types: "(integer, text?)" }` or `// { keys: "([0], [1, 2])" }`.
 *
 * Materialize promises no stable form here. So what does not look exactly as expected is null (not known), and the
 * caller goes on without it; a wrong guess would let a key pass that is not unique.
 */
import { type NullableType, parseSqlTypeTuple } from '../relation/sql-type-text.ts';

/** Types of the columns of the plan's root, with nullability; null when the text does not tell. */
export function parseExplainTypes(plan: string): readonly NullableType[] | null {
  const text = rootAnnotation(plan, 'types');
  return text === null ? null : parseSqlTypeTuple(text);
}

/**
 * Unique keys of the plan's root as sets of 0-based columns. `"()"` is [] (none known), `"([])"` is [[]] (at most
 * one row); null when the text does not tell.
 */
export function parseExplainKeys(plan: string): readonly (readonly number[])[] | null {
  const text = rootAnnotation(plan, 'keys');
  if (text === null || !/^\((\[(\d+(, *\d+)*)?\](, *(?=\[)|(?=\))))*\)$/.test(text)) return null;
  return [...text.matchAll(/\[([\d, ]*)\]/g)].map(([, columns = '']) => (
    columns === '' ? [] : columns.split(',').map(Number)
  ));
}

const MAX_LINE = 65_536;

/**
 * The value of `label` at the root: the annotated node with the least indentation, the first of several. Where
 * the plan has common parts (With … Return) the Return node is the root and they stand deeper.
 */
function rootAnnotation(plan: string, label: 'types' | 'keys'): string | null {
  const pattern = new RegExp(`^( *)\\S.*// \\{.*\\b${label}: "((?:[^"\\\\]|\\\\.)*)".*\\}\\s*$`);
  let least = Infinity;
  let value: string | null = null;
  for (const line of plan.split('\n')) {
    // The pattern tries every slash of a line; no plan of a relation that people could read has such a line.
    if (line.length > MAX_LINE) continue;
    const match = pattern.exec(line);
    if (match === null) continue;
    const [, indent = '', text = ''] = match;
    if (indent.length >= least) continue;
    least = indent.length;
    value = text.replaceAll(/\\(.)/g, '$1');
  }
  return value;
}
