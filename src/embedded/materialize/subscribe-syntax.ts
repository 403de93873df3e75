/**
 * The statements SUBSCRIBE and COPY (SUBSCRIBE …) TO STDOUT. In: tokens. Out: what they ask for, names unresolved.
 * Clause order as in Materialize's grammar: WITH, then AS OF, then UP TO.
 */
import { TIMESTAMP_MAX, type Timestamp } from '../../time/timestamp.ts';
import { type SliceCondition, takeSliceCondition } from './slice-condition.ts';
import { type SqlStatement, type TokenCursor, cursorOver } from './sql-tokens.ts';
import { failStatement } from './wire-frames.ts';

export type SubscribeTarget =
  /** `where`: only some of its rows. */
  | { readonly kind: 'relation'; readonly name: readonly string[]; readonly where: SliceCondition | null }
  /** A query that is no plain `SELECT * FROM name`. */
  | { readonly kind: 'query'; readonly sql: string };

export type CopyFormat = 'copy-text' | 'copy-csv' | 'copy-binary';
export type RowFormat = CopyFormat | 'data-row';

export interface SubscribeStatement {
  readonly target: SubscribeTarget;
  readonly snapshot: boolean;
  readonly progress: boolean;
  readonly asOf: Timestamp | null;
  readonly asOfAtLeast: boolean;
  readonly upTo: Timestamp | null;
  readonly format: RowFormat;
}

/** Null when the statement is neither; throws a StatementError when it is one and is wrong. */
export function parseSubscribe(statement: SqlStatement): SubscribeStatement | null {
  const cursor = cursorOver(statement.tokens);
  if (cursor.takeWords('subscribe')) return readSubscribe(cursor, statement.sql, 'data-row');
  if (cursor.peek(0)?.text !== 'copy' || cursor.peek(1)?.text !== '(') return null;
  if (cursor.peek(2)?.text !== 'subscribe') return null;
  const inner = insideParentheses(statement, 1);
  const after = cursorOver(inner.after);
  if (!after.takeWords('to', 'stdout')) after.unexpected('TO STDOUT');
  const format = readCopyOptions(after);
  const subscribe = cursorOver(inner.tokens);
  subscribe.next();
  return readSubscribe(subscribe, statement.sql, format);
}

/** `COPY (query) TO STDOUT`; null when the statement is no COPY of a query. */
export function parseCopyQuery(statement: SqlStatement): { query: SqlStatement; format: CopyFormat } | null {
  if (statement.tokens[0]?.text !== 'copy' || statement.tokens[1]?.text !== '(') return null;
  const inner = insideParentheses(statement, 1);
  const after = cursorOver(inner.after);
  if (!after.takeWords('to', 'stdout')) after.unexpected('TO STDOUT');
  const format = readCopyOptions(after);
  const [first, last] = [inner.tokens[0], inner.tokens.at(-1)];
  if (first === undefined || last === undefined) return failStatement('42601', 'Expected a query');
  const shift = first.start;
  const tokens = inner.tokens.map((token) => ({ ...token, start: token.start - shift, end: token.end - shift }));
  return { query: { sql: statement.sql.slice(shift, last.end), tokens }, format };
}

function insideParentheses(
  statement: SqlStatement,
  open: number,
): { tokens: SqlStatement['tokens']; after: SqlStatement['tokens'] } {
  let depth = 0;
  for (let i = open; i < statement.tokens.length; i++) {
    const token = statement.tokens[i];
    if (token?.kind !== 'symbol') continue;
    if (token.text === '(') depth++;
    if (token.text === ')' && --depth === 0) {
      return { tokens: statement.tokens.slice(open + 1, i), after: statement.tokens.slice(i + 1) };
    }
  }
  return failStatement('42601', 'Expected right parenthesis, found end of statement');
}

function readCopyOptions(cursor: TokenCursor): CopyFormat {
  let format: CopyFormat = 'copy-text';
  if (cursor.takeWords('with') || cursor.peek()?.text === '(') {
    if (!cursor.takeSymbol('(')) cursor.unexpected('left parenthesis');
    do {
      const option = cursor.next()?.text ?? '';
      cursor.takeSymbol('=');
      const value = cursor.next()?.text.toLowerCase() ?? '';
      if (option === 'header') failStatement('XX000', 'COPY TO does not support HEADER option yet');
      if (option !== 'format') failStatement('42601', `Expected one of FORMAT, found ${option}`);
      if (value !== 'text' && value !== 'csv' && value !== 'binary') {
        failStatement('XX000', `unknown FORMAT: ${value}`);
      }
      format = `copy-${value}`;
    } while (cursor.takeSymbol(','));
    if (!cursor.takeSymbol(')')) cursor.unexpected('right parenthesis');
  }
  cursor.expectEnd();
  return format;
}

function readSubscribe(cursor: TokenCursor, sql: string, format: RowFormat): SubscribeStatement {
  cursor.takeWords('to');
  const target = readTarget(cursor, sql);
  if (cursor.takeWords('envelope') || cursor.takeWords('within')) {
    failStatement('0A000', 'this stand-in knows neither ENVELOPE nor WITHIN TIMESTAMP ORDER BY');
  }
  let options = { snapshot: true, progress: false };
  if (cursor.takeWords('with')) options = readOptions(cursor);
  let asOf: Timestamp | null = null;
  let asOfAtLeast = false;
  if (cursor.takeWords('as', 'of')) {
    asOfAtLeast = cursor.takeWords('at', 'least');
    asOf = readTimestamp(cursor);
  }
  const upTo = cursor.takeWords('up', 'to') ? readTimestamp(cursor) : null;
  cursor.expectEnd();
  return { target, ...options, asOf, asOfAtLeast, upTo, format };
}

function readTarget(cursor: TokenCursor, sql: string): SubscribeTarget {
  const open = cursor.peek();
  if (!cursor.takeSymbol('(')) {
    const name = cursor.takeName();
    return { kind: 'relation', name: name ?? cursor.unexpected('identifier'), where: null };
  }
  if (cursor.takeWords('select') && cursor.takeSymbol('*') && cursor.takeWords('from')) {
    const name = cursor.takeName();
    if (name !== null && cursor.takeSymbol(')')) return { kind: 'relation', name, where: null };
    const where = name === null ? null : takeSliceCondition(cursor);
    if (name !== null && where !== null) return { kind: 'relation', name, where };
  }
  for (let depth = 1; ; ) {
    const token = cursor.next();
    if (token === undefined) return cursor.unexpected('right parenthesis');
    if (token.kind !== 'symbol') continue;
    if (token.text === '(') depth++;
    if (token.text === ')' && --depth === 0) {
      return { kind: 'query', sql: sql.slice(open?.end ?? 0, token.start) };
    }
  }
}

function readOptions(cursor: TokenCursor): { snapshot: boolean; progress: boolean } {
  const options = { snapshot: true, progress: false };
  if (!cursor.takeSymbol('(')) cursor.unexpected('left parenthesis');
  do {
    const name = cursor.next()?.text ?? '';
    if (name !== 'snapshot' && name !== 'progress') {
      failStatement('42601', `Expected one of SNAPSHOT or PROGRESS, found ${name}`);
    }
    cursor.takeSymbol('=');
    options[name] = readBoolean(cursor, name);
  } while (cursor.takeSymbol(','));
  if (!cursor.takeSymbol(')')) cursor.unexpected('right parenthesis');
  return options;
}

function readBoolean(cursor: TokenCursor, option: string): boolean {
  const token = cursor.peek();
  if (token === undefined || token.text === ',' || token.text === ')') return true;
  cursor.next();
  const value = token.text.toLowerCase();
  if (['true', 't', 'on', '1'].includes(value)) return true;
  if (['false', 'f', 'off', '0'].includes(value)) return false;
  return failStatement('XX000', `invalid ${option.toUpperCase()}: cannot use value as boolean`);
}

const NOT_A_TIMESTAMP = 'AS OF or UP TO should be castable to a (non-null) mz_timestamp value';

function readTimestamp(cursor: TokenCursor): Timestamp {
  const token = cursor.next() ?? cursor.unexpected('an expression');
  if (token.kind === 'word' && (token.text === 'now' || token.text === 'mz_now')) {
    failStatement('XX000', `calling an unmaterializable function in AS OF or UP TO not yet supported`);
  }
  if (token.kind === 'word' && token.text === 'timestamp') return readTimestamp(cursor);
  if (token.kind !== 'number' && token.kind !== 'string') failStatement('XX000', NOT_A_TIMESTAMP);
  while (cursor.takeSymbol('::')) cursor.takeName();
  if (/^\d+$/.test(token.text)) {
    const time = BigInt(token.text);
    return time <= TIMESTAMP_MAX ? time : failStatement('XX000', NOT_A_TIMESTAMP);
  }
  const zoned = /(?:[zZ]|[+-]\d\d(?::?\d\d)?)$/.test(token.text) ? token.text : `${token.text}Z`;
  const milliseconds = token.kind === 'string' ? Date.parse(zoned.replace(' ', 'T')) : Number.NaN;
  return Number.isNaN(milliseconds) ? failStatement('XX000', NOT_A_TIMESTAMP) : BigInt(milliseconds);
}
