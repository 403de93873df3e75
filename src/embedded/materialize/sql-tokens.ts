/**
 * SQL text as tokens, just enough to recognise statements and names. In: text. Out: tokens with their places.
 * Nothing inside of strings, quoted names and comments is ever taken for syntax.
 */
import { failStatement } from './wire-frames.ts';

export interface SqlToken {
  readonly kind: 'word' | 'quoted' | 'string' | 'number' | 'parameter' | 'symbol';
  /** Words in lower case; quoted names and strings without quotes; symbols as written. */
  readonly text: string;
  /** Place in the SQL text, `end` exclusive. */
  readonly start: number;
  readonly end: number;
}

export interface SqlStatement {
  readonly sql: string;
  readonly tokens: readonly SqlToken[];
}

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*|/\*[\s\S]*?\*/)`,
    String.raw`(?<dollar>\$(?<tag>[A-Za-z_]*)\$[\s\S]*?\$\k<tag>\$)`,
    String.raw`(?<parameter>\$\d+)`,
    String.raw`(?<string>[eE]?'(?:[^']|'')*')`,
    String.raw`(?<quoted>"(?:[^"]|"")*")`,
    String.raw`(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)`,
    String.raw`(?<word>[\p{L}_][\p{L}\p{N}_$]*)`,
    String.raw`(?<symbol>::|=>|->>|->|<=|>=|<>|!=|\|\||[\s\S])`,
  ].join('|'),
  'uy',
);

/** Tokens of `sql`. Throws 42601 on an unterminated string or name. */
export function tokenizeSql(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(sql); match !== null; match = TOKEN.exec(sql)) {
    const token = tokenOf(match.groups ?? {}, match.index, TOKEN.lastIndex);
    if (token !== null) tokens.push(token);
    if (TOKEN.lastIndex >= sql.length) break;
  }
  return tokens;
}

function tokenOf(groups: Record<string, string | undefined>, start: number, end: number): SqlToken | null {
  if (groups['space'] !== undefined) return null;
  const place = { start, end };
  if (groups['word'] !== undefined) return { kind: 'word', text: groups['word'].toLowerCase(), ...place };
  if (groups['quoted'] !== undefined) {
    return { kind: 'quoted', text: groups['quoted'].slice(1, -1).replaceAll('""', '"'), ...place };
  }
  if (groups['string'] !== undefined) {
    const quote = groups['string'].indexOf("'");
    return { kind: 'string', text: groups['string'].slice(quote + 1, -1).replaceAll("''", "'"), ...place };
  }
  if (groups['dollar'] !== undefined) return { kind: 'string', text: groups['dollar'], ...place };
  if (groups['number'] !== undefined) return { kind: 'number', text: groups['number'], ...place };
  if (groups['parameter'] !== undefined) return { kind: 'parameter', text: groups['parameter'], ...place };
  const symbol = groups['symbol'] ?? '';
  if (symbol === "'") failStatement('42601', 'unterminated quoted string');
  if (symbol === '"') failStatement('42601', 'unterminated quoted identifier');
  return { kind: 'symbol', text: symbol, ...place };
}

/** The statements of a text, split at semicolons; empty ones are left out. */
export function splitStatements(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let tokens: SqlToken[] = [];
  const finish = (): void => {
    const [first, last] = [tokens[0], tokens[tokens.length - 1]];
    if (first !== undefined && last !== undefined) {
      const shift = first.start;
      const moved = tokens.map((token) => ({ ...token, start: token.start - shift, end: token.end - shift }));
      statements.push({ sql: sql.slice(first.start, last.end), tokens: moved });
    }
    tokens = [];
  };
  for (const token of tokenizeSql(sql)) {
    if (token.kind === 'symbol' && token.text === ';') finish();
    else tokens.push(token);
  }
  finish();
  return statements;
}

/** Walks tokens; every `take` moves on only when it matched. */
export interface TokenCursor {
  peek(ahead?: number): SqlToken | undefined;
  next(): SqlToken | undefined;
  takeWords(...words: readonly string[]): boolean;
  takeSymbol(symbol: string): boolean;
  /** A dotted name; null when there is none here. */
  takeName(): string[] | null;
  /** Throws 42601 when something is left. */
  expectEnd(): void;
  unexpected(wanted: string): never;
}

export function cursorOver(tokens: readonly SqlToken[]): TokenCursor {
  let at = 0;
  const unexpected = (wanted: string): never => {
    const found = tokens[at];
    const shown = found === undefined ? 'end of statement' : found.kind === 'word' ? found.text : `"${found.text}"`;
    return failStatement('42601', `Expected ${wanted}, found ${shown}`);
  };
  const isName = (token: SqlToken | undefined): token is SqlToken => token?.kind === 'word' || token?.kind === 'quoted';
  const cursor: TokenCursor = {
    peek: (ahead = 0) => tokens[at + ahead],
    next: () => tokens[at++],
    takeWords(...words) {
      const all = words.every((word, i) => tokens[at + i]?.kind === 'word' && tokens[at + i]?.text === word);
      if (all) at += words.length;
      return all;
    },
    takeSymbol(symbol) {
      const found = tokens[at]?.kind === 'symbol' && tokens[at]?.text === symbol;
      if (found) at++;
      return found;
    },
    takeName() {
      const first = tokens[at];
      if (!isName(first)) return null;
      const parts = [first.text];
      at++;
      while (tokens[at]?.text === '.' && tokens[at]?.kind === 'symbol') {
        const part = tokens[at + 1];
        if (!isName(part)) unexpected('identifier');
        else parts.push(part.text);
        at += 2;
      }
      return parts;
    },
    expectEnd() {
      if (at < tokens.length) unexpected('end of statement');
    },
    unexpected,
  };
  return cursor;
}
