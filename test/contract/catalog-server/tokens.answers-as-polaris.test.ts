import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningCatalog } from './running-catalog.ts';
import { SCHEMA, fileCatalog, replyOf, startCatalog, withLake } from './running-catalog.ts';

let running: RunningCatalog;
let nowMs = Date.now();
beforeAll(async () => {
  running = await withLake(await startCatalog({ nowMs: () => nowMs, tokenLifetimeS: 60 }));
});
afterAll(() => running.stop());

async function askToken(form: Record<string, string>) {
  return replyOf(await fetch(`${running.catalog.catalogUrl}/v1/oauth/tokens`, { method: 'POST', body: new URLSearchParams(form) }));
}

const GOOD = { grant_type: 'client_credentials', client_id: 'root', client_secret: 's3cr3t', scope: 'PRINCIPAL_ROLE:ALL' };

describe('GIVEN the token endpoint', () => {
  test('WHEN the credential is right THEN a bearer token comes with its life', async () => {
    const reply = await askToken(GOOD);
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      token_type: 'bearer', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', expires_in: 60,
    });
  });

  test('WHEN the secret is wrong THEN 401 unauthorized_client, word for word', async () => {
    const reply = await askToken({ ...GOOD, client_secret: 'wrong' });
    expect([reply.status, reply.text]).toEqual([
      401, '{"error":"unauthorized_client","error_description":"The client is not authorized","error_uri":null}',
    ]);
  });

  test.each([['is missing', {}], ['is not a role', { scope: 'catalog' }]])('WHEN the scope %s THEN 400 invalid_scope', async (_, change) => {
    const { scope: _dropped, ...rest } = GOOD;
    const reply = await askToken({ ...rest, ...change });
    expect([reply.status, reply.text]).toEqual([
      400, '{"error":"invalid_scope","error_description":"The scope is invalid","error_uri":null}',
    ]);
  });
});

describe('GIVEN a request with a bad token', () => {
  test.each([
    ['missing', null], ['garbage', 'garbage'], ['tampered with', 'eyJwcmluY2lwYWwiOiJyb290In0.AAAA'],
  ])('WHEN it is %s THEN 401 with an empty body', async (_, token) => {
    const reply = await running.api('GET', 'catalog/v1/config?warehouse=lake', undefined, { token });
    expect(reply.status).toBe(401);
    expect(reply.text).toBe('');
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
    expect(reply.headers.get('content-length')).toBe('0');
  });

  test('WHEN it has expired THEN 401, and a new one works', async () => {
    const token = await running.token();
    nowMs += 60_000;
    expect((await running.api('GET', 'catalog/v1/config?warehouse=lake', undefined, { token })).status).toBe(401);
    expect((await running.api('GET', 'catalog/v1/config?warehouse=lake', undefined, { token: await running.token() })).status).toBe(200);
    nowMs -= 60_000;
  });
});

describe('GIVEN a principal set up as the guide does', () => {
  const management = 'management/v1';
  let credentials: { clientId: string; clientSecret: string };
  let statuses: number[];
  beforeAll(async () => {
    const made = await running.api('POST', `${management}/principals`, { principal: { name: 'materialize' } });
    credentials = made.json['credentials'] as unknown as typeof credentials;
    statuses = [
      made,
      await running.api('POST', `${management}/principal-roles`, { principalRole: { name: 'materialize_role' } }),
      await running.api('PUT', `${management}/principals/materialize/principal-roles`, { principalRole: { name: 'materialize_role' } }),
      await running.api('POST', `${management}/principal-roles`, { principalRole: { name: 'other_role' } }),
      await running.api('POST', `${management}/catalogs/lake/catalog-roles`, { catalogRole: { name: 'materialize_writer' } }),
      await running.api('PUT', `${management}/principal-roles/materialize_role/catalog-roles/lake`, { catalogRole: { name: 'materialize_writer' } }),
    ].map((reply) => reply.status);
  });
  const asMaterialize = async (scope = 'PRINCIPAL_ROLE:ALL') => running.token(credentials.clientId, credentials.clientSecret, scope);
  const create = async (token: string, name: string) => running.api('POST', 'catalog/v1/lake/namespaces/ns/tables', {
    name, schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] },
  }, { token, headers: { 'x-iceberg-access-delegation': 'vended-credentials' } });

  test('WHEN it is set up THEN every step is answered with 201', () => {
    expect(statuses).toEqual([201, 201, 201, 201, 201, 201]);
  });

  test('WHEN the scope names its own role THEN it may call', async () => {
    await running.api('PUT', `${management}/catalogs/lake/catalog-roles/materialize_writer/grants`, { grant: { type: 'catalog', privilege: 'NAMESPACE_LIST' } });
    const token = await asMaterialize('PRINCIPAL_ROLE:materialize_role');
    expect((await running.api('GET', 'catalog/v1/lake/namespaces', undefined, { token })).json['namespaces']).toEqual([['ns']]);
  });

  test('WHEN the scope names a role it does not have THEN 401', async () => {
    const token = await asMaterialize('PRINCIPAL_ROLE:other_role');
    expect((await running.api('GET', 'catalog/v1/lake/namespaces', undefined, { token })).status).toBe(401);
  });

  test('WHEN it has no privilege on data THEN creating with delegation is 403 and names the operation', async () => {
    await running.api('PUT', `${management}/catalogs/lake/catalog-roles/materialize_writer/grants`, { grant: { type: 'catalog', privilege: 'TABLE_CREATE' } });
    const reply = await create(await asMaterialize(), 'refused');
    expect(reply.status).toBe(403);
    expect(reply.json.error?.type).toBe('ForbiddenException');
    expect(reply.json.error?.message).toMatch(/^Principal 'materialize' .* is not authorized for op CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION$/);
  });

  test.each([[['TABLE_CREATE', 'TABLE_READ_DATA', 'TABLE_WRITE_DATA']], [['CATALOG_MANAGE_CONTENT']]])('WHEN it is granted %s THEN it may create with delegation', async (privileges) => {
    const grants = `${management}/catalogs/lake/catalog-roles/materialize_writer/grants`;
    for (const privilege of privileges) await running.api('PUT', grants, { grant: { type: 'catalog', privilege } });
    expect((await create(await asMaterialize(), `made_${privileges.length}`)).status).toBe(200);
    for (const privilege of privileges) await running.api('POST', grants, { grant: { type: 'catalog', privilege } });
    expect((await create(await asMaterialize(), `refused_${privileges.length}`)).status).toBe(403);
  });

  test('WHEN it calls the management API THEN 403', async () => {
    const reply = await running.api('POST', `${management}/catalogs`, fileCatalog('x', running.warehouse), { token: await asMaterialize() });
    expect([reply.status, reply.json.error?.type]).toEqual([403, 'ForbiddenException']);
  });

  test('WHEN its secret is rotated THEN the old one stops working and the new one works', async () => {
    const rotated = await running.api('POST', `${management}/principals/materialize/rotate`);
    const fresh = rotated.json['credentials'] as unknown as typeof credentials;
    expect((await askToken({ ...GOOD, client_id: credentials.clientId, client_secret: credentials.clientSecret })).status).toBe(401);
    expect((await askToken({ ...GOOD, client_id: fresh.clientId, client_secret: fresh.clientSecret })).status).toBe(200);
    credentials = fresh;
  });
});

describe('GIVEN a catalog whose admin role has only what it was made with', () => {
  test('WHEN root creates and loads without delegation THEN it may; with delegation THEN 403, as recorded', async () => {
    await running.api('POST', 'management/v1/catalogs', fileCatalog('bare', running.warehouse));
    await running.api('POST', 'catalog/v1/bare/namespaces', { namespace: ['ns'] });
    const tables = 'catalog/v1/bare/namespaces/ns/tables';
    const vended = { headers: { 'x-iceberg-access-delegation': 'vended-credentials' } };
    expect((await running.api('POST', tables, { name: 't', schema: SCHEMA })).status).toBe(200);
    expect((await running.api('GET', `${tables}/t`)).status).toBe(200);
    const commit = { requirements: [], updates: [{ action: 'set-properties', updates: { a: 'b' } }] };
    expect((await running.api('POST', `${tables}/t`, commit)).status).toBe(200);
    const refused = await running.api('GET', `${tables}/t`, undefined, vended);
    expect(refused.status).toBe(403);
    expect(refused.json.error?.message).toMatch(/is not authorized for op LOAD_TABLE_WITH_READ_DELEGATION$/);
    expect((await running.api('GET', `${tables}/t/credentials`)).status).toBe(403);
  });
});
