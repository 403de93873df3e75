/**
 * jsonb as Materialize prints it: no spaces, keys sorted by their bytes, numbers as plain trimmed numerics. In: any
 * JSON text. Out: the canonical text. Numbers never pass through a JavaScript number.
 */
import { plainNumeric } from './numeric-text.ts';

const STRING = /"(?:[^"\\]|\\.)*"/y;
const WORD = /true|false|null/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /\s*/y;

interface JsonCursor {
  readonly text: string;
  at: number;
}

/** Throws a SyntaxError when `text` is no JSON. */
export function canonicalJson(text: string): string {
  const cursor = { text, at: 0 };
  const value = readValue(cursor);
  skipSpace(cursor);
  if (cursor.at !== text.length) throw new SyntaxError('text after the end of a JSON value');
  return value;
}

function readValue(cursor: JsonCursor): string {
  skipSpace(cursor);
  const first = cursor.text[cursor.at];
  if (first === '{') return readObject(cursor);
  if (first === '[') return readArray(cursor);
  if (first === '"') return JSON.stringify(JSON.parse(take(cursor, STRING)));
  if (first === 't' || first === 'f' || first === 'n') return take(cursor, WORD);
  return plainNumeric(take(cursor, NUMBER));
}

function readObject(cursor: JsonCursor): string {
  const members = new Map<string, string>();
  cursor.at++;
  while (!takeSymbol(cursor, '}')) {
    if (members.size > 0) expectSymbol(cursor, ',');
    skipSpace(cursor);
    const key = JSON.parse(take(cursor, STRING)) as string;
    expectSymbol(cursor, ':');
    // The last of equal keys counts.
    members.set(key, readValue(cursor));
  }
  const sorted = [...members].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
}

function readArray(cursor: JsonCursor): string {
  const items: string[] = [];
  cursor.at++;
  while (!takeSymbol(cursor, ']')) {
    if (items.length > 0) expectSymbol(cursor, ',');
    items.push(readValue(cursor));
  }
  return `[${items.join(',')}]`;
}

function skipSpace(cursor: JsonCursor): void {
  take(cursor, SPACE);
}

function take(cursor: JsonCursor, pattern: RegExp): string {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.text);
  if (match === null) throw new SyntaxError('text is no JSON');
  cursor.at = pattern.lastIndex;
  return match[0];
}

function takeSymbol(cursor: JsonCursor, symbol: string): boolean {
  skipSpace(cursor);
  if (cursor.text[cursor.at] !== symbol) return false;
  cursor.at++;
  return true;
}

function expectSymbol(cursor: JsonCursor, symbol: string): void {
  if (!takeSymbol(cursor, symbol)) throw new SyntaxError('text is no JSON');
}
