/**
 * The product guide's walk-through, step by step: catalog, principal, role, grants and namespace by the guide's curl
 * commands; secret, connection and sinks by its SQL. Against the embedded catalog always, in front of a real S3 server with
 * keys vended through its STS that live for seconds; and against a real Polaris where POLARIS_HOME names one.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEmbeddedCatalog } from '../../../src/embedded/catalog/server.ts';
import { createMaterializeStandIn, type MaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { columns } from '../../e2e/harness/model.ts';
import { startInProcess } from '../../e2e/harness/sink.ts';
import { eventually } from '../../e2e/harness/stage.ts';
import { openReader, readerS3 } from '../../services/readers.ts';
import { type S3Server, startPolarisIfPresent, startS3, startSeaweed } from '../../services/servers.ts';
import { exactJson, sortedTexts } from '../engines/case-rows.ts';

/** Vended keys live this long; the sinks run for several lives. */
const KEY_LIFE = '8s';
const RUN_MS = 25_000;

let s3: S3Server;
const scratch = mkdtempSync(join(tmpdir(), 'mz-sink-guide-'));

beforeAll(async () => {
  s3 = await startS3({ buckets: ['warehouse'], sessionLife: KEY_LIFE });
}, 300_000);

afterAll(async () => {
  await s3.stop();
  rmSync(scratch, { recursive: true, force: true });
});

interface Polaris {
  /** What the guide calls POLARIS. */
  readonly url: string;
  readonly rootId: string;
  readonly rootSecret: string;
}

async function bash(script: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], { env: { ...process.env, ...environment } });
  return stdout;
}

/** The guide's "Set up Polaris", its commands as they stand; jq's part is done here. */
async function setUpPolaris(polaris: Polaris): Promise<string> {
  const environment = { POLARIS: polaris.url, ROOT_CLIENT_SECRET: polaris.rootSecret, TOKEN: '' };
  const token = await bash(`curl -sS "$POLARIS/api/catalog/v1/oauth/tokens" \\
    -d grant_type=client_credentials \\
    -d client_id=${polaris.rootId} \\
    --data-urlencode "client_secret=$ROOT_CLIENT_SECRET" \\
    -d scope=PRINCIPAL_ROLE:ALL`, environment);
  environment.TOKEN = (JSON.parse(token) as { access_token: string }).access_token;
  // Step 1. The role is how Polaris knows whom to become; the object store's STS demands one.
  await bash(`curl -sS --fail-with-body "$POLARIS/api/management/v1/catalogs" \\
    -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
    -d '{
      "catalog": {
        "name": "materialize_catalog",
        "type": "INTERNAL",
        "properties": { "default-base-location": "s3://warehouse/materialize_catalog/" },
        "storageConfigInfo": {
          "storageType": "S3",
          "allowedLocations": ["s3://warehouse/materialize_catalog/"],
          "endpoint": "${s3.endpoint}",
          "pathStyleAccess": true,
          "region": "us-east-1",
          "roleArn": "${s3.roleArn}"
        }
      }
    }'`, environment);
  // Step 2.
  const principal = await bash(`curl -sS --fail-with-body "$POLARIS/api/management/v1/principals" \\
    -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
    -d '{"principal": {"name": "materialize"}}'`, environment);
  // Step 3.
  await bash(`H=(-H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json")
    API="$POLARIS/api/management/v1"
    curl -sS --fail-with-body "\${H[@]}" "$API/principal-roles" -d '{"principalRole": {"name": "materialize_role"}}'
    curl -sS --fail-with-body "\${H[@]}" -X PUT "$API/principals/materialize/principal-roles" -d '{"principalRole": {"name": "materialize_role"}}'
    curl -sS --fail-with-body "\${H[@]}" "$API/catalogs/materialize_catalog/catalog-roles" -d '{"catalogRole": {"name": "materialize_writer"}}'
    curl -sS --fail-with-body "\${H[@]}" -X PUT "$API/catalogs/materialize_catalog/catalog-roles/materialize_writer/grants" \\
      -d '{"grant": {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"}}'
    curl -sS --fail-with-body "\${H[@]}" -X PUT "$API/principal-roles/materialize_role/catalog-roles/materialize_catalog" \\
      -d '{"catalogRole": {"name": "materialize_writer"}}'
    # The test reads as root afterwards.
    curl -sS --fail-with-body "\${H[@]}" -X PUT "$API/catalogs/materialize_catalog/catalog-roles/catalog_admin/grants" \\
      -d '{"grant": {"type": "catalog", "privilege": "CATALOG_MANAGE_CONTENT"}}'`, environment);
  // Step 4.
  await bash(`curl -sS --fail-with-body "$POLARIS/api/catalog/v1/materialize_catalog/namespaces" \\
    -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
    -d '{"namespace": ["materialize"]}'`, environment);
  const { credentials } = JSON.parse(principal) as { credentials: { clientId: string; clientSecret: string } };
  return `${credentials.clientId}:${credentials.clientSecret}`;
}

interface Connection {
  readonly url: string;
  readonly warehouse: string;
  readonly credential: string;
  readonly scope: string | null;
  readonly namespace: string;
}

/** The guide's statements with their placeholders filled in. */
function statements(connection: Connection): string {
  const scope = connection.scope === null ? '' : `\n    SCOPE = '${connection.scope}',`;
  return `CREATE SECRET polaris_credential AS '${connection.credential}';

CREATE CONNECTION iceberg_catalog_connection TO ICEBERG CATALOG (
    CATALOG TYPE = 'rest',
    URL = '${connection.url}',
    WAREHOUSE = '${connection.warehouse}',
    CREDENTIAL = SECRET polaris_credential,${scope}
    ACCESS DELEGATION = 'vended-credentials'
);

CREATE SINK orders_sink
  IN CLUSTER quickstart
  FROM orders
  INTO ICEBERG CATALOG CONNECTION iceberg_catalog_connection (
    NAMESPACE = '${connection.namespace}',
    TABLE = 'orders'
  )
  KEY (id)
  MODE UPSERT
  WITH (COMMIT INTERVAL = '1s');

CREATE SINK order_changes_sink
  IN CLUSTER quickstart
  FROM orders
  INTO ICEBERG CATALOG CONNECTION iceberg_catalog_connection (
    NAMESPACE = '${connection.namespace}',
    TABLE = 'order_changes'
  )
  MODE APPEND
  WITH (COMMIT INTERVAL = '1s');
`;
}

/** Runs both sinks over several lives of the vended keys while rows change, then lets Iceberg Java read the tables. */
async function expectWalkThrough(connection: Connection, readAs: Readonly<Record<string, string>>): Promise<void> {
  const standIn = await createMaterializeStandIn({ tickMs: 200 });
  const relation = standIn.createRelation({ name: 'orders', columns: columns('id bigint not null', 'state text'), keys: [[0]], retainHistoryMs: 600_000 });
  const sink = startInProcess({ materializeUrl: standIn.url, spillDir: join(scratch, 'spill'), sql: statements(connection) });
  try {
    const content = new Map<number, string>();
    const until = Date.now() + RUN_MS;
    let last = 0n;
    for (let round = 0; Date.now() < until; round++) {
      last = change(standIn, relation, content, round) + 1n;
      await sleep(400);
    }
    for (const name of ['orders_sink', 'order_changes_sink']) {
      await eventually(`${name} reaches ${last}`, () => (sink.state(name).committed?.[0] ?? 0n) >= last, 30_000).catch((thrown: unknown) => {
        throw new Error(sink.logText().slice(-3000), { cause: thrown });
      });
    }
    const reader = await openReader('java', connection.url, { ...readerS3(s3), REST_WAREHOUSE: connection.warehouse, ...readAs });
    const orders = await reader.read(`${connection.namespace}.orders`);
    const log = await reader.read(`${connection.namespace}.order_changes`);
    await reader.close();
    if (orders.kind === 'error' || log.kind === 'error') throw new Error(JSON.stringify([orders, log]));
    expect(sortedTexts(orders.lines.map(exactJson))).toEqual(sortedTexts([...content].map(([id, state]) => ({ id, state }))));
    // What had changed before the sink's snapshot is in the log only as its sum, so the log is judged by its sum too.
    expect(fold(log.lines.map(exactJson) as readonly LogRow[])).toEqual(sortedTexts([...content].map(([id, state]) => ({ id, state }))));
    expect(log.lines.length).toBeGreaterThan(content.size);
  } finally {
    await sink.stop();
    await standIn.close();
  }
}

interface LogRow {
  readonly id: number;
  readonly state: string;
  readonly _mz_diff: number;
}

/** Rows whose diffs add up to one, as sorted texts. */
function fold(log: readonly LogRow[]): readonly string[] {
  const sums = new Map<string, number>();
  for (const { id, state, _mz_diff: diff } of log) {
    const [text = ''] = sortedTexts([{ id, state }]);
    sums.set(text, (sums.get(text) ?? 0) + diff);
  }
  return [...sums].flatMap(([text, sum]) => Array<string>(sum).fill(text)).sort((a, b) => (a < b ? -1 : 1));
}

/** A round of an insert, an update and a delete; returns its time. */
function change(
  standIn: MaterializeStandIn, relation: ReturnType<MaterializeStandIn['createRelation']>, content: Map<number, string>, round: number,
): bigint {
  const wanted = new Map<number, string | null>([[round, 'new'], [round - 3, 'paid'], [round - 9, null]]);
  const changes = [...wanted].flatMap(([id, state]) => {
    const before = content.get(id);
    if (id < 0 || (before === undefined && state === null)) return [];
    const gone = before === undefined ? [] : [{ row: [String(id), before], diff: -1 }];
    if (state === null) content.delete(id);
    else content.set(id, state);
    return state === null ? gone : [...gone, { row: [String(id), state], diff: 1 }];
  });
  const time = standIn.writeTime();
  standIn.apply(relation, time, changes);
  standIn.advance(time + 1n);
  return time;
}

const readAsRoot = (credential: string, catalogUrl: string): Readonly<Record<string, string>> => ({
  REST_CREDENTIAL: credential, REST_OAUTH2_URI: `${catalogUrl}/v1/oauth/tokens`, REST_SCOPE: 'PRINCIPAL_ROLE:ALL',
});

describe("GIVEN the guide's walk-through", () => {
  test('WHEN it is followed on the embedded catalog THEN both sinks outlive the keys that its STS vends', async () => {
    const catalog = await createEmbeddedCatalog({
      stateDir: join(scratch, 'catalog'), root: { clientId: 'root', clientSecret: 's3cr3t' },
      // null: no duration is asked for, so the server's own short one holds.
      storage: { keys: s3.keys, credentialLifetimeS: null, credentialCacheMs: 1_000 },
    });
    try {
      const credential = await setUpPolaris({ url: catalog.url, rootId: 'root', rootSecret: 's3cr3t' });
      const connection = { url: catalog.catalogUrl, warehouse: 'materialize_catalog', credential, scope: 'PRINCIPAL_ROLE:ALL', namespace: 'materialize' };
      await expectWalkThrough(connection, readAsRoot('root:s3cr3t', catalog.catalogUrl));
    } finally {
      await catalog.close();
    }
  }, 180_000);

  test('WHEN a real Polaris is at hand THEN it is followed there; without POLARIS_HOME nothing is claimed of one', async () => {
    const polaris = await startPolarisIfPresent(s3);
    if (polaris === null) {
      expect(process.env['POLARIS_HOME']).toBeUndefined();
      return;
    }
    const url = polaris.catalogUri.replace(/\/api\/catalog$/, '');
    const credential = await setUpPolaris({ url, rootId: 'root', rootSecret: 's3cr3t' });
    const connection = { url: polaris.catalogUri, warehouse: 'materialize_catalog', credential, scope: 'PRINCIPAL_ROLE:ALL', namespace: 'materialize' };
    await expectWalkThrough(connection, readAsRoot(polaris.rootCredential, polaris.catalogUri));
    await polaris.stop();
  }, 300_000);
});

describe("GIVEN SeaweedFS's own catalog", () => {
  test('WHEN the same sinks run against it THEN they outlive the keys that it vends', async () => {
    const seaweed = await startSeaweed({ warehouses: ['warehouse'], vendedSeconds: 0, sessionLife: KEY_LIFE, tokenSeconds: 5 });
    try {
      const [id, secret] = seaweed.credential.split(':');
      const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: id ?? '', client_secret: secret ?? '', scope: 'catalog' });
      const token = await (await fetch(`${seaweed.catalogUri}/v1/oauth/tokens`, { method: 'POST', body: form })).json() as { access_token: string };
      const made = await fetch(`${seaweed.catalogUri}/v1/warehouse/namespaces`, {
        method: 'POST', headers: { 'authorization': `Bearer ${token.access_token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ namespace: ['materialize'] }),
      });
      expect(made.status).toBe(200);
      const connection = { url: seaweed.catalogUri, warehouse: 'warehouse', credential: seaweed.credential, scope: null, namespace: 'materialize' };
      await expectWalkThrough(connection, {
        ...readerS3(seaweed), REST_CREDENTIAL: seaweed.credential, REST_OAUTH2_URI: `${seaweed.catalogUri}/v1/oauth/tokens`, REST_SCOPE: 'catalog',
      });
    } finally {
      await seaweed.stop();
    }
  }, 180_000);
});
