/**
 * Where the sink writes: the embedded catalog in this process, in front of local files or of an S3 server. Counts what is
 * asked of both, and makes the catalog as slow as wanted.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ListObjectsV2Command, type ListObjectsV2CommandOutput, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { CatalogRequest } from '../src/embedded/catalog/request.ts';
import { type EmbeddedCatalog, createEmbeddedCatalog } from '../src/embedded/catalog/server.ts';
import { createFileStore } from '../src/io/file-store.ts';
import { formatJson } from '../src/iceberg/json.ts';
import { schemaToJson } from '../src/iceberg/schema-json.ts';
import type { Schema } from '../src/iceberg/types.ts';
import { installService } from '../test/services/service-process.ts';
import { type S3Server, startS3 } from '../test/services/servers.ts';
import { type CountingProxy, openCountingProxy } from './counting-proxy.ts';

export type StoreKind = 'files' | 's3';

export interface LakeOptions {
  readonly store: StoreKind;
  /** Added to every commit, before it is carried out. */
  readonly commitDelayMs?: number;
}

export interface Requests {
  readonly loads: number;
  readonly commits: number;
  readonly others: number;
}

export interface TableState {
  readonly metadataLocation: string;
  readonly metadataText: string;
}

export interface Files {
  readonly bytes: number;
  readonly count: number;
}

export interface Lake {
  readonly folder: string;
  readonly catalogUrl: string;
  readonly store: StoreKind;
  /** The CREATE statements of the connection, `c`. */
  readonly connectionSql: string;
  /** Requests of the sink since the start. */
  requests(): Requests;
  /** Milliseconds that the catalog took for requests of the sink, from their arrival until it had their answer. */
  busyMs(): number;
  /** Whether every request of the sink has been answered to the end. */
  isQuiet(): boolean;
  /** Requests to S3; 0 for local files. */
  storeRequests(): number;
  /** Called when a commit of the sink is about to be carried out. */
  onCommit: () => void;
  /** Reads as a stranger would; not counted. */
  load(table: string): Promise<TableState>;
  call(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly text: string }>;
  createTable(name: string, schema: Schema, properties: Readonly<Record<string, string>>): Promise<void>;
  /** Bytes and number of files by the end of their name. */
  files(suffix: string): Promise<Files>;
  /** Puts an object as its writer would: there for good when it resolves. */
  put(path: string, bytes: Uint8Array): Promise<void>;
  /** For S3: what a reader needs. */
  readonly s3: S3Server | null;
  readonly warehouse: string;
  close(): Promise<void>;
}

export const NAMESPACE = 'bench';
const CATALOG = 'bench';
const BUCKET = 'lake';
const OBSERVER = 'x-bench-observer';

export async function openLake(options: LakeOptions): Promise<Lake> {
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-bench-'));
  const s3 = options.store === 's3' ? await startOwnS3() : null;
  const proxy = s3 === null ? null : await openCountingProxy(s3.endpoint);
  const counted = { loads: 0, commits: 0, others: 0 };
  const hooks = { onCommit: (): void => undefined };
  const catalog = await createEmbeddedCatalog({
    stateDir: join(folder, 'state'), root: { clientId: 'root', clientSecret: 'bench' },
    ...(s3 === null ? {} : { storage: { keys: s3.keys, defaultRoleArn: s3.roleArn } }),
    intercept: async (request) => {
      if (request.headers[OBSERVER] !== undefined) return { kind: 'pass' };
      const kind = kindOf(request);
      counted[kind]++;
      if (kind !== 'commits') return { kind: 'pass' };
      if (options.commitDelayMs !== undefined && options.commitDelayMs > 0) await sleep(options.commitDelayMs);
      hooks.onCommit();
      return { kind: 'pass' };
    },
  });
  const timer = timeRequests(catalog.port);
  const warehouse = s3 === null ? `file://${folder}/warehouse` : `s3://${BUCKET}/warehouse`;
  const call = await prepare(catalog, warehouse, s3, proxy);
  const tables = `${catalog.catalogUrl}/v1/${CATALOG}/namespaces/${NAMESPACE}/tables`;
  return {
    folder, catalogUrl: catalog.catalogUrl, store: options.store, connectionSql: connectionSql(catalog.catalogUrl, s3 !== null), s3, warehouse,
    requests: () => ({ ...counted }),
    busyMs: timer.busyMs,
    isQuiet: timer.isQuiet,
    storeRequests: () => proxy?.requests() ?? 0,
    get onCommit() { return hooks.onCommit; },
    set onCommit(next) { hooks.onCommit = next; },
    load: async (table) => {
      const { text } = await call('GET', `${tables}/${table}`);
      const answer = JSON.parse(text) as { 'metadata-location': string };
      return { metadataLocation: answer['metadata-location'], metadataText: text };
    },
    call: (method, path, body) => call(method, `${tables}${path}`, body),
    createTable: async (name, schema, properties) => {
      const answer = await call('POST', tables, formatJson({ name, schema: schemaToJson(schema), properties: { ...properties } }));
      if (answer.status >= 300) throw new Error(`the table could not be created: ${answer.text}`);
    },
    files: (suffix) => (s3 === null ? Promise.resolve(filesBelow(join(folder, 'warehouse'), suffix)) : objectsOf(s3, suffix)),
    put: s3 === null ? filePutter(warehouse) : objectPutter(s3, proxy?.url ?? s3.endpoint),
    close: async () => {
      timer.stop();
      await catalog.close();
      proxy?.close();
      await s3?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** By a channel of Node's own, so that the catalog need not know of it. */
function timeRequests(port: number): { busyMs(): number; isQuiet(): boolean; stop(): void } {
  const open = new Set<IncomingMessage>();
  let busyMs = 0;
  const onStart = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.socket.localPort !== port || request.headers[OBSERVER] !== undefined) return;
    open.add(request);
    response.once('close', () => open.delete(request));
    const begunMs = performance.now();
    // What follows is the way of the bytes to the sink, which reads while they come.
    const end = response.end.bind(response) as (...rest: unknown[]) => ServerResponse;
    response.end = (...rest: unknown[]) => {
      busyMs += performance.now() - begunMs;
      return end(...rest);
    };
  };
  subscribe('http.server.request.start', onStart);
  return {
    busyMs: () => busyMs,
    isQuiet: () => open.size === 0,
    stop: () => void unsubscribe('http.server.request.start', onStart),
  };
}

async function startOwnS3(): Promise<S3Server> {
  await installService('s3');
  return await startS3({ buckets: [BUCKET] });
}

function kindOf(request: CatalogRequest): keyof Requests {
  if (request.segments.at(-2) !== 'tables') return 'others';
  if (request.method === 'POST') return 'commits';
  return request.method === 'GET' ? 'loads' : 'others';
}

/** By the sink's own hand, for whatever else made files as durable would be the same calls. */
function filePutter(warehouse: string): (path: string, bytes: Uint8Array) => Promise<void> {
  const store = createFileStore();
  return async (path, bytes) => void await store.put(`${warehouse}/${path}`, bytes);
}

function objectPutter(s3: S3Server, endpoint: string): (path: string, bytes: Uint8Array) => Promise<void> {
  const client = new S3Client({ endpoint, region: s3.region, forcePathStyle: true, credentials: s3.keys });
  return async (path, bytes) => {
    await client.send(new PutObjectCommand({ Bucket: BUCKET, Key: `warehouse/${path}`, Body: bytes }));
  };
}

async function objectsOf(s3: S3Server, suffix: string): Promise<Files> {
  const client = s3.client();
  const sizes: number[] = [];
  let token: string | undefined;
  do {
    const page: ListObjectsV2CommandOutput = await client.send(new ListObjectsV2Command({ Bucket: BUCKET, ContinuationToken: token }));
    for (const { Key: key = '', Size: size = 0 } of page.Contents ?? []) if (key.endsWith(suffix)) sizes.push(size);
    token = page.NextContinuationToken;
  } while (token !== undefined);
  client.destroy();
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), count: sizes.length };
}

function filesBelow(folder: string, suffix: string): Files {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(suffix));
  return { bytes: found.reduce((sum, path) => sum + statSync(join(folder, path)).size, 0), count: found.length };
}

function connectionSql(catalogUrl: string, vended: boolean): string {
  const delegation = vended ? ", ACCESS DELEGATION = 'vended-credentials'" : '';
  return `CREATE SECRET bench_credential AS 'root:bench';
CREATE CONNECTION c TO ICEBERG CATALOG (
  CATALOG TYPE = 'rest', URL = '${catalogUrl}', WAREHOUSE = '${CATALOG}', CREDENTIAL = SECRET bench_credential, SCOPE = 'PRINCIPAL_ROLE:ALL'${delegation});
`;
}

/** The sink `name` of the relation of its name into the table of its name. */
export function sinkSql(name: string, mode: 'append' | 'upsert', commitInterval: string): string {
  const key = mode === 'upsert' ? 'KEY (id) MODE UPSERT' : 'MODE APPEND';
  return `CREATE SINK ${name} FROM ${name} INTO ICEBERG CATALOG CONNECTION c (NAMESPACE = '${NAMESPACE}', TABLE = '${name}') ${key}`
    + ` WITH (COMMIT INTERVAL = '${commitInterval}');\n`;
}

async function prepare(
  catalog: EmbeddedCatalog, warehouse: string, s3: S3Server | null, proxy: CountingProxy | null,
): Promise<(method: string, url: string, body?: unknown) => Promise<{ status: number; text: string }>> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'root', client_secret: 'bench', scope: 'PRINCIPAL_ROLE:ALL' });
  const login = await fetch(`${catalog.catalogUrl}/v1/oauth/tokens`, { method: 'POST', body: form, headers: { [OBSERVER]: '1' } });
  const token = (await login.json() as { access_token: string }).access_token;
  const headers = { 'authorization': `Bearer ${token}`, 'content-type': 'application/json', [OBSERVER]: '1' };
  const call = async (method: string, url: string, body?: unknown): Promise<{ status: number; text: string }> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: text }) });
    return { status: response.status, text: await response.text() };
  };
  const expectOk = async (method: string, url: string, body: unknown): Promise<void> => {
    const answer = await call(method, url, body);
    if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${answer.text}`);
  };
  const s3Settings = s3 === null ? {} : {
    endpoint: proxy?.url ?? s3.endpoint, endpointInternal: s3.endpoint, stsEndpoint: s3.endpoint, pathStyleAccess: true, region: s3.region,
  };
  await expectOk('POST', `${catalog.managementUrl}/catalogs`, {
    catalog: {
      name: CATALOG, type: 'INTERNAL', properties: { 'default-base-location': warehouse },
      storageConfigInfo: { storageType: s3 === null ? 'FILE' : 'S3', allowedLocations: [`${warehouse}/`], ...s3Settings },
    },
  });
  await expectOk('PUT', `${catalog.managementUrl}/catalogs/${CATALOG}/catalog-roles/catalog_admin/grants`, {
    grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' },
  });
  await expectOk('POST', `${catalog.catalogUrl}/v1/${CATALOG}/namespaces`, { namespace: [NAMESPACE] });
  return call;
}
