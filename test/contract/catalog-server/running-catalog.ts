/** A started embedded catalog with a temporary state directory and warehouse, and a plain fetch client for it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedCatalog, EmbeddedCatalogOptions } from '../../../src/embedded/catalog/server.ts';
import { createEmbeddedCatalog } from '../../../src/embedded/catalog/server.ts';

export const ROOT = { clientId: 'root', clientSecret: 's3cr3t' };

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Tests look into answers of all shapes; a wrong path shows as undefined in the assertion.
  readonly json: Json;
}

export type Json = { readonly [key: string]: Json } & { readonly error?: { readonly message: string; readonly type: string; readonly code: number } };

export interface RunningCatalog {
  readonly catalog: EmbeddedCatalog;
  readonly directory: string;
  readonly warehouse: string;
  /** `path` below `/api/`; `token` null: no Authorization header. */
  api(method: string, path: string, body?: unknown, options?: { token?: string | null; headers?: Record<string, string> }): Promise<Reply>;
  token(clientId?: string, clientSecret?: string, scope?: string): Promise<string>;
  restart(options?: Partial<EmbeddedCatalogOptions>): Promise<RunningCatalog>;
  stop(): Promise<void>;
}

export async function startCatalog(options: Partial<EmbeddedCatalogOptions> = {}, at?: string): Promise<RunningCatalog> {
  const directory = at ?? await mkdtemp(join(tmpdir(), 'embedded-catalog-'));
  const catalog = await createEmbeddedCatalog({ stateDir: join(directory, 'state'), root: ROOT, ...options });
  let rootToken: string | null = null;
  const running: RunningCatalog = {
    catalog,
    directory,
    warehouse: `file://${directory}/warehouse`,
    api: async (method, path, body, { token, headers = {} } = {}) => {
      if (token === undefined) rootToken ??= await running.token();
      const bearer = token === undefined ? rootToken : token;
      const response = await fetch(`${catalog.url}/api/${path}`, {
        method,
        headers: {
          ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return replyOf(response);
    },
    token: async (clientId = ROOT.clientId, clientSecret = ROOT.clientSecret, scope = 'PRINCIPAL_ROLE:ALL') => {
      const response = await fetch(`${catalog.catalogUrl}/v1/oauth/tokens`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }),
      });
      const { access_token: token } = await response.json() as { access_token: string };
      return token;
    },
    restart: async (changed = {}) => {
      await catalog.close();
      return startCatalog({ ...options, ...changed }, directory);
    },
    stop: async () => {
      await catalog.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return running;
}

export async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: (text.startsWith('{') ? JSON.parse(text) : {}) as Json };
}

/** A FILE catalog `lake` whose content root may manage, with the namespace `ns`. */
export async function withLake(running: RunningCatalog): Promise<RunningCatalog> {
  await running.api('POST', 'management/v1/catalogs', fileCatalog('lake', running.warehouse));
  await running.api('PUT', 'management/v1/catalogs/lake/catalog-roles/catalog_admin/grants', {
    grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' },
  });
  await running.api('POST', 'catalog/v1/lake/namespaces', { namespace: ['ns'] });
  return running;
}

export function fileCatalog(name: string, warehouse: string): object {
  return {
    catalog: {
      name,
      type: 'INTERNAL',
      properties: { 'default-base-location': `${warehouse}/${name}` },
      storageConfigInfo: { storageType: 'FILE', allowedLocations: [warehouse] },
    },
  };
}

export const SCHEMA = { type: 'struct', fields: [{ id: 1, name: 'id', required: true, type: 'long' }] };
export const TABLES = 'catalog/v1/lake/namespaces/ns/tables';

export function snapshotUpdates(snapshotId: string, parentId: string | null, sequenceNumber: number): string {
  const parent = parentId === null ? '' : `"parent-snapshot-id":${parentId},`;
  return `[{"action":"add-snapshot","snapshot":{"snapshot-id":${snapshotId},${parent}"sequence-number":${sequenceNumber},`
    + `"timestamp-ms":${Date.now()},"manifest-list":"file:///nowhere/${snapshotId}.avro","summary":{"operation":"append"},"schema-id":0}},`
    + `{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${snapshotId}}]`;
}

/** Text, not JSON.stringify: snapshot ids don't fit a double. */
export function commitBody(uuid: string, head: string | null, updates: string): string {
  return `{"requirements":[{"type":"assert-table-uuid","uuid":"${uuid}"},`
    + `{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":${head ?? 'null'}}],"updates":${updates}}`;
}
