/**
 * Who exists and who may do what: principals, principal roles, catalogs with their catalog roles and grants.
 * Polaris's model: a grant belongs to a catalog role, a catalog role is assigned to principal roles, a principal
 * role to principals. Kept in one JSON file, replaced at each change.
 *
 * Secrets are stored as salted hashes only; a client secret is shown once, in the answer that makes it.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { readFileIfPresent, replaceFile } from './state-file.ts';

export interface Principal {
  readonly name: string;
  readonly clientId: string;
  readonly salt: string;
  readonly secretHash: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly roles: readonly string[];
  readonly createdMs: number;
}

export interface PrincipalRole {
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  /** Catalog name → catalog roles of it. */
  readonly catalogRoles: Readonly<Record<string, readonly string[]>>;
  readonly createdMs: number;
}

/** `namespace` and `table` narrow a grant; both null: the whole catalog. */
export interface Grant {
  readonly privilege: string;
  readonly namespace: readonly string[] | null;
  readonly table: string | null;
}

export interface CatalogRole {
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly grants: readonly Grant[];
  readonly createdMs: number;
}

export interface StorageConfig {
  readonly storageType: 'S3' | 'FILE';
  readonly allowedLocations: readonly string[];
  /** S3 only, all optional. `endpoint` is the one clients are told, `endpointInternal` the catalog's own. */
  readonly endpoint: string | null;
  readonly endpointInternal: string | null;
  readonly stsEndpoint: string | null;
  readonly stsUnavailable: boolean;
  readonly pathStyleAccess: boolean;
  readonly region: string | null;
  readonly roleArn: string | null;
  readonly externalId: string | null;
}

export interface CatalogEntity {
  readonly name: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly storage: StorageConfig;
  readonly roles: readonly CatalogRole[];
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly version: number;
}

export interface AccessModel {
  readonly principals: readonly Principal[];
  readonly principalRoles: readonly PrincipalRole[];
  readonly catalogs: readonly CatalogEntity[];
}

export interface AccessState {
  current(): AccessModel;
  /** Replaces the model on disk, then in memory. */
  replace(model: AccessModel): void;
}

/** The principal role that may use the management API, and the catalog role that every new catalog gets. */
export const SERVICE_ADMIN = 'service_admin';
export const CATALOG_ADMIN = 'catalog_admin';

export function openAccessState(
  stateDir: string, root: { readonly clientId: string; readonly clientSecret: string }, nowMs: number,
): AccessState {
  const path = join(stateDir, 'access.json');
  const text = readFileIfPresent(path);
  let model: AccessModel = text === null
    ? { principals: [], principalRoles: [emptyPrincipalRole(SERVICE_ADMIN, nowMs)], catalogs: [] }
    : JSON.parse(text) as AccessModel;
  const replace = (next: AccessModel): void => {
    replaceFile(path, `${JSON.stringify(next, null, 1)}\n`);
    model = next;
  };
  // The root credential is what this start was given, also when an earlier start had another one.
  const earlier = model.principals.find((principal) => principal.name === 'root');
  const rootPrincipal: Principal = {
    ...(earlier ?? { name: 'root', properties: {}, roles: [SERVICE_ADMIN], createdMs: nowMs }),
    clientId: root.clientId,
    ...hashSecret(root.clientSecret),
  };
  const others = model.principals.filter((principal) => principal.name !== 'root');
  replace({ ...model, principals: [rootPrincipal, ...others] });
  return { current: () => model, replace };
}

export function emptyPrincipalRole(name: string, nowMs: number): PrincipalRole {
  return { name, properties: {}, catalogRoles: {}, createdMs: nowMs };
}

export function hashSecret(secret: string): { readonly salt: string; readonly secretHash: string } {
  const salt = randomBytes(16).toString('hex');
  return { salt, secretHash: hashWith(salt, secret) };
}

export function secretMatches(principal: Principal, secret: string): boolean {
  return timingSafeEqual(Buffer.from(principal.secretHash), Buffer.from(hashWith(principal.salt, secret)));
}

// One hash round: the secrets are 128 random bits made here, or a root secret of a local test catalog.
function hashWith(salt: string, secret: string): string {
  return createHash('sha256').update(salt).update(secret).digest('hex');
}

export function findCatalog(model: AccessModel, name: string): CatalogEntity | null {
  return model.catalogs.find((catalog) => catalog.name === name) ?? null;
}
