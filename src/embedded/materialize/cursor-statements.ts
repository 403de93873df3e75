/**
 * DECLARE, FETCH and CLOSE as syntax. In: tokens. Out: what they ask for; the query of a DECLARE as a statement of
 * its own. Materialize reads a cursor forward only, a FETCH without a count takes one row.
 */
import { type SqlStatement, type TokenCursor, cursorOver } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';

export type CursorStatement =
  | { readonly kind: 'declare'; readonly name: string; readonly query: SqlStatement }
  /** `count` null is ALL; `timeoutMs` null waits for one row. */
  | { readonly kind: 'fetch'; readonly name: string; readonly count: number | null; readonly timeoutMs: number | null }
  /** Name null closes all. */
  | { readonly kind: 'close'; readonly name: string | null };

/** Null when the statement is none of the three; throws 42601 when it is one and is wrong. */
export function parseCursorStatement(statement: SqlStatement): CursorStatement | null {
  const cursor = cursorOver(statement.tokens);
  if (cursor.takeWords('declare')) return readDeclare(cursor, statement);
  if (cursor.takeWords('fetch')) return readFetch(cursor);
  if (!cursor.takeWords('close')) return null;
  const name = cursor.takeWords('all') ? null : readCursorName(cursor);
  cursor.expectEnd();
  return { kind: 'close', name };
}

function readCursorName(cursor: TokenCursor): string {
  const [name] = cursor.takeName() ?? cursor.unexpected('identifier');
  return name ?? cursor.unexpected('identifier');
}

function readDeclare(cursor: TokenCursor, statement: SqlStatement): CursorStatement {
  const name = readCursorName(cursor);
  if (!cursor.takeWords('cursor')) cursor.unexpected('CURSOR');
  if (cursor.takeWords('with', 'hold')) failStatement('XX000', 'WITH HOLD is not supported for cursors');
  cursor.takeWords('without', 'hold');
  if (!cursor.takeWords('for')) cursor.unexpected('FOR');
  const first = cursor.peek() ?? cursor.unexpected('a statement');
  const tokens = statement.tokens.filter(({ start }) => start >= first.start);
  const moved = tokens.map((token) => ({ ...token, start: token.start - first.start, end: token.end - first.start }));
  return { kind: 'declare', name, query: { sql: statement.sql.slice(first.start), tokens: moved } };
}

function readFetch(cursor: TokenCursor): CursorStatement {
  cursor.takeWords('forward');
  let count: number | null = 1;
  const token = cursor.peek();
  if (cursor.takeWords('all')) count = null;
  else if (token?.kind === 'number') count = Number(cursor.next()?.text);
  cursor.takeWords('from');
  const name = readCursorName(cursor);
  let timeoutMs: number | null = null;
  if (cursor.takeWords('with')) {
    if (!cursor.takeSymbol('(')) cursor.unexpected('left parenthesis');
    if (!cursor.takeWords('timeout')) cursor.unexpected('TIMEOUT');
    cursor.takeSymbol('=');
    timeoutMs = readTimeoutMs(cursor.next()?.text ?? '');
    if (!cursor.takeSymbol(')')) cursor.unexpected('right parenthesis');
  }
  cursor.expectEnd();
  return { kind: 'fetch', name, count, timeoutMs };
}

const UNIT_MS: Readonly<Record<string, number>> = {
  '': 1000, us: 0.001, ms: 1, millisecond: 1, milliseconds: 1, s: 1000, sec: 1000, second: 1000, seconds: 1000,
  m: 60_000, min: 60_000, minute: 60_000, minutes: 60_000, h: 3_600_000, hour: 3_600_000, hours: 3_600_000,
  d: 86_400_000, day: 86_400_000, days: 86_400_000,
};

/** An interval of one part (`1s`, `500 ms`, `1.5 seconds`), or a time of day (`00:00:01`). */
function readTimeoutMs(text: string): number {
  const clock = /^(\d+):(\d+):(\d+(?:\.\d+)?)$/.exec(text);
  if (clock !== null) return (Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])) * 1000;
  const [, amount, unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/.exec(text.toLowerCase()) ?? [];
  const unitMs = UNIT_MS[unit];
  if (amount === undefined || unitMs === undefined) {
    return failStatement('XX000', `invalid TIMEOUT: invalid input syntax for type interval: "${text}"`);
  }
  return Number(amount) * unitMs;
}
