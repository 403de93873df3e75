/**
 * A Materialize timestamp: milliseconds since 1970 as an unsigned 64-bit integer.
 * Values reach 2^64-1 (a constant relation is stamped with it), so it is a bigint everywhere.
 */
export type Timestamp = bigint;

export const TIMESTAMP_MIN: Timestamp = 0n;
export const TIMESTAMP_MAX: Timestamp = 0xffff_ffff_ffff_ffffn;

/** Parses the decimal text of a timestamp; null when it is not an unsigned 64-bit integer. */
export function parseTimestamp(text: string): Timestamp | null {
  if (!/^\d{1,20}$/.test(text)) return null;
  const value = BigInt(text);
  return value <= TIMESTAMP_MAX ? value : null;
}
