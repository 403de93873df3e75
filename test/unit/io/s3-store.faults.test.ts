/** The S3 store against a server that answers by script: what real stores do seldom and at the wrong moment. */
import { afterEach, describe, expect, test } from 'vitest';
import { Secret } from '../../../src/definition/secret.ts';
import { createS3Store } from '../../../src/io/s3-store.ts';
import type { S3Access } from '../../../src/io/storage-properties.ts';
import { fixedEntropy, manualClock } from './fakes.ts';
import { type Received, type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const servers: ScriptedServer[] = [];
const LOCATION = 's3://lake/ns/t/data/x.parquet';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const xml = (status: number, code: string): Reply => ({
  status, headers: { 'content-type': 'application/xml' }, body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>m</Message></Error>`,
});
const ok: Reply = { status: 200, headers: { etag: '"e"' } };

async function setUp(script: (request: Received, index: number) => Reply, held: Partial<S3Access> = {}) {
  const server = await scriptedServer(script);
  servers.push(server);
  const clock = manualClock();
  let renewals = 0;
  const access = (id: string): S3Access => ({
    endpoint: server.url, region: 'us-east-1', pathStyle: true, accessKeyId: id, secretAccessKey: new Secret('the-secret'),
    sessionToken: new Secret('the-token'), expiresAtMs: null, ...held,
  });
  const first = access('k0');
  const store = createS3Store({
    clock, entropy: fixedEntropy, multipartThresholdBytes: 6_000_000, partBytes: 5_242_880,
    keys: { s3Access: () => Promise.resolve(first), renew: () => Promise.resolve(access(`k${renewals += 1}`)) },
  });
  const keyIds = () => server.received.map((request) => /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1]);
  return { server, clock, store, keyIds, renewals: () => renewals };
}

describe('GIVEN a put', () => {
  test('WHEN it is sent THEN it is signed whole, conditional, and holds nothing of the environment', async () => {
    process.env['AWS_ENDPOINT_URL'] = 'http://127.0.0.1:1';
    process.env['AWS_REGION'] = 'xx-nowhere-1';
    try {
      const { server, store } = await setUp(() => ok);
      expect(await store.put(LOCATION, Buffer.from('PAR1'))).toBe('stored');
      const [put] = server.received;
      expect(put).toMatchObject({ method: 'PUT', body: 'PAR1' });
      expect(put?.url).toMatch(/^\/lake\/ns\/t\/data\/x\.parquet(\?x-id=PutObject)?$/);
      expect(put?.headers['if-none-match']).toBe('*');
      expect(put?.headers['x-amz-content-sha256']).toMatch(/^[0-9a-f]{64}$/);
      expect(put?.headers.authorization).toContain('Credential=k0/');
      expect(put?.headers.authorization).toContain('/us-east-1/s3/aws4_request');
      expect(put?.headers['x-amz-security-token']).toBe('the-token');
    } finally {
      delete process.env['AWS_ENDPOINT_URL'];
      delete process.env['AWS_REGION'];
    }
  });

  test('WHEN its answer is lost and the repetition finds the name taken THEN it has found itself', async () => {
    const { server, store } = await setUp((_, index) => (index === 0 ? 'reset' : xml(412, 'PreconditionFailed')));
    expect(await store.put(LOCATION, Buffer.from('PAR1'))).toBe('exists');
    expect(server.received).toHaveLength(2);
  });

  test.each<[string, Reply]>([
    ['SlowDown', xml(503, 'SlowDown')], ['InternalError', xml(500, 'InternalError')], ['429', xml(429, 'TooManyRequests')],
    ['a page of a gateway', { status: 502, headers: { 'content-type': 'text/html' }, body: '<html><p>bad gateway' }],
    ['a conflict of two conditional writes', xml(409, 'ConditionalRequestConflict')], ['a reset', 'reset'],
  ])('WHEN the store gives %s once THEN the put is repeated', async (_, reply) => {
    const { server, store } = await setUp((__, index) => (index === 0 ? reply : ok));
    expect(await store.put(LOCATION, Buffer.from('PAR1'))).toBe('stored');
    expect(server.received).toHaveLength(2);
  });

  test('WHEN the store stays unwell THEN tries are bounded and the error is named', async () => {
    const { server, store } = await setUp(() => xml(503, 'SlowDown'));
    await expect(store.put(LOCATION, Buffer.from('PAR1'))).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(server.received).toHaveLength(6);
  });

  test('WHEN nobody listens THEN the guide words the cause', async () => {
    const { server, store } = await setUp(() => ok);
    await server.close();
    await expect(store.put(LOCATION, Buffer.from('PAR1'))).rejects.toMatchObject({
      code: 'storage-unreachable', message: expect.stringContaining("The endpoint in the catalog's storageConfigInfo is not reachable") as string,
    });
  });

  test('WHEN the store knows no conditional writes THEN it is put without, and that is remembered', async () => {
    const { server, store } = await setUp((request) => (request.headers['if-none-match'] === undefined ? ok : xml(501, 'NotImplemented')));
    expect(await store.put(LOCATION, Buffer.from('PAR1'))).toBe('stored');
    expect(await store.put(`${LOCATION}2`, Buffer.from('PAR1'))).toBe('stored');
    expect(server.received.map((request) => request.headers['if-none-match'])).toEqual(['*', undefined, undefined]);
  });
});

describe('GIVEN keys that the store refuses', () => {
  test.each(['ExpiredToken', 'InvalidToken', 'InvalidAccessKeyId'])('WHEN it says %s THEN it is asked once more with newer keys', async (code) => {
    const { store, keyIds } = await setUp((_, index) => (index === 0 ? xml(400 + (code === 'ExpiredToken' ? 0 : 3), code) : ok));
    expect(await store.put(LOCATION, Buffer.from('PAR1'))).toBe('stored');
    expect(keyIds()).toEqual(['k0', 'k1']);
  });

  test('WHEN newer keys are refused too THEN it ends there', async () => {
    const { store, keyIds } = await setUp(() => xml(403, 'ExpiredToken'));
    await expect(store.put(LOCATION, Buffer.from('PAR1'))).rejects.toMatchObject({ code: 'storage-credentials-expired' });
    expect(keyIds()).toEqual(['k0', 'k1']);
  });

  test('WHEN it says AccessDenied THEN newer keys are asked for after the expiry only', async () => {
    const expiresAtMs = manualClock().nowMs() + 1_000;
    const living = await setUp(() => xml(403, 'AccessDenied'), { expiresAtMs });
    await expect(living.store.put(LOCATION, Buffer.from('x'))).rejects.toMatchObject({ code: 'storage-forbidden' });
    expect(living.renewals()).toBe(0);
    const dead = await setUp((_, index) => (index === 0 ? xml(403, 'AccessDenied') : ok), { expiresAtMs });
    dead.clock.advance(1_000);
    expect(await dead.store.put(LOCATION, Buffer.from('x'))).toBe('stored');
    expect(dead.renewals()).toBe(1);
  });

  test('WHEN a refusal is told THEN neither secret nor token is in it', async () => {
    const { store } = await setUp(() => xml(403, 'SignatureDoesNotMatch'));
    const error = await store.put(LOCATION, Buffer.from('x')).catch((thrown: unknown) => thrown) as Error;
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toMatch(/the-secret|the-token/);
  });
});

describe('GIVEN an object that goes up in parts', () => {
  const bytes = new Uint8Array(11_000_000);
  const upload = (complete: (count: number) => Reply, head: Reply = { status: 404 }) => {
    let completions = 0;
    return (request: Received): Reply => {
      const query = new URL(request.url, 'http://x').searchParams;
      if (request.method === 'POST' && query.has('uploads')) {
        return { status: 200, headers: { 'content-type': 'application/xml' }, body: '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>' };
      }
      if (request.method === 'PUT') return ok;
      if (request.method === 'POST') return complete((completions += 1) - 1);
      return request.method === 'HEAD' ? head : { status: 204 };
    };
  };
  const done: Reply = { status: 200, headers: { 'content-type': 'application/xml' }, body: '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>' };
  const steps = (server: ScriptedServer): string[] => server.received.map((request) => request.method).sort();

  test('WHEN all goes well THEN three parts and one conditional completion are sent', async () => {
    const { server, store } = await setUp(upload(() => done));
    expect(await store.put(LOCATION, bytes)).toBe('stored');
    expect(steps(server)).toEqual(['POST', 'POST', 'PUT', 'PUT', 'PUT']);
    expect(server.received.at(-1)?.headers['if-none-match']).toBe('*');
    expect(server.received.filter((request) => request.method === 'PUT').map((request) => request.body.length))
      .toEqual(expect.arrayContaining([5_242_880, 5_242_880, 514_240]));
  });

  test('WHEN the answer of the completion is lost THEN the object is looked at before anything is believed', async () => {
    const gone = (count: number): Reply => (count === 0 ? 'reset' : xml(404, 'NoSuchUpload'));
    const landed = await setUp(upload(gone, { status: 200, headers: { 'content-length': '11000000' } }));
    expect(await landed.store.put(LOCATION, bytes)).toBe('exists');
    const lost = await setUp(upload(gone));
    await expect(lost.store.put(LOCATION, bytes)).rejects.toMatchObject({ code: 'storage-unavailable' });
    expect(steps(lost.server)).toContain('DELETE');
  });

  test('WHEN a completion answers 200 with an error inside THEN it is repeated', async () => {
    const { store } = await setUp(upload((count) => (count === 0 ? xml(200, 'InternalError') : done)));
    expect(await store.put(LOCATION, bytes)).toBe('stored');
  });

  test('WHEN a part is refused THEN the upload is aborted and no completion is sent', async () => {
    const script = upload(() => done);
    const { server, store } = await setUp((request) =>
      (request.method === 'PUT' && request.url.includes('partNumber=2') ? xml(403, 'AccessDenied') : script(request)), { expiresAtMs: Number.MAX_SAFE_INTEGER });
    await expect(store.put(LOCATION, bytes)).rejects.toMatchObject({ code: 'storage-forbidden' });
    expect(server.received.at(-1)?.method).toBe('DELETE');
    expect(server.received.filter((request) => request.method === 'POST')).toHaveLength(1);
  });
});

test('GIVEN a get that ends early WHEN the connection breaks THEN it is repeated and never short', async () => {
  const { store } = await setUp((_, index) => (index === 0 ? 'cut' : { status: 200, headers: { 'content-type': 'binary/octet-stream' }, body: 'whole' }));
  expect(Buffer.from(await store.get(LOCATION)).toString()).toBe('whole');
});
