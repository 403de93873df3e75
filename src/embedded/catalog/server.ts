/**
 * The embedded Iceberg REST catalog: a real HTTP server with its state on disk, which the demo and the tests run
 * on. It answers as Apache Polaris 1.4.1 was recorded to answer, so that what works here works there.
 *
 * In: a state directory, the root credential, the catalog's own S3 keys. Out: base URLs. Everything a client was
 * told has happened is on disk before the answer leaves.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AccessState } from './access-state.ts';
import { findCatalog, openAccessState } from './access-state.ts';
import type { Answer } from './answer.ts';
import { Refusal, emptyAnswer, jsonAnswer, notFound, refusalAnswer, unauthenticatedAnswer } from './answer.ts';
import { catalogRoleRoutes } from './catalog-role-routes.ts';
import type { CatalogStores, IcebergContext } from './iceberg-context.ts';
import type { IdempotentAnswers } from './idempotency.ts';
import { createIdempotentAnswers } from './idempotency.ts';
import type { Interception } from './interception.ts';
import { answerThrough, sendAnswer } from './interception.ts';
import type { ManagementContext } from './management-context.ts';
import { managementRoutes } from './management-routes.ts';
import { createMetadataStorage } from './metadata-storage.ts';
import type { StorageKeys } from './metadata-storage.ts';
import { configAnswer, namespaceRoutes } from './namespace-routes.ts';
import { openNamespaces } from './namespaces.ts';
import type { CatalogRequest } from './request.ts';
import { parseRequest } from './request.ts';
import { dispatch } from './route-table.ts';
import { createSessionKeys } from './session-keys.ts';
import { lockState } from './state-lock.ts';
import { openTablePointers } from './table-pointers.ts';
import { tableRoutes } from './table-routes.ts';
import type { Caller, TokenIssuer } from './tokens.ts';
import { createTokenIssuer } from './tokens.ts';

export interface EmbeddedCatalogOptions {
  /** Made when missing. One catalog process per directory. */
  readonly stateDir: string;
  readonly root: { readonly clientId: string; readonly clientSecret: string };
  /** 0 (the default): one that is free. */
  readonly port?: number;
  readonly host?: string;
  readonly nowMs?: () => number;
  readonly tokenLifetimeS?: number;
  readonly storage?: {
    /** The catalog's own keys for S3 and STS. */
    readonly keys?: StorageKeys;
    /** DurationSeconds asked of STS; null: left out, so that the server's default holds. */
    readonly credentialLifetimeS?: number | null;
    readonly credentialCacheMs?: number;
    readonly defaultRoleArn?: string;
    readonly stsFailureStatus?: 422 | 500;
  };
  /** null: `Idempotency-Key` is neither advertised nor honoured. */
  readonly idempotencyKeyLifetimeMs?: number | null;
  /** Fault hook, called once a request before anything else is done with it. */
  readonly intercept?: (request: CatalogRequest) => Interception | Promise<Interception>;
  /** Fault hook between a metadata file and its pointer; throwing there is a crash at that moment. */
  readonly beforeSwap?: () => void | Promise<void>;
}

export interface EmbeddedCatalog {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string;
  /** What a client takes as the catalog's URL: `…/api/catalog`. */
  readonly catalogUrl: string;
  readonly managementUrl: string;
  readonly port: number;
  /** Resolves when the port is free again; open connections are cut. Idempotent. */
  close(): Promise<void>;
}

interface Catalog {
  readonly access: AccessState;
  readonly stores: CatalogStores;
  readonly tokens: TokenIssuer;
  readonly idempotent: IdempotentAnswers | null;
  readonly idempotencyKeyLifetimeMs: number | null;
}

const ICEBERG_ROUTES = [...namespaceRoutes, ...tableRoutes];
const MANAGEMENT_ROUTES = [...managementRoutes, ...catalogRoleRoutes];
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const HALF_HOUR_MS = 1_800_000;

/** Starts the catalog; rejects when the port is taken or the state can't be read. */
export async function createEmbeddedCatalog(options: EmbeddedCatalogOptions): Promise<EmbeddedCatalog> {
  const host = options.host ?? '127.0.0.1';
  const unlock = lockState(options.stateDir);
  const catalog = openCatalog(options);
  const server = createServer((incoming, response) => {
    handle(catalog, options.intercept ?? passAll, incoming, response).catch(() => response.destroy());
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(options.port ?? 0, host, resolve);
    });
  } catch (thrown) {
    unlock();
    throw thrown;
  }
  const { port } = server.address() as AddressInfo;
  const url = `http://${host === '0.0.0.0' ? '127.0.0.1' : host}:${port}`;
  const closed = Promise.withResolvers<void>();
  server.once('close', () => {
    unlock();
    closed.resolve();
  });
  return {
    url,
    catalogUrl: `${url}/api/catalog`,
    managementUrl: `${url}/api/management/v1`,
    port,
    close: () => {
      server.close();
      server.closeAllConnections();
      catalog.stores.storage.close();
      return closed.promise;
    },
  };
}

function openCatalog(options: EmbeddedCatalogOptions): Catalog {
  const nowMs = options.nowMs ?? Date.now;
  const { storage = {} } = options;
  const pointers = openTablePointers(options.stateDir);
  const lifetimeMs = options.idempotencyKeyLifetimeMs === undefined ? HALF_HOUR_MS : options.idempotencyKeyLifetimeMs;
  return {
    access: openAccessState(options.stateDir, options.root, nowMs()),
    tokens: createTokenIssuer({ nowMs, tokenLifetimeS: options.tokenLifetimeS ?? 3600 }),
    idempotent: lifetimeMs === null ? null : createIdempotentAnswers(lifetimeMs, nowMs),
    idempotencyKeyLifetimeMs: lifetimeMs,
    stores: {
      pointers,
      namespaces: openNamespaces(options.stateDir),
      storage: createMetadataStorage(storage.keys ?? null),
      sessionKeys: createSessionKeys({
        keys: storage.keys ?? null,
        nowMs,
        credentialLifetimeS: storage.credentialLifetimeS === undefined ? 3600 : storage.credentialLifetimeS,
        credentialCacheMs: storage.credentialCacheMs ?? HALF_HOUR_MS,
        defaultRoleArn: storage.defaultRoleArn ?? null,
        stsFailureStatus: storage.stsFailureStatus ?? 422,
      }),
      nowMs,
      beforeSwap: options.beforeSwap ?? (() => undefined),
    },
  };
}

function passAll(): Interception {
  return { kind: 'pass' };
}

async function handle(
  catalog: Catalog,
  intercept: NonNullable<EmbeddedCatalogOptions['intercept']>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let request: CatalogRequest;
  try {
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    request = parseRequest(incoming.method ?? 'GET', incoming.url ?? '/', headers, await readBody(incoming));
  } catch (thrown) {
    sendAnswer(response, answerForThrown(thrown));
    return;
  }
  await answerThrough(await intercept(request), response, () => answer(catalog, request));
}

/** Never rejects: what was thrown becomes an answer. */
async function answer(catalog: Catalog, request: CatalogRequest): Promise<Answer> {
  try {
    const found = await route(catalog, request);
    return request.method === 'HEAD' ? { ...found, body: null } : found;
  } catch (thrown) {
    const refused = answerForThrown(thrown);
    return request.method === 'HEAD' ? emptyAnswer(refused.status) : refused;
  }
}

async function route(catalog: Catalog, request: CatalogRequest): Promise<Answer> {
  const [area, section, version, ...rest] = request.segments;
  if (area === 'q' && section === 'health') return jsonAnswer(200, { status: 'UP' });
  if (area !== 'api' || version !== 'v1') throw notFound('HTTP 404 Not Found');
  const model = catalog.access.current();
  if (section === 'catalog' && rest.join('/') === 'oauth/tokens' && request.method === 'POST') {
    return catalog.tokens.issue(request, model);
  }
  const caller = catalog.tokens.authenticate(request, model);
  if (caller === null) return unauthenticatedAnswer();
  if (section === 'management') return manage(catalog, request, caller, rest);
  if (section !== 'catalog') throw notFound('HTTP 404 Not Found');
  if (rest[0] === 'config' && rest.length === 1 && request.method === 'GET') {
    const lifetimeMs = catalog.idempotencyKeyLifetimeMs;
    return configAnswer(request, model, lifetimeMs === null ? null : `PT${lifetimeMs / 1000}S`);
  }
  const work = (): Promise<Answer> => serveIceberg(catalog, request, caller, rest);
  if (catalog.idempotent === null) return work();
  return catalog.idempotent.once(caller.principal.name, request, () => work().catch(answerForThrown));
}

async function serveIceberg(
  catalog: Catalog, request: CatalogRequest, caller: Caller, segments: readonly string[],
): Promise<Answer> {
  const [prefix = '', ...path] = segments;
  const model = catalog.access.current();
  const entity = findCatalog(model, prefix);
  // As Polaris words it for an unknown prefix, empty name included.
  if (entity === null) throw new Refusal(404, 'NoSuchNamespaceException', 'Namespace does not exist: \'\'');
  const context: IcebergContext = { request, caller, model, catalog: entity, stores: catalog.stores };
  return dispatch(ICEBERG_ROUTES, request.method, path, context);
}

async function manage(
  catalog: Catalog, request: CatalogRequest, caller: Caller, segments: readonly string[],
): Promise<Answer> {
  const { access, stores } = catalog;
  const refuseUnlessEmpty = (name: string): void => {
    if (stores.namespaces.children(name, []).length > 0) {
      throw new Refusal(400, 'BadRequestException', `Catalog '${name}' cannot be dropped, it is not empty`);
    }
  };
  const context: ManagementContext = { request, caller, access, nowMs: stores.nowMs(), refuseUnlessEmpty };
  return dispatch(MANAGEMENT_ROUTES, request.method, segments, context);
}

function answerForThrown(thrown: unknown): Answer {
  if (thrown instanceof Refusal) return refusalAnswer(thrown);
  const message = thrown instanceof Error ? thrown.message : 'unknown error';
  return refusalAnswer(new Refusal(500, 'InternalServerError', message));
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) {
      throw new Refusal(413, 'RequestEntityTooLarge', 'The request body is larger than 64 MiB');
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
