/** The table part of the Iceberg REST API. */
import type { JsonObject } from '../../iceberg/json.ts';
import type { Answer } from './answer.ts';
import { alreadyExists, badRequest, commitFailed, emptyAnswer, forbidden, jsonAnswer } from './answer.ts';
import type { IcebergContext, TableIdentifier } from './iceberg-context.ts';
import {
  authorizeNamespace, authorizeTable, formatIdentifier, mayTable, needTable, splitNamespace,
} from './iceberg-context.ts';
import { extraLocations, readMetadata, withReferencedSnapshots } from './metadata-file.ts';
import { pageOf } from './paging.ts';
import { bodyObject, objectField, objectsField, stringField, stringsField } from './request.ts';
import type { Route } from './route-table.ts';
import { part } from './route-table.ts';
import type { SessionKeys } from './session-keys.ts';
import { tableAnswer, tableEtag } from './table-answer.ts';
import type { TableChange } from './table-commit.ts';
import { commitTable, commitTables } from './table-commit.ts';
import { createTable, registerTable } from './table-create.ts';
import type { VendedTable } from './vending.ts';
import { storageCredentials, vendKeys, wantsVendedCredentials } from './vending.ts';

type Parts = Readonly<Record<string, string>>;

export const tableRoutes: readonly Route<IcebergContext>[] = [
  { method: 'GET', path: 'namespaces/:namespace/tables', handle: listTables },
  { method: 'POST', path: 'namespaces/:namespace/tables', handle: createTable },
  { method: 'POST', path: 'namespaces/:namespace/register', handle: registerTable },
  { method: 'GET', path: 'namespaces/:namespace/tables/:table', handle: loadTable },
  { method: 'HEAD', path: 'namespaces/:namespace/tables/:table', handle: headTable },
  { method: 'POST', path: 'namespaces/:namespace/tables/:table', handle: updateTable },
  { method: 'DELETE', path: 'namespaces/:namespace/tables/:table', handle: dropTable },
  { method: 'GET', path: 'namespaces/:namespace/tables/:table/credentials', handle: loadCredentials },
  { method: 'POST', path: 'namespaces/:namespace/tables/:table/metrics', handle: reportMetrics },
  { method: 'POST', path: 'tables/rename', handle: renameTable },
  { method: 'POST', path: 'transactions/commit', handle: commitTransaction },
];

function tableOf(parts: Parts): TableIdentifier {
  return { namespace: splitNamespace(part(parts, 'namespace')), name: part(parts, 'table') };
}

function identifierField(from: JsonObject, key: string): TableIdentifier {
  const json = objectField(from, key);
  return { namespace: stringsField(json, 'namespace'), name: stringField(json, 'name') };
}

function listTables(context: IcebergContext, parts: Parts): Answer {
  const namespace = splitNamespace(part(parts, 'namespace'));
  const { catalog, request, stores } = context;
  stores.namespaces.need(catalog.name, namespace);
  authorizeNamespace(context, 'LIST_TABLES', namespace);
  const page = pageOf(stores.pointers.list(catalog.name, namespace), request);
  const identifiers = page.items.map((pointer) => ({ namespace: [...pointer.namespace], name: pointer.name }));
  return jsonAnswer(200, { identifiers, 'next-page-token': page.nextToken });
}

async function loadTable(context: IcebergContext, parts: Parts): Promise<Answer> {
  const table = tableOf(parts);
  const pointer = needTable(context, table);
  const vends = wantsVendedCredentials(context.request);
  const writable = vends && authorizeDelegation(context, table);
  if (!vends) authorizeTable(context, 'LOAD_TABLE', table);
  const etag = tableEtag(pointer.metadataLocation);
  if (context.request.headers['if-none-match'] === etag) return emptyAnswer(304, { etag });
  const snapshots = context.request.query.get('snapshots') ?? 'all';
  if (snapshots !== 'all' && snapshots !== 'refs') throw badRequest(`Unrecognized snapshots: ${snapshots}`);
  const metadata = await readMetadata(context, pointer.metadataLocation);
  let keys: SessionKeys | null = null;
  if (vends) keys = await vendKeys(context.stores.sessionKeys, vendedTable(context, table, metadata), writable);
  const shown = snapshots === 'refs' ? withReferencedSnapshots(metadata) : metadata;
  return tableAnswer(context, table, shown, pointer.metadataLocation, keys);
}

/** True for keys that may write; a caller who may only read gets read-only ones, anyone else 403. */
function authorizeDelegation(context: IcebergContext, table: TableIdentifier): boolean {
  if (mayTable(context, 'LOAD_TABLE_WITH_WRITE_DELEGATION', table)) return true;
  authorizeTable(context, 'LOAD_TABLE_WITH_READ_DELEGATION', table);
  return false;
}

function vendedTable(context: IcebergContext, table: TableIdentifier, metadata: JsonObject): VendedTable {
  const location = stringField(metadata, 'location');
  return { ...table, catalog: context.catalog, location, extraLocations: extraLocations(metadata) };
}

/** With or without the delegation header: asking here is asking for keys. */
async function loadCredentials(context: IcebergContext, parts: Parts): Promise<Answer> {
  const table = tableOf(parts);
  const pointer = needTable(context, table);
  const writable = authorizeDelegation(context, table);
  const vended = vendedTable(context, table, await readMetadata(context, pointer.metadataLocation));
  const keys = await vendKeys(context.stores.sessionKeys, vended, writable);
  return jsonAnswer(200, { 'storage-credentials': storageCredentials(vended, keys) });
}

function headTable(context: IcebergContext, parts: Parts): Answer {
  const table = tableOf(parts);
  needTable(context, table);
  authorizeTable(context, 'LOAD_TABLE', table);
  return emptyAnswer(204);
}

async function updateTable(context: IcebergContext, parts: Parts): Promise<Answer> {
  const table = tableOf(parts);
  context.stores.namespaces.need(context.catalog.name, table.namespace);
  const change = changeOf(table, bodyObject(context.request));
  const creates = change.requirements.some((requirement) => requirement['type'] === 'assert-create');
  if (!creates) needTable(context, table);
  authorizeTable(context, creates ? 'CREATE_TABLE_DIRECT' : 'UPDATE_TABLE', table);
  const { metadata, metadataLocation } = await commitTable(context, change);
  // Neither `config` nor keys: a commit's answer is the new state only.
  return jsonAnswer(200, { 'metadata-location': metadataLocation, metadata }, { etag: tableEtag(metadataLocation) });
}

async function commitTransaction(context: IcebergContext): Promise<Answer> {
  const changes = objectsField(bodyObject(context.request), 'table-changes')
    .map((json) => changeOf(identifierField(json, 'identifier'), json));
  const names = new Set(changes.map(({ table }) => JSON.stringify(table)));
  if (names.size < changes.length) throw badRequest('A transaction may name each table once');
  for (const { table, requirements } of changes) {
    if (requirements.some((requirement) => requirement['type'] === 'assert-create')) {
      throw badRequest('Unsupported operation: assert-create in a transaction');
    }
    needTable(context, table);
    authorizeTable(context, 'UPDATE_TABLE', table);
  }
  await commitTables(context, changes);
  return emptyAnswer(204);
}

function changeOf(table: TableIdentifier, body: JsonObject): TableChange {
  return { table, requirements: objectsField(body, 'requirements'), updates: objectsField(body, 'updates') };
}

function dropTable(context: IcebergContext, parts: Parts): Answer {
  const table = tableOf(parts);
  const pointer = needTable(context, table);
  authorizeTable(context, 'DROP_TABLE_WITHOUT_PURGE', table);
  if (context.request.query.get('purgeRequested') === 'true') {
    throw forbidden(`Unable to purge entity: ${table.name}. The embedded catalog never deletes data files.`);
  }
  context.stores.pointers.remove(pointer);
  return emptyAnswer(204);
}

function renameTable(context: IcebergContext): Answer {
  const body = bodyObject(context.request);
  const source = identifierField(body, 'source');
  const destination = identifierField(body, 'destination');
  const pointer = needTable(context, source);
  context.stores.namespaces.need(context.catalog.name, destination.namespace);
  authorizeTable(context, 'RENAME_TABLE', source);
  authorizeNamespace(context, 'RENAME_TABLE', destination.namespace);
  if (context.stores.pointers.find(context.catalog.name, destination.namespace, destination.name) !== null) {
    throw alreadyExists(`Table already exists: ${formatIdentifier(destination)}`);
  }
  if (!context.stores.pointers.rename(pointer, destination.namespace, destination.name)) {
    throw commitFailed(`Table was concurrently modified: ${formatIdentifier(source)}`);
  }
  return emptyAnswer(204);
}

function reportMetrics(context: IcebergContext, parts: Parts): Answer {
  const table = tableOf(parts);
  needTable(context, table);
  authorizeTable(context, 'REPORT_METRICS', table);
  return emptyAnswer(204);
}
