/**
 * The answer of `GET /v1/config` as settings of one connection: pure, text in, settings out.
 *
 * Overrides beat the client's own properties, which beat defaults. A `uri` among them is ignored: requests
 * carry the token, and a catalog must not be able to send it elsewhere.
 */
import { SinkError } from '../errors.ts';
import type { TableIdentifier } from '../sink/ports.ts';
import { isRecord } from './catalog-errors.ts';

export interface CatalogConfig {
  readonly properties: Readonly<Record<string, string>>;
  /** Path between `v1/` and the resource: empty, or segments that each end in a slash. Several are allowed. */
  readonly prefix: string;
  /** What joins the encoded levels of a namespace in a path, percent-encoded. */
  readonly namespaceSeparator: string;
  /** `METHOD /v1/{prefix}/…`; null when the catalog names none, which means the specification's default set. */
  readonly endpoints: ReadonlySet<string> | null;
  /** The catalog recognises a repeated Idempotency-Key. */
  readonly idempotencyKeys: boolean;
}

const DEFAULT_SEPARATOR = '%1F';

export function parseCatalogConfig(body: string, clientProperties: Readonly<Record<string, string>>): CatalogConfig {
  const answer = parseObject(body);
  const properties = {
    ...stringProperties(answer['defaults']),
    ...clientProperties,
    ...stringProperties(answer['overrides']),
  };
  const prefix = checkedPrefix((properties['prefix'] ?? '').replaceAll(/^\/+|\/+$/g, ''));
  return {
    properties,
    prefix: prefix === '' ? '' : `${prefix}/`,
    namespaceSeparator: encodedSeparator(properties['namespace-separator']),
    endpoints: parseEndpoints(answer['endpoints']),
    idempotencyKeys: typeof answer['idempotency-key-lifetime'] === 'string',
  };
}

/** Entries of an object whose values are strings; numbers and booleans as text, as some servers send them. */
export function stringProperties(value: unknown): Record<string, string> {
  const properties: Record<string, string> = {};
  if (!isRecord(value)) return properties;
  for (const [key, entry] of Object.entries(value)) {
    if (typeof entry === 'string') properties[key] = entry;
    if (typeof entry === 'number' || typeof entry === 'boolean') properties[key] = String(entry);
  }
  return properties;
}

function parseObject(body: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body) as unknown;
  } catch {
    parsed = null;
  }
  if (!isRecord(parsed)) {
    throw new SinkError('catalog-protocol', 'read the catalog configuration: the answer is not a JSON object');
  }
  return parsed;
}

/**
 * The prefix goes into the path as it stands, so it may hold nothing that a URL ends a path with or resolves: `..`, also
 * encoded, would lead the token to another service behind the same gateway.
 */
function checkedPrefix(prefix: string): string {
  const climbs = prefix.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
  if (climbs || !/^[\u0021-\u007e]*$/.test(prefix) || /[?#\\]/.test(prefix)) {
    throw new SinkError('catalog-protocol', 'read the catalog configuration: its prefix is not a path');
  }
  return prefix;
}

/** Servers send it encoded (`%1F`) or plain (`.`); either way it goes into a path encoded. */
function encodedSeparator(separator: string | undefined): string {
  if (separator === undefined || separator === '') return DEFAULT_SEPARATOR;
  return /^(%[0-9A-Fa-f]{2})+$/.test(separator) ? separator : encodeURIComponent(separator);
}

/** Entries without the slash before the path are known from two servers; what is no entry at all is passed over. */
function parseEndpoints(value: unknown): ReadonlySet<string> | null {
  if (!Array.isArray(value)) return null;
  const endpoints = new Set<string>();
  for (const entry of value as readonly unknown[]) {
    const match = typeof entry === 'string' ? /^\s*([A-Z]+)\s+\/?(\S+)\s*$/.exec(entry) : null;
    if (match !== null) endpoints.add(`${match[1]} /${match[2]}`);
  }
  return endpoints;
}

/** One path segment. Refuses what a URL would normalise away, and `*`, which storage policies read as a wildcard. */
export function pathSegment(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('*')) {
    throw new SinkError('definition-invalid', `'${name}' can't name a namespace or a table in a REST catalog`);
  }
  return encodeURIComponent(name);
}

export function namespacePath(config: CatalogConfig, namespace: readonly string[]): string {
  return `namespaces/${namespace.map(pathSegment).join(config.namespaceSeparator)}`;
}

/** Path of a table below `v1/`. */
export function tablePath(config: CatalogConfig, table: TableIdentifier): string {
  return `${config.prefix}${namespacePath(config, table.namespace)}/tables/${pathSegment(table.name)}`;
}

/** For people and messages only. */
export function formatIdentifier(table: TableIdentifier): string {
  return [...table.namespace, table.name].join('.');
}
