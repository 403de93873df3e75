/**
 * Lists of options: `(CATALOG TYPE = 'rest', URL 'https://…', SNAPSHOT)`. In: the option names that make sense at
 * this place. Out: every option with its place, also the ones nobody knows, so that the checks can name them all.
 */
import {
  type Cursor,
  advance,
  expectSymbol,
  peek,
  rangeBetween,
  readObjectName,
  takeSymbol,
  takeWords,
  unexpected,
} from './cursor.ts';
import { isSecret, isSymbol } from './source-text.ts';
import type { Option, OptionValue } from './statements.ts';
import type { Range } from './tokens.ts';

/** Reads from `(` to `)`; null after a syntax error. `known` in upper case, single spaces. */
export function readOptions(cursor: Cursor, known: readonly string[]): readonly Option[] | null {
  if (!expectSymbol(cursor, '(')) return null;
  // The longest name first: ACCESS KEY ID before any shorter name that begins it.
  const byLength = known.toSorted((a, b) => b.length - a.length);
  const options: Option[] = [];
  if (takeSymbol(cursor, ')')) return options;
  do {
    const option = readOption(cursor, byLength);
    if (option === null) return null;
    options.push(option);
  } while (takeSymbol(cursor, ','));
  if (!takeSymbol(cursor, ')')) return unexpected(cursor, '"," or ")"');
  return options;
}

function readOption(cursor: Cursor, known: readonly string[]): Option | null {
  const first = peek(cursor);
  if (first.kind !== 'word') return unexpected(cursor, 'the name of an option');
  const name = known.find((candidate) => takeWords(cursor, candidate.toLowerCase()));
  if (name === undefined) return readUnknownOption(cursor);
  const range = rangeBetween(first, peek(cursor, -1));
  const hasSign = takeSymbol(cursor, '=');
  const next = peek(cursor);
  if (!hasSign && (isSymbol(next, ',') || isSymbol(next, ')'))) return { name, range, isKnown: true, value: null };
  const value = readValue(cursor, name);
  return value === null ? null : { name, range, isKnown: true, value };
}

function readValue(cursor: Cursor, option: string): OptionValue | null {
  const token = peek(cursor);
  if (token.kind === 'text') {
    advance(cursor);
    return { kind: 'text', text: token.value, range: token };
  }
  const isNegative = isSymbol(token, '-') && peek(cursor, 1).kind === 'number';
  if (isNegative || token.kind === 'number') {
    if (isNegative) advance(cursor);
    const digits = advance(cursor);
    return { kind: 'number', text: `${isNegative ? '-' : ''}${digits.value}`, range: rangeBetween(token, digits) };
  }
  if (takeWords(cursor, 'secret')) {
    const name = readObjectName(cursor, 'the name of a secret');
    return name === null ? null : { kind: 'secret', name, range: rangeBetween(token, name.range) };
  }
  if (token.kind !== 'word' && token.kind !== 'quoted') return unexpected(cursor, `a value for ${option}`);
  const name = readObjectName(cursor, `a value for ${option}`);
  return name === null ? null : { kind: 'name', name, range: name.range };
}

/** Its name is the words up to `=` or the value; its value is skipped, whatever it is. */
function readUnknownOption(cursor: Cursor): Option {
  const words: string[] = [];
  const first = peek(cursor);
  let range: Range = first;
  while (peek(cursor).kind === 'word' && !isSecret(cursor.source, peek(cursor))) {
    const word = advance(cursor);
    words.push(word.value.toUpperCase());
    range = rangeBetween(first, word);
  }
  let depth = 0;
  for (;;) {
    const token = peek(cursor);
    const endsValue = isSymbol(token, ',') || isSymbol(token, ')');
    if (token.kind === 'end' || isSymbol(token, ';') || (depth === 0 && endsValue)) break;
    if (isSymbol(token, '(')) depth++;
    if (isSymbol(token, ')')) depth--;
    advance(cursor);
  }
  return { name: words.join(' '), range, isKnown: false, value: null };
}
