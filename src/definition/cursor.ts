/**
 * A place in the tokens of one file. The readers here return null after they reported what is wrong; the caller
 * passes the null on up to the statement, which goes on behind its `;`.
 */
import type { Report } from './report.ts';
import { type SourceText, endsStatement, isSymbol, isWord, shown } from './source-text.ts';
import type { NamedRange, ObjectName } from './statements.ts';
import type { Range, Token } from './tokens.ts';

export interface Cursor {
  readonly source: SourceText;
  readonly report: Report;
  at: number;
}

const END: Token = { kind: 'end', value: '', start: 0, end: 0 };

/** Words that end a name rather than being one; quoted they are names like any other. */
const RESERVED = new Set(['as', 'from', 'in', 'into', 'to', 'with', 'using', 'not', 'and', 'select']);

export function peek(cursor: Cursor, ahead = 0): Token {
  const { tokens } = cursor.source;
  return tokens[Math.min(cursor.at + ahead, tokens.length - 1)] ?? END;
}

/** Moves on, never beyond the end token. */
export function advance(cursor: Cursor): Token {
  const token = peek(cursor);
  if (token.kind !== 'end') cursor.at++;
  return token;
}

/** Takes the words of `phrase` (lower case) if all of them come next. */
export function takeWords(cursor: Cursor, phrase: string): boolean {
  const words = phrase.split(' ');
  if (!words.every((word, index) => isWord(peek(cursor, index), word))) return false;
  cursor.at += words.length;
  return true;
}

export function takeSymbol(cursor: Cursor, symbol: string): boolean {
  if (!isSymbol(peek(cursor), symbol)) return false;
  cursor.at++;
  return true;
}

/** Reports that something else was expected at this place. Returns null for the caller to pass on. */
export function unexpected(cursor: Cursor, expected: string): null {
  const token = peek(cursor);
  const end = token.kind === 'end' ? 'the end of the file' : shown(cursor.source, token);
  const hint = isSymbol(token, '<') ? '; a <placeholder> is still to be filled in' : '';
  cursor.report.problem(token, `expected ${expected}, found ${end}${hint}`);
  return null;
}

/** The words of `phrase`, or a problem and false. */
export function expectWords(cursor: Cursor, phrase: string): boolean {
  for (const word of phrase.split(' ')) {
    if (!takeWords(cursor, word)) {
      unexpected(cursor, word.toUpperCase());
      return false;
    }
  }
  return true;
}

export function expectSymbol(cursor: Cursor, symbol: string): boolean {
  if (takeSymbol(cursor, symbol)) return true;
  unexpected(cursor, `"${symbol}"`);
  return false;
}

/** One name; `isColumn` allows words that are reserved elsewhere. */
export function readName(cursor: Cursor, what: string, isColumn = false): NamedRange | null {
  const token = peek(cursor);
  const isName = token.kind === 'quoted' || (token.kind === 'word' && (isColumn || !RESERVED.has(token.value)));
  if (!isName) return unexpected(cursor, what);
  cursor.at++;
  return { name: token.value, range: token };
}

/** `[database.][schema.]name` */
export function readObjectName(cursor: Cursor, what: string): ObjectName | null {
  const parts: NamedRange[] = [];
  do {
    const part = readName(cursor, what, parts.length > 0);
    if (part === null) return null;
    parts.push(part);
  } while (takeSymbol(cursor, '.'));
  const range = rangeBetween(parts[0]?.range ?? END, parts[parts.length - 1]?.range ?? END);
  if (parts.length > 3) {
    cursor.report.problem(range, `${what} has at most three parts: database.schema.name`);
    return null;
  }
  return { parts: parts.map((part) => part.name), range };
}

export function rangeBetween(first: Range, last: Range): Range {
  return { start: first.start, end: last.end };
}

/** Goes behind the `;` of the statement. In a statement about a secret only a `;` that surely ends it counts. */
export function skipStatement(cursor: Cursor, isSecretStatement: boolean): void {
  const { tokens } = cursor.source;
  while (peek(cursor).kind !== 'end') {
    if (isSecretStatement ? endsStatement(tokens, cursor.at) : isSymbol(peek(cursor), ';')) break;
    cursor.at++;
  }
  takeSymbol(cursor, ';');
}
