import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningCatalog } from '../../contract/catalog-server/running-catalog.ts';
import { ROOT, SCHEMA, startCatalog } from '../../contract/catalog-server/running-catalog.ts';
import type { S3Server } from './s3-server.ts';
import { SERVICES, startS3 } from './s3-server.ts';

const run = promisify(execFile);
const ROLE = 'arn:aws:iam::000000000000:role/iceberg-writer';
const VENDED = { headers: { 'x-iceberg-access-delegation': 'vended-credentials' } };

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3(19_400, 'warehouse', '6s');
});
afterAll(() => s3.stop());

/** The catalog that the guide makes: no role named, path style, one allowed location. */
async function withS3Catalog(running: RunningCatalog, storage: object = {}): Promise<RunningCatalog> {
  const made = await running.api('POST', 'management/v1/catalogs', {
    catalog: {
      name: 'lake',
      type: 'INTERNAL',
      properties: { 'default-base-location': 's3://warehouse/lake/' },
      storageConfigInfo: {
        storageType: 'S3', allowedLocations: ['s3://warehouse/lake/'], endpoint: s3.endpoint, pathStyleAccess: true, region: 'us-east-1', ...storage,
      },
    },
  });
  expect(made.status).toBe(201);
  await running.api('PUT', 'management/v1/catalogs/lake/catalog-roles/catalog_admin/grants', { grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' } });
  await running.api('POST', 'catalog/v1/lake/namespaces', { namespace: ['ns'] });
  return running;
}

const TABLES = 'catalog/v1/lake/namespaces/ns/tables';
type Config = Record<string, string>;
const keysOf = (config: Config) => ({
  accessKeyId: config['s3.access-key-id'] ?? '', secretAccessKey: config['s3.secret-access-key'] ?? '', sessionToken: config['s3.session-token'] ?? '',
});

describe('GIVEN a catalog in front of an S3 server with STS', () => {
  let running: RunningCatalog;
  beforeAll(async () => {
    running = await withS3Catalog(await startCatalog({
      storage: { keys: s3.keys, defaultRoleArn: ROLE, credentialLifetimeS: null, credentialCacheMs: 1_800_000 },
    }));
  });
  afterAll(() => running.stop());

  test('WHEN a table is created with delegation THEN config and storage-credentials are shaped as recorded', async () => {
    const { json } = await running.api('POST', TABLES, { name: 'shaped', schema: SCHEMA }, VENDED);
    const config = json['config'] as unknown as Config;
    expect(Object.keys(config).sort()).toEqual([
      'client.refresh-credentials-endpoint', 'client.region', 'expiration-time', 's3.access-key-id', 's3.endpoint',
      's3.path-style-access', 's3.secret-access-key', 's3.session-token', 's3.session-token-expires-at-ms',
    ]);
    expect(config['client.refresh-credentials-endpoint']).toBe('v1/lake/namespaces/ns/tables/shaped/credentials');
    expect(config['s3.endpoint']).toBe(s3.endpoint);
    const [credential] = json['storage-credentials'] as unknown as { prefix: string; config: Config }[];
    expect(credential?.prefix).toBe('s3://warehouse/lake/ns/shaped');
    expect(Object.keys(credential?.config ?? {}).sort()).toEqual([
      'expiration-time', 's3.access-key-id', 's3.secret-access-key', 's3.session-token', 's3.session-token-expires-at-ms',
    ]);
    const left = Number(config['expiration-time']) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(60_000);
  });

  test('WHEN the vended keys are used THEN they reach the table and nothing else, and not after their expiry', async () => {
    await running.api('POST', TABLES, { name: 'scoped', schema: SCHEMA });
    const loaded = await running.api('GET', `${TABLES}/scoped`, undefined, VENDED);
    const client = s3.client(keysOf(loaded.json['config'] as unknown as Config));
    const put = (Key: string) => client.send(new PutObjectCommand({ Bucket: 'warehouse', Key, Body: 'x' }));
    await put('lake/ns/scoped/data/a.parquet');
    await client.send(new GetObjectCommand({ Bucket: 'warehouse', Key: 'lake/ns/scoped/data/a.parquet' }));
    await client.send(new ListObjectsV2Command({ Bucket: 'warehouse', Prefix: 'lake/ns/scoped/data/' }));
    await expect(put('lake/ns/scoped2/data/a.parquet')).rejects.toMatchObject({ name: 'AccessDenied' });
    await expect(put('elsewhere')).rejects.toMatchObject({ name: 'AccessDenied' });
    await sleep(7_000);
    await expect(put('lake/ns/scoped/data/b.parquet')).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } });
    const refreshed = await running.api('GET', `${TABLES}/scoped/credentials`);
    const [credential] = refreshed.json['storage-credentials'] as unknown as { config: Config }[];
    await s3.client(keysOf(credential?.config ?? {})).send(new PutObjectCommand({ Bucket: 'warehouse', Key: 'lake/ns/scoped/data/b.parquet', Body: 'x' }));
  });

  test('WHEN Iceberg Java writes its reference tables with vended keys only THEN it outlives their expiry, and reads back', async () => {
    const { stdout } = await run(join(SERVICES, 'readers/check'), [running.catalog.catalogUrl, 'ref', 'java'], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        SERVICES_HOME: process.env['SERVICES_HOME'],
        AWS_REGION: 'us-east-1',
        REST_WAREHOUSE: 'lake',
        REST_CREDENTIAL: `${ROOT.clientId}:${ROOT.clientSecret}`,
        REST_OAUTH2_URI: `${running.catalog.catalogUrl}/v1/oauth/tokens`,
        REST_SCOPE: 'PRINCIPAL_ROLE:ALL',
        REST_ACCESS_DELEGATION: 'vended-credentials',
      },
    });
    expect(stdout).toMatch(/(\d+) of \1 outcomes as recorded/);
  });

  test('WHEN keys are asked for twice at once THEN the same come back, and no keys without the header', async () => {
    await running.api('POST', TABLES, { name: 'cached', schema: SCHEMA });
    const [first, second, plain] = [
      await running.api('GET', `${TABLES}/cached`, undefined, VENDED),
      await running.api('GET', `${TABLES}/cached`, undefined, VENDED),
      await running.api('GET', `${TABLES}/cached`),
    ];
    expect(second.json['config']).toEqual(first.json['config']);
    expect(plain.json['config']).toEqual({ 'client.region': 'us-east-1', 's3.path-style-access': 'true', 's3.endpoint': s3.endpoint });
    expect(plain.json).not.toHaveProperty('storage-credentials');
  });
});

describe('GIVEN a catalog that cannot vend', () => {
  test.each([[422, 'UnprocessableEntityException'], [500, 'StsException']] as const)('WHEN STS refuses its keys THEN %i, and no table is made', async (status, type) => {
    const running = await withS3Catalog(await startCatalog({
      storage: { keys: { ...s3.keys, secretAccessKey: 'wrong' }, defaultRoleArn: ROLE, stsFailureStatus: status },
    }));
    const reply = await running.api('POST', TABLES, { name: 'refused', schema: SCHEMA }, VENDED);
    expect(reply.json.error).toMatchObject({ code: status, type });
    expect(reply.json.error?.message).toMatch(/^Failed to get subscoped credentials: /);
    expect((await running.api('HEAD', `${TABLES}/refused`)).status).toBe(404);
    await running.stop();
  });

  test('WHEN stsUnavailable is set THEN create answers 400 after it has made the table, and a second try 409', async () => {
    const running = await withS3Catalog(await startCatalog({ storage: { keys: s3.keys } }), { stsUnavailable: true });
    const create = () => running.api('POST', TABLES, { name: 'quirk', schema: SCHEMA }, VENDED);
    expect((await create()).json.error).toEqual({
      message: 'Credential vending was requested for table ns.quirk, but no credentials are available', type: 'IllegalArgumentException', code: 400,
    });
    expect((await create()).json.error?.code).toBe(409);
    await running.stop();
  });
});
