/**
 * SQL text to tokens. In: any text. Out: tokens with offsets (UTF-16), the comments between them, and the
 * lexical faults. Total and linear: every character is looked at once, so hostile text can neither hang nor throw.
 *
 * Why a fault ends everything: when one quote is missing, strings and the text between them trade places, and
 * the inside of a secret would be read (and reported) as words. So a literal that never ends, that swallowed a
 * CREATE statement, or that text sticks to, is a fault, and the caller reports faults only and quotes no text.
 */

export interface Range {
  readonly start: number;
  readonly end: number;
}

export type TokenKind = 'word' | 'quoted' | 'text' | 'number' | 'symbol' | 'unknown' | 'end';

/** `value`: a word in lower case, a name or a text without its quotes and escapes, else the characters as written. */
export interface Token extends Range {
  readonly kind: TokenKind;
  readonly value: string;
}

export interface LexicalFault extends Range {
  readonly message: string;
}

export interface TokenizedText {
  /** Never empty: the last one is of kind `end`. */
  readonly tokens: readonly Token[];
  readonly faults: readonly LexicalFault[];
}

interface Scanner {
  readonly text: string;
  readonly tokens: Token[];
  readonly faults: LexicalFault[];
}

const WORD = /[\p{L}_][\p{L}\p{M}\p{N}_$]*/uy;
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /[\s\uFEFF]+/y;
const SWALLOWED = /\bcreate\s+(?:secret|connection|sink)\b/i;
/** What may stand right behind the closing quote of a literal. */
const AFTER_LITERAL = /[\s,);]|--|\/\*/y;
const SYMBOLS = new Set('(),;=.+-*/<>:[]{}!?@#%^&|~');

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
]);

/** Splits `text` into tokens. Never throws. */
export function tokenize(text: string): TokenizedText {
  const scanner: Scanner = { text, tokens: [], faults: [] };
  let at = 0;
  while (at < text.length) at = scanOne(scanner, at);
  scanner.tokens.push({ kind: 'end', value: '', start: text.length, end: text.length });
  return { tokens: scanner.tokens, faults: scanner.faults };
}

/** Scans what begins at `start` and returns where it ends; always advances. */
function scanOne(scanner: Scanner, start: number): number {
  const { text } = scanner;
  const char = text.charAt(start);
  const space = matchAt(SPACE, text, start);
  if (space > start) return space;
  if (text.startsWith('--', start)) return endOfLine(text, start);
  if (text.startsWith('/*', start)) return scanBlockComment(scanner, start);
  if (char === "'") return scanText(scanner, start, start + 1, false);
  if (/^[Ee]'/.test(text.slice(start, start + 2))) return scanText(scanner, start, start + 2, true);
  if (char === '"') return scanQuotedName(scanner, start);
  const word = matchAt(WORD, text, start);
  if (word > start) return push(scanner, 'word', text.slice(start, word).toLowerCase(), start, word);
  const number = matchAt(NUMBER, text, start);
  if (number > start) return push(scanner, 'number', text.slice(start, number), start, number);
  if (SYMBOLS.has(char)) return push(scanner, 'symbol', char, start, start + 1);
  const end = start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  return push(scanner, 'unknown', text.slice(start, end), start, end);
}

function push(scanner: Scanner, kind: TokenKind, value: string, start: number, end: number): number {
  scanner.tokens.push({ kind, value, start, end });
  return end;
}

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end < 0 ? text.length : end;
}

/** Block comments nest, as in PostgreSQL. */
function scanBlockComment(scanner: Scanner, start: number): number {
  const { text } = scanner;
  let depth = 0;
  let at = start;
  while (at < text.length) {
    if (text.startsWith('/*', at)) {
      depth++;
      at += 2;
    } else if (text.startsWith('*/', at)) {
      depth--;
      at += 2;
      if (depth === 0) return at;
    } else {
      at++;
    }
  }
  scanner.faults.push({ message: 'the comment that begins here never ends', start, end: start + 2 });
  return text.length;
}

function scanText(scanner: Scanner, start: number, bodyStart: number, escapes: boolean): number {
  const { text } = scanner;
  const pieces: string[] = [];
  let pieceStart = bodyStart;
  let at = bodyStart;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === "'" && text.charAt(at + 1) !== "'") {
      pieces.push(text.slice(pieceStart, at));
      const end = at + 1;
      checkLiteral(scanner, start, end, pieces.join(''));
      return push(scanner, 'text', pieces.join(''), start, end);
    }
    if (char === "'") {
      pieces.push(text.slice(pieceStart, at + 1));
      at += 2;
      pieceStart = at;
    } else if (char === '\\' && escapes) {
      pieces.push(text.slice(pieceStart, at));
      const escape = readEscape(text, at);
      pieces.push(escape.value);
      at = escape.end;
      pieceStart = at;
    } else {
      at++;
    }
  }
  const message = 'the text that begins here never ends: a closing quote is missing here or further up';
  scanner.faults.push({ message, start, end: bodyStart });
  return text.length;
}

/** One backslash escape of an E'' text: letters, octal, \x, \u and \U; any other character stands for itself. */
function readEscape(text: string, at: number): { readonly value: string; readonly end: number } {
  const coded = /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3}))/y;
  coded.lastIndex = at;
  const match = coded.exec(text);
  if (match !== null) {
    const octal = match[4];
    const hex = match[1] ?? match[2] ?? match[3] ?? '0';
    const code = octal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(octal, 8);
    return { value: code <= 0x10ffff ? String.fromCodePoint(code) : '\uFFFD', end: coded.lastIndex };
  }
  const char = text.charAt(at + 1);
  return { value: SIMPLE_ESCAPES.get(char) ?? char, end: Math.min(at + 2, text.length) };
}

function scanQuotedName(scanner: Scanner, start: number): number {
  const { text } = scanner;
  let at = start + 1;
  while (at < text.length) {
    if (text.charAt(at) !== '"') {
      at++;
    } else if (text.charAt(at + 1) === '"') {
      at += 2;
    } else {
      const end = at + 1;
      const name = text.slice(start + 1, at).replaceAll('""', '"');
      if (SWALLOWED.test(name)) scanner.faults.push(swallowed(start));
      if (name === '') scanner.faults.push({ message: 'a quoted name must not be empty', start, end });
      return push(scanner, 'quoted', name, start, end);
    }
  }
  const message = 'the quoted name that begins here never ends: a closing quote is missing here or further up';
  scanner.faults.push({ message, start, end: start + 1 });
  return text.length;
}

function checkLiteral(scanner: Scanner, start: number, end: number, value: string): void {
  if (SWALLOWED.test(value)) {
    scanner.faults.push(swallowed(start));
  } else if (end < scanner.text.length && matchAt(AFTER_LITERAL, scanner.text, end) === end) {
    const message = 'something stands directly behind this closing quote: a quote is missing or too many near here';
    scanner.faults.push({ message, start: end - 1, end });
  }
}

function swallowed(start: number): LexicalFault {
  const message = 'the text that begins here swallows a CREATE statement: a closing quote is missing';
  return { message, start, end: start + 1 };
}
