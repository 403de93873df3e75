/**
 * The SQL text as problems quote it. In: text and tokens. Out: line and column of an offset, and excerpts in
 * which no secret stands.
 *
 * What is kept out: everything behind the name in CREATE SECRET and ALTER SECRET, the value of every option that
 * carries a secret, URLs with a password, comments, and every text literal except the one that the problem is
 * about. It is decided on tokens alone, before and apart from the parser, so a statement that doesn't parse
 * leaks no more than one that does.
 */
import type { Excerpt, Position, Problem } from './definitions.ts';
import { type Range, type Token, tokenize } from './tokens.ts';

export interface SourceText {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly lineStarts: readonly number[];
  readonly secrets: readonly Range[];
}

const HIDDEN = '…';
const MAX_TEXT_LENGTH = 120;
const MAX_EXCERPT_LENGTH = 500;
/** One missing quote causes many. */
const MAX_FAULTS = 20;
const STATEMENT_WORDS = new Set(['create', 'alter', 'drop', 'select', 'insert', 'show', 'set', 'begin', 'commit']);

/** The text of a problem that quotes nothing: used while the quoting of the file is in doubt. */
export function bareProblem(source: SourceText, range: Range, message: string): Problem {
  return { message, position: positionOf(source, range.start), text: source.text.slice(range.start, range.end) };
}

export function problemAt(source: SourceText, range: Range, message: string): Problem {
  return {
    message,
    position: positionOf(source, range.start),
    text: shown(source, range),
    excerpt: excerptOf(source, range),
  };
}

/** The text of `range`, at most one line of it, `…` where a secret stands in it. */
export function shown(source: SourceText, range: Range): string {
  if (isSecret(source, range)) return HIDDEN;
  if (range.start >= source.text.length) return 'the end of the file';
  const [line = ''] = source.text.slice(range.start, range.end).split(/[\r\n]/, 1);
  const clean = line.replaceAll(/\p{Cc}/gu, ' ');
  return clean.length > MAX_TEXT_LENGTH ? `${clean.slice(0, MAX_TEXT_LENGTH)}${HIDDEN}` : clean;
}

export function isSecret(source: SourceText, range: Range): boolean {
  const { secrets } = source;
  const last = lastAtMost(secrets.length, (index) => (secrets[index]?.start ?? 0) < range.end);
  return last >= 0 && range.start < (secrets[last]?.end ?? 0);
}

/** Lines end at \n; columns count characters (code points, not UTF-16 units) from 1. */
export function positionOf(source: SourceText, offset: number): Position {
  const line = lineIndexOf(source.lineStarts, offset);
  const before = source.text.slice(source.lineStarts[line] ?? 0, offset);
  return { line: line + 1, column: characterCount(before) + 1 };
}

/** Code points, not UTF-16 units: what an editor's column counts. */
export function characterCount(text: string): number {
  const pairs = text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g);
  return text.length - (pairs?.length ?? 0);
}

function lineIndexOf(lineStarts: readonly number[], offset: number): number {
  return lastAtMost(lineStarts.length, (index) => (lineStarts[index] ?? 0) <= offset);
}

/** The last index below `count` for which `holds`, which is true up to some index and false behind it; else -1. */
function lastAtMost(count: number, holds: (index: number) => boolean): number {
  let low = -1;
  let high = count - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function readSourceText(text: string): { readonly source: SourceText; readonly faults: readonly Problem[] } {
  const { tokens, faults } = tokenize(text);
  const lineStarts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lineStarts.push(at + 1);
  const source = { text, tokens, lineStarts, secrets: secretRanges(tokens) };
  return { source, faults: faults.slice(0, MAX_FAULTS).map((fault) => bareProblem(source, fault, fault.message)) };
}

/** null for lines too long to be read, as machines write them. */
function excerptOf(source: SourceText, range: Range): Excerpt | null {
  const line = lineIndexOf(source.lineStarts, range.start);
  const start = source.lineStarts[line] ?? 0;
  const end = (source.lineStarts[line + 1] ?? source.text.length + 1) - 1;
  if (end - start > MAX_EXCERPT_LENGTH) return null;
  let written = '';
  let caret: number | null = null;
  let at = start;
  for (const token of source.tokens) {
    if (token.end <= start || token.kind === 'end') continue;
    if (token.start >= end) break;
    // Between tokens stand only spaces and comments; comments are not shown.
    if (token.start > at) written += source.text.slice(at, token.start).replaceAll(/\S+/g, '').replaceAll('\t', ' ');
    if (caret === null && range.start <= token.start) caret = characterCount(written);
    written += pieceOf(source, token, range, start, end, written);
    at = token.end;
  }
  return { line: written.trimEnd(), caret: caret ?? characterCount(written) };
}

function pieceOf(
  source: SourceText,
  token: Token,
  range: Range,
  start: number,
  end: number,
  written: string,
): string {
  if (isSecret(source, token)) return written.endsWith(HIDDEN) ? '' : HIDDEN;
  const isMeant = range.start <= token.start && token.end <= range.end;
  if (token.kind === 'text' && !isMeant) return `'${HIDDEN}'`;
  const piece = source.text.slice(Math.max(token.start, start), Math.min(token.end, end));
  return piece.replaceAll(/\p{Cc}/gu, ' ');
}

/** From token `from` up to, not including, token `to`. */
interface TokenSpan {
  readonly from: number;
  readonly to: number;
}

/** Adds the span and returns its last token, from where the search goes on: ranges never overlap. */
function hide(tokens: readonly Token[], span: TokenSpan | null, ranges: Range[]): number | null {
  const start = tokens[span?.from ?? 0]?.start ?? 0;
  const end = tokens[span?.to ?? 0]?.start ?? start;
  if (span === null || end <= start) return null;
  ranges.push({ start, end });
  return span.to - 1;
}

/** In the order of the text, without overlap. */
function secretRanges(tokens: readonly Token[]): readonly Range[] {
  const ranges: Range[] = [];
  let statementStart = 0;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (isSymbol(token, ';')) {
      statementStart = at + 1;
    } else if (opensSecretStatement(tokens, at, statementStart)) {
      at = hide(tokens, valueOfSecretStatement(tokens, at), ranges) ?? at;
    } else if (namesSecretOption(tokens, at)) {
      at = hide(tokens, valueOfSecretOption(tokens, at), ranges) ?? at;
    } else if (token.kind === 'text' && /:\/\/[^/]*@/.test(token.value)) {
      ranges.push(token);
    }
  }
  return ranges;
}

function opensSecretStatement(tokens: readonly Token[], at: number, statementStart: number): boolean {
  if (!isWord(tokens[at], 'secret')) return false;
  const before = tokens[at - 1];
  return at - statementStart <= 1 || isWord(before, 'create') || isWord(before, 'alter') || isWord(before, 'replace');
}

function valueOfSecretStatement(tokens: readonly Token[], secretAt: number): TokenSpan | null {
  let at = secretAt + 1;
  if (isWord(tokens[at], 'if')) at++;
  if (isWord(tokens[at], 'not')) at++;
  if (isWord(tokens[at], 'exists')) at++;
  if (isNamePart(tokens[at])) at++;
  while (isSymbol(tokens[at], '.') && isNamePart(tokens[at + 1])) at += 2;
  if (isWord(tokens[at], 'as')) at++;
  const fromOutside = isWord(tokens[at], 'env') || isWord(tokens[at], 'file');
  if (fromOutside && tokens[at + 1]?.kind === 'text' && endsStatement(tokens, at + 2)) return null;
  let to = at;
  while (!endsStatement(tokens, to)) to++;
  return { from: at, to };
}

/** A `;` that ends the statement for sure, not one inside a secret written without quotes. */
export function endsStatement(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (token === undefined || token.kind === 'end') return true;
  if (!isSymbol(token, ';')) return false;
  const next = tokens[at + 1];
  return next === undefined || next.kind === 'end' || (next.kind === 'word' && STATEMENT_WORDS.has(next.value));
}

function namesSecretOption(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at];
  if (isWord(token, 'credential') || isWord(token, 'password')) return true;
  const before = tokens[at - 1];
  if (isWord(token, 'token')) return isWord(before, 'session');
  return isWord(token, 'key') && (isWord(before, 'access') || isWord(before, 'account'));
}

function valueOfSecretOption(tokens: readonly Token[], nameAt: number): TokenSpan | null {
  let at = nameAt + 1;
  // ACCESS KEY ID is an option of its own; its value is treated alike.
  if (isWord(tokens[at], 'id')) at++;
  if (isSymbol(tokens[at], '=')) at++;
  if (isWord(tokens[at], 'secret') && isNamePart(tokens[at + 1])) return null;
  if (isWord(tokens[at], 'none')) return null;
  let to = at;
  while (!isSymbol(tokens[to], ',') && !isSymbol(tokens[to], ')') && !endsStatement(tokens, to)) to++;
  return { from: at, to };
}

export function isWord(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.value === word;
}

export function isSymbol(token: Token | undefined, symbol: string): boolean {
  return token?.kind === 'symbol' && token.value === symbol;
}

function isNamePart(token: Token | undefined): boolean {
  return (token?.kind === 'word' && token.value !== 'as') || token?.kind === 'quoted';
}
