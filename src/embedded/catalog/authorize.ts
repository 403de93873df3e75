/**
 * May this caller do this? One table from the operation, as Polaris names it in its refusals, to the
 * privileges it needs, and one from a privilege to those that include it.
 */
import type { AccessModel, Grant } from './access-state.ts';
import { SERVICE_ADMIN, findCatalog } from './access-state.ts';
import type { Refusal } from './answer.ts';
import { forbidden } from './answer.ts';
import type { Caller } from './tokens.ts';

const OPERATIONS = {
  LIST_NAMESPACES: ['NAMESPACE_LIST'],
  CREATE_NAMESPACE: ['NAMESPACE_CREATE'],
  LOAD_NAMESPACE_METADATA: ['NAMESPACE_READ_PROPERTIES'],
  UPDATE_NAMESPACE_PROPERTIES: ['NAMESPACE_WRITE_PROPERTIES'],
  DROP_NAMESPACE: ['NAMESPACE_DROP'],
  LIST_TABLES: ['TABLE_LIST'],
  CREATE_TABLE_DIRECT: ['TABLE_CREATE'],
  CREATE_TABLE_STAGED: ['TABLE_CREATE'],
  CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION: ['TABLE_CREATE', 'TABLE_READ_DATA', 'TABLE_WRITE_DATA'],
  CREATE_TABLE_STAGED_WITH_WRITE_DELEGATION: ['TABLE_CREATE', 'TABLE_READ_DATA', 'TABLE_WRITE_DATA'],
  REGISTER_TABLE: ['TABLE_CREATE'],
  LOAD_TABLE: ['TABLE_READ_PROPERTIES'],
  LOAD_TABLE_WITH_READ_DELEGATION: ['TABLE_READ_DATA'],
  LOAD_TABLE_WITH_WRITE_DELEGATION: ['TABLE_READ_DATA', 'TABLE_WRITE_DATA'],
  UPDATE_TABLE: ['TABLE_WRITE_PROPERTIES'],
  DROP_TABLE_WITHOUT_PURGE: ['TABLE_DROP'],
  RENAME_TABLE: ['TABLE_DROP', 'TABLE_CREATE'],
  REPORT_METRICS: ['TABLE_READ_PROPERTIES'],
} as const;

export type Operation = keyof typeof OPERATIONS;

/** Privileges that include the key, besides the two below that include (nearly) everything. */
const INCLUDED_IN: Readonly<Record<string, readonly string[]>> = {
  NAMESPACE_LIST: [
    'NAMESPACE_CREATE', 'NAMESPACE_READ_PROPERTIES', 'NAMESPACE_WRITE_PROPERTIES', 'NAMESPACE_FULL_METADATA',
  ],
  NAMESPACE_CREATE: ['NAMESPACE_FULL_METADATA'],
  NAMESPACE_READ_PROPERTIES: ['NAMESPACE_WRITE_PROPERTIES', 'NAMESPACE_FULL_METADATA'],
  NAMESPACE_WRITE_PROPERTIES: ['NAMESPACE_FULL_METADATA'],
  NAMESPACE_DROP: ['NAMESPACE_FULL_METADATA'],
  TABLE_LIST: [
    'TABLE_CREATE', 'TABLE_READ_PROPERTIES', 'TABLE_WRITE_PROPERTIES', 'TABLE_READ_DATA', 'TABLE_WRITE_DATA',
    'TABLE_FULL_METADATA',
  ],
  TABLE_CREATE: ['TABLE_FULL_METADATA'],
  TABLE_DROP: ['TABLE_FULL_METADATA'],
  TABLE_READ_PROPERTIES: ['TABLE_WRITE_PROPERTIES', 'TABLE_READ_DATA', 'TABLE_WRITE_DATA', 'TABLE_FULL_METADATA'],
  TABLE_WRITE_PROPERTIES: ['TABLE_WRITE_DATA', 'TABLE_FULL_METADATA'],
  TABLE_READ_DATA: ['TABLE_WRITE_DATA'],
};

const DATA_PRIVILEGES = new Set(['TABLE_READ_DATA', 'TABLE_WRITE_DATA']);

/** What the operation is about; null parts: a level above. */
export interface Target {
  readonly catalog: string;
  readonly namespace: readonly string[];
  readonly table: string | null;
}

export function isAuthorized(model: AccessModel, caller: Caller, operation: Operation, target: Target): boolean {
  const held = grantsOf(model, caller, target.catalog).filter((grant) => covers(grant, target));
  return OPERATIONS[operation].every((needed) => held.some((grant) => includes(grant.privilege, needed)));
}

/** Throws the 403 that Polaris gives. */
export function authorize(model: AccessModel, caller: Caller, operation: Operation, target: Target): void {
  if (!isAuthorized(model, caller, operation, target)) throw notAuthorized(caller, operation);
}

/** The management API is for the service admin alone. */
export function authorizeManagement(caller: Caller, operation: string): void {
  if (!caller.roles.includes(SERVICE_ADMIN)) throw notAuthorized(caller, operation);
}

function notAuthorized(caller: Caller, operation: string): Refusal {
  const roles = `[${caller.roles.join(', ')}]`;
  return forbidden(`Principal '${caller.principal.name}' with activated PrincipalRoles '${roles}' and activated grants `
    + `via '${roles}' is not authorized for op ${operation}`);
}

function grantsOf(model: AccessModel, caller: Caller, catalogName: string): Grant[] {
  const catalogRoles = new Set(model.principalRoles
    .filter((role) => caller.roles.includes(role.name))
    .flatMap((role) => role.catalogRoles[catalogName] ?? []));
  return (findCatalog(model, catalogName)?.roles ?? [])
    .filter((role) => catalogRoles.has(role.name))
    .flatMap((role) => role.grants);
}

/** A grant on a namespace covers everything below it. */
function covers(grant: Grant, target: Target): boolean {
  if (grant.namespace === null) return true;
  if (!grant.namespace.every((level, index) => target.namespace[index] === level)) return false;
  if (grant.table === null) return true;
  return target.table === grant.table && target.namespace.length === grant.namespace.length;
}

function includes(held: string, needed: string): boolean {
  if (held === needed || held === 'CATALOG_MANAGE_CONTENT') return true;
  if (held === 'CATALOG_MANAGE_METADATA') return !DATA_PRIVILEGES.has(needed);
  return (INCLUDED_IN[needed] ?? []).includes(held);
}
