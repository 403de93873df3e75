/** The statement that starts a subscription, and the quoting of names and text that it and discovery need. */
import { invariant } from '../errors.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../time/timestamp.ts';

export interface SubscribeStatement {
  readonly database: string;
  readonly schema: string;
  readonly name: string;
  /** null: Materialize picks a readable time. */
  readonly asOf: Timestamp | null;
  /** false: only changes at times strictly after the as of. */
  readonly snapshot: boolean;
  /** null: the whole relation. */
  readonly slice: Slice | null;
}

/** Slice `index` of `count`: the rows whose columns, as text, hash to it. */
export interface Slice {
  readonly index: number;
  readonly count: number;
  readonly columns: readonly string[];
}

/**
 * COPY around SUBSCRIBE makes Materialize send one CopyData per row, without a row description and without
 * waiting for a batch. PROGRESS is what closes times; text format because Materialize has no binary form of lists
 * and maps. AS OF stands after WITH in its grammar, and is exact: no AT LEAST, which may skip times.
 */
export function subscribeSql(statement: SubscribeStatement): string {
  const { asOf } = statement;
  invariant(asOf === null || (asOf >= 0n && asOf <= TIMESTAMP_MAX), 'the as of lies outside 64 bits');
  const relation = qualifiedIdentifier([statement.database, statement.schema, statement.name]);
  const options = statement.snapshot ? 'PROGRESS' : 'PROGRESS, SNAPSHOT = false';
  const at = asOf === null ? '' : ` AS OF ${asOf}`;
  const target = statement.slice === null ? relation : `(SELECT * FROM ${relation} WHERE ${sliceCondition(statement.slice)})`;
  return `COPY (SUBSCRIBE ${target} WITH (${options})${at}) TO STDOUT`;
}

/**
 * True for each row in exactly one of the slices 0 to count - 1: `concat` reads NULL as nothing and is never NULL itself,
 * so neither is the condition. The numbers are cast because `uint8 % integer` has no operator of its own: resolved by
 * way of double precision, it would lose the low bits of a hash.
 */
function sliceCondition({ index, count, columns }: Slice): string {
  invariant(count > 1 && index >= 0 && index < count && columns.length > 0, 'a slice is one of several, by some columns');
  const text = columns.map((name) => `${quoteIdentifier(name)}::text`).join(', ');
  return `seahash(concat(${text})) % ${count}::uint8 = ${index}::uint8`;
}

/** An identifier that keeps its case and any character. Zero bytes can't travel in a statement. */
export function quoteIdentifier(name: string): string {
  invariant(!name.includes('\0'), 'an identifier contains a zero byte');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes each part that is there: objects of system schemas have no database, shown here as ''. */
export function qualifiedIdentifier(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').map(quoteIdentifier).join('.');
}

/** A text literal; Materialize has standard_conforming_strings on, so only quotes need doubling. */
export function quoteLiteral(text: string): string {
  invariant(!text.includes('\0'), 'a text contains a zero byte');
  return `'${text.replaceAll("'", "''")}'`;
}
