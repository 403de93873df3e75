/**
 * The embedded catalog with local file storage, set up by the guide's management calls (catalog, principal, role,
 * grants, namespace), and what a test does to a table behind the sink's back: look at it, forge commits, lose answers.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import type { CatalogRequest } from '../../../src/embedded/catalog/request.ts';
import { createEmbeddedCatalog, type EmbeddedCatalogOptions } from '../../../src/embedded/catalog/server.ts';
import {
  mainAncestry, parseTableMetadata, type TableMetadata, type TableSnapshot,
} from '../../../src/embedded/check/table-metadata.ts';

const ROOT = { clientId: 'root', clientSecret: 'root-secret-of-the-test' };
export const CATALOG_NAME = 'materialize_catalog';
export const NAMESPACE = 'materialize';

export interface TableNow {
  readonly metadataLocation: string;
  readonly metadata: TableMetadata;
  /** The metadata as the catalog holds it, for what the judge's parser leaves out. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Main's ancestry, oldest first. */
  readonly snapshots: readonly TableSnapshot[];
}

export interface Lake {
  readonly catalogUrl: string;
  readonly directory: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Decides what happens to each request on its way; put back to undefined when done. */
  fault: ((request: CatalogRequest) => Interception | undefined | Promise<Interception | undefined>) | undefined;
  /** Called with the body of every commit request that arrived, before anything is done with it. */
  readonly commits: CommitRequest[];
  api(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>;
  /** null: the catalog has no such table. */
  table(name: string): Promise<TableNow | null>;
  /** A commit of `updates` on a table; requirements: its uuid and its head as it is now. */
  commit(name: string, updates: readonly string[]): Promise<number>;
  /** A snapshot on top of main with the same content and this summary. Returns its id. */
  forge(name: string, summary: Readonly<Record<string, string>>): Promise<bigint>;
  /** Points main at a snapshot. */
  rollBack(name: string, snapshotId: bigint): Promise<void>;
  createTable(name: string, schema: unknown, properties?: Readonly<Record<string, string>>, location?: string): Promise<void>;
  stop(): Promise<void>;
}

export interface CommitRequest {
  readonly table: string;
  readonly body: string;
}

export function isCommit(request: CatalogRequest): boolean {
  return request.method === 'POST' && request.segments.at(-2) === 'tables';
}

export function isLoad(request: CatalogRequest): boolean {
  return request.method === 'GET' && request.segments.at(-2) === 'tables';
}

export async function openLake(options: Partial<EmbeddedCatalogOptions> = {}): Promise<Lake> {
  const directory = await mkdtemp(join(tmpdir(), 'mz-sink-lake-'));
  const warehouse = `file://${directory}/warehouse`;
  const commits: CommitRequest[] = [];
  let fault: Lake['fault'];
  const catalog = await createEmbeddedCatalog({
    stateDir: join(directory, 'state'),
    root: ROOT,
    intercept: async (request) => {
      if (request.headers['x-test'] !== undefined) return { kind: 'pass' };
      if (isCommit(request)) commits.push({ table: request.segments.at(-1) ?? '', body: request.bodyText });
      return await fault?.(request) ?? { kind: 'pass' };
    },
    ...options,
  });
  let rootToken = '';
  const api: Lake['api'] = async (method, path, body) => {
    const send = (): Promise<Response> => fetch(`${catalog.url}/api/${path}`, {
      method,
      headers: { 'x-test': '1', authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    // The server may close an idle connection in the moment of its reuse; a look is simply repeated.
    const response = await send().catch((thrown: unknown) => {
      if (method !== 'GET') throw thrown;
      return send();
    });
    return { status: response.status, text: await response.text() };
  };
  rootToken = await tokenOf(catalog.catalogUrl);
  const principal = await setUp(api, warehouse);
  const tablePath = (name: string): string => `catalog/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables/${encodeURIComponent(name)}`;
  const table: Lake['table'] = async (name) => {
    const answer = await api('GET', tablePath(name));
    if (answer.status === 404) return null;
    const metadataLocation = /"metadata-location"\s*:\s*"([^"]+)"/.exec(answer.text)?.[1];
    if (metadataLocation === undefined) throw new Error(`no metadata location in ${answer.text.slice(0, 300)}`);
    const text = await readFile(new URL(metadataLocation), 'utf8');
    const metadata = parseTableMetadata(text);
    return { metadataLocation, metadata, json: JSON.parse(text) as Record<string, unknown>, snapshots: mainAncestry(metadata) };
  };
  const existing = async (name: string): Promise<TableNow> => {
    const found = await table(name);
    if (found === null) throw new Error(`there is no table ${name}`);
    return found;
  };
  const commit: Lake['commit'] = async (name, updates) => {
    const { metadata } = await existing(name);
    const body = `{"requirements":[{"type":"assert-table-uuid","uuid":"${metadata.tableUuid}"},`
      + `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":${metadata.mainSnapshotId ?? 'null'}}],"updates":[${updates.join(',')}]}`;
    return (await api('POST', tablePath(name), body)).status;
  };
  const expectOk = (status: number): void => {
    if (status >= 300) throw new Error(`the catalog answered ${status}`);
  };
  return {
    catalogUrl: catalog.catalogUrl, directory, ...principal, commits, api, table, commit,
    get fault() { return fault; },
    set fault(next) { fault = next; },
    forge: async (name, summary) => {
      // A racing sink may win in between: look again, as any writer has to.
      for (let attempt = 0; attempt < 20; attempt += 1) {
        const now = await existing(name);
        const head = now.snapshots.at(-1);
        if (head === undefined) throw new Error('forging needs a snapshot to stand on');
        const id = head.snapshotId ^ BigInt(Math.floor(Math.random() * 2 ** 40)) ^ 1n;
        const status = await commit(name, [
          `{"action":"add-snapshot","snapshot":{"snapshot-id":${id},"parent-snapshot-id":${head.snapshotId},`
          + `"sequence-number":${now.metadata.lastSequenceNumber + 1n},"timestamp-ms":${Math.max(Date.now(), Number(head.timestampMs))},`
          + `"manifest-list":${JSON.stringify(head.manifestList)},"summary":${JSON.stringify(summary)},"schema-id":${now.metadata.currentSchemaId}}}`,
          `{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${id}}`,
        ]);
        if (status !== 409) {
          expectOk(status);
          return id;
        }
      }
      throw new Error('the forged snapshot lost every race');
    },
    rollBack: async (name, snapshotId) => {
      expectOk(await commit(name, [`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${snapshotId}}`]));
    },
    createTable: async (name, schema, properties = {}, location) => {
      const answer = await api('POST', `catalog/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables`, {
        name, schema, properties, ...(location === undefined ? {} : { location }),
      });
      if (answer.status >= 300) throw new Error(answer.text);
    },
    stop: async () => {
      await catalog.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function tokenOf(catalogUrl: string): Promise<string> {
  const response = await fetch(`${catalogUrl}/v1/oauth/tokens`, {
    method: 'POST',
    headers: { 'x-test': '1' },
    body: new URLSearchParams({
      grant_type: 'client_credentials', client_id: ROOT.clientId, client_secret: ROOT.clientSecret, scope: 'PRINCIPAL_ROLE:ALL',
    }),
  });
  const { access_token: token } = await response.json() as { access_token: string };
  return token;
}

/** Steps 1 to 4 of the guide, with a FILE storage in place of the bucket. */
async function setUp(api: Lake['api'], warehouse: string): Promise<{ clientId: string; clientSecret: string }> {
  const call = async (method: string, path: string, body: unknown): Promise<string> => {
    const answer = await api(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text;
  };
  const management = 'management/v1';
  await call('POST', `${management}/catalogs`, {
    catalog: {
      name: CATALOG_NAME, type: 'INTERNAL', properties: { 'default-base-location': `${warehouse}/${CATALOG_NAME}/` },
      storageConfigInfo: { storageType: 'FILE', allowedLocations: [`${warehouse}/`] },
    },
  });
  const principal = JSON.parse(await call('POST', `${management}/principals`, { principal: { name: 'materialize' } })) as {
    credentials: { clientId: string; clientSecret: string };
  };
  await call('POST', `${management}/principal-roles`, { principalRole: { name: 'materialize_role' } });
  await call('PUT', `${management}/principals/materialize/principal-roles`, { principalRole: { name: 'materialize_role' } });
  await call('POST', `${management}/catalogs/${CATALOG_NAME}/catalog-roles`, { catalogRole: { name: 'materialize_writer' } });
  const grant = { grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' } };
  await call('PUT', `${management}/catalogs/${CATALOG_NAME}/catalog-roles/materialize_writer/grants`, grant);
  // The test itself reads and forges as root.
  await call('PUT', `${management}/catalogs/${CATALOG_NAME}/catalog-roles/catalog_admin/grants`, grant);
  await call('PUT', `${management}/principal-roles/materialize_role/catalog-roles/${CATALOG_NAME}`, { catalogRole: { name: 'materialize_writer' } });
  await call('POST', `catalog/v1/${CATALOG_NAME}/namespaces`, { namespace: [NAMESPACE] });
  return principal.credentials;
}
