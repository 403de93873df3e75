/**
 * The one condition that this stand-in evaluates over a relation's rows:
 * `seahash(concat(column::text, …)) % N::uint8 = I::uint8`. In: tokens, then a relation. Out: which of its rows stay.
 * Every other condition is refused as before, so nothing passes here that Materialize might read differently.
 */
import { type RowLine, splitRowLine } from './copy-text.ts';
import { seahash } from './seahash.ts';
import type { SqlToken, TokenCursor } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';
import type { StandInRelation } from './world.ts';

export interface SliceCondition {
  readonly columns: readonly string[];
  readonly divisor: bigint;
  readonly remainder: bigint;
}

const UINT8_MAX = 0xffff_ffff_ffff_ffffn;

/** Takes `WHERE …)` when it has exactly this form; else moves nothing and gives null. */
export function takeSliceCondition(cursor: TokenCursor): SliceCondition | null {
  let at = 0;
  const next = (): SqlToken | undefined => cursor.peek(at++);
  const takes = (...texts: readonly string[]): boolean => texts.every((text) => {
    const token = next();
    return token?.text === text && (token.kind === 'word' || token.kind === 'symbol');
  });
  const uint8 = (): bigint | null => {
    const token = next();
    const value = token?.kind === 'number' && /^\d{1,20}$/.test(token.text) ? BigInt(token.text) : null;
    return value !== null && value <= UINT8_MAX && takes('::', 'uint8') ? value : null;
  };
  if (!takes('where', 'seahash', '(', 'concat', '(')) return null;
  const columns: string[] = [];
  for (let separator: SqlToken | undefined; separator?.text !== ')';) {
    const column = next();
    if (column?.kind !== 'word' && column?.kind !== 'quoted') return null;
    columns.push(column.text);
    if (!takes('::', 'text')) return null;
    separator = next();
    if (separator?.kind !== 'symbol' || (separator.text !== ',' && separator.text !== ')')) return null;
  }
  if (!takes(')', '%')) return null;
  const divisor = uint8();
  if (divisor === null || !takes('=')) return null;
  const remainder = uint8();
  if (remainder === null || !takes(')')) return null;
  for (; at > 0; at--) cursor.next();
  return { columns, divisor, remainder };
}

/** Throws a StatementError for what Materialize refuses. */
export function sliceFilter(relation: StandInRelation, condition: SliceCondition): (line: RowLine) => boolean {
  const { divisor, remainder } = condition;
  if (relation.generateSnapshot !== undefined) failStatement('0A000', 'this stand-in has no slices of a generated snapshot');
  if (divisor === 0n) failStatement('XX000', 'division by zero');
  const textOf = condition.columns.map((name) => {
    const places = relation.columns.flatMap((column, place) => (column.name === name ? [place] : []));
    const [place] = places;
    if (place === undefined) return failStatement('XX000', `column "${name}" does not exist`);
    if (places.length > 1) failStatement('XX000', `column reference "${name}" is ambiguous`);
    const type = relation.columns[place]?.type;
    const isBoolean = type?.kind === 'scalar' && type.name === 'boolean';
    return (values: readonly (string | null)[]): string => {
      const value = values[place] ?? '';
      // A cast to text spells booleans out; every other type has the text that COPY has.
      return isBoolean ? BOOLEAN_TEXT[value] ?? '' : value;
    };
  });
  return (line) => {
    const values = splitRowLine(line);
    const text = textOf.map((of) => of(values)).join('');
    return seahash(Buffer.from(text, 'latin1')) % divisor === remainder;
  };
}

const BOOLEAN_TEXT: Readonly<Record<string, string>> = { t: 'true', f: 'false' };
