/**
 * Values as PGlite prints them, turned into the text Materialize prints. In: a Postgres OID and a text. Out: the
 * text with numerics trimmed, json compact, months spelled out, exponents without padding.
 */
import { canonicalJson } from './json-text.ts';
import { trimNumeric } from './numeric-text.ts';

const FLOATS: ReadonlySet<number> = new Set([700, 701]);
const NUMERIC = 1700;
const INTERVAL = 1186;
const JSONB = 3802;

export function fromPostgresText(typeOid: number, text: string): string {
  if (typeOid === NUMERIC) return trimNumeric(text);
  if (FLOATS.has(typeOid)) return text.replace(/e([+-])0+(?=\d)/, (_, sign: string) => (sign === '-' ? 'e-' : 'e+'));
  if (typeOid === INTERVAL) return text.replace(/\bmon(s?)\b/, 'month$1');
  if (typeOid === JSONB) return canonicalJson(text);
  return text;
}
