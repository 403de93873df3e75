/** The database's fault proxy: each fault strikes after exactly the bytes it names, and looks to the client as it is called. */
import { type AddressInfo, type Server, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TcpFault, type TcpProxy, openTcpProxy } from '../../crash/fault-proxy-tcp.ts';

const ROWS = Buffer.from('row after row after row '.repeat(50));
let server: Server;

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(ROWS));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
});
afterAll(() => void server.close());

interface Seen {
  readonly bytes: number;
  readonly end: 'open' | 'end' | 'reset';
}

/** What a client has seen `afterMs` after it asked once. */
async function ask(fault: TcpFault | null, afterMs: number, during?: (proxy: TcpProxy) => Promise<void>): Promise<Seen> {
  const proxy = await openTcpProxy({
    port: 0, upstreamPort: () => (server.address() as AddressInfo).port, decide: () => fault, watch: () => undefined, count: () => undefined,
  });
  proxy.hurt();
  const client = connect({ host: '127.0.0.1', port: proxy.port });
  let bytes = 0;
  let end: Seen['end'] = 'open';
  client.on('data', (chunk) => { bytes += chunk.length; });
  client.on('end', () => { end = 'end'; });
  client.on('error', () => { end = 'reset'; });
  client.write('SUBSCRIBE');
  await during?.(proxy);
  await sleep(afterMs);
  client.destroy();
  await proxy.close();
  return { bytes, end };
}

test.each<[TcpFault | null, Seen]>([
  [null, { bytes: ROWS.length, end: 'open' }],
  [{ kind: 'refuse', afterBytes: 0, forMs: 0 }, { bytes: 0, end: 'reset' }],
  [{ kind: 'cut', afterBytes: 101, forMs: 0 }, { bytes: 101, end: 'end' }],
  [{ kind: 'delay', afterBytes: 101, forMs: 10_000 }, { bytes: 101, end: 'open' }],
  [{ kind: 'delay', afterBytes: 101, forMs: 50 }, { bytes: ROWS.length, end: 'open' }],
  [{ kind: 'freeze', afterBytes: 101, forMs: 50 }, { bytes: ROWS.length, end: 'open' }],
  [{ kind: 'blackhole', afterBytes: 101, forMs: 10_000 }, { bytes: 101, end: 'open' }],
  [{ kind: 'blackhole', afterBytes: 101, forMs: 50 }, { bytes: 101, end: 'reset' }],
])('GIVEN the fault %j THEN the client sees just that', async (fault, seen) => {
  expect(await ask(fault, 300)).toEqual(seen);
});

test('GIVEN a reset THEN the client sees no orderly end, and no more than the bytes before it', async () => {
  const { bytes, end } = await ask({ kind: 'reset', afterBytes: 101, forMs: 0 }, 300);
  // A reset may overtake the bytes before it.
  expect(bytes).toBeLessThanOrEqual(101);
  expect(end).toBe('reset');
});

test('GIVEN a connection whose bytes vanish WHEN the proxy heals THEN the client is told', async () => {
  const seen = await ask({ kind: 'blackhole', afterBytes: 101, forMs: 60_000 }, 100, async (proxy) => {
    await sleep(200);
    proxy.heal();
  });
  expect(seen).toEqual({ bytes: 101, end: 'reset' });
});
