/**
 * createTable, staged and direct, and registerTable. What Polaris does beyond the specification is kept: the two
 * properties it adds, and that a catalog that can't vend makes the table first and refuses afterwards.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../../iceberg/json.ts';
import type { Answer } from './answer.ts';
import { alreadyExists, badRequest } from './answer.ts';
import type { IcebergContext, TableIdentifier } from './iceberg-context.ts';
import {
  authorizeTable, checkLocations, createPointer, formatIdentifier, splitNamespace, tableLocation,
} from './iceberg-context.ts';
import { bornMetadata } from './metadata-change.ts';
import { extraLocations, nextMetadataLocation, readMetadata, writeMetadata } from './metadata-file.ts';
import { bodyObject, isObject, objectField, optionalString, propertiesField, stringField } from './request.ts';
import { part } from './route-table.ts';
import type { SessionKeys } from './session-keys.ts';
import { withoutTrailingSlashes } from './storage-config.ts';
import { tableAnswer } from './table-answer.ts';
import type { VendedTable } from './vending.ts';
import { noCredentials, vendKeys, wantsVendedCredentials } from './vending.ts';

type Parts = Readonly<Record<string, string>>;

export async function createTable(context: IcebergContext, parts: Parts): Promise<Answer> {
  const namespace = splitNamespace(part(parts, 'namespace'));
  context.stores.namespaces.need(context.catalog.name, namespace);
  const body = bodyObject(context.request);
  const table: TableIdentifier = { namespace, name: tableName(body) };
  const staged = body['stage-create'] === true;
  const vends = wantsVendedCredentials(context.request);
  const operation = staged ? 'CREATE_TABLE_STAGED' : 'CREATE_TABLE_DIRECT';
  authorizeTable(context, vends ? `${operation}_WITH_WRITE_DELEGATION` : operation, table);
  refuseExisting(context, table);
  const metadata = metadataOf(context, table, body);
  const location = stringField(metadata, 'location');
  const extra = extraLocations(metadata);
  checkLocations(context, table, [location, ...extra]);
  const vended: VendedTable = { ...table, catalog: context.catalog, location, extraLocations: extra };
  const refusesLate = vends && context.catalog.storage.stsUnavailable;
  let keys: SessionKeys | null = null;
  if (vends && !refusesLate) keys = await vendKeys(context.stores.sessionKeys, vended, true);
  if (staged) {
    if (refusesLate) throw noCredentials(vended);
    return tableAnswer(context, table, metadata, null, keys);
  }
  const metadataLocation = nextMetadataLocation(metadata, null);
  await writeMetadata(context, metadataLocation, metadata);
  await context.stores.beforeSwap();
  if (createPointer(context, table, metadataLocation) === null) {
    await context.stores.storage.remove(context.catalog, metadataLocation);
    throw alreadyExists(`Table already exists: ${formatIdentifier(table)}`);
  }
  if (refusesLate) throw noCredentials(vended);
  return tableAnswer(context, table, metadata, metadataLocation, keys);
}

export async function registerTable(context: IcebergContext, parts: Parts): Promise<Answer> {
  const namespace = splitNamespace(part(parts, 'namespace'));
  context.stores.namespaces.need(context.catalog.name, namespace);
  const body = bodyObject(context.request);
  const table: TableIdentifier = { namespace, name: tableName(body) };
  authorizeTable(context, 'REGISTER_TABLE', table);
  refuseExisting(context, table);
  const metadataLocation = stringField(body, 'metadata-location');
  checkLocations(context, table, [metadataLocation]);
  const metadata = await readMetadata(context, metadataLocation);
  checkLocations(context, table, [stringField(metadata, 'location'), ...extraLocations(metadata)]);
  if (createPointer(context, table, metadataLocation) === null) {
    throw alreadyExists(`Table already exists: ${formatIdentifier(table)}`);
  }
  return tableAnswer(context, table, metadata, metadataLocation, null);
}

function refuseExisting(context: IcebergContext, table: TableIdentifier): void {
  if (context.stores.pointers.find(context.catalog.name, table.namespace, table.name) !== null) {
    throw alreadyExists(`Table already exists: ${formatIdentifier(table)}`);
  }
}

function tableName(body: JsonObject): string {
  const name = stringField(body, 'name');
  if (name.includes('\u001f')) throw badRequest('Invalid table name');
  return name;
}

function metadataOf(context: IcebergContext, table: TableIdentifier, body: JsonObject): JsonObject {
  const now = context.stores.nowMs();
  const { 'format-version': formatVersion = '2', ...properties } = propertiesField(body, 'properties');
  if (!/^[23]$/.test(formatVersion)) throw badRequest(`Unsupported format version: v${formatVersion}`);
  return bornMetadata({
    uuid: randomUUID(),
    location: withoutTrailingSlashes(optionalString(body, 'location') ?? tableLocation(context, table)),
    schema: objectField(body, 'schema'),
    partitionSpec: isObject(body['partition-spec']) ? body['partition-spec'] : null,
    writeOrder: isObject(body['write-order']) ? body['write-order'] : null,
    properties: {
      'created-at': new Date(now).toISOString(),
      'write.parquet.compression-codec': 'zstd',
      ...properties,
    },
    nowMs: BigInt(now),
    formatVersion: Number(formatVersion),
  });
}
