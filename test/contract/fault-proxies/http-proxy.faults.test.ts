/** The fault proxy does what its faults are called, judged by what the client sees and what the server has got. */
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type HttpFault, type HttpProxy, type Stage, openHttpProxy } from '../../crash/fault-proxy-http.ts';

const PATH = '/v1/warehouse/namespaces/n/tables/t';
const got: { readonly method: string; readonly body: string; readonly host: string; readonly whole: boolean }[] = [];
let server: Server;
let upstreamPort = 0;
let version = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    const note = (whole: boolean): void => void got.push({ method: request.method ?? '', body, host: request.headers.host ?? '', whole });
    request.on('data', (chunk: Buffer) => { body += chunk.toString(); });
    request.on('error', () => note(false));
    request.on('end', () => {
      note(true);
      version += 1;
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ version, padding: 'x'.repeat(1_000) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  upstreamPort = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

let proxy: HttpProxy;
let fault: HttpFault | null = null;
const counted: string[] = [];
const stages: Stage[] = [];

beforeEach(async () => {
  proxy = await openHttpProxy({
    service: 'catalog', port: 0, upstreamPort, decide: () => fault, count: (name) => counted.push(name),
    watch: (_exchange, stage) => {
      stages.push(stage);
      return null;
    },
  });
  proxy.hurt();
  got.length = 0;
  counted.length = 0;
  stages.length = 0;
});

afterEach(async () => {
  await proxy.close();
});

type Seen = { readonly status: number; readonly text: string } | 'broken';

async function ask(method: 'GET' | 'POST', next: HttpFault | null): Promise<Seen> {
  fault = next;
  try {
    const response = await fetch(proxy.url + PATH, { method, ...(method === 'POST' ? { body: 'a commit of some length' } : {}) });
    return { status: response.status, text: await response.text() };
  } catch {
    return 'broken';
  }
}

const answered = (status: number) => expect.objectContaining({ status }) as unknown;
const whole = { method: 'POST', body: 'a commit of some length', whole: true };

test('GIVEN no fault THEN request, answer and the Host header pass as they are', async () => {
  expect(await ask('POST', null)).toEqual(answered(200));
  expect(got).toEqual([{ ...whole, host: proxy.url.slice('http://'.length) }]);
  expect(stages).toEqual(['begun', 'received', 'applied', 'answered']);
  expect(counted).toEqual([]);
});

test.each<[HttpFault, unknown, number]>([
  [{ kind: 'reset-before' }, 'broken', 0],
  [{ kind: 'reset-after' }, 'broken', 1],
  [{ kind: 'silent-before', forMs: 50 }, 'broken', 0],
  [{ kind: 'silent-after', forMs: 50 }, 'broken', 1],
  [{ kind: 'delay-before', forMs: 50 }, answered(200), 1],
  [{ kind: 'delay-after', forMs: 50 }, answered(200), 1],
  [{ kind: 'cut-answer', fraction: 0.5 }, 'broken', 1],
  [{ kind: 'status-before', status: 503, retryAfterSeconds: null }, answered(503), 0],
  [{ kind: 'status-after', status: 409, retryAfterSeconds: 1 }, answered(409), 1],
])('GIVEN the fault %j THEN the client sees it, and the server has what it says', async (given, seen, carriedOut) => {
  expect(await ask('POST', given)).toEqual(seen);
  expect(got.filter((request) => request.whole)).toHaveLength(carriedOut);
  expect(counted).toHaveLength(1);
});

test('GIVEN a late request THEN the client is told at once that it failed, and the server carries it out afterwards', async () => {
  expect(await ask('POST', { kind: 'late', forMs: 150 })).toBe('broken');
  expect(got).toEqual([]);
  await sleep(400);
  expect(got).toMatchObject([whole]);
});

test('GIVEN a request that is cut THEN the server gets a part of it and no end', async () => {
  expect(await ask('POST', { kind: 'cut-request' })).toBe('broken');
  await sleep(100);
  expect(got).toMatchObject([{ whole: false, body: 'a commit of ' }]);
});

test('GIVEN stale reads THEN loads bring an earlier answer for a while, and then the truth again', async () => {
  const [first, second] = [await ask('GET', null), await ask('GET', null)];
  expect(second).not.toEqual(first);
  expect(await ask('GET', { kind: 'stale', fraction: 0, forMs: 200 })).toEqual(first);
  expect(await ask('GET', null)).toEqual(first);
  await sleep(300);
  expect(await ask('GET', null)).not.toEqual(first);
  expect(counted).toEqual(['catalog stale', 'catalog stale']);
});

test('GIVEN a server out of reach THEN nobody answers until it is back, and healing lets go of what is held', async () => {
  proxy.setReach('refuse');
  expect(await ask('POST', null)).toBe('broken');
  proxy.setReach('hang');
  const held = ask('POST', null);
  expect(await Promise.race([held, sleep(200, 'silent')])).toBe('silent');
  proxy.setReach('up');
  expect(await held).toBe('broken');
  expect(got).toEqual([]);
  const silenced = ask('POST', { kind: 'silent-after', forMs: 60_000 });
  await sleep(200);
  proxy.heal();
  expect(await silenced).toBe('broken');
  expect(await ask('POST', { kind: 'reset-before' })).toEqual(answered(200));
});
