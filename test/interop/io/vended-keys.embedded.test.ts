/**
 * The way of the guide: the embedded catalog in front of a real S3 server, a principal of its own made by the management
 * API, keys vended through the server's STS. They live six seconds; the catalog serves the credentials route.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';
import { createHttpClient } from '../../../src/io/http.ts';
import { type RestCatalog, createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { createSystemClock, createSystemEntropy } from '../../../src/io/system.ts';
import { catalogSuite } from '../../contract/catalog/catalog-suite.ts';
import { type RunningCatalog, startCatalog } from '../../contract/catalog-server/running-catalog.ts';
import { type S3Server, startS3 } from '../catalog/s3-server.ts';

const S3_PORT = 19_600;
const ROLE = 'arn:aws:iam::000000000000:role/iceberg-writer';
const clock = createSystemClock();
const entropy = createSystemEntropy();
let s3: S3Server;
let running: RunningCatalog;
let principal: { readonly clientId: string; readonly clientSecret: string };
const calls: string[] = [];

async function manage(method: string, path: string, body: object): Promise<{ credentials?: typeof principal }> {
  // A token of its own each time: they live four seconds here.
  const answer = await running.api(method, `management/v1/${path}`, body, { token: await running.token() });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json as { credentials?: typeof principal };
}

function connect(changes: Partial<CatalogConnection> = {}): RestCatalog {
  return createRestCatalog({
    kind: 'iceberg-catalog', name: 'c', catalogType: 'rest', url: running.catalog.catalogUrl, warehouse: 'materialize_catalog',
    credential: { clientId: principal.clientId, clientSecret: new Secret(principal.clientSecret) }, scope: 'PRINCIPAL_ROLE:ALL',
    oauth2ServerUrl: null, accessDelegation: 'vended-credentials', storageProvider: 's3', awsConnection: null, gcpConnection: null, ...changes,
  }, { http: createHttpClient(clock), clock, entropy });
}

beforeAll(async () => {
  s3 = await startS3(S3_PORT, 'warehouse', '6s');
  running = await startCatalog({
    storage: { keys: s3.keys, defaultRoleArn: ROLE, credentialLifetimeS: null, credentialCacheMs: 0 }, tokenLifetimeS: 4,
    intercept: (request) => {
      calls.push(`${request.method} /${request.segments.join('/')}`);
      return { kind: 'pass' };
    },
  });
  await manage('POST', 'catalogs', { catalog: {
    name: 'materialize_catalog', type: 'INTERNAL', properties: { 'default-base-location': 's3://warehouse/materialize_catalog/' },
    storageConfigInfo: {
      storageType: 'S3', allowedLocations: ['s3://warehouse/materialize_catalog/'], endpoint: s3.endpoint, pathStyleAccess: true, region: 'us-east-1',
    },
  } });
  const made = await manage('POST', 'principals', { principal: { name: 'materialize' } });
  if (made.credentials === undefined) throw new Error('the principal came without credentials');
  principal = made.credentials;
  await manage('POST', 'principal-roles', { principalRole: { name: 'materialize_role' } });
  await manage('PUT', 'principals/materialize/principal-roles', { principalRole: { name: 'materialize_role' } });
  const roles = 'catalogs/materialize_catalog/catalog-roles';
  await manage('POST', roles, { catalogRole: { name: 'materialize_writer' } });
  await manage('PUT', `${roles}/materialize_writer/grants`, { grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' } });
  await manage('PUT', 'principal-roles/materialize_role/catalog-roles/materialize_catalog', { catalogRole: { name: 'materialize_writer' } });
  // Root may manage, not write: the grant that lets it make the namespace.
  await manage('PUT', `${roles}/catalog_admin/grants`, { grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' } });
  await running.api('POST', 'catalog/v1/materialize_catalog/namespaces', { namespace: ['materialize'] });
});
afterAll(async () => {
  await running.stop();
  await s3.stop();
});

let catalog: RestCatalog | null = null;
catalogSuite('the embedded catalog with keys vended by STS', {
  catalog: () => (catalog ??= connect()), namespace: ['materialize'],
});

describe('GIVEN a sink that writes for longer than its keys and its token live', () => {
  test('WHEN it puts for 16 s THEN nothing is refused and keys come by the credentials route', async () => {
    const own = connect();
    const table = { namespace: ['materialize'], name: 'long' };
    const created = await own.createTable(table.namespace, {
      name: 'long', properties: {}, schema: { schemaId: 0, identifierFieldIds: [], fields: [{ id: 1, name: 'id', required: false, type: { kind: 'long' } }] },
    });
    if (created.kind !== 'created') throw new Error('the table exists');
    const { location } = created.table.metadata;
    calls.length = 0;
    const endMs = Date.now() + 16_000;
    for (let count = 0; Date.now() < endMs; count += 1) {
      expect(await own.storageFor(table).store.put(`${location}/data/${count}.parquet`, Buffer.alloc(5_000, 1))).toBe('stored');
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const renewals = calls.filter((call) => call === 'GET /api/catalog/v1/materialize_catalog/namespaces/materialize/tables/long/credentials');
    expect(renewals.length).toBeGreaterThanOrEqual(3);
    expect(renewals.length).toBeLessThan(20);
    expect(calls.filter((call) => call.endsWith('/tables/long'))).toEqual([]);
  });

  test('WHEN it idles past their end THEN the next put works', async () => {
    const own = connect();
    const table = { namespace: ['materialize'], name: 'long' };
    const loaded = await own.loadTable(table);
    if (loaded.kind !== 'loaded') throw new Error('the table is missing');
    const { store } = own.storageFor(table);
    await store.put(`${loaded.table.metadata.location}/data/idle-1.parquet`, Buffer.from('x'));
    await new Promise((resolve) => setTimeout(resolve, 7_500));
    expect(await store.put(`${loaded.table.metadata.location}/data/idle-2.parquet`, Buffer.from('x'))).toBe('stored');
  });
});

describe("GIVEN the guide's mistakes", () => {
  test('WHEN SCOPE is left out THEN it is named', async () => {
    await expect(connect({ scope: null }).listNamespaces()).rejects.toMatchObject({ code: 'catalog-scope-missing' });
  });

  test('WHEN the principal may create but not read and write data THEN vending is refused by name', async () => {
    const { credentials } = await manage('POST', 'principals', { principal: { name: 'bare' } });
    if (credentials === undefined) throw new Error('the principal came without credentials');
    await manage('POST', 'principal-roles', { principalRole: { name: 'bare_role' } });
    await manage('PUT', 'principals/bare/principal-roles', { principalRole: { name: 'bare_role' } });
    await manage('POST', 'catalogs/materialize_catalog/catalog-roles', { catalogRole: { name: 'bare_writer' } });
    for (const privilege of ['TABLE_CREATE', 'TABLE_LIST', 'TABLE_READ_PROPERTIES', 'NAMESPACE_LIST', 'TABLE_WRITE_PROPERTIES']) {
      await manage('PUT', 'catalogs/materialize_catalog/catalog-roles/bare_writer/grants', { grant: { type: 'catalog', privilege } });
    }
    await manage('PUT', 'principal-roles/bare_role/catalog-roles/materialize_catalog', { catalogRole: { name: 'bare_writer' } });
    const own = connect({ credential: { clientId: credentials.clientId, clientSecret: new Secret(credentials.clientSecret) } });
    await expect(own.createTable(['materialize'], { name: 'bare', properties: {}, schema: { schemaId: 0, identifierFieldIds: [], fields: [] } }))
      .rejects.toMatchObject({
        code: 'catalog-vending-forbidden', message: expect.stringContaining('CATALOG_MANAGE_CONTENT or both TABLE_READ_DATA and TABLE_WRITE_DATA') as string,
      });
  });

  test('WHEN the namespace is missing THEN it is named', async () => {
    await expect(connect().createTable(['nowhere'], { name: 't', properties: {}, schema: { schemaId: 0, identifierFieldIds: [], fields: [] } }))
      .rejects.toMatchObject({ code: 'namespace-missing' });
  });

  test('WHEN the store can no longer be reached THEN its endpoint is named', async () => {
    const own = connect();
    const table = { namespace: ['materialize'], name: 'long' };
    const loaded = await own.loadTable(table);
    if (loaded.kind !== 'loaded') throw new Error('the table is missing');
    const { store } = own.storageFor(table);
    await store.put(`${loaded.table.metadata.location}/data/before.parquet`, Buffer.from('x'));
    await s3.stop();
    await expect(store.put(`${loaded.table.metadata.location}/data/after.parquet`, Buffer.from('x'))).rejects.toMatchObject({
      code: expect.stringMatching(/^(storage-unreachable|catalog-storage-broken)$/) as string,
    });
  });
});
