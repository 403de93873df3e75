/** Management API: catalog roles, their grants, and their assignment to principal roles. */
import type { JsonObject } from '../../iceberg/json.ts';
import type { CatalogEntity, CatalogRole, Grant } from './access-state.ts';
import { CATALOG_ADMIN } from './access-state.ts';
import type { Answer } from './answer.ts';
import { alreadyExists, badRequest, emptyAnswer, jsonAnswer, notFound } from './answer.ts';
import type { ManagementContext } from './management-context.ts';
import { admin, nameField, needCatalog, needPrincipalRole, withReplaced } from './management-context.ts';
import { bodyObject, objectField, propertiesField, stringField, stringsField } from './request.ts';
import type { Route } from './route-table.ts';
import { part } from './route-table.ts';

type Parts = Readonly<Record<string, string>>;

export const catalogRoleRoutes: readonly Route<ManagementContext>[] = [
  { method: 'GET', path: 'catalogs/:catalog/catalog-roles', handle: listCatalogRoles },
  { method: 'POST', path: 'catalogs/:catalog/catalog-roles', handle: createCatalogRole },
  { method: 'GET', path: 'catalogs/:catalog/catalog-roles/:role', handle: getCatalogRole },
  { method: 'DELETE', path: 'catalogs/:catalog/catalog-roles/:role', handle: dropCatalogRole },
  { method: 'GET', path: 'catalogs/:catalog/catalog-roles/:role/principal-roles', handle: listAssignees },
  { method: 'GET', path: 'catalogs/:catalog/catalog-roles/:role/grants', handle: listGrants },
  { method: 'PUT', path: 'catalogs/:catalog/catalog-roles/:role/grants', handle: addGrant },
  { method: 'POST', path: 'catalogs/:catalog/catalog-roles/:role/grants', handle: revokeGrant },
  { method: 'GET', path: 'principal-roles/:principalRole/catalog-roles/:catalog', handle: listAssigned },
  { method: 'PUT', path: 'principal-roles/:principalRole/catalog-roles/:catalog', handle: assignCatalogRole },
  { method: 'DELETE', path: 'principal-roles/:principalRole/catalog-roles/:catalog/:role', handle: unassign },
];

const PRIVILEGE = /^(CATALOG|NAMESPACE|TABLE|VIEW|POLICY)_[A-Z_]+$/;

function needRole(catalog: CatalogEntity, name: string): CatalogRole {
  const role = catalog.roles.find((candidate) => candidate.name === name);
  if (role === undefined) throw notFound(`CatalogRole ${name} not found`);
  return role;
}

function replaceCatalog(context: ManagementContext, catalog: CatalogEntity): void {
  const model = context.access.current();
  const updated = { ...catalog, updatedMs: context.nowMs, version: catalog.version + 1 };
  context.access.replace({ ...model, catalogs: withReplaced(model.catalogs, updated) });
}

function listCatalogRoles(context: ManagementContext, parts: Parts): Answer {
  const catalog = needCatalog(admin(context, 'LIST_CATALOG_ROLES'), part(parts, 'catalog'));
  return jsonAnswer(200, { roles: catalog.roles.map(roleJson) });
}

function createCatalogRole(context: ManagementContext, parts: Parts): Answer {
  const catalog = needCatalog(admin(context, 'CREATE_CATALOG_ROLE'), part(parts, 'catalog'));
  const json = objectField(bodyObject(context.request), 'catalogRole');
  const name = nameField(json);
  if (catalog.roles.some((role) => role.name === name)) throw alreadyExists(`CatalogRole ${name} already exists`);
  const properties = propertiesField(json, 'properties');
  const role: CatalogRole = { name, properties, grants: [], createdMs: context.nowMs };
  replaceCatalog(context, { ...catalog, roles: [...catalog.roles, role] });
  return jsonAnswer(201, roleJson(role));
}

function getCatalogRole(context: ManagementContext, parts: Parts): Answer {
  const catalog = needCatalog(admin(context, 'GET_CATALOG_ROLE'), part(parts, 'catalog'));
  return jsonAnswer(200, roleJson(needRole(catalog, part(parts, 'role'))));
}

function dropCatalogRole(context: ManagementContext, parts: Parts): Answer {
  const catalog = needCatalog(admin(context, 'DELETE_CATALOG_ROLE'), part(parts, 'catalog'));
  const { name } = needRole(catalog, part(parts, 'role'));
  if (name === CATALOG_ADMIN) throw badRequest('The catalog admin role can not be dropped');
  replaceCatalog(context, { ...catalog, roles: catalog.roles.filter((role) => role.name !== name) });
  // Assignments go too: a role made later under the same name must not inherit them.
  const model = context.access.current();
  const principalRoles = model.principalRoles.map((role) => ({
    ...role,
    catalogRoles: {
      ...role.catalogRoles,
      [catalog.name]: (role.catalogRoles[catalog.name] ?? []).filter((assigned) => assigned !== name),
    },
  }));
  context.access.replace({ ...model, principalRoles });
  return emptyAnswer(204);
}

function listAssignees(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'LIST_ASSIGNEE_PRINCIPAL_ROLES_FOR_CATALOG_ROLE');
  const catalog = needCatalog(model, part(parts, 'catalog'));
  const { name } = needRole(catalog, part(parts, 'role'));
  const roles = model.principalRoles.filter((role) => role.catalogRoles[catalog.name]?.includes(name) === true);
  return jsonAnswer(200, { roles: roles.map((role) => ({ name: role.name })) });
}

// Grants --------------------------------------------------------------------------------------------

function listGrants(context: ManagementContext, parts: Parts): Answer {
  const catalog = needCatalog(admin(context, 'LIST_GRANTS_ON_CATALOG'), part(parts, 'catalog'));
  return jsonAnswer(200, { grants: needRole(catalog, part(parts, 'role')).grants.map(grantJson) });
}

function addGrant(context: ManagementContext, parts: Parts): Answer {
  const { catalog, role, grant } = grantRequest(context, parts, 'ADD_GRANT_TO_CATALOG_ROLE');
  const grants = [...role.grants.filter((held) => !sameGrant(held, grant)), grant];
  replaceCatalog(context, { ...catalog, roles: withReplaced(catalog.roles, { ...role, grants }) });
  return emptyAnswer(201);
}

function revokeGrant(context: ManagementContext, parts: Parts): Answer {
  const { catalog, role, grant } = grantRequest(context, parts, 'REVOKE_GRANT_FROM_CATALOG_ROLE');
  const grants = role.grants.filter((held) => !sameGrant(held, grant));
  replaceCatalog(context, { ...catalog, roles: withReplaced(catalog.roles, { ...role, grants }) });
  return emptyAnswer(201);
}

function grantRequest(
  context: ManagementContext, parts: Parts, operation: string,
): { readonly catalog: CatalogEntity; readonly role: CatalogRole; readonly grant: Grant } {
  const catalog = needCatalog(admin(context, operation), part(parts, 'catalog'));
  const role = needRole(catalog, part(parts, 'role'));
  return { catalog, role, grant: parseGrant(objectField(bodyObject(context.request), 'grant')) };
}

function parseGrant(json: JsonObject): Grant {
  const privilege = stringField(json, 'privilege');
  if (!PRIVILEGE.test(privilege)) throw badRequest(`Invalid privilege: '${privilege}'`);
  switch (stringField(json, 'type')) {
    case 'catalog': return { privilege, namespace: null, table: null };
    case 'namespace': return { privilege, namespace: stringsField(json, 'namespace'), table: null };
    case 'table': {
      return { privilege, namespace: stringsField(json, 'namespace'), table: stringField(json, 'tableName') };
    }
    default: throw badRequest('Invalid grant type: one of catalog, namespace and table is needed');
  }
}

function grantJson(grant: Grant): JsonObject {
  if (grant.namespace === null) return { type: 'catalog', privilege: grant.privilege };
  const namespace = [...grant.namespace];
  if (grant.table === null) return { type: 'namespace', namespace, privilege: grant.privilege };
  return { type: 'table', namespace, tableName: grant.table, privilege: grant.privilege };
}

function sameGrant(left: Grant, right: Grant): boolean {
  return JSON.stringify(grantJson(left)) === JSON.stringify(grantJson(right));
}

// Assignment ----------------------------------------------------------------------------------------

function listAssigned(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'LIST_CATALOG_ROLES_FOR_PRINCIPAL_ROLE');
  const catalog = needCatalog(model, part(parts, 'catalog'));
  const assigned = needPrincipalRole(model, part(parts, 'principalRole')).catalogRoles[catalog.name] ?? [];
  return jsonAnswer(200, { roles: catalog.roles.filter((role) => assigned.includes(role.name)).map(roleJson) });
}

function assignCatalogRole(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'ASSIGN_CATALOG_ROLE_TO_PRINCIPAL_ROLE');
  const principalRole = needPrincipalRole(model, part(parts, 'principalRole'));
  const catalog = needCatalog(model, part(parts, 'catalog'));
  const { name } = needRole(catalog, stringField(objectField(bodyObject(context.request), 'catalogRole'), 'name'));
  const assigned = [...new Set([...(principalRole.catalogRoles[catalog.name] ?? []), name])];
  setAssigned(context, part(parts, 'principalRole'), catalog.name, assigned);
  return emptyAnswer(201);
}

function unassign(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'REVOKE_CATALOG_ROLE_FROM_PRINCIPAL_ROLE');
  const principalRole = needPrincipalRole(model, part(parts, 'principalRole'));
  const catalog = needCatalog(model, part(parts, 'catalog'));
  const assigned = (principalRole.catalogRoles[catalog.name] ?? []).filter((role) => role !== part(parts, 'role'));
  setAssigned(context, principalRole.name, catalog.name, assigned);
  return emptyAnswer(204);
}

function setAssigned(
  context: ManagementContext, principalRole: string, catalog: string, assigned: readonly string[],
): void {
  const model = context.access.current();
  const role = needPrincipalRole(model, principalRole);
  const changed = { ...role, catalogRoles: { ...role.catalogRoles, [catalog]: assigned } };
  context.access.replace({ ...model, principalRoles: withReplaced(model.principalRoles, changed) });
}

function roleJson(role: CatalogRole): JsonObject {
  return {
    name: role.name,
    properties: { ...role.properties },
    createTimestamp: role.createdMs,
    lastUpdateTimestamp: role.createdMs,
    entityVersion: 1,
  };
}
