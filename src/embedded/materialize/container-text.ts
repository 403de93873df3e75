/**
 * Text forms of arrays, records and ranges taken apart again. In: a text this stand-in made (wire reference 2.3).
 * Out: the texts inside, null for NULL.
 */
import type { SqlType } from '../../relation/sql-type.ts';

export interface ContainerItem {
  readonly text: string | null;
  /** An unquoted `{…}`: a further dimension of an array. */
  readonly nested: boolean;
}

/** The items of `{a,b}`; `opening` are the characters that open a nested container. */
export function parseContainer(text: string, opening: readonly string[]): ContainerItem[] {
  const items: ContainerItem[] = [];
  if (text === '{}') return items;
  for (let at = 1; at < text.length; ) {
    const first = text[at] ?? '';
    if (first === '"') {
      const { value, next } = readQuoted(text, at);
      items.push({ text: value, nested: false });
      at = next + 1;
    } else {
      const nested = opening.includes(first);
      const next = nested ? endOfBraces(text, at) : endOfBare(text, at, ',}');
      const bare = text.slice(at, next);
      items.push({ text: !nested && bare === 'NULL' ? null : bare, nested });
      at = next + 1;
    }
  }
  return items;
}

/** The fields of `(a,b)`. Arrays inside are not quoted and hold commas, so the types say where a field ends. */
export function parseRecord(text: string, types: readonly SqlType[]): (string | null)[] {
  let at = 1;
  return types.map(({ kind }) => {
    const first = text[at];
    if (first === '"') {
      const { value, next } = readQuoted(text, at);
      at = next + 1;
      return value;
    }
    const braced = first === '{' && (kind === 'array' || kind === 'list' || kind === 'map');
    const next = braced ? endOfBraces(text, at) : endOfBare(text, at, ',)');
    const field = text.slice(at, next);
    at = next + 1;
    return field === '' ? null : field;
  });
}

export interface RangeText {
  readonly lower: string | null;
  readonly upper: string | null;
  readonly lowerInclusive: boolean;
  readonly upperInclusive: boolean;
}

/** Null for the empty range. */
export function parseRange(text: string): RangeText | null {
  if (text === 'empty') return null;
  const bounds: (string | null)[] = [];
  for (let at = 1; at < text.length; ) {
    if (text[at] === '"') {
      const { value, next } = readQuoted(text, at);
      bounds.push(value);
      at = next + 1;
    } else {
      const next = endOfBare(text, at, ',)]');
      bounds.push(next === at ? null : text.slice(at, next));
      at = next + 1;
    }
  }
  const [lower = null, upper = null] = bounds;
  return { lower, upper, lowerInclusive: text.startsWith('['), upperInclusive: text.endsWith(']') };
}

/** A quoted text from its first quote; a quote inside is escaped or doubled. `next` is behind the last quote. */
function readQuoted(text: string, start: number): { value: string; next: number } {
  let value = '';
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at];
    if (character === '\\' || (character === '"' && text[at + 1] === '"')) value += text[++at] ?? '';
    else if (character === '"') return { value, next: at + 1 };
    else value += character;
  }
  return { value, next: text.length };
}

function endOfBare(text: string, start: number, ends: string): number {
  let at = start;
  while (at < text.length && !ends.includes(text[at] ?? '')) at++;
  return at;
}

function endOfBraces(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') at = readQuoted(text, at).next - 1;
    else if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at + 1;
  }
  return text.length;
}
