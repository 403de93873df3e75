/** The catalog suite on three servers that know nothing of this project: Iceberg's own fixture, Nessie, SeaweedFS. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';
import { createHttpClient } from '../../../src/io/http.ts';
import { type RestCatalog, createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { createSystemClock, createSystemEntropy } from '../../../src/io/system.ts';
import { catalogSuite } from '../../contract/catalog/catalog-suite.ts';
import { type S3Server, startS3 } from '../catalog/s3-server.ts';
import { type Service, answers, startService } from './service-process.ts';

const S3_PORT = 19_520;
const FIXTURE_PORT = 19_540;
const NESSIE_PORT = 19_550;
const WEED_PORT = 19_560;
const WEED_CATALOG_PORT = 19_580;
const KEYS = { accessKeyId: 'icebergsink', secretAccessKey: 'icebergsink-secret' };

const clock = createSystemClock();
const entropy = createSystemEntropy();

function connect(url: string, changes: Partial<CatalogConnection> = {}): RestCatalog {
  return createRestCatalog({
    kind: 'iceberg-catalog', name: 'c', catalogType: 'rest', url, warehouse: null, credential: null, scope: null, oauth2ServerUrl: null,
    accessDelegation: null, storageProvider: 's3', awsConnection: null, gcpConnection: null, ...changes,
  }, { http: createHttpClient(clock), clock, entropy });
}

/** Namespaces are made beside the client under test, which never makes one. */
async function makeNamespace(url: string, levels: readonly string[], token: string | null = null): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST', body: JSON.stringify({ namespace: levels }),
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
  });
  if (!answer.ok) throw new Error(`namespace ${levels.join('.')}: ${answer.status} ${await answer.text()}`);
}

async function bucketExists(endpoint: string, bucket: string): Promise<boolean> {
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1, credentials: KEYS });
  return await client.send(new HeadBucketCommand({ Bucket: bucket })).then(() => true, () => false);
}

function awsKeys(endpoint: string): NonNullable<CatalogConnection['awsConnection']> {
  return {
    kind: 'aws', name: 'keys', region: 'us-east-1', endpoint, accessKeyId: new Secret(KEYS.accessKeyId),
    secretAccessKey: new Secret(KEYS.secretAccessKey), sessionToken: null, assumeRoleArn: null,
  };
}

describe('beside a plain S3 server', () => {
  let s3: S3Server | undefined;
  let directory: string;
  const services: Service[] = [];
  let fixture: RestCatalog;
  let nessie: RestCatalog;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mz-sink-catalogs-'));
    s3 = await startS3(S3_PORT, 'lake');
    const keys = { S3_ENDPOINT: s3.endpoint, S3_ACCESS_KEY: KEYS.accessKeyId, S3_SECRET_KEY: KEYS.secretAccessKey };
    const fixtureUrl = `http://127.0.0.1:${FIXTURE_PORT}`;
    services.push(await startService('rest-fixture', {
      ...keys, REST_PORT: String(FIXTURE_PORT), REST_DATA_DIR: join(directory, 'fixture'), REST_WAREHOUSE: 's3://lake/fixture', REST_VEND: '1',
    }, () => answers(`${fixtureUrl}/v1/config`)));
    const nessieUrl = `http://127.0.0.1:${NESSIE_PORT}/iceberg`;
    services.push(await startService('nessie', {
      ...keys, NESSIE_PORT: String(NESSIE_PORT), NESSIE_WAREHOUSE: 's3://lake/nessie',
    }, () => answers(`${nessieUrl}/v1/config`)));
    await makeNamespace(`${fixtureUrl}/v1/namespaces`, ['outer']);
    await makeNamespace(`${fixtureUrl}/v1/namespaces`, ['outer', 'inner']);
    await makeNamespace(`${nessieUrl}/v1/main/namespaces`, ['ns']);
    // The fixture returns keys, but no endpoint and no path style; Nessie the reverse.
    fixture = connect(`${fixtureUrl}/`, { awsConnection: { ...awsKeys(s3.endpoint), accessKeyId: null, secretAccessKey: null } });
    nessie = connect(nessieUrl, { awsConnection: awsKeys(s3.endpoint) });
  });
  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await s3?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  catalogSuite("Iceberg's REST fixture, in a nested namespace", {
    catalog: () => fixture, namespace: ['outer', 'inner'],
    deviations: { namespacesUnchecked: 'its JDBC catalog keeps namespaces implied by tables' },
  });
  catalogSuite('Nessie', {
    catalog: () => nessie, namespace: ['ns'],
    deviations: {
      newestSnapshotOnly: 'history is kept as Nessie commits, not in the table metadata',
      absenceUnchecked: '0.99 compares assert-ref-snapshot-id only when it names a snapshot',
    },
  });
});

describe('with OAuth2 and keys vended by the catalog', () => {
  let weed: Service | undefined;
  let directory: string;
  let seaweed: RestCatalog;
  const url = `http://127.0.0.1:${WEED_CATALOG_PORT}`;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mz-sink-weed-'));
    weed = await startService('seaweedfs', {
      S3_PORT: String(WEED_PORT), ICEBERG_PORT: String(WEED_CATALOG_PORT), S3_DATA_DIR: directory, ICEBERG_OAUTH_TOKEN_EXPIRY: '3',
    }, () => bucketExists(`http://127.0.0.1:${WEED_PORT}`, 'warehouse'));
    seaweed = connect(url, {
      warehouse: 'warehouse', credential: { clientId: KEYS.accessKeyId, clientSecret: new Secret(KEYS.secretAccessKey) },
      accessDelegation: 'vended-credentials',
    });
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: KEYS.accessKeyId, client_secret: KEYS.secretAccessKey });
    const answer = await fetch(`${url}/v1/oauth/tokens`, { method: 'POST', body: form });
    const { access_token: token } = await answer.json() as { access_token: string };
    await makeNamespace(`${url}/v1/warehouse/namespaces`, ['ns'], token);
  });
  afterAll(async () => {
    await weed?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  catalogSuite('SeaweedFS with tokens of three seconds', { catalog: () => seaweed, namespace: ['ns'] });

  test('WHEN the token has expired at the catalog THEN the next call works with a new one', async () => {
    await seaweed.listNamespaces();
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(await seaweed.listNamespaces()).toContainEqual(['ns']);
  });

  test('WHEN delegation is not asked for and no keys come THEN the guide words the cause', async () => {
    const plain = connect(url, {
      warehouse: 'warehouse', credential: { clientId: KEYS.accessKeyId, clientSecret: new Secret(KEYS.secretAccessKey) },
    });
    const created = await plain.createTable(['ns'], {
      name: 'no_keys', properties: {}, schema: { schemaId: 0, identifierFieldIds: [], fields: [{ id: 1, name: 'id', required: false, type: { kind: 'long' } }] },
    });
    if (created.kind !== 'created') throw new Error('the table exists');
    const { store } = plain.storageFor({ namespace: ['ns'], name: 'no_keys' });
    await expect(store.put(`${created.table.metadata.location}/data/x.parquet`, Buffer.from('x'))).rejects.toMatchObject({
      code: 'storage-credentials-missing', message: expect.stringContaining("Set ACCESS DELEGATION = 'vended-credentials'") as string,
    });
  });

  test('WHEN the secret is wrong THEN it is named', async () => {
    const wrong = connect(url, { warehouse: 'warehouse', credential: { clientId: KEYS.accessKeyId, clientSecret: new Secret('wrong') } });
    await expect(wrong.listNamespaces()).rejects.toMatchObject({ code: 'catalog-unauthorized' });
  });
});
