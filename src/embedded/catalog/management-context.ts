/** What all management handlers share: their context, the check of the caller, and look-ups that answer 404. */
import type { JsonObject } from '../../iceberg/json.ts';
import type { AccessModel, AccessState, CatalogEntity, Principal, PrincipalRole } from './access-state.ts';
import { badRequest, notFound } from './answer.ts';
import { authorizeManagement } from './authorize.ts';
import type { CatalogRequest } from './request.ts';
import { stringField } from './request.ts';
import type { Caller } from './tokens.ts';

export interface ManagementContext {
  readonly request: CatalogRequest;
  readonly caller: Caller;
  readonly access: AccessState;
  readonly nowMs: number;
  /** Throws the refusal when the catalog still holds namespaces, so that dropping one never orphans tables. */
  readonly refuseUnlessEmpty: (name: string) => void;
}

/** The model, for a caller who may; 403 otherwise. */
export function admin(context: ManagementContext, operation: string): AccessModel {
  authorizeManagement(context.caller, operation);
  return context.access.current();
}

export function needCatalog(model: AccessModel, name: string): CatalogEntity {
  const catalog = model.catalogs.find((candidate) => candidate.name === name);
  if (catalog === undefined) throw notFound(`Catalog ${name} not found`);
  return catalog;
}

export function needPrincipalRole(model: AccessModel, name: string): PrincipalRole {
  const role = model.principalRoles.find((candidate) => candidate.name === name);
  if (role === undefined) throw notFound(`PrincipalRole ${name} not found`);
  return role;
}

/** `items` with the one of the same name replaced; order kept. */
export function withReplaced<Item extends { readonly name: string }>(
  items: readonly Item[], replacement: Item,
): Item[] {
  return items.map((item) => (item.name === replacement.name ? replacement : item));
}

export function needPrincipal(model: AccessModel, name: string): Principal {
  const principal = model.principals.find((candidate) => candidate.name === name);
  if (principal === undefined) throw notFound(`Principal ${name} not found`);
  return principal;
}

/**
 * 0x1F joins namespace levels in keys and URLs; a name that holds it could pass for another one. Names that every
 * object has (`constructor`) are refused because roles are looked up by name in JSON objects.
 */
export function nameField(json: JsonObject): string {
  const name = stringField(json, 'name');
  if (name.includes('\u001f') || name.includes('/') || name in {}) throw badRequest('Invalid value for field \'name\'');
  return name;
}
