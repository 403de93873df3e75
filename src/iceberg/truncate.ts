/**
 * Bounds of strings and binary cut to a length (Iceberg's `truncate(n)` metrics, Parquet's page index): the lower
 * bound by cutting off, which makes it smaller; the upper one by cutting off and counting up, so that it stays above
 * everything it stands for.
 */

/** At most `maxBytes` of `value`; a text ends where a character ends. */
export function truncateLower(value: Uint8Array, maxBytes: number, isText: boolean): Uint8Array {
  return value.length <= maxBytes ? value : value.slice(0, cutAt(value, maxBytes, isText));
}

/** A value not below `value` of at most `maxBytes`, or a few more where a character grows; null when there is none. */
export function truncateUpper(value: Uint8Array, maxBytes: number, isText: boolean): Uint8Array | null {
  if (value.length <= maxBytes) return value;
  const prefix = value.subarray(0, cutAt(value, maxBytes, isText));
  return isText ? incrementString(prefix) : incrementBytes(prefix);
}

function cutAt(value: Uint8Array, maxBytes: number, isText: boolean): number {
  let end = maxBytes;
  while (isText && ((value[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end;
}

/**
 * The smallest text above everything that starts with `prefix`: its last code point that can grow grows by one,
 * what follows is dropped. Surrogates are no characters and are skipped. Null when nothing can grow.
 */
export function incrementString(prefix: Uint8Array): Uint8Array | null {
  const points = Array.from(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(prefix), (character) =>
    character.codePointAt(0) ?? 0);
  for (let last = points.length - 1; last >= 0; last--) {
    const point = points[last] ?? 0;
    if (point === 0x10_ffff) continue;
    const next = point === 0xd7ff ? 0xe000 : point + 1;
    return new TextEncoder().encode(String.fromCodePoint(...points.slice(0, last), next));
  }
  return null;
}

/** As for text, with bytes. */
export function incrementBytes(prefix: Uint8Array): Uint8Array | null {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last -= 1;
  if (last < 0) return null;
  const grown = prefix.slice(0, last + 1);
  grown[last] = (grown[last] ?? 0) + 1;
  return grown;
}
