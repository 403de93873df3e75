/** S2 and never unbounded: HTTP answers made to fill memory or to hold a request for ever, over real sockets; whose files a catalog may name. */
import { type Server, type Socket, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { type HttpLimits, createHttpClient, parseRetryAfter } from '../../../src/io/http.ts';
import { isInside } from '../../../src/io/location.ts';
import { createObjectStore } from '../../../src/io/object-store.ts';
import { isThisMachine } from '../../../src/io/rest-catalog.ts';
import { createSystemClock } from '../../../src/io/system.ts';
import type { ObjectStore } from '../../../src/sink/ports.ts';

const LIMITS: HttpLimits = { headersTimeoutMs: 400, bodyTimeoutMs: 400, maxBodyBytes: 1024 * 1024 };

let server: Server | null = null;
afterEach(() => server?.close());

/** A server that does this with every connection that has sent something. */
async function serving(behave: (socket: Socket) => void): Promise<string> {
  const listening = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => behave(socket));
  });
  server = listening;
  await new Promise<void>((resolve) => {
    listening.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}/`;
}

/** Writes the same again until the other side has had enough. */
function pour(socket: Socket, chunk: Buffer | string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

const trickle = (socket: Socket, piece: string): void => {
  const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write(piece)), 20);
};

const OK = 'HTTP/1.1 200 OK\r\n';
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));

describe('GIVEN a server that answers without end', () => {
  test.each<[string, (socket: Socket) => void, RegExp]>([
    ['a body of a gigabyte and more', (socket) => { socket.write(`${OK}\r\n`); pour(socket, 'x'.repeat(65_536)); }, /too-large/],
    ['a body in chunks without end', (socket) => { socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`); pour(socket, `10000\r\n${'x'.repeat(65_536)}\r\n`); }, /too-large/],
    ['a gzip bomb', (socket) => { socket.write(`${OK}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`); socket.write(bomb); }, /too-large/],
    ['a gzip bomb in a gzip bomb', (socket) => {
      const twice = gzipSync(bomb);
      socket.write(`${OK}content-encoding: gzip, gzip\r\ncontent-length: ${twice.length}\r\n\r\n`);
      socket.write(twice);
    }, /too-large/],
    ['a header without end', (socket) => { socket.write(OK); pour(socket, `x-more: ${'x'.repeat(1000)}\r\n`); }, /reset|timeout/],
    ['one header line without end', (socket) => { socket.write(`${OK}x: `); pour(socket, 'x'.repeat(65_536)); }, /reset|timeout/],
    ['a byte of header now and then', (socket) => { socket.write(OK); trickle(socket, 'x: y\r\n'); }, /timeout/],
    ['a byte of body now and then', (socket) => { socket.write(`${OK}\r\n`); trickle(socket, '{'); }, /timeout/],
    ['informational answers without end', (socket) => trickle(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'), /timeout|reset/],
    ['a length of 2^63', (socket) => socket.write(`${OK}content-length: 9223372036854775808\r\n\r\n`), /timeout|body-cut|reset/],
    ['something else than HTTP', (socket) => pour(socket, '\u0000\u0001\u0002'.repeat(1000)), /reset|timeout/],
  ])('WHEN it sends %s THEN the request ends by name, soon and in little memory', async (_what, behave, expected) => {
    const url = await serving(behave);
    const start = performance.now();
    const result = await createHttpClient(createSystemClock(), LIMITS).send({ method: 'GET', url, headers: {}, body: null });
    expect(result.kind === 'failure' ? result.failure : `status ${result.status}`).toMatch(expected);
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

test.each(['999999999', 'Fri, 31 Dec 9999 23:59:59 GMT', '3601'])('GIVEN Retry-After %s WHEN read THEN it is an hour at most', (value) => {
  expect(parseRetryAfter(value, 0)).toBe(3_600_000);
});

describe('GIVEN a location that a catalog names', () => {
  const untouched: ObjectStore = {
    open: () => { throw new Error('reached'); }, put: () => Promise.reject(new Error('reached')),
    get: () => Promise.reject(new Error('reached')), delete: () => Promise.reject(new Error('reached')),
  };

  test.each(['https://catalog.example/api', 'http://10.0.0.7:8181', 'http://localhost.evil.example', 'http://127.0.0.1.evil.example', 'http://[::2]', 'nonsense'])(
    'WHEN it is local and the catalog is at %s THEN neither reads nor writes touch this machine', async (url) => {
      expect(isThisMachine(url)).toBe(false);
      const store = createObjectStore({ prefixes: ['file:///etc', 's3://b/t'], s3: untouched, file: null });
      await expect(store.put('file:///etc/cron.d/x', new Uint8Array())).rejects.toMatchObject({ code: 'table-location-unsupported' });
      await expect(store.get('/etc/shadow')).rejects.toMatchObject({ code: 'table-location-unsupported' });
      await expect(store.delete('file:/etc/passwd')).rejects.toMatchObject({ code: 'table-location-unsupported' });
    });

  test.each(['http://localhost:8181/api', 'http://127.0.0.1:1', 'http://127.3.2.1', 'http://[::1]:9', 'http://polaris.localhost'])(
    'WHEN the catalog is at %s THEN it is on this machine', (url) => expect(isThisMachine(url)).toBe(true));

  test.each([
    'file:///w/t/../x', 'file:///w/t/./../x', 'file:///w/t/..', 's3://b/t/../../x', 's3://b/t/..', 's3://b/tt', 'file://evil/w/t/x', 'file:////w/t/x',
  ])('WHEN it is %s THEN it is not inside the table', (location) => {
    let inside = false;
    try {
      inside = isInside(location, location.startsWith('s3') ? 's3://b/t' : 'file:///w/t');
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'table-location-unsupported' });
    }
    expect(inside).toBe(false);
  });
});
