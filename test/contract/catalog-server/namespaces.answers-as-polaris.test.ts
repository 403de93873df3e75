import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningCatalog } from './running-catalog.ts';
import { fileCatalog, startCatalog, withLake } from './running-catalog.ts';

let running: RunningCatalog;
beforeAll(async () => {
  running = await withLake(await startCatalog());
});
afterAll(() => running.stop());

const NAMESPACES = 'catalog/v1/lake/namespaces';

describe('GIVEN GET /v1/config', () => {
  test('WHEN the warehouse is known THEN its name is the prefix, and /credentials is not advertised', async () => {
    const { json } = await running.api('GET', 'catalog/v1/config?warehouse=lake');
    expect(json['overrides']).toEqual({ prefix: 'lake' });
    expect(json['defaults']).toEqual({ 'default-base-location': `${running.warehouse}/lake` });
    expect(json['endpoints']).toContain('POST /v1/{prefix}/transactions/commit');
    expect(JSON.stringify(json['endpoints'])).not.toContain('credentials');
    expect(json['idempotency-key-lifetime']).toBe('PT1800S');
  });

  test('WHEN the warehouse is unknown THEN 404, and missing THEN 400', async () => {
    expect((await running.api('GET', 'catalog/v1/config?warehouse=nope')).json.error).toMatchObject({ type: 'NotFoundException', code: 404 });
    expect((await running.api('GET', 'catalog/v1/config')).status).toBe(400);
  });
});

describe('GIVEN namespaces', () => {
  test('WHEN a prefix or namespace is unknown THEN 404 NoSuchNamespaceException', async () => {
    const refused = { type: 'NoSuchNamespaceException', code: 404 };
    expect((await running.api('GET', 'catalog/v1/nope/namespaces')).json.error).toEqual({ message: 'Namespace does not exist: \'\'', ...refused });
    expect((await running.api('GET', `${NAMESPACES}/nope`)).json.error).toEqual({ message: 'Namespace does not exist: nope', ...refused });
    expect((await running.api('POST', `${NAMESPACES}/nope/tables`, { name: 't', schema: {} })).json.error).toMatchObject(refused);
    expect((await running.api('HEAD', `${NAMESPACES}/nope`)).status).toBe(404);
  });

  test('WHEN they are nested THEN levels are joined by 0x1F and listed by parent', async () => {
    await running.api('POST', NAMESPACES, { namespace: ['a'] });
    expect((await running.api('POST', NAMESPACES, { namespace: ['a', 'b.c'] })).status).toBe(200);
    expect((await running.api('GET', `${NAMESPACES}/a%1Fb.c`)).json['namespace']).toEqual(['a', 'b.c']);
    expect((await running.api('GET', `${NAMESPACES}?parent=a`)).json['namespaces']).toEqual([['a', 'b.c']]);
    expect((await running.api('GET', NAMESPACES)).json['namespaces']).toEqual([['a'], ['ns']]);
    const { json } = await running.api('POST', `${NAMESPACES}/a%1Fb.c/tables`, {
      name: 'T x/%', schema: { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] },
    });
    expect(json['metadata-location']).toMatch(/\/lake\/a\/b\.c\/T_x__-[0-9a-f]{8}\/metadata\//);
    expect((await running.api('HEAD', `${NAMESPACES}/a%1Fb.c/tables/${encodeURIComponent('T x/%')}`)).status).toBe(204);
  });

  test('WHEN one exists already THEN 409, and a child without parent THEN 404', async () => {
    expect((await running.api('POST', NAMESPACES, { namespace: ['ns'] })).json.error).toEqual({
      message: 'Namespace already exists: ns', type: 'AlreadyExistsException', code: 409,
    });
    expect((await running.api('POST', NAMESPACES, { namespace: ['none', 'b'] })).status).toBe(404);
  });

  test('WHEN properties change THEN the answer says which, and a restart keeps them', async () => {
    await running.api('POST', NAMESPACES, { namespace: ['props'], properties: { a: '1', b: '2' } });
    const reply = await running.api('POST', `${NAMESPACES}/props/properties`, { removals: ['a', 'x'], updates: { c: '3' } });
    expect(reply.json).toEqual({ updated: ['c'], removed: ['a'], missing: ['x'] });
    running = await running.restart();
    const properties = (await running.api('GET', `${NAMESPACES}/props`)).json['properties'];
    expect(properties).toEqual({ b: '2', c: '3', location: `${running.warehouse}/lake/props` });
    expect((await running.api('DELETE', `${NAMESPACES}/props`)).status).toBe(204);
  });

  test('WHEN a location outside of the catalog is asked for THEN 403', async () => {
    expect((await running.api('POST', NAMESPACES, { namespace: ['out'], properties: { location: 'file:///etc' } })).status).toBe(403);
  });

  test('WHEN pages of one are asked for THEN every namespace comes once', async () => {
    const first = await running.api('GET', `${NAMESPACES}?pageToken=&pageSize=1`);
    const second = await running.api('GET', `${NAMESPACES}?pageToken=${JSON.stringify(first.json['next-page-token']).replaceAll('"', '')}&pageSize=1`);
    expect([first.json['namespaces'], second.json['namespaces'], second.json['next-page-token']]).toEqual([[['a']], [['ns']], null]);
  });
});

describe('GIVEN the management API', () => {
  test('WHEN a catalog is made, read and dropped THEN 201, its storage, 204; not while it holds namespaces', async () => {
    const made = await running.api('POST', 'management/v1/catalogs', fileCatalog('second', running.warehouse));
    expect(made.status).toBe(201);
    expect((await running.api('POST', 'management/v1/catalogs', fileCatalog('second', running.warehouse))).json.error?.code).toBe(409);
    expect((await running.api('GET', 'management/v1/catalogs/second')).json['storageConfigInfo']).toMatchObject({ storageType: 'FILE' });
    expect((await running.api('DELETE', 'management/v1/catalogs/second')).status).toBe(204);
    expect((await running.api('GET', 'management/v1/catalogs/second')).json.error?.code).toBe(404);
    expect((await running.api('DELETE', 'management/v1/catalogs/lake')).status).toBe(400);
  });
});
