/**
 * A proxy in front of the database's port. In: connections. Out: the same bytes both ways, until the fault of that
 * connection strikes after so many bytes towards the client, which is anywhere, also in the middle of a message.
 */
import { type Socket, connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

export interface TcpFault {
  /**
   * reset: RST both ways. cut: the client sees an orderly end. delay: bytes towards the client wait. freeze: both ways
   * stand still and then go on. blackhole: bytes vanish both ways until something notices, here a reset after the time.
   */
  readonly kind: 'refuse' | 'reset' | 'cut' | 'delay' | 'freeze' | 'blackhole';
  /** Bytes towards the client before it strikes. */
  readonly afterBytes: number;
  readonly forMs: number;
}

export interface Watched {
  /** Whether the client has asked for a subscription on it. */
  isSubscription: boolean;
  /** Towards the client. */
  bytes: number;
}

export interface TcpProxyOptions {
  readonly port: number;
  /** Asked at each connection: a restarted server may be elsewhere. null: it is down. */
  readonly upstreamPort: () => number | null;
  readonly decide: () => TcpFault | null;
  /** Called before bytes go to the client. */
  readonly watch: (connection: Readonly<Watched>) => void;
  readonly count: (fault: string) => void;
}

export interface TcpProxy {
  readonly port: number;
  setReach(reach: 'up' | 'refuse'): void;
  heal(): void;
  hurt(): void;
  close(): Promise<void>;
}

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly seen: Watched;
  fault: TcpFault | null;
  isSwallowing: boolean;
  timer: NodeJS.Timeout | null;
}

export async function openTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const links = new Set<Link>();
  let isHurting = false;
  let reach: 'up' | 'refuse' = 'up';
  const server = createServer((client) => {
    client.on('error', () => undefined);
    const fault = isHurting ? options.decide() : null;
    const port = options.upstreamPort();
    if (fault?.kind === 'refuse') options.count('source refuse');
    if (reach === 'refuse' || port === null || fault?.kind === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', port });
    const link: Link = { client, upstream, seen: { isSubscription: false, bytes: 0 }, fault, isSwallowing: false, timer: null };
    links.add(link);
    join(link, options, () => links.delete(link));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    setReach: (next) => {
      reach = next;
      if (reach === 'refuse') for (const link of links) sever(link);
    },
    heal: () => {
      isHurting = false;
      // A connection whose bytes vanish or whose time stands still would never be told.
      for (const link of links) {
        if (link.isSwallowing || link.timer !== null) sever(link);
        link.fault = null;
      }
    },
    hurt: () => { isHurting = true; },
    close: async () => {
      for (const link of links) sever(link);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function join(link: Link, options: TcpProxyOptions, onGone: () => void): void {
  const { client, upstream, seen } = link;
  upstream.on('error', () => client.resetAndDestroy());
  client.on('error', () => upstream.resetAndDestroy());
  for (const socket of [client, upstream]) {
    socket.setNoDelay(true);
    socket.once('close', () => {
      if (link.timer !== null) clearTimeout(link.timer);
      onGone();
    });
  }
  client.on('end', () => upstream.end());
  upstream.on('end', () => { if (!link.isSwallowing) client.end(); });
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => { if (!link.isSwallowing) client.destroy(); });
  client.on('data', (chunk: Buffer) => {
    if (link.isSwallowing) return;
    if (!seen.isSubscription && chunk.includes('SUBSCRIBE')) seen.isSubscription = true;
    upstream.write(chunk);
  });
  upstream.on('data', (chunk: Buffer) => {
    if (link.isSwallowing) return;
    const { fault } = link;
    options.watch(seen);
    if (fault === null || seen.bytes + chunk.length <= fault.afterBytes) {
      pass(link, chunk);
      return;
    }
    const before = chunk.subarray(0, Math.max(0, fault.afterBytes - seen.bytes));
    options.count(`source ${fault.kind}`);
    link.fault = null;
    pass(link, before);
    strike(link, fault, chunk.subarray(before.length));
  });
}

function pass(link: Link, bytes: Buffer): void {
  link.seen.bytes += bytes.length;
  if (bytes.length === 0 || link.client.write(bytes)) return;
  link.upstream.pause();
  link.client.once('drain', () => { if (link.timer === null) link.upstream.resume(); });
}

function strike(link: Link, fault: TcpFault, rest: Buffer): void {
  const { client, upstream } = link;
  const later = (then: () => void): void => {
    link.timer = setTimeout(() => {
      link.timer = null;
      then();
    }, fault.forMs);
  };
  switch (fault.kind) {
    case 'refuse':
    case 'reset':
      sever(link);
      return;
    case 'cut':
      client.end();
      upstream.destroy();
      return;
    case 'delay':
    case 'freeze':
      upstream.pause();
      if (fault.kind === 'freeze') client.pause();
      later(() => {
        client.resume();
        upstream.resume();
        pass(link, rest);
      });
      return;
    case 'blackhole':
      link.isSwallowing = true;
      later(() => sever(link));
      return;
  }
}

function sever({ client, upstream }: Link): void {
  client.resetAndDestroy();
  upstream.resetAndDestroy();
}
