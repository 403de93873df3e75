/**
 * The rows of the guide's troubleshooting table: each is met by `validate` and by `run`, and reported with the cause as the
 * guide words it, not as a bare status.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedCatalog, createEmbeddedCatalog } from '../../../src/embedded/catalog/server.ts';
import { createMaterializeStandIn, type MaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { columns } from '../harness/model.ts';
import { startChild, within } from '../harness/sink.ts';
import { eventually } from '../harness/stage.ts';

const scratch = mkdtempSync(join(tmpdir(), 'mz-sink-troubles-'));
const ROOT = 'root:root-secret-value';
let standIn: MaterializeStandIn;
let catalog: EmbeddedCatalog;
let sts: Server;
let principals = 0;
let token = '';

beforeAll(async () => {
  standIn = await createMaterializeStandIn({ tickMs: 100 });
  const relation = standIn.createRelation({ name: 'orders', columns: columns('id bigint not null', 'v text'), keys: [[0]] });
  standIn.apply(relation, standIn.writeTime(), [{ row: ['1', 'a'], diff: 1 }]);
  const objects = new Map<string, Buffer>();
  // A store that keeps what it is given and whose STS fails: enough for a catalog that can't vend.
  sts = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const path = (request.url ?? '').split('?')[0] ?? '';
      const object = objects.get(path);
      if (request.method === 'POST') response.writeHead(500).end('<ErrorResponse><Error><Code>InternalError</Code><Message>no</Message></Error></ErrorResponse>');
      else if (request.method === 'PUT') {
        objects.set(path, Buffer.concat(parts));
        response.writeHead(200).end();
      } else if (object === undefined) response.writeHead(404).end();
      else response.writeHead(200, { 'content-length': object.length }).end(request.method === 'HEAD' ? undefined : object);
    });
  });
  await new Promise<void>((resolve) => sts.listen(0, '127.0.0.1', resolve));
  catalog = await createEmbeddedCatalog({
    stateDir: join(scratch, 'catalog'), root: { clientId: 'root', clientSecret: 'root-secret-value' },
    storage: { keys: { accessKeyId: 'k', secretAccessKey: 's' }, stsFailureStatus: 500, defaultRoleArn: 'arn:aws:iam::000000000000:role/r' },
  });
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'root', client_secret: 'root-secret-value', scope: 'PRINCIPAL_ROLE:ALL' });
  token = (await (await fetch(`${catalog.catalogUrl}/v1/oauth/tokens`, { method: 'POST', body: form })).json() as { access_token: string }).access_token;
  const endpoint = `http://127.0.0.1:${(sts.address() as AddressInfo).port}`;
  await api('POST', `${catalog.managementUrl}/catalogs`, {
    catalog: {
      name: 's3', type: 'INTERNAL', properties: { 'default-base-location': 's3://bucket/lake/' },
      storageConfigInfo: { storageType: 'S3', allowedLocations: ['s3://bucket/lake/'], endpoint, pathStyleAccess: true, region: 'us-east-1' },
    },
  });
  await api('POST', `${catalog.managementUrl}/catalogs`, {
    catalog: {
      name: 'files', type: 'INTERNAL', properties: { 'default-base-location': `file://${scratch}/lake/` },
      storageConfigInfo: { storageType: 'FILE', allowedLocations: [`file://${scratch}/lake/`] },
    },
  });
  for (const name of ['s3', 'files']) {
    await api('PUT', `${catalog.managementUrl}/catalogs/${name}/catalog-roles/catalog_admin/grants`, { grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' } });
    await api('POST', `${catalog.catalogUrl}/v1/${name}/namespaces`, { namespace: ['ns'] });
  }
}, 60_000);

afterAll(async () => {
  await standIn.close();
  await catalog.close();
  sts.close();
  rmSync(scratch, { recursive: true, force: true });
});

async function api(method: string, url: string, body: unknown): Promise<string> {
  const response = await fetch(url, { method, headers: { 'authorization': `Bearer ${token}`, 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text;
}

/** A principal with a role that has these privileges on the catalog. */
async function principalWith(catalogName: string, privileges: readonly string[]): Promise<string> {
  const name = `p${principals++}`;
  const made = JSON.parse(await api('POST', `${catalog.managementUrl}/principals`, { principal: { name } })) as { credentials: { clientId: string; clientSecret: string } };
  await api('POST', `${catalog.managementUrl}/principal-roles`, { principalRole: { name: `${name}_role` } });
  await api('PUT', `${catalog.managementUrl}/principals/${name}/principal-roles`, { principalRole: { name: `${name}_role` } });
  await api('POST', `${catalog.managementUrl}/catalogs/${catalogName}/catalog-roles`, { catalogRole: { name: `${name}_writer` } });
  for (const privilege of privileges) {
    await api('PUT', `${catalog.managementUrl}/catalogs/${catalogName}/catalog-roles/${name}_writer/grants`, { grant: { type: 'catalog', privilege } });
  }
  await api('PUT', `${catalog.managementUrl}/principal-roles/${name}_role/catalog-roles/${catalogName}`, { catalogRole: { name: `${name}_writer` } });
  return `${made.credentials.clientId}:${made.credentials.clientSecret}`;
}

interface Setting {
  readonly credential?: string;
  readonly scope?: string | null;
  readonly warehouse?: string;
  readonly delegation?: boolean;
  readonly namespace?: string;
  readonly table?: string;
}

function sqlOf(setting: Setting): string {
  const scope = setting.scope === null ? '' : `SCOPE = '${setting.scope ?? 'PRINCIPAL_ROLE:ALL'}',`;
  const delegation = setting.delegation === false ? '' : ", ACCESS DELEGATION = 'vended-credentials'";
  return `CREATE SECRET polaris_credential AS '${setting.credential ?? ROOT}';
    CREATE CONNECTION c TO ICEBERG CATALOG (CATALOG TYPE = 'rest', URL = '${catalog.catalogUrl}', WAREHOUSE = '${setting.warehouse ?? 'files'}',
      ${scope} CREDENTIAL = SECRET polaris_credential${delegation});
    CREATE SINK s FROM orders INTO ICEBERG CATALOG CONNECTION c (NAMESPACE = '${setting.namespace ?? 'ns'}', TABLE = '${setting.table ?? 't'}')
      KEY (id) MODE UPSERT WITH (COMMIT INTERVAL = '1s');`;
}

async function validate(setting: Setting): Promise<{ code: number | null; output: string }> {
  const child = startChild({ command: 'validate', sql: sqlOf(setting), materializeUrl: standIn.url, spillDir: join(scratch, 'spill') });
  const code = await within(child.exited, 40_000, () => child.output());
  return { code, output: child.output() };
}

/** Runs until the output holds the text, then ends the process. */
async function runUntil(setting: Setting, text: string): Promise<string> {
  const child = startChild({ sql: sqlOf(setting), materializeUrl: standIn.url, spillDir: join(scratch, 'spill') });
  try {
    await eventually(`the log says ${text}`, () => child.output().includes(text), 40_000).catch((thrown: unknown) => {
      throw new Error(child.output(), { cause: thrown });
    });
    return child.output();
  } finally {
    await child.kill();
  }
}

describe("GIVEN the guide's troubleshooting table", () => {
  test('`invalid_scope`: SCOPE is missing', async () => {
    const { code, output } = await validate({ scope: null });
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('SCOPE is missing') as string });
    expect(await runUntil({ scope: null }, 'catalog-scope-missing')).toContain('halted');
  }, 90_000);

  test('`401 Unauthorized`: the credential is wrong', async () => {
    const { code, output } = await validate({ credential: 'root:a-wrong-secret' });
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('The credential is wrong, or SCOPE names a principal role that is not assigned to the principal') as string });
    expect(output).not.toContain('a-wrong-secret');
    expect(await runUntil({ credential: 'root:a-wrong-secret' }, 'catalog-unauthorized')).not.toContain('a-wrong-secret');
  }, 90_000);

  test('`401 Unauthorized`: SCOPE names a principal role that is not assigned to the principal', async () => {
    const credential = await principalWith('files', ['CATALOG_MANAGE_CONTENT']);
    const { code, output } = await validate({ credential, scope: 'PRINCIPAL_ROLE:somebody_else' });
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringContaining('that is not assigned to the principal') as string });
  }, 60_000);

  test('`403 Forbidden` on delegation: the role lacks CATALOG_MANAGE_CONTENT or both data privileges', async () => {
    const credential = await principalWith('s3', ['NAMESPACE_LIST', 'NAMESPACE_READ_PROPERTIES', 'TABLE_LIST', 'TABLE_CREATE', 'TABLE_READ_PROPERTIES', 'TABLE_WRITE_PROPERTIES']);
    const output = await runUntil({ credential, warehouse: 's3', table: 'forbidden' }, 'catalog-vending-forbidden');
    expect(output).toContain('CREATE_TABLE_DIRECT_WITH_WRITE_DELEGATION');
    expect(output).toContain('lacks either CATALOG_MANAGE_CONTENT or both TABLE_READ_DATA and TABLE_WRITE_DATA');
  }, 60_000);

  test('`500 Internal Server Error`: the catalog cannot reach the object store, or may not call AssumeRole', async () => {
    const output = await runUntil({ warehouse: 's3', table: 'broken' }, 'catalog-storage-broken');
    expect(output).toContain('cannot reach the object store, or its storage credentials cannot call AssumeRole');
    expect(output).toContain('restarting');
  }, 60_000);

  test('`signing http request`: there are no storage credentials', async () => {
    const output = await runUntil({ warehouse: 's3', table: 'unsigned', delegation: false }, 'storage-credentials-missing');
    expect(output).toContain("has no storage credentials. Set ACCESS DELEGATION = 'vended-credentials' on the connection");
  }, 60_000);

  test('a namespace-not-found error: NAMESPACE does not exist, or the principal cannot see it', async () => {
    const { code, output } = await validate({ namespace: 'nowhere', delegation: false });
    expect({ code, output }).toMatchObject({
      code: 1, output: expect.stringContaining('The namespace named by NAMESPACE does not exist, or the principal cannot see it') as string,
    });
    expect(await runUntil({ namespace: 'nowhere', delegation: false }, 'namespace-missing')).toContain('halted');
  }, 90_000);

  test('none of it: the table that would be created is told, and nothing is created', async () => {
    const { code, output } = await validate({ delegation: false, table: 'fine' });
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('would be created') as string });
    const tables = await fetch(`${catalog.catalogUrl}/v1/files/namespaces/ns/tables`, { headers: { authorization: `Bearer ${token}` } });
    expect(await tables.text()).not.toContain('fine');
  }, 60_000);
});
