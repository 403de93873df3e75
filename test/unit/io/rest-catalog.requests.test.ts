import { afterEach, describe, expect, test } from 'vitest';
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import { parseCatalogConfig } from '../../../src/io/catalog-config.ts';
import { createHttpClient } from '../../../src/io/http.ts';
import { createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { connection, fixedEntropy, manualClock } from './fakes.ts';
import { type Received, type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const servers: ScriptedServer[] = [];
const TABLE = { namespace: ['ns'], name: 't' };

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function catalogOver(script: (request: Received, index: number) => Reply, changes: Partial<CatalogConnection> = {}) {
  const server = await scriptedServer(script);
  servers.push(server);
  const clock = manualClock();
  const catalog = createRestCatalog(connection(server.url, changes), { http: createHttpClient(clock), clock, entropy: fixedEntropy });
  return { server, clock, catalog, paths: () => server.received.map((request) => `${request.method} ${request.url}`) };
}

/** Answers the configuration, and everything else by `script` with its own count. */
function afterConfig(script: (index: number, request: Received) => Reply, config: object = {}): (request: Received) => Reply {
  let index = 0;
  return (request) => {
    if (request.url.startsWith('/v1/config')) return { status: 200, body: config };
    index += 1;
    return script(index - 1, request);
  };
}

const refusal = (status: number, type: string, message: string): Reply => ({ status, body: { error: { message, type, code: status } } });

const METADATA = {
  'format-version': 2, 'table-uuid': '6f0c1e2a-0000-4000-8000-000000000001', location: 's3://warehouse/ns/t', 'last-sequence-number': 0,
  'last-updated-ms': 1_800_000_000_000, 'last-column-id': 1, 'current-schema-id': 0,
  schemas: [{ type: 'struct', 'schema-id': 0, fields: [{ id: 1, name: 'id', required: true, type: 'long' }] }],
  'default-spec-id': 0, 'partition-specs': [{ 'spec-id': 0, fields: [] }], 'last-partition-id': 999, 'default-sort-order-id': 0,
  'sort-orders': [{ 'order-id': 0, fields: [] }], properties: {}, 'current-snapshot-id': -1, snapshots: [], refs: {}, 'snapshot-log': [],
  'metadata-log': [],
};
const loaded: Reply = { status: 200, body: { 'metadata-location': 's3://warehouse/ns/t/metadata/0.metadata.json', metadata: METADATA } };

describe('GIVEN the configuration of a catalog', () => {
  test('WHEN it names a property thrice THEN overrides beat the client, and the client beats defaults', () => {
    const body = JSON.stringify({ defaults: { a: 'd', b: 'd', c: 'd' }, overrides: { a: 'o' } });
    expect(parseCatalogConfig(body, { a: 'c', b: 'c' }).properties).toEqual({ a: 'o', b: 'c', c: 'd' });
  });

  test('WHEN endpoint entries are malformed THEN the others count', () => {
    const { endpoints } = parseCatalogConfig(JSON.stringify({
      endpoints: ['GET /v1/{prefix}/namespaces', 'POST v1/oauth/tokens', 'GET polaris/v1/x', '', 'nonsense', 7, null],
    }), {});
    expect([...endpoints ?? []]).toEqual(['GET /v1/{prefix}/namespaces', 'POST /v1/oauth/tokens', 'GET /polaris/v1/x']);
    expect(parseCatalogConfig('{}', {}).endpoints).toBeNull();
  });

  test.each([[undefined, '%1F'], ['%2E', '%2E'], ['.', '.'], ['\u001f', '%1F']])(
    'WHEN namespace-separator is %j THEN levels are joined by %s', (separator, expected) => {
      const overrides = separator === undefined ? {} : { 'namespace-separator': separator };
      expect(parseCatalogConfig(JSON.stringify({ overrides }), {}).namespaceSeparator).toBe(expected);
    },
  );

  test('WHEN it fails first THEN it is asked again, and kept once it is had', async () => {
    const { catalog, paths } = await catalogOver((request, index) => {
      if (index === 0) return 'reset';
      if (index === 1) return { status: 503 };
      return request.url.startsWith('/v1/config') ? { status: 200, body: { overrides: { prefix: 'x/y' } } } : loaded;
    });
    expect(await catalog.loadTable(TABLE)).toMatchObject({ kind: 'loaded' });
    await catalog.loadTable({ namespace: ['a b', 'ü/c'], name: 't.%1' });
    expect(paths()).toEqual([
      'GET /v1/config?warehouse=lake', 'GET /v1/config?warehouse=lake', 'GET /v1/config?warehouse=lake',
      'GET /v1/x/y/namespaces/ns/tables/t', 'GET /v1/x/y/namespaces/a%20b%1F%C3%BC%2Fc/tables/t.%251',
    ]);
  });

  test('WHEN a failure outlasts the retries THEN the next call asks anew', async () => {
    let broken = true;
    const { catalog } = await catalogOver((request) => {
      if (broken) return { status: 503 };
      return request.url.startsWith('/v1/config') ? { status: 200, body: {} } : loaded;
    });
    await expect(catalog.loadTable(TABLE)).rejects.toMatchObject({ code: 'catalog-unavailable' });
    broken = false;
    expect(await catalog.loadTable(TABLE)).toMatchObject({ kind: 'loaded' });
  });

  test.each([['lake', 404, 'The warehouse named by WAREHOUSE does not exist'], [null, 400, 'WAREHOUSE is missing.']])(
    'WHEN warehouse %s is answered with %i THEN the cause is named', async (warehouse, status, words) => {
      const { catalog } = await catalogOver(() => refusal(status, 'NotFoundException', 'Unable to find warehouse'), { warehouse });
      await expect(catalog.listNamespaces()).rejects.toMatchObject({ code: 'warehouse-missing', message: expect.stringContaining(words) as string });
    },
  );

  test.each(['..', '.', '', 'a*b'])('WHEN a name is %j THEN it never gets into a path', async (name) => {
    const { catalog, paths } = await catalogOver(afterConfig(() => loaded));
    await expect(catalog.loadTable({ namespace: ['ns'], name })).rejects.toMatchObject({ code: 'definition-invalid' });
    await expect(catalog.loadTable({ namespace: [name], name: 't' })).rejects.toMatchObject({ code: 'definition-invalid' });
    expect(paths()).toEqual(['GET /v1/config?warehouse=lake']);
  });
});

describe('GIVEN reads', () => {
  test('WHEN namespaces come in pages THEN all are listed', async () => {
    const { catalog, paths } = await catalogOver(afterConfig((index) => (index === 0
      ? { status: 200, body: { namespaces: [['a'], ['b', 'c']], 'next-page-token': 'p 2' } }
      : { status: 200, body: { namespaces: [['d']], 'next-page-token': null } })));
    expect(await catalog.listNamespaces()).toEqual([['a'], ['b', 'c'], ['d']]);
    expect(paths().slice(1)).toEqual(['GET /v1/namespaces', 'GET /v1/namespaces?pageToken=p%202']);
  });

  test('WHEN pages go in a circle THEN it ends', async () => {
    const { catalog } = await catalogOver(afterConfig(() => ({ status: 200, body: { namespaces: [], 'next-page-token': 'same' } })));
    await expect(catalog.listNamespaces()).rejects.toMatchObject({ code: 'catalog-protocol' });
  });

  test('WHEN a load fails in passing THEN it is repeated; when it stays down it is named', async () => {
    const passing = await catalogOver(afterConfig((index) => (['cut', 'reset', { status: 503 }] as Reply[])[index] ?? loaded));
    expect(await passing.catalog.loadTable(TABLE)).toMatchObject({
      kind: 'loaded', table: { metadataLocation: 's3://warehouse/ns/t/metadata/0.metadata.json', metadata: { currentSnapshotId: null } },
    });
    const down = await catalogOver(afterConfig(() => ({ status: 502 })));
    await expect(down.catalog.loadTable(TABLE)).rejects.toMatchObject({ code: 'catalog-unavailable' });
    expect(down.server.received.length).toBe(5);
  });

  test('WHEN the server asks for a long pause THEN it is left to the caller', async () => {
    const { catalog, server } = await catalogOver(afterConfig(() => ({ status: 429, headers: { 'retry-after': '60' } })));
    await expect(catalog.loadTable(TABLE)).rejects.toMatchObject({ detail: { retryAfterMs: 60_000 } });
    expect(server.received).toHaveLength(2);
  });

  test('WHEN a table does not exist THEN it is missing; a page of a proxy is no proof of that', async () => {
    const gone = await catalogOver(afterConfig(() => refusal(404, 'NoSuchTableException', 'Table does not exist: ns.t')));
    expect(await gone.catalog.loadTable(TABLE)).toEqual({ kind: 'missing' });
    const proxy = await catalogOver(afterConfig(() => ({ status: 404, body: '<html>404</html>' })));
    await expect(proxy.catalog.loadTable(TABLE)).rejects.toMatchObject({ code: 'catalog-protocol' });
  });
});

describe("GIVEN the guide's troubleshooting table", () => {
  const causes: [string, Reply, string, string][] = [
    ['401 without a body', { status: 401 }, 'catalog-unauthorized',
      'The credential is wrong, or SCOPE names a principal role that is not assigned to the principal.'],
    ['403 without the right to vend', refusal(403, 'ForbiddenException',
      "Principal 'materialize' with activated PrincipalRoles '[]' is not authorized for op CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION"),
    'catalog-vending-forbidden', 'lacks either CATALOG_MANAGE_CONTENT or both TABLE_READ_DATA and TABLE_WRITE_DATA'],
    ['403 for another reason', refusal(403, 'ForbiddenException', 'not authorized for op LOAD_TABLE'), 'catalog-forbidden', 'LOAD_TABLE'],
    ['500', refusal(500, 'InternalServerError', 'oops'), 'catalog-storage-broken',
      'cannot reach the object store, or its storage credentials cannot call AssumeRole'],
    ['422 of STS', refusal(422, 'UnprocessableEntityException', 'Failed to get subscoped credentials: x'), 'catalog-storage-broken', 'AssumeRole'],
    ['a missing namespace', refusal(404, 'NoSuchNamespaceException', 'Namespace does not exist: ns'), 'namespace-missing',
      'The namespace named by NAMESPACE does not exist, or the principal cannot see it.'],
    ['400 because nothing can be vended', refusal(400, 'IllegalArgumentException',
      'Credential vending was requested for table ns.t, but no credentials are available'), 'storage-credentials-missing', 'no storage credentials'],
  ];
  test.each(causes)('WHEN a load is answered with %s THEN the cause is worded', async (_, reply, code, words) => {
    const { catalog } = await catalogOver(afterConfig(() => reply));
    await expect(catalog.loadTable(TABLE)).rejects.toMatchObject({ code, message: expect.stringContaining(words) as string });
  });
});

describe('GIVEN a create', () => {
  const request = { name: 't', properties: { a: 'b' }, schema: { schemaId: 0, identifierFieldIds: [1],
    fields: [{ id: 1, name: 'id', required: true, type: { kind: 'long' } as const }] } };

  test('WHEN it is sent THEN nothing that the specification calls optional is left out', async () => {
    const { catalog, server } = await catalogOver(afterConfig(() => loaded));
    expect(await catalog.createTable(['ns'], request)).toMatchObject({ kind: 'created' });
    expect(JSON.parse(server.received[1]?.body ?? '')).toEqual({
      name: 't', properties: { a: 'b' }, 'stage-create': false, 'partition-spec': { 'spec-id': 0, fields: [] },
      'write-order': { 'order-id': 0, fields: [] },
      schema: { type: 'struct', 'schema-id': 0, 'identifier-field-ids': [1], fields: [{ id: 1, name: 'id', required: true, type: 'long' }] },
    });
  });

  test('WHEN a rival was faster THEN it exists', async () => {
    const { catalog } = await catalogOver(afterConfig(() => refusal(409, 'AlreadyExistsException', 'Table already exists: ns.t')));
    expect(await catalog.createTable(['ns'], request)).toEqual({ kind: 'exists' });
  });

  test.each<[string, Reply]>([['reset', 'reset'], ['cut', 'cut'], ['500', { status: 500 }], ['502', { status: 502 }]])(
    'WHEN its answer is lost by %s THEN one POST was sent and the table is looked up', async (_, reply) => {
      const { catalog, server } = await catalogOver(afterConfig((index) => (index === 0 ? reply : loaded)));
      expect(await catalog.createTable(['ns'], request)).toEqual({ kind: 'exists' });
      expect(server.received.filter((received) => received.method === 'POST')).toHaveLength(1);
    },
  );

  test('WHEN its answer is lost and there is no table THEN the caller learns the first cause', async () => {
    const { catalog } = await catalogOver(afterConfig((index) =>
      (index === 0 ? { status: 503 } : refusal(404, 'NoSuchTableException', 'Table does not exist: ns.t'))));
    await expect(catalog.createTable(['ns'], request)).rejects.toMatchObject({ code: 'catalog-unavailable' });
  });

  test('WHEN the namespace is missing THEN it is named, whatever type the 404 has', async () => {
    const { catalog } = await catalogOver(afterConfig(() => refusal(404, 'NotFoundException', 'not here')));
    await expect(catalog.createTable(['ns'], request)).rejects.toMatchObject({ code: 'namespace-missing' });
  });
});
