/**
 * The Catalog port over the Iceberg REST specification.
 *
 * Reads are repeated while the catalog is unwell. A create is sent once and its outcome found out by loading. A
 * commit is sent once and its outcome is told as it was seen: committed, conflict, refused, or unknown, and whatever
 * is not certain is unknown. The machine then loads the table and decides; nothing here does.
 */
import type { CatalogConnection } from '../definition/definitions.ts';
import { SinkError, asSinkError } from '../errors.ts';
import { formatJson } from '../iceberg/json.ts';
import type { JsonObject } from '../iceberg/json.ts';
import type { Update } from '../iceberg/metadata.ts';
import { requirementToJson, updateToJson } from '../iceberg/metadata-json.ts';
import { schemaToJson } from '../iceberg/schema-json.ts';
import type {
  Catalog, CommitOutcome, CreateOutcome, CreateTableRequest, LoadOutcome, TableIdentifier,
} from '../sink/ports.ts';
import { formatIdentifier, namespacePath, pathSegment, tablePath } from './catalog-config.ts';
import { answerError, isRecord, parseCatalogError, resultError } from './catalog-errors.ts';
import { type CatalogDeps, type CatalogSession, createCatalogSession } from './catalog-session.ts';
import type { HttpResponse, HttpResult } from './http.ts';
import { READ_RETRIES, withRetries } from './retry.ts';
import { type TableResponse, parseTableResponse } from './table-response.ts';
import { type TableStorage, createTableStorage } from './table-storage.ts';

export interface RestCatalog extends Catalog {
  /** The storage of a table: its keys are those the catalog hands out for it. One per table is kept. */
  storageFor(table: TableIdentifier): TableStorage;
}

export function createRestCatalog(connection: CatalogConnection, deps: CatalogDeps): RestCatalog {
  const session = createCatalogSession(connection, deps);
  const storages = new Map<string, TableStorage>();
  const load = async (table: TableIdentifier): Promise<TableResponse | null> => {
    const response = await loadTable(session, deps, table);
    if (response !== null) storages.get(tableKey(table))?.offer(response);
    return response;
  };
  const storageFor = (table: TableIdentifier): TableStorage => {
    const key = tableKey(table);
    let storage = storages.get(key);
    if (storage === undefined) {
      storage = createTableStorage({
        session, deps, table, delegated: connection.accessDelegation !== null, localFiles: isThisMachine(connection.url),
        load: () => loadTable(session, deps, table),
      });
      storages.set(key, storage);
    }
    return storage;
  };
  return {
    listNamespaces: () => listNamespaces(session, deps),
    loadTable: async (table): Promise<LoadOutcome> => {
      const response = await load(table);
      return response === null ? { kind: 'missing' } : { kind: 'loaded', table: response.table };
    },
    createTable: async (namespace, request) => {
      const created = await createTable(session, namespace, request, load);
      if (created.response !== null) storageFor({ namespace, name: request.name }).offer(created.response);
      return created.outcome;
    },
    commit: (table, requirements, updates, idempotencyKey) => {
      const body = formatJson({
        identifier: { namespace: [...table.namespace], name: table.name },
        requirements: requirements.map(requirementToJson),
        updates: updates.map(updateToJson),
      });
      return commit(session, table, { body, idempotencyKey, addedIds: addedSnapshotIds(updates) });
    },
    storageFor,
  };
}

/**
 * By the address in the definition, not by what it resolves to. A catalog elsewhere that gives `file:` locations has the
 * disk of its own machine in mind, or a mind to write to ours.
 */
export function isThisMachine(url: string): boolean {
  const host = URL.canParse(url) ? new URL(url).hostname : '';
  return host === 'localhost' || host.endsWith('.localhost') || /^127(?:\.\d{1,3}){3}$/.test(host) || host === '[::1]';
}

function tableKey(table: TableIdentifier): string {
  return JSON.stringify([table.namespace, table.name]);
}

async function listNamespaces(session: CatalogSession, deps: CatalogDeps): Promise<readonly string[][]> {
  const config = await session.config();
  const namespaces: string[][] = [];
  const seen = new Set<string>();
  let pageToken: string | null = null;
  do {
    const query: string = pageToken === null ? '' : `?pageToken=${encodeURIComponent(pageToken)}`;
    const response = await readWithRetries(session, deps, `${config.prefix}namespaces${query}`, 'list namespaces');
    const page = parseNamespaces(response);
    for (const namespace of page.namespaces) namespaces.push(namespace);
    pageToken = page.nextPageToken;
    if (seen.size >= MAX_PAGES || namespaces.length > MAX_NAMESPACES) {
      throw new SinkError('catalog-protocol', 'list namespaces: the list has no end');
    }
    // A server that repeats a token would be asked for ever.
    if (pageToken !== null && seen.has(pageToken)) {
      throw new SinkError('catalog-protocol', 'list namespaces: the pages go in a circle');
    }
    if (pageToken !== null) seen.add(pageToken);
  } while (pageToken !== null);
  return namespaces;
}

/** Far beyond any catalog; a server that makes up a new token each time would be asked for ever. */
const MAX_PAGES = 10_000;
const MAX_NAMESPACES = 1_000_000;

function parseNamespaces(
  response: HttpResponse,
): { namespaces: readonly string[][]; nextPageToken: string | null } {
  const answer = jsonObjectOf(response.body);
  const list = answer?.['namespaces'];
  const wrong = (): SinkError =>
    new SinkError('catalog-protocol', 'list namespaces: the answer is not the one of the REST specification');
  if (answer === null || !Array.isArray(list)) throw wrong();
  const namespaces = (list as readonly unknown[]).map((entry) => {
    const levels: readonly unknown[] = Array.isArray(entry) ? entry : [entry];
    return levels.map((level) => {
      if (typeof level !== 'string') throw wrong();
      return level;
    });
  });
  const token = answer['next-page-token'];
  return { namespaces, nextPageToken: typeof token === 'string' && token !== '' ? token : null };
}

async function readWithRetries(
  session: CatalogSession, deps: CatalogDeps, path: string, action: string,
): Promise<HttpResponse> {
  return await withRetries(deps, READ_RETRIES, async () => {
    const result = await session.send({ method: 'GET', path, body: null });
    if (result.kind === 'response' && result.status === 200) return result;
    throw resultError(result, action);
  });
}

/** null when the catalog says that there is no such table. */
async function loadTable(
  session: CatalogSession, deps: CatalogDeps, table: TableIdentifier,
): Promise<TableResponse | null> {
  const action = `load table ${formatIdentifier(table)}`;
  const path = tablePath(await session.config(), table);
  return await withRetries(deps, READ_RETRIES, async () => {
    const result = await session.send({ method: 'GET', path, body: null });
    if (result.kind === 'response' && result.status === 200) return parseTableResponse(result.body, action);
    const error = resultError(result, action);
    if (error.code === 'table-missing') return null;
    throw error;
  });
}

interface Created {
  readonly outcome: CreateOutcome;
  readonly response: TableResponse | null;
}

/**
 * Sent once. After anything but a clear answer the table is looked up: it may exist by our request (its answer was
 * lost, or the catalog made the table and then failed to vend keys for it) or by a rival's, and the caller
 * compares what it finds either way.
 */
async function createTable(
  session: CatalogSession, namespace: readonly string[], request: CreateTableRequest,
  load: (table: TableIdentifier) => Promise<TableResponse | null>,
): Promise<Created> {
  const table = { namespace, name: request.name };
  const action = `create table ${formatIdentifier(table)}`;
  const config = await session.config();
  const path = `${config.prefix}${namespacePath(config, namespace)}/tables`;
  pathSegment(request.name);
  const result = await session.send({ method: 'POST', path, body: formatJson(createBody(request)) });
  if (result.kind === 'response' && result.status >= 200 && result.status < 300) {
    try {
      const response = parseTableResponse(result.body, action);
      return { outcome: { kind: 'created', table: response.table }, response };
    } catch (thrown) {
      if (await load(table) !== null) return { outcome: { kind: 'exists' }, response: null };
      throw thrown;
    }
  }
  if (result.kind === 'response' && result.status === 409) return { outcome: { kind: 'exists' }, response: null };
  const error = createError(result, action);
  const unclear = error.disposition === 'retry';
  if (unclear && await load(table) !== null) return { outcome: { kind: 'exists' }, response: null };
  throw error;
}

/** A 404 to a create can only mean the namespace: the table is what is being made. */
function createError(result: HttpResult, action: string): SinkError {
  const error = resultError(result, action);
  return error.code === 'table-missing' ? new SinkError('namespace-missing', error.message, error.detail) : error;
}

/** Some catalogs refuse a create without what the specification calls optional, so everything is spelled out. */
function createBody(request: CreateTableRequest): JsonObject {
  return {
    name: request.name,
    schema: schemaToJson(request.schema),
    'partition-spec': { 'spec-id': 0, fields: [] },
    'write-order': { 'order-id': 0, fields: [] },
    'stage-create': false,
    properties: { ...request.properties },
  };
}

interface CommitRequest {
  readonly body: string;
  readonly idempotencyKey: string;
  readonly addedIds: readonly bigint[];
}

function addedSnapshotIds(updates: readonly Update[]): readonly bigint[] {
  return updates.flatMap((update) => (update.action === 'add-snapshot' ? [update.snapshot.snapshotId] : []));
}

async function commit(
  session: CatalogSession, table: TableIdentifier, { body, idempotencyKey, addedIds }: CommitRequest,
): Promise<CommitOutcome> {
  const action = `commit to table ${formatIdentifier(table)}`;
  let result: HttpResult;
  try {
    const config = await session.config();
    const headers: Record<string, string> = config.idempotencyKeys ? { 'idempotency-key': idempotencyKey } : {};
    // Without a snapshot there is nothing in it to know the commit by, and only a whole answer is the catalog's.
    const isEnough = (begun: string): boolean => addedIds.length > 0 && tellsOfCommit(begun, addedIds);
    result = await session.send({ method: 'POST', path: tablePath(config, table), body, headers, isEnough });
  } catch (thrown) {
    // No configuration or no token: nothing was sent, or only a transmission that was answered with 401.
    const error = asSinkError(thrown, 'catalog-unreachable', action);
    return error.disposition === 'retry' ? { kind: 'unknown', message: error.message } : { kind: 'refused', error };
  }
  return commitOutcome(result, action, addedIds);
}

/** 4xx that a gateway or a busy server gives for passing reasons; they don't say that this commit is wrong. */
const PASSING: ReadonlySet<number> = new Set([408, 421, 425, 429]);

function commitOutcome(result: HttpResult, action: string, addedIds: readonly bigint[]): CommitOutcome {
  if (result.kind === 'failure') return { kind: 'unknown', message: resultError(result, action).message };
  const { status } = result;
  if (status === 204) return { kind: 'committed' };
  if (status >= 200 && status < 300) {
    if (tellsOfCommit(result.body, addedIds)) return { kind: 'committed' };
    return { kind: 'unknown', message: `${action}: HTTP ${status} with an answer that doesn't tell of this commit` };
  }
  if (status === 409) {
    return { kind: 'conflict', message: parseCatalogError(result.body)?.message ?? 'the catalog answered 409' };
  }
  if (status < 400 || status >= 500 || PASSING.has(status)) {
    return { kind: 'unknown', message: answerError(result, action).message };
  }
  return { kind: 'refused', error: commitRefusal(result, action) };
}

/**
 * Only the specification's answer counts, and only one about this very commit: a page of a proxy, or an answer kept from an
 * earlier commit, proves nothing. The answer is the whole metadata of the table and grows with its age, so it isn't parsed,
 * nor awaited to its end: the catalog answers 200 only once the commit is done, and names the newest snapshot early on. A
 * random id of 63 bits in it can only come from what we sent, and what merely sends our request back has no `metadata`.
 */
function tellsOfCommit(body: string, addedIds: readonly bigint[]): boolean {
  return /"metadata"\s*:/.test(body) && addedIds.every((id) => holdsNumber(body, id.toString()));
}

/** Whether the digits stand there by themselves and not as part of a longer number; at the end of a beginning they may be one. */
function holdsNumber(text: string, digits: string): boolean {
  for (let at = text.indexOf(digits); at !== -1; at = text.indexOf(digits, at + 1)) {
    if (endsNumber(text[at - 1]) && endsNumber(text[at + digits.length])) return true;
  }
  return false;
}

function endsNumber(char: string | undefined): boolean {
  return char !== undefined && (char < '0' || char > '9');
}

function commitRefusal(response: HttpResponse, action: string): SinkError {
  const error = answerError(response, action);
  // A definite refusal ends the sink's run; an error body that isn't the specification's is no reason to send again.
  const named = error.disposition === 'halt' && error.code !== 'catalog-refused';
  return named ? error : new SinkError('commit-refused', error.message, error.detail);
}

/** Native parsing: numbers above 2^53 get lost, and none is read here. It is many times faster on big metadata. */
function jsonObjectOf(body: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(body) as unknown;
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
