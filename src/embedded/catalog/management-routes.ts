/**
 * The part of Polaris's management API that sets up a catalog for a sink: catalogs, principals, principal roles
 * and who has which. Catalog roles and grants are in `catalog-role-routes.ts`.
 */
import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../iceberg/json.ts';
import type { CatalogEntity, Principal, PrincipalRole } from './access-state.ts';
import { CATALOG_ADMIN, SERVICE_ADMIN, emptyPrincipalRole, hashSecret } from './access-state.ts';
import type { Answer } from './answer.ts';
import { alreadyExists, badRequest, emptyAnswer, jsonAnswer } from './answer.ts';
import type { ManagementContext } from './management-context.ts';
import { admin, nameField, needCatalog, needPrincipal, needPrincipalRole, withReplaced } from './management-context.ts';
import { bodyObject, objectField, optionalString, propertiesField, stringField } from './request.ts';
import type { Route } from './route-table.ts';
import { part } from './route-table.ts';
import { parseStorageConfig, storageConfigJson } from './storage-config.ts';

type Parts = Readonly<Record<string, string>>;

export const managementRoutes: readonly Route<ManagementContext>[] = [
  { method: 'GET', path: 'catalogs', handle: listCatalogs },
  { method: 'POST', path: 'catalogs', handle: createCatalog },
  { method: 'GET', path: 'catalogs/:catalog', handle: getCatalog },
  { method: 'DELETE', path: 'catalogs/:catalog', handle: dropCatalog },
  { method: 'GET', path: 'principals', handle: listPrincipals },
  { method: 'POST', path: 'principals', handle: createPrincipal },
  { method: 'GET', path: 'principals/:principal', handle: getPrincipal },
  { method: 'DELETE', path: 'principals/:principal', handle: dropPrincipal },
  { method: 'POST', path: 'principals/:principal/rotate', handle: rotateCredentials },
  { method: 'GET', path: 'principals/:principal/principal-roles', handle: listRolesOfPrincipal },
  { method: 'PUT', path: 'principals/:principal/principal-roles', handle: assignPrincipalRole },
  { method: 'DELETE', path: 'principals/:principal/principal-roles/:role', handle: revokePrincipalRole },
  { method: 'GET', path: 'principal-roles', handle: listPrincipalRoles },
  { method: 'POST', path: 'principal-roles', handle: createPrincipalRole },
  { method: 'GET', path: 'principal-roles/:role', handle: getPrincipalRole },
  { method: 'DELETE', path: 'principal-roles/:role', handle: dropPrincipalRole },
];

// Catalogs ------------------------------------------------------------------------------------------

function listCatalogs(context: ManagementContext): Answer {
  return jsonAnswer(200, { catalogs: admin(context, 'LIST_CATALOGS').catalogs.map(catalogJson) });
}

function getCatalog(context: ManagementContext, parts: Parts): Answer {
  return answerCatalog(200, needCatalog(admin(context, 'GET_CATALOG'), part(parts, 'catalog')));
}

function createCatalog(context: ManagementContext): Answer {
  const model = admin(context, 'CREATE_CATALOG');
  const json = objectField(bodyObject(context.request), 'catalog');
  const name = nameField(json);
  const properties = propertiesField(json, 'properties');
  const base = properties['default-base-location'];
  if (base === undefined || base === '') throw badRequest('Missing required property: default-base-location');
  if (model.catalogs.some((catalog) => catalog.name === name)) {
    throw alreadyExists(`Cannot create Catalog ${name}. Catalog already exists or resolution failed`);
  }
  const { nowMs } = context;
  const catalog: CatalogEntity = {
    name,
    type: optionalString(json, 'type') ?? 'INTERNAL',
    properties,
    storage: parseStorageConfig(objectField(json, 'storageConfigInfo'), base),
    roles: [{
      name: CATALOG_ADMIN,
      properties: {},
      // Metadata only, as Polaris does: vending keys takes a grant that someone gives on purpose.
      grants: [
        { privilege: 'CATALOG_MANAGE_ACCESS', namespace: null, table: null },
        { privilege: 'CATALOG_MANAGE_METADATA', namespace: null, table: null },
      ],
      createdMs: nowMs,
    }],
    createdMs: nowMs,
    updatedMs: nowMs,
    version: 1,
  };
  const principalRoles = model.principalRoles.map((role) => (role.name === SERVICE_ADMIN
    ? { ...role, catalogRoles: { ...role.catalogRoles, [name]: [CATALOG_ADMIN] } }
    : role));
  context.access.replace({ ...model, catalogs: [...model.catalogs, catalog], principalRoles });
  return answerCatalog(201, catalog);
}

function dropCatalog(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'DELETE_CATALOG');
  const { name } = needCatalog(model, part(parts, 'catalog'));
  context.refuseUnlessEmpty(name);
  const principalRoles = model.principalRoles.map((role) => {
    const { [name]: dropped, ...catalogRoles } = role.catalogRoles;
    return dropped === undefined ? role : { ...role, catalogRoles };
  });
  const catalogs = model.catalogs.filter((catalog) => catalog.name !== name);
  context.access.replace({ ...model, principalRoles, catalogs });
  return emptyAnswer(204);
}

function answerCatalog(status: number, catalog: CatalogEntity): Answer {
  return jsonAnswer(status, catalogJson(catalog));
}

function catalogJson(catalog: CatalogEntity): JsonObject {
  return {
    type: catalog.type,
    name: catalog.name,
    properties: { ...catalog.properties },
    createTimestamp: catalog.createdMs,
    lastUpdateTimestamp: catalog.updatedMs,
    entityVersion: catalog.version,
    storageConfigInfo: storageConfigJson(catalog.storage),
  };
}

// Principals ----------------------------------------------------------------------------------------

function listPrincipals(context: ManagementContext): Answer {
  return jsonAnswer(200, { principals: admin(context, 'LIST_PRINCIPALS').principals.map(principalJson) });
}

function getPrincipal(context: ManagementContext, parts: Parts): Answer {
  return jsonAnswer(200, principalJson(needPrincipal(admin(context, 'GET_PRINCIPAL'), part(parts, 'principal'))));
}

function createPrincipal(context: ManagementContext): Answer {
  const model = admin(context, 'CREATE_PRINCIPAL');
  const json = objectField(bodyObject(context.request), 'principal');
  const name = nameField(json);
  if (model.principals.some((principal) => principal.name === name)) {
    throw alreadyExists(`Principal ${name} already exists`);
  }
  const clientSecret = randomBytes(16).toString('hex');
  const principal: Principal = {
    name,
    clientId: randomBytes(8).toString('hex'),
    ...hashSecret(clientSecret),
    properties: propertiesField(json, 'properties'),
    roles: [],
    createdMs: context.nowMs,
  };
  context.access.replace({ ...model, principals: [...model.principals, principal] });
  return jsonAnswer(201, withCredentials(principal, clientSecret));
}

function rotateCredentials(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'ROTATE_CREDENTIALS');
  const clientSecret = randomBytes(16).toString('hex');
  const principal = { ...needPrincipal(model, part(parts, 'principal')), ...hashSecret(clientSecret) };
  context.access.replace({ ...model, principals: withReplaced(model.principals, principal) });
  return jsonAnswer(200, withCredentials(principal, clientSecret));
}

function dropPrincipal(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'DELETE_PRINCIPAL');
  const { name } = needPrincipal(model, part(parts, 'principal'));
  if (name === 'root') throw badRequest('The root principal can not be dropped');
  context.access.replace({ ...model, principals: model.principals.filter((principal) => principal.name !== name) });
  return emptyAnswer(204);
}

function withCredentials(principal: Principal, clientSecret: string): JsonObject {
  return { principal: principalJson(principal), credentials: { clientId: principal.clientId, clientSecret } };
}

function principalJson(principal: Principal): JsonObject {
  return {
    name: principal.name,
    clientId: principal.clientId,
    properties: { ...principal.properties },
    createTimestamp: principal.createdMs,
    lastUpdateTimestamp: principal.createdMs,
    entityVersion: 1,
  };
}

// Principal roles -----------------------------------------------------------------------------------

function listPrincipalRoles(context: ManagementContext): Answer {
  return jsonAnswer(200, { roles: admin(context, 'LIST_PRINCIPAL_ROLES').principalRoles.map(principalRoleJson) });
}

function getPrincipalRole(context: ManagementContext, parts: Parts): Answer {
  const role = needPrincipalRole(admin(context, 'GET_PRINCIPAL_ROLE'), part(parts, 'role'));
  return jsonAnswer(200, principalRoleJson(role));
}

function createPrincipalRole(context: ManagementContext): Answer {
  const model = admin(context, 'CREATE_PRINCIPAL_ROLE');
  const json = objectField(bodyObject(context.request), 'principalRole');
  const name = nameField(json);
  if (model.principalRoles.some((role) => role.name === name)) {
    throw alreadyExists(`PrincipalRole ${name} already exists`);
  }
  const role = { ...emptyPrincipalRole(name, context.nowMs), properties: propertiesField(json, 'properties') };
  context.access.replace({ ...model, principalRoles: [...model.principalRoles, role] });
  return jsonAnswer(201, principalRoleJson(role));
}

function dropPrincipalRole(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'DELETE_PRINCIPAL_ROLE');
  const { name } = needPrincipalRole(model, part(parts, 'role'));
  if (name === SERVICE_ADMIN) throw badRequest('The service admin role can not be dropped');
  context.access.replace({
    ...model,
    principalRoles: model.principalRoles.filter((role) => role.name !== name),
    principals: model.principals.map((principal) => ({
      ...principal, roles: principal.roles.filter((role) => role !== name),
    })),
  });
  return emptyAnswer(204);
}

function listRolesOfPrincipal(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'LIST_PRINCIPAL_ROLES_ASSIGNED');
  const principal = needPrincipal(model, part(parts, 'principal'));
  const roles = model.principalRoles.filter((role) => principal.roles.includes(role.name));
  return jsonAnswer(200, { roles: roles.map(principalRoleJson) });
}

function assignPrincipalRole(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'ASSIGN_PRINCIPAL_ROLE');
  const principal = needPrincipal(model, part(parts, 'principal'));
  const asked = objectField(bodyObject(context.request), 'principalRole');
  const { name } = needPrincipalRole(model, stringField(asked, 'name'));
  const roles = [...new Set([...principal.roles, name])];
  context.access.replace({ ...model, principals: withReplaced(model.principals, { ...principal, roles }) });
  return emptyAnswer(201);
}

function revokePrincipalRole(context: ManagementContext, parts: Parts): Answer {
  const model = admin(context, 'REVOKE_PRINCIPAL_ROLE');
  const principal = needPrincipal(model, part(parts, 'principal'));
  const roles = principal.roles.filter((role) => role !== part(parts, 'role'));
  context.access.replace({ ...model, principals: withReplaced(model.principals, { ...principal, roles }) });
  return emptyAnswer(204);
}

function principalRoleJson(role: PrincipalRole): JsonObject {
  return {
    name: role.name,
    properties: { ...role.properties },
    createTimestamp: role.createdMs,
    lastUpdateTimestamp: role.createdMs,
    entityVersion: 1,
  };
}
