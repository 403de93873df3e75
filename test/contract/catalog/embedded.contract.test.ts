import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import { createHttpClient } from '../../../src/io/http.ts';
import { type RestCatalog, createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { createSystemClock, createSystemEntropy } from '../../../src/io/system.ts';
import { ROOT, type RunningCatalog, startCatalog, withLake } from '../catalog-server/running-catalog.ts';
import { catalogSuite } from './catalog-suite.ts';

const clock = createSystemClock();
const entropy = createSystemEntropy();
let running: RunningCatalog;
let catalog: RestCatalog;
let intercept: (method: string, path: string) => Interception = () => ({ kind: 'pass' });

function connect(changes: Partial<CatalogConnection> = {}): RestCatalog {
  const http = createHttpClient(clock, { headersTimeoutMs: 2_000, bodyTimeoutMs: 2_000, maxBodyBytes: 1e7 });
  return createRestCatalog({
    kind: 'iceberg-catalog', name: 'c', catalogType: 'rest', url: running.catalog.catalogUrl, warehouse: 'lake',
    credential: { clientId: ROOT.clientId, clientSecret: new Secret(ROOT.clientSecret) }, scope: 'PRINCIPAL_ROLE:ALL',
    oauth2ServerUrl: null, accessDelegation: null, storageProvider: 's3', awsConnection: null, gcpConnection: null, ...changes,
  }, { http, clock, entropy });
}

beforeAll(async () => {
  running = await withLake(await startCatalog({ intercept: (request) => intercept(request.method, `/${request.segments.join('/')}`) }));
  catalog = connect();
});
afterAll(async () => running.stop());

catalogSuite('the embedded catalog with local files', { catalog: () => catalog, namespace: ['ns'] });

describe('GIVEN connections that are wrong', () => {
  const wrong: [string, Partial<CatalogConnection>, string][] = [
    ['no SCOPE', { scope: null }, 'catalog-scope-missing'],
    ['a wrong secret', { credential: { clientId: ROOT.clientId, clientSecret: new Secret('wrong') } }, 'catalog-unauthorized'],
    ['a role that is not assigned', { scope: 'PRINCIPAL_ROLE:nobody' }, 'catalog-unauthorized'],
    ['an unknown warehouse', { warehouse: 'nope' }, 'warehouse-missing'],
    ['no warehouse', { warehouse: null }, 'warehouse-missing'],
  ];
  test.each(wrong)('WHEN it has %s THEN listing namespaces names the cause', async (_, changes, code) => {
    await expect(connect(changes).listNamespaces()).rejects.toMatchObject({ code });
  });

  test('WHEN nobody listens at the URL THEN it is unreachable', async () => {
    await expect(connect({ url: 'http://127.0.0.1:1/api/catalog' }).listNamespaces()).rejects.toMatchObject({ code: 'catalog-unreachable' });
  });
});

describe('GIVEN a commit that lands while its answer is lost', () => {
  const losses: Interception[] = [
    { kind: 'apply-then-reset' }, { kind: 'apply-then-truncate' }, { kind: 'apply-then-hang' },
    { kind: 'apply-then-answer', answer: { status: 502, headers: {}, body: 'bad gateway' } },
  ];
  test.each(losses)('WHEN it is lost by $kind THEN the outcome is unknown, one POST was sent, and the table has it once', async (loss) => {
    const table = { namespace: ['ns'], name: `lost_${loss.kind.replaceAll('-', '_')}` };
    const created = await catalog.createTable(table.namespace, {
      name: table.name, schema: { schemaId: 0, identifierFieldIds: [], fields: [{ id: 1, name: 'id', required: true, type: { kind: 'long' } }] },
      properties: {},
    });
    if (created.kind !== 'created') throw new Error('the table exists');
    let posts = 0;
    intercept = (method, path) => {
      if (method !== 'POST' || !path.endsWith(table.name)) return { kind: 'pass' };
      posts += 1;
      return loss;
    };
    const outcome = await catalog.commit(
      table, [{ type: 'assert-table-uuid', uuid: created.table.metadata.tableUuid }],
      [{ action: 'set-properties', updates: { landed: 'yes' } }], entropy.uuid(),
    );
    intercept = () => ({ kind: 'pass' });
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(posts).toBe(1);
    const loaded = await catalog.loadTable(table);
    expect(loaded).toMatchObject({ kind: 'loaded', table: { metadata: { properties: { landed: 'yes' } } } });
  });
});
