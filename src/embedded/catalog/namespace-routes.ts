/** `GET /v1/config` and the namespace part of the Iceberg REST API. */
import type { JsonObject } from '../../iceberg/json.ts';
import type { AccessModel } from './access-state.ts';
import { findCatalog } from './access-state.ts';
import type { Answer } from './answer.ts';
import { Refusal, badRequest, emptyAnswer, forbidden, jsonAnswer, notFound } from './answer.ts';
import type { IcebergContext } from './iceberg-context.ts';
import { authorizeNamespace, namespaceLocation, splitNamespace } from './iceberg-context.ts';
import { pageOf } from './paging.ts';
import type { CatalogRequest } from './request.ts';
import { bodyObject, optionalStrings, propertiesField, stringsField } from './request.ts';
import type { Route } from './route-table.ts';
import { part } from './route-table.ts';
import { isInside } from './storage-config.ts';

type Parts = Readonly<Record<string, string>>;

export const namespaceRoutes: readonly Route<IcebergContext>[] = [
  { method: 'GET', path: 'namespaces', handle: listNamespaces },
  { method: 'POST', path: 'namespaces', handle: createNamespace },
  { method: 'GET', path: 'namespaces/:namespace', handle: loadNamespace },
  { method: 'HEAD', path: 'namespaces/:namespace', handle: headNamespace },
  { method: 'DELETE', path: 'namespaces/:namespace', handle: dropNamespace },
  { method: 'POST', path: 'namespaces/:namespace/properties', handle: updateProperties },
];

/** As Polaris does, without `…/credentials`, which is served all the same: clients must not go by this list alone. */
const ENDPOINTS = [
  'GET /v1/{prefix}/namespaces',
  'POST /v1/{prefix}/namespaces',
  'GET /v1/{prefix}/namespaces/{namespace}',
  'HEAD /v1/{prefix}/namespaces/{namespace}',
  'DELETE /v1/{prefix}/namespaces/{namespace}',
  'POST /v1/{prefix}/namespaces/{namespace}/properties',
  'GET /v1/{prefix}/namespaces/{namespace}/tables',
  'POST /v1/{prefix}/namespaces/{namespace}/tables',
  'GET /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}',
  'POST /v1/{prefix}/namespaces/{namespace}/register',
  'POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics',
  'POST /v1/{prefix}/tables/rename',
  'POST /v1/{prefix}/transactions/commit',
] as const;

/** `idempotencyKeyLifetime`: ISO 8601 duration to advertise, or null. */
export function configAnswer(
  request: CatalogRequest, model: AccessModel, idempotencyKeyLifetime: string | null,
): Answer {
  const warehouse = request.query.get('warehouse');
  if (warehouse === null || warehouse === '') throw badRequest('Please specify a warehouse');
  const catalog = findCatalog(model, warehouse);
  if (catalog === null) throw notFound(`Unable to find warehouse ${warehouse}`);
  return jsonAnswer(200, {
    defaults: { ...catalog.properties },
    overrides: { prefix: catalog.name },
    endpoints: [...ENDPOINTS],
    ...(idempotencyKeyLifetime === null ? {} : { 'idempotency-key-lifetime': idempotencyKeyLifetime }),
  });
}

function listNamespaces(context: IcebergContext): Answer {
  const { catalog, request, stores } = context;
  const parentText = request.query.get('parent') ?? '';
  const parent = parentText === '' ? [] : splitNamespace(parentText);
  if (parent.length > 0) stores.namespaces.need(catalog.name, parent);
  authorizeNamespace(context, 'LIST_NAMESPACES', parent);
  const page = pageOf(stores.namespaces.children(catalog.name, parent), request);
  const namespaces = page.items.map(({ levels }) => [...levels]);
  return jsonAnswer(200, { namespaces, 'next-page-token': page.nextToken });
}

function createNamespace(context: IcebergContext): Answer {
  const body = bodyObject(context.request);
  const levels = stringsField(body, 'namespace');
  if (levels.length === 0 || levels.some((level) => level === '' || level.includes('\u001f'))) {
    throw badRequest('Invalid namespace: every level needs a name');
  }
  authorizeNamespace(context, 'CREATE_NAMESPACE', levels);
  const location = namespaceLocation(context, levels);
  const properties = { location, ...propertiesField(body, 'properties') };
  checkNamespaceLocation(context, levels, properties.location);
  context.stores.namespaces.create({ catalog: context.catalog.name, levels, properties });
  return jsonAnswer(200, { namespace: levels, properties });
}

/** Else a namespace would be the way out of the catalog's allowed locations. */
function checkNamespaceLocation(context: IcebergContext, levels: readonly string[], location: string): void {
  if (context.catalog.storage.allowedLocations.some((root) => isInside(location, root))) return;
  throw forbidden(`Invalid locations '[${location}]' for identifier '${levels.join('.')}': `
    + 'not in the list of allowed locations');
}

function loadNamespace(context: IcebergContext, parts: Parts): Answer {
  const levels = splitNamespace(part(parts, 'namespace'));
  const namespace = context.stores.namespaces.need(context.catalog.name, levels);
  authorizeNamespace(context, 'LOAD_NAMESPACE_METADATA', levels);
  return jsonAnswer(200, { namespace: levels, properties: { ...namespace.properties } });
}

function headNamespace(context: IcebergContext, parts: Parts): Answer {
  loadNamespace(context, parts);
  return emptyAnswer(204);
}

function dropNamespace(context: IcebergContext, parts: Parts): Answer {
  const levels = splitNamespace(part(parts, 'namespace'));
  const { catalog, stores } = context;
  const namespace = stores.namespaces.need(catalog.name, levels);
  authorizeNamespace(context, 'DROP_NAMESPACE', levels);
  const { length: tables } = stores.pointers.list(catalog.name, levels);
  const { length: children } = stores.namespaces.children(catalog.name, levels);
  if (tables > 0 || children > 0) {
    throw new Refusal(409, 'NamespaceNotEmptyException', `Namespace ${levels.join('.')} is not empty`);
  }
  stores.namespaces.remove(namespace);
  return emptyAnswer(204);
}

function updateProperties(context: IcebergContext, parts: Parts): Answer {
  const levels = splitNamespace(part(parts, 'namespace'));
  const namespace = context.stores.namespaces.need(context.catalog.name, levels);
  authorizeNamespace(context, 'UPDATE_NAMESPACE_PROPERTIES', levels);
  const body: JsonObject = bodyObject(context.request);
  const removals = optionalStrings(body, 'removals');
  const updates = propertiesField(body, 'updates');
  const both = removals.filter((key) => Object.hasOwn(updates, key));
  if (both.length > 0) {
    const message = `Invalid namespace update, cannot both set and remove: ${both.join(', ')}`;
    throw new Refusal(422, 'UnprocessableEntityException', message);
  }
  if (updates['location'] !== undefined) checkNamespaceLocation(context, levels, updates['location']);
  const properties: Record<string, string> = { ...namespace.properties, ...updates };
  for (const key of removals) delete properties[key];
  context.stores.namespaces.replaceProperties(namespace, properties);
  return jsonAnswer(200, {
    updated: Object.keys(updates),
    removed: removals.filter((key) => Object.hasOwn(namespace.properties, key)),
    missing: removals.filter((key) => !Object.hasOwn(namespace.properties, key)),
  });
}
