/** Where fresh keys of a table come from: the credentials route, a load, and what each answer of a server teaches. */
import { afterEach, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/io/http.ts';
import { createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { connection, fixedEntropy, manualClock } from './fakes.ts';
import { type Received, type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const servers: ScriptedServer[] = [];
const TABLE = { namespace: ['ns'], name: 't' };
const ROUTE = '/v1/namespaces/ns/tables/t/credentials';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const METADATA = {
  'format-version': 2, 'table-uuid': '6f0c1e2a-0000-4000-8000-000000000001', location: 's3://lake/ns/t', 'last-sequence-number': 0,
  'last-updated-ms': 1_800_000_000_000, 'last-column-id': 1, 'current-schema-id': 0,
  schemas: [{ type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', required: true, type: 'long' }] }],
  'default-spec-id': 0, 'partition-specs': [{ 'spec-id': 0, fields: [] }], 'last-partition-id': 999, 'default-sort-order-id': 0,
  'sort-orders': [{ 'order-id': 0, fields: [] }], properties: {}, 'current-snapshot-id': null, snapshots: [], refs: {}, 'snapshot-log': [],
  'metadata-log': [],
};

/** A catalog and an S3 server in one: `route` answers the credentials route, everything else works. */
async function setUp(route: (index: number) => Reply, options: { delegated?: boolean; config?: object; tableConfig?: object; lifeMs?: number } = {}) {
  let vended = 0;
  let routed = 0;
  const clock = manualClock();
  const expiry = () => (options.lifeMs === undefined ? {} : { 's3.session-token-expires-at-ms': String(clock.nowMs() + options.lifeMs) });
  const keys = () => ({
    prefix: 's3://lake/ns/t',
    config: { 's3.access-key-id': `k${vended += 1}`, 's3.secret-access-key': 's', 's3.session-token': 'x', ...expiry() },
  });
  const server: ScriptedServer = await scriptedServer((request: Received) => {
    if (request.url.startsWith('/v1/config')) return { status: 200, body: options.config ?? {} };
    if (request.url === ROUTE) {
      const wanted = route(routed += 1);
      return typeof wanted === 'object' && wanted.status === 200 && wanted.body === undefined
        ? { status: 200, body: { 'storage-credentials': [keys()] } } : wanted;
    }
    if (request.method === 'GET') {
      const config = { 's3.endpoint': server.url, 's3.path-style-access': 'true', 'client.region': 'eu-west-3', ...options.tableConfig };
      const credentials = options.delegated === false ? [] : [keys()];
      return { status: 200, body: { metadata: METADATA, config, 'storage-credentials': credentials } };
    }
    return { status: 200 };
  });
  servers.push(server);
  const delegation = options.delegated === false ? null : 'vended-credentials' as const;
  const catalog = createRestCatalog(
    connection(server.url, { accessDelegation: delegation }), { http: createHttpClient(clock), clock, entropy: fixedEntropy },
  );
  const { store } = catalog.storageFor(TABLE);
  /** Puts once, and after the keys' unstated life once more, and so on; tells the key of each put. */
  const putTimes = async (times: number): Promise<(string | undefined)[]> => {
    for (let count = 0; count < times; count += 1) {
      await store.put(`s3://lake/ns/t/data/${count}`, Buffer.from('x'));
      clock.advance(300_000);
    }
    return server.received.filter((request) => request.method === 'PUT')
      .map((request) => /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1]);
  };
  const gets = () => server.received.filter((request) => request.method === 'GET').map((request) => request.url);
  return { server, catalog, clock, store, putTimes, gets };
}

const LOAD = '/v1/namespaces/ns/tables/t';
const CONFIG = '/v1/config?warehouse=lake';

describe('GIVEN keys vended without an expiry', () => {
  test('WHEN the catalog has the route THEN the table is loaded once, and region and endpoint outlive the renewal', async () => {
    const { server, putTimes, gets } = await setUp(() => ({ status: 200 }));
    expect(await putTimes(3)).toEqual(['k1', 'k2', 'k3']);
    expect(gets()).toEqual([CONFIG, LOAD, ROUTE, ROUTE]);
    const catalogCalls = server.received.filter((request) => request.method === 'GET');
    expect(catalogCalls.every((request) => request.headers['x-iceberg-access-delegation'] === 'vended-credentials')).toBe(true);
    const puts = server.received.filter((request) => request.method === 'PUT');
    expect(puts.every((put) => put.headers.authorization?.includes('/eu-west-3/s3/'))).toBe(true);
  });

  test.each([404, 405, 501])('WHEN the route answers %i THEN the table is loaded again, and the route is left alone after', async (status) => {
    const { putTimes, gets } = await setUp(() => ({ status }));
    expect(await putTimes(3)).toEqual(['k1', 'k2', 'k3']);
    expect(gets()).toEqual([CONFIG, LOAD, ROUTE, LOAD, LOAD]);
  });

  test('WHEN the route fails in passing THEN the table is loaded, and the route is tried again next time', async () => {
    const { putTimes, gets } = await setUp((index) => ({ status: index === 1 ? 503 : 200 }));
    await putTimes(3);
    expect(gets()).toEqual([CONFIG, LOAD, ROUTE, LOAD, ROUTE]);
  });

  test('WHEN the catalog lists its endpoints without the route THEN it is not tried, unless the table names it', async () => {
    const config = { endpoints: ['GET /v1/{prefix}/namespaces'] };
    const without = await setUp(() => ({ status: 200 }), { config });
    await without.putTimes(2);
    expect(without.gets()).toEqual([CONFIG, LOAD, LOAD]);
    const named = await setUp(() => ({ status: 200 }), { config, tableConfig: { 'client.refresh-credentials-endpoint': 'https://elsewhere/steal' } });
    await named.putTimes(2);
    expect(named.gets()).toEqual([CONFIG, LOAD, ROUTE]);
  });
});

describe('GIVEN a sink that commits for hours and has no need to load the table', () => {
  const putKeys = (server: ScriptedServer): readonly (string | undefined)[] =>
    server.received.filter((request) => request.method === 'PUT')
      .map((request) => /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1]);

  test.each([['by the route', 200], ['by a load of the storage itself', 404]] as const)('WHEN its keys live for an hour THEN they are renewed 900 s ahead, %s', async (_how, status) => {
    const { server, catalog, clock, store } = await setUp(() => ({ status }), { lifeMs: 3_600_000 });
    await catalog.loadTable(TABLE);
    for (let count = 0; count < 16; count += 1) {
      await store.put(`s3://lake/ns/t/data/${count}`, Buffer.from('x'));
      await catalog.commit(TABLE, [{ type: 'assert-table-uuid', uuid: METADATA['table-uuid'] }], [], 'key');
      clock.advance(600_000);
      await catalog.storageFor(TABLE).prefetch();
    }
    // Made at 0, 50, 100 and 150 minutes: never used for longer than 50, and never asked for without need.
    expect(putKeys(server)).toEqual([...repeated('k1', 5), ...repeated('k2', 5), ...repeated('k3', 5), 'k4']);
  });
});

function repeated(text: string, count: number): readonly string[] {
  return Array.from({ length: count }, () => text);
}

describe('GIVEN a table without keys', () => {
  test('WHEN delegation was not asked for THEN the guide words the cause and nothing is sent to the store', async () => {
    const { server, store } = await setUp(() => ({ status: 404 }), { delegated: false });
    await expect(store.put('s3://lake/ns/t/data/x', Buffer.from('x'))).rejects.toMatchObject({
      code: 'storage-credentials-missing', message: expect.stringContaining("Set ACCESS DELEGATION = 'vended-credentials'") as string,
    });
    expect(server.received.some((request) => request.method === 'PUT')).toBe(false);
    expect(server.received.some((request) => request.headers['x-iceberg-access-delegation'] !== undefined)).toBe(false);
  });

  test('WHEN a location lies outside the table THEN it is refused before keys are asked for', async () => {
    const { server, store } = await setUp(() => ({ status: 200 }));
    await expect(store.put('s3://lake/ns/other/x', Buffer.from('x'))).rejects.toMatchObject({ code: 'table-location-unsupported' });
    expect(server.received.some((request) => request.method === 'PUT')).toBe(false);
  });
});
