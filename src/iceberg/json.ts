/**
 * JSON as Iceberg needs it: 64-bit integers survive both ways. In: text; out: plain values in which an integer that
 * a double can't hold exactly is a bigint and every other number is a number. `formatJson` writes both alike.
 *
 * Invariant: `formatJson(parseJson(t))` has the same integers, digit by digit, as `t`. A snapshot id that went through
 * a double names another snapshot, and a commit that asserts it fails for ever.
 */
import { SinkError } from '../errors.ts';

export type JsonValue = null | boolean | number | bigint | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Deeper than any schema in use; the reviver recurses, so hostile nesting would otherwise end in a stack overflow. */
const MAX_DEPTH = 500;

/**
 * Members and items of the whole text, each of which takes about 50 bytes when parsed. Metadata with 100,000 snapshots
 * has 3 million.
 */
const MAX_VALUES = 20_000_000;

/** Metadata with 100,000 snapshots has about 60 million characters. */
const MAX_CHARACTERS = 256 * 1024 * 1024;

/**
 * Every 64-bit integer has fewer digits. Longer ones stay doubles: turning a million digits into a bigint takes
 * minutes.
 */
const MAX_BIGINT_DIGITS = 40;

interface ReviverContext {
  /** The number as the text had it; only for primitive values. */
  readonly source?: string;
}

type Reviver = (key: string, value: unknown, context: ReviverContext) => unknown;
type SourceTextParse = (text: string, reviver: Reviver) => unknown;

// Part of ECMAScript's JSON.parse source text access, which TypeScript's es2024 library does not declare yet.
const jsonWithSource = JSON as unknown as { readonly parse: SourceTextParse; rawJSON(text: string): unknown };

/**
 * Parses JSON text; throws `catalog-protocol` when it is none, or is larger or deeper than any metadata. A member named
 * `__proto__` is dropped: as a key of the objects built from the result it would replace their prototype.
 */
export function parseJson(text: string): unknown {
  if (text.length > MAX_CHARACTERS) {
    throw malformed(`${text.length} characters are more than the limit of ${MAX_CHARACTERS}`);
  }
  checkSize(text);
  try {
    return jsonWithSource.parse(text, revive);
  } catch (thrown) {
    if (thrown instanceof SinkError) throw thrown;
    // The engine's message quotes the text, which may hold credentials.
    throw malformed(`the text of ${text.length} characters is not JSON`);
  }
}

function revive(key: string, value: unknown, context: ReviverContext): unknown {
  if (key === '__proto__') return undefined;
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const { source } = context;
  if (source !== undefined && source.length <= MAX_BIGINT_DIGITS && /^-?\d+$/.test(source)) return BigInt(source);
  if (!Number.isFinite(value)) throw malformed('a number is beyond the range of a double');
  return value;
}

/** Counts brackets and commas outside of strings, before anything recursive sees the text. */
function checkSize(text: string): void {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) {
      inString = true;
    } else if (code === 0x7b || code === 0x5b) {
      depth++;
      values++;
      if (depth > MAX_DEPTH) throw malformed(`nested deeper than ${MAX_DEPTH} levels`);
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === 0x2c) {
      values++;
    }
  }
  if (values > MAX_VALUES) throw malformed(`more than ${MAX_VALUES} values`);
}

/** JSON text without spaces. Members that are undefined are left out; NaN and infinities throw a TypeError. */
export function formatJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return jsonWithSource.rawJSON(item.toString());
    if (typeof item === 'number' && !Number.isFinite(item)) throw new TypeError(`${item} has no JSON form`);
    return item;
  });
  if (text === undefined) throw new TypeError('the value has no JSON form');
  return text;
}

// --- Typed access ----------------------------------------------------------------------------------
// `at` is the JSON path of the object, so that an error says where in a metadata file of megabytes to look.

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `value` as an object; throws `catalog-protocol` naming `at` otherwise. The same for the functions below. */
export function asObject(value: unknown, at: string): JsonObject {
  if (!isJsonObject(value)) throw wrong(at, 'an object', value);
  return value;
}

export function asString(value: unknown, at: string): string {
  if (typeof value !== 'string') throw wrong(at, 'a string', value);
  return value;
}

export function getString(object: JsonObject, key: string, at = '$'): string {
  return asString(object[key], `${at}.${key}`);
}

export function getOptionalString(object: JsonObject, key: string, at = '$'): string | null {
  return isAbsent(object, key) ? null : getString(object, key, at);
}

export function getBoolean(object: JsonObject, key: string, at = '$'): boolean {
  const value = object[key];
  if (typeof value !== 'boolean') throw wrong(`${at}.${key}`, 'true or false', value);
  return value;
}

/** A 32-bit integer such as a schema id or a field id. */
export function getInt32(object: JsonObject, key: string, at = '$'): number {
  return asInt32(object[key], `${at}.${key}`);
}

export function asInt32(value: unknown, at: string): number {
  if (typeof value !== 'number' || (value | 0) !== value) throw wrong(at, 'a 32-bit integer', value);
  return value;
}

export function getOptionalInt32(object: JsonObject, key: string, at = '$'): number | null {
  return isAbsent(object, key) ? null : getInt32(object, key, at);
}

/** A 64-bit integer such as a snapshot id or a time, from a number or a bigint. */
export function getInt64(object: JsonObject, key: string, at = '$'): bigint {
  const value = object[key];
  const wide = typeof value === 'bigint' ? value : Number.isSafeInteger(value) ? BigInt(value as number) : null;
  if (wide === null || BigInt.asIntN(64, wide) !== wide) throw wrong(`${at}.${key}`, 'a 64-bit integer', value);
  return wide;
}

export function getOptionalInt64(object: JsonObject, key: string, at = '$'): bigint | null {
  return isAbsent(object, key) ? null : getInt64(object, key, at);
}

export function getObject(object: JsonObject, key: string, at = '$'): JsonObject {
  return asObject(object[key], `${at}.${key}`);
}

export function getArray(object: JsonObject, key: string, at = '$'): readonly JsonValue[] {
  const value = object[key];
  if (!isJsonArray(value)) throw wrong(`${at}.${key}`, 'an array', value);
  return value;
}

/** The array, or an empty one where the member is absent or null. */
export function getOptionalArray(object: JsonObject, key: string, at = '$'): readonly JsonValue[] {
  return isAbsent(object, key) ? [] : getArray(object, key, at);
}

/** Array.isArray alone narrows a readonly array to any[]. */
export function isJsonArray(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** An object whose members are all strings: properties, a snapshot's summary. Absent and null are empty. */
export function getStringMap(object: JsonObject, key: string, at = '$'): Readonly<Record<string, string>> {
  if (isAbsent(object, key)) return {};
  const members = Object.entries(getObject(object, key, at));
  return Object.fromEntries(members.map(([name, value]) => [name, asString(value, `${at}.${key}.${name}`)]));
}

/** Equal in content: the order of members and whether an integer is a number or a bigint do not matter. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (isJsonArray(a)) {
    return isJsonArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (isJsonObject(a)) {
    const keys = Object.keys(a);
    return isJsonObject(b) && keys.length === Object.keys(b).length && keys.every((key) => sameJson(a[key], b[key]));
  }
  if (typeof a === 'bigint' && typeof b === 'number') return a.toString() === b.toString();
  if (typeof a === 'number' && typeof b === 'bigint') return a.toString() === b.toString();
  return a === b;
}

export function isAbsent(object: JsonObject, key: string): boolean {
  const value = object[key];
  return value === undefined || value === null;
}

function wrong(at: string, expected: string, found: unknown): SinkError {
  return new SinkError('catalog-protocol', `${at} must be ${expected}, found ${kindOf(found)}`);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

function malformed(why: string): SinkError {
  return new SinkError('catalog-protocol', `unreadable JSON: ${why}`);
}
