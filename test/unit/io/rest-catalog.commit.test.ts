import { afterEach, describe, expect, test } from 'vitest';
import type { CatalogConnection } from '../../../src/definition/definitions.ts';
import type { Snapshot } from '../../../src/iceberg/metadata.ts';
import { createHttpClient } from '../../../src/io/http.ts';
import { createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { createSystemClock } from '../../../src/io/system.ts';
import { connection, fixedEntropy, manualClock, withCredential } from './fakes.ts';
import { type Received, type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const servers: ScriptedServer[] = [];
const TABLE = { namespace: ['ns'], name: 't' };
const HEAD = 9_007_199_254_740_993n;

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function setUp(
  onCommit: (index: number, request: Received) => Reply, options: { config?: object; make?: (url: string) => CatalogConnection } = {},
) {
  let commits = 0;
  let tokens = 0;
  const server = await scriptedServer((request: Received) => {
    if (request.url.startsWith('/v1/config')) return { status: 200, body: options.config ?? { defaults: {}, overrides: { prefix: 'a/b' } } };
    if (request.url === '/v1/oauth/tokens') return { status: 200, body: { access_token: `token-${tokens += 1}`, expires_in: 3600 } };
    if (request.method === 'POST') return onCommit((commits += 1) - 1, request);
    return { status: 500 };
  });
  servers.push(server);
  const clock = manualClock();
  const http = createHttpClient(createSystemClock(), { headersTimeoutMs: 400, bodyTimeoutMs: 400, maxBodyBytes: 100_000 });
  const catalog = createRestCatalog((options.make ?? connection)(server.url), { http, clock, entropy: fixedEntropy });
  const snapshot: Snapshot = {
    snapshotId: HEAD + 2n, parentSnapshotId: HEAD, sequenceNumber: 2n, timestampMs: 1n, summary: { operation: 'append' },
    manifestList: 's3://lake/ns/t/metadata/snap-1.avro', schemaId: 0,
  };
  const commit = () => catalog.commit(
    TABLE, [{ type: 'assert-table-uuid', uuid: 'u' }, { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: HEAD }],
    [
      { action: 'add-snapshot', snapshot },
      { action: 'set-snapshot-ref', ref: 'main', snapshotId: snapshot.snapshotId, type: 'branch' },
    ], 'key-1',
  );
  const posts = () => server.received.filter((request) => request.method === 'POST' && request.url.includes('/tables/'));
  return { server, catalog, commit, posts };
}

const conflict = { error: { message: 'Requirement failed: branch main has changed', type: 'CommitFailedException', code: 409 } };
const refused = (status: number, type: string, message: string): Reply => ({ status, body: { error: { message, type, code: status } } });

const answered = (id: string): string => `{"metadata-location":"x","metadata":{"current-snapshot-id":${id}}}`;

describe('GIVEN a commit', () => {
  const outcomes: [string, Reply | ((request: Received) => Reply), object][] = [
    ['the new metadata', { status: 200, body: answered(String(HEAD + 2n)) }, { kind: 'committed' }],
    ['metadata with white space', { status: 200, body: answered(String(HEAD + 2n)).replaceAll(':', ' : ') }, { kind: 'committed' }],
    ['metadata with another snapshot only', { status: 200, body: answered(String(HEAD)) }, { kind: 'unknown' }],
    ['metadata with a longer id', { status: 200, body: answered(`${HEAD + 2n}0`) }, { kind: 'unknown' }],
    ['metadata with an id that ends alike', { status: 200, body: answered(`1${HEAD + 2n}`) }, { kind: 'unknown' }],
    ['metadata without snapshots', { status: 200, body: { metadata: {}, 'metadata-location': 'x' } }, { kind: 'unknown' }],
    ['our request', (request) => ({ status: 200, body: request.body }), { kind: 'unknown' }],
    ['204', { status: 204 }, { kind: 'committed' }],
    ['409', { status: 409, body: conflict }, { kind: 'conflict', message: 'Requirement failed: branch main has changed' }],
    ['409 without a body', { status: 409 }, { kind: 'conflict' }],
    ['400', refused(400, 'BadRequestException', 'no'), { kind: 'refused', error: { code: 'commit-refused' } }],
    ['400 of a proxy', { status: 400, body: '<html>' }, { kind: 'refused', error: { code: 'commit-refused' } }],
    ['403', refused(403, 'ForbiddenException', 'no'), { kind: 'refused', error: { code: 'catalog-forbidden' } }],
    ['404', refused(404, 'NoSuchTableException', 'no'), { kind: 'refused', error: { code: 'table-missing' } }],
    ['404 of a proxy', { status: 404, body: 'not found' }, { kind: 'refused', error: { code: 'commit-refused' } }],
    ['422', refused(422, 'UnprocessableEntityException', 'idempotency key reused'), { kind: 'refused', error: { code: 'commit-refused' } }],
    ['408', { status: 408 }, { kind: 'unknown' }],
    ['421, which fetch repeats by itself', { status: 421 }, { kind: 'unknown' }],
    ['429', { status: 429 }, { kind: 'unknown' }],
    ['500', refused(500, 'InternalServerError', 'oops'), { kind: 'unknown' }],
    ['502', { status: 502, body: 'bad gateway' }, { kind: 'unknown' }],
    ['503', { status: 503 }, { kind: 'unknown' }],
    ['504', { status: 504 }, { kind: 'unknown' }],
    ['a redirect', { status: 307, headers: { location: '/v1/again' } }, { kind: 'unknown' }],
    ['a page with 200', { status: 200, body: '<html>ok</html>' }, { kind: 'unknown' }],
    ['an empty 200', { status: 200 }, { kind: 'unknown' }],
    ['a reset', 'reset', { kind: 'unknown' }],
    ['an answer cut short', 'cut', { kind: 'unknown' }],
  ];
  test.each(outcomes)('WHEN the catalog answers %s THEN the outcome says so after exactly one POST', async (_, reply, expected) => {
    const { commit, posts } = await setUp((_index, request) => (typeof reply === 'function' ? reply(request) : reply));
    expect(await commit()).toMatchObject(expected);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(posts()).toHaveLength(1);
  });

  test.each(['silent', 'stalled'] as const)('WHEN the answer is %s THEN it is unknown after one POST', async (reply) => {
    const { commit, posts } = await setUp(() => reply);
    expect(await commit()).toMatchObject({ kind: 'unknown', message: expect.stringContaining('timed out') as string });
    expect(posts()).toHaveLength(1);
  });

  test('WHEN the answer has told of our snapshot THEN its rest is not waited for', async () => {
    const { commit, posts } = await setUp(() => ({ status: 200, body: answered(String(HEAD + 2n)), endsNever: true }));
    expect(await commit()).toEqual({ kind: 'committed' });
    expect(posts()).toHaveLength(1);
  });

  test('WHEN it is sent THEN 64-bit ids, path and headers are those of the specification', async () => {
    const { commit, posts } = await setUp(() => ({ status: 204 }), {
      make: (url) => connection(`${url}//`, { accessDelegation: 'vended-credentials' }),
      config: { overrides: { prefix: '/a/b/' }, 'idempotency-key-lifetime': 'PT30M' },
    });
    await commit();
    const [post] = posts();
    expect(post?.url).toBe('/v1/a/b/namespaces/ns/tables/t');
    expect(post?.headers).toMatchObject({
      'idempotency-key': 'key-1', 'x-iceberg-access-delegation': 'vended-credentials', 'content-type': 'application/json',
    });
    expect(post?.headers.authorization).toBeUndefined();
    expect(post?.body).toContain('"snapshot-id":9007199254740993}');
    expect(post?.body).toContain('"snapshot-id":9007199254740995}');
  });

  test('WHEN the catalog does not advertise idempotency keys THEN none is sent, nor delegation unasked', async () => {
    const { commit, posts } = await setUp(() => ({ status: 204 }));
    await commit();
    expect(posts()[0]?.headers['idempotency-key']).toBeUndefined();
    expect(posts()[0]?.headers['x-iceberg-access-delegation']).toBeUndefined();
  });

  test.each([401, 419])('WHEN the token is refused with %i THEN one new token is minted and the commit goes out again', async (status) => {
    const { commit, posts } = await setUp((index) => (index === 0 ? { status } : { status: 204 }), { make: withCredential });
    expect(await commit()).toEqual({ kind: 'committed' });
    expect(posts().map((post) => post.headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('WHEN the new token is refused too THEN it ends there, by name', async () => {
    const { commit, posts } = await setUp(() => ({ status: 401 }), { make: withCredential });
    expect(await commit()).toMatchObject({ kind: 'refused', error: { code: 'catalog-unauthorized' } });
    expect(posts()).toHaveLength(2);
  });

  test('WHEN the configuration cannot be had THEN nothing is sent and nothing is certain', async () => {
    const server = await scriptedServer(() => ({ status: 503 }));
    servers.push(server);
    const clock = manualClock();
    const catalog = createRestCatalog(connection(server.url), { http: createHttpClient(clock), clock, entropy: fixedEntropy });
    expect(await catalog.commit(TABLE, [], [], 'k')).toMatchObject({ kind: 'unknown' });
    expect(server.received.every((request) => request.method === 'GET')).toBe(true);
  });
});
