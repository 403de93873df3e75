import { afterEach, describe, expect, test } from 'vitest';
import { createHttpClient, parseRetryAfter } from '../../../src/io/http.ts';
import { createSystemClock } from '../../../src/io/system.ts';
import { type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const clock = createSystemClock();
const client = createHttpClient(clock, { headersTimeoutMs: 300, bodyTimeoutMs: 300, maxBodyBytes: 2_000 });
let servers: ScriptedServer[] = [];

async function serve(script: (index: number) => Reply): Promise<ScriptedServer> {
  const server = await scriptedServer((_, index) => script(index));
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

const post = (url: string) => client.send({ method: 'POST', url, headers: { authorization: 'Bearer secret' }, body: '{"a":1}' });

describe('GIVEN a request with a body', () => {
  const outcomes: [string, Reply, object][] = [
    ['an answer', { status: 200, body: { ok: true } }, { kind: 'response', status: 200, body: '{"ok":true}' }],
    ['a bad gateway', { status: 502, body: 'oops' }, { kind: 'response', status: 502 }],
    ['a misdirected request, which fetch would repeat by itself', { status: 421 }, { kind: 'response', status: 421 }],
    ['a redirect that keeps the method', { status: 308, headers: { location: '/elsewhere' } }, { kind: 'response', status: 308 }],
    ['a reset connection', 'reset', { kind: 'failure', failure: 'reset' }],
    ['an answer cut short', 'cut', { kind: 'failure', failure: 'body-cut' }],
    ['silence', 'silent', { kind: 'failure', failure: 'timeout' }],
    ['an answer that stops coming', 'stalled', { kind: 'failure', failure: 'timeout' }],
    ['an answer that is too large', { status: 200, body: 'x'.repeat(3_000) }, { kind: 'failure', failure: 'too-large' }],
    ['a 503 with Retry-After', { status: 503, headers: { 'retry-after': '7' } }, { kind: 'response', status: 503, retryAfterMs: 7_000 }],
  ];
  test.each(outcomes)('WHEN the server gives %s THEN it was transmitted exactly once', async (_, reply, expected) => {
    const server = await serve(() => reply);
    expect(await post(`${server.url}/v1/x?q=1`)).toMatchObject(expected);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.received).toHaveLength(1);
    expect(server.received[0]).toMatchObject({ method: 'POST', url: '/v1/x?q=1', body: '{"a":1}' });
    expect(server.received[0]?.headers['content-length']).toBe('7');
    expect(server.received[0]?.headers['user-agent']).toBe('mz-iceberg-sink');
  });

  test('WHEN a kept-alive connection is reset under it THEN the request is not repeated on another one', async () => {
    const server = await serve((index) => (index === 0 ? { status: 200 } : 'reset'));
    await post(server.url);
    expect(await post(server.url)).toMatchObject({ kind: 'failure', failure: 'reset' });
    expect(server.received).toHaveLength(2);
  });

  test('WHEN nobody listens THEN it is known not to have been sent', async () => {
    const server = await scriptedServer(() => ({ status: 200 }));
    await server.close();
    expect(await post(server.url)).toMatchObject({ kind: 'failure', failure: 'unreachable' });
  });
});

describe('GIVEN an answer of which the beginning is enough', () => {
  const ask = (url: string) => client.send({ method: 'GET', url, headers: {}, body: null, isEnough: (begun) => begun.includes('"id":7,') });

  test('WHEN the beginning is there and the rest never comes THEN it is given at once', async () => {
    const server = await serve(() => ({ status: 200, body: '{"id":7,', endsNever: true }));
    expect(await ask(server.url)).toMatchObject({ kind: 'response', status: 200, body: '{"id":7,' });
  });

  test('WHEN it is an error THEN all of it is read', async () => {
    const server = await serve(() => ({ status: 500, body: '{"id":7,', endsNever: true }));
    expect(await ask(server.url)).toMatchObject({ kind: 'failure', failure: 'timeout' });
  });

  test('WHEN there is no such beginning THEN all of it is read, to the same bound', async () => {
    const server = await serve((index) => ({ status: 200, body: index === 0 ? '{"id":8}' : 'x'.repeat(3_000) }));
    expect(await ask(server.url)).toMatchObject({ kind: 'response', body: '{"id":8}' });
    expect(await ask(server.url)).toMatchObject({ kind: 'failure', failure: 'too-large' });
  });

  test('WHEN the rest has been dropped THEN the connection serves again', async () => {
    const patient = createHttpClient(clock);
    const server = await serve(() => ({ status: 200, body: `{"id":7,"rest":"${'x'.repeat(3_000_000)}"}` }));
    for (let count = 0; count < 3; count++) {
      const answer = await patient.send({ method: 'GET', url: server.url, headers: {}, body: null, isEnough: (begun) => begun.includes('"id":7,') });
      expect(answer.kind === 'response' ? answer.body.length : 0).toBeLessThan(300_000);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(server.received).toHaveLength(3);
    expect(server.connections()).toBe(1);
  });
});

describe('GIVEN an answer that goes on behind its telling beginning', () => {
  test('WHEN the same address is asked again THEN that waits until the answer has ended or is given up, and other addresses do not', async () => {
    const timers: { delayMs: number; callback: () => void }[] = [];
    const held = createHttpClient({
      nowMs: () => 0,
      after: (delayMs, callback) => {
        const timer = { delayMs, callback };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    });
    const server = await serve(() => ({ status: 200, body: '{"id":7,', endsNever: true }));
    const ask = (path: string) => held.send({ method: 'GET', url: server.url + path, headers: {}, body: null, isEnough: (begun) => begun.includes('"id":7,') });
    await ask('/a');
    const again = ask('/a');
    await ask('/b');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.received.map(({ url }) => url)).toEqual(['/a', '/b']);
    timers.filter(({ delayMs }) => delayMs === 10_000).forEach(({ callback }) => callback());
    expect(await again).toMatchObject({ kind: 'response', status: 200 });
    expect(server.received.map(({ url }) => url)).toEqual(['/a', '/b', '/a']);
  });
});

describe('GIVEN a redirect to another origin', () => {
  test('WHEN it answers a request with a token THEN the other origin is never contacted', async () => {
    const thief = await serve(() => ({ status: 200 }));
    const server = await serve(() => ({ status: 307, headers: { location: `${thief.url}/steal` } }));
    expect(await client.send({ method: 'GET', url: server.url, headers: { authorization: 'Bearer secret' }, body: null }))
      .toMatchObject({ kind: 'response', status: 307 });
    expect(thief.received).toHaveLength(0);
  });
});

test.each([
  ['120', 120_000], ['0', 0], ['Thu, 01 Jan 1970 00:00:05 GMT', 4_000], ['soon', null], [null, null],
])('GIVEN Retry-After %s WHEN it is read at 1970 plus one second THEN the pause is %s ms', (value, expected) => {
  expect(parseRetryAfter(value, 1_000)).toBe(expected);
});
