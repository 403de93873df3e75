/**
 * Names as one string and back. A part stands as it is, in quotes only where a dot or quote in it would make the
 * string ambiguous; so `displayName` is one-to-one, and `nameParts(displayName(n))` are the parts of n.
 */
import type { ObjectName } from './statements.ts';

/** `public.c` and `c` are one name: the defaults of Materialize are filled in. */
export function nameKey(name: ObjectName): string {
  const [last = '', schema = 'public', database = 'materialize'] = name.parts.toReversed();
  return JSON.stringify([database, schema, last]);
}

export function displayName(name: ObjectName): string {
  return name.parts.map((part) => (/[."]/.test(part) ? quoteName(part) : part)).join('.');
}

export function nameParts(display: string): readonly string[] {
  const parts = display.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [];
  return parts.map((part) => (part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part));
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
