/**
 * An HTTP request as the routes see it: the path cut into decoded segments, the query, lower-case headers
 * and the whole body as text. Reading fields goes through the functions here, so that a body of the wrong
 * shape is always a 400 and never a crash of the catalog.
 */
import { parseJson } from '../../iceberg/json.ts';
import type { JsonObject } from '../../iceberg/json.ts';
import { badRequest, unreadableRequest } from './answer.ts';

export interface CatalogRequest {
  readonly method: string;
  /** Path as sent, without the query. */
  readonly path: string;
  /** Decoded, without empty ones: doubled and trailing slashes are harmless. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyText: string;
}

export function parseRequest(
  method: string, url: string, headers: Readonly<Record<string, string>>, bodyText: string,
): CatalogRequest {
  const [path, query] = splitOnce(url, '?');
  let segments: string[];
  try {
    segments = path.split('/').filter((segment) => segment !== '').map(decodeURIComponent);
  } catch {
    throw badRequest('The path holds a percent sign that encodes nothing');
  }
  return { method, path, segments, query: new URLSearchParams(query), headers, bodyText };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

export function bodyObject(request: CatalogRequest): JsonObject {
  let value: unknown;
  try {
    value = parseJson(request.bodyText);
  } catch {
    throw unreadableRequest();
  }
  if (!isObject(value)) throw unreadableRequest();
  return value;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function objectField(from: JsonObject, key: string): JsonObject {
  const value: unknown = from[key];
  if (!isObject(value)) throw unreadableRequest();
  return value;
}

export function stringField(from: JsonObject, key: string): string {
  const value: unknown = from[key];
  if (typeof value !== 'string' || value === '') {
    throw badRequest(`Invalid value for field '${key}': a string is needed`);
  }
  return value;
}

export function optionalString(from: JsonObject, key: string): string | null {
  const value: unknown = from[key];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw unreadableRequest();
  return value;
}

export function stringsField(from: JsonObject, key: string): string[] {
  const value: unknown = from[key];
  if (!Array.isArray(value)) throw unreadableRequest();
  return value.map((item: unknown) => {
    if (typeof item !== 'string') throw unreadableRequest();
    return item;
  });
}

export function optionalStrings(from: JsonObject, key: string): string[] {
  const value: unknown = from[key];
  return value === undefined || value === null ? [] : stringsField(from, key);
}

export function objectsField(from: JsonObject, key: string): JsonObject[] {
  const value: unknown = from[key];
  if (!Array.isArray(value)) throw unreadableRequest();
  return value.map((item: unknown) => {
    if (!isObject(item)) throw unreadableRequest();
    return item;
  });
}

/** A map of strings; absent and null are the empty map. */
export function propertiesField(from: JsonObject, key: string): Record<string, string> {
  const value: unknown = from[key];
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw unreadableRequest();
  const result: Record<string, string> = {};
  for (const [name, item] of Object.entries(value)) {
    if (typeof item !== 'string') throw unreadableRequest();
    result[name] = item;
  }
  return result;
}
