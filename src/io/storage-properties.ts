/**
 * Which storage keys and endpoint a location is written with: pure, from what the catalog returned.
 *
 * In: properties of the catalog, `config` and `storage-credentials` of a table. Out: a complete access, or the named
 * error. Nothing is added that the catalog or the connection did not give: no environment, no profile, no machine
 * identity, so a sink can never write with someone else's rights.
 */
import { Secret } from '../definition/secret.ts';
import { SinkError } from '../errors.ts';
import { CAUSE } from './catalog-errors.ts';
import { isInside, shown } from './location.ts';

export interface StorageCredential {
  readonly prefix: string;
  readonly config: Readonly<Record<string, string>>;
}

/** What one table response says about storage. */
export interface TableStorageProperties {
  readonly config: Readonly<Record<string, string>>;
  readonly credentials: readonly StorageCredential[];
}

export interface S3Access {
  readonly endpoint: string | null;
  readonly region: string;
  readonly pathStyle: boolean;
  readonly accessKeyId: string;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | null;
  /** Wall clock milliseconds; null when the catalog did not say. */
  readonly expiresAtMs: number | null;
}

/** Properties that belong to one set of keys and mean nothing beside another set. */
const KEY_PROPERTIES: ReadonlySet<string> = new Set([
  's3.access-key-id', 's3.secret-access-key', 's3.session-token', 's3.session-token-expires-at-ms', 'expiration-time',
]);

export function withoutKeys(properties: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => !KEY_PROPERTIES.has(key)));
}

/** The credential whose prefix covers the location and is the longest; null when none covers it. */
export function credentialFor(credentials: readonly StorageCredential[], location: string): StorageCredential | null {
  let best: StorageCredential | null = null;
  for (const credential of credentials) {
    const longer = best === null || credential.prefix.length > best.prefix.length;
    if (longer && covers(credential.prefix, location)) best = credential;
  }
  return best;
}

/** Prefixes are locations or bare schemes (`s3`, `s3://`), which cover everything of that scheme. */
function covers(prefix: string, location: string): boolean {
  if (/^(s3[an]?)(:\/\/)?$/i.test(prefix)) return /^s3[an]?:\/\//i.test(location);
  return /^s3[an]?:\/\//i.test(prefix) && isInside(location, prefix);
}

/**
 * The access for `location`. `delegated`: ACCESS DELEGATION was asked for, so only keys of a table response count and
 * static keys of the catalog's properties are no substitute.
 */
export function s3AccessFor(
  location: string,
  catalogProperties: Readonly<Record<string, string>>,
  table: TableStorageProperties,
  delegated: boolean,
): S3Access {
  const base = delegated ? withoutKeys(catalogProperties) : catalogProperties;
  const credential = credentialFor(table.credentials, location);
  // A set of keys is taken whole from one place: the token of one set beside the secret of another signs nothing.
  const properties = credential !== null
    ? { ...withoutKeys(base), ...withoutKeys(table.config), ...credential.config }
    : table.config['s3.access-key-id'] === undefined
      ? { ...base, ...table.config }
      : { ...withoutKeys(base), ...table.config };
  const accessKeyId = properties['s3.access-key-id'];
  const secretAccessKey = properties['s3.secret-access-key'];
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw missingKeys(location, delegated, accessKeyId, secretAccessKey);
  }
  const sessionToken = properties['s3.session-token'];
  for (const key of [accessKeyId, secretAccessKey, sessionToken ?? '']) checkKey(key);
  return {
    endpoint: checkedEndpoint(properties['s3.endpoint'] ?? null),
    region: checkedRegion(properties['s3.region'] ?? properties['client.region'] ?? 'us-east-1'),
    pathStyle: properties['s3.path-style-access']?.toLowerCase() === 'true',
    accessKeyId,
    secretAccessKey: new Secret(secretAccessKey),
    sessionToken: sessionToken === undefined ? null : new Secret(sessionToken),
    expiresAtMs: expiryOf(properties),
  };
}

/** Keys go into headers, where a line break would begin another one. */
function checkKey(key: string): void {
  if (!/^[\u0021-\u007e]*$/.test(key)) throw wrong('a storage key holds characters that no key has');
}

/** A part of the host name of AWS: a slash in it would make another host of it. */
function checkedRegion(region: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(region)) throw wrong('s3.region is not the name of a region');
  return region;
}

function checkedEndpoint(endpoint: string | null): string | null {
  if (endpoint === null) return null;
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw wrong('s3.endpoint is not the URL of an HTTP server');
  }
  return endpoint;
}

function wrong(what: string): SinkError {
  return new SinkError('catalog-protocol', `storage properties of the catalog: ${what}`);
}

function missingKeys(
  location: string, delegated: boolean, id: string | undefined, secret: string | undefined,
): SinkError {
  const make = (cause: string): SinkError =>
    new SinkError('storage-credentials-missing', `${cause} Location: '${shown(location)}'`, { cause });
  if (id !== undefined) return make('The storage credentials are missing s3.secret-access-key.');
  if (secret !== undefined) return make('The storage credentials are missing s3.access-key-id.');
  if (!delegated) return make(CAUSE.credentialsMissing);
  return make('The sink has no storage credentials: the catalog was asked to vend them and returned none.');
}

/** The expiry of a set of keys; null when absent or not a time, which the caller treats as a short life. */
function expiryOf(properties: Readonly<Record<string, string>>): number | null {
  const text = properties['s3.session-token-expires-at-ms'] ?? properties['expiration-time'] ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The earliest expiry that any set of keys of this table names; null when none does. */
export function earliestExpiryMs(table: TableStorageProperties): number | null {
  const expiries = [table.config, ...table.credentials.map((credential) => credential.config)]
    .map(expiryOf)
    .filter((expiry) => expiry !== null);
  return expiries.length === 0 ? null : Math.min(...expiries);
}
