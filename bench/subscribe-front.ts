/**
 * A door in front of the stand-in: everything passes through to it but `COPY (SUBSCRIBE …)`, which is answered here, from
 * bytes that exist already. So login, look-ups and their traffic are the stand-in's, and rows cost next to nothing.
 */
import { type Server, type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';

export interface SubscribeRequest {
  readonly relation: string;
  readonly asOf: bigint | null;
  readonly snapshot: boolean;
}

/** Where the messages of a subscription go. `send` resolves when more may follow. */
export interface SubscribeOutput {
  send(bytes: Uint8Array): Promise<void>;
  isOpen(): boolean;
}

export type ServeSubscribe = (request: SubscribeRequest, output: SubscribeOutput) => Promise<void>;

const QUERY = 0x51;
const SEND_AHEAD_BYTES = 1 << 20;

/** Resolves with the port; `serve` is called once for each SUBSCRIBE. */
export async function openSubscribeFront(standInPort: number, serve: ServeSubscribe): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((client) => {
    sockets.add(client);
    client.once('close', () => sockets.delete(client));
    serveConnection(client, standInPort, serve);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the front has no port');
  return {
    port: address.port,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function serveConnection(client: Socket, standInPort: number, serve: ServeSubscribe): void {
  const inner = connect(standInPort, '127.0.0.1');
  client.setNoDelay(true);
  inner.setNoDelay(true);
  client.once('close', () => inner.destroy());
  const closeClient = (): void => void client.destroy();
  inner.once('close', closeClient);
  client.on('error', () => undefined);
  inner.on('error', () => undefined);
  inner.pipe(client);
  let taken = false;
  client.on('data', (bytes: Buffer) => {
    if (taken) return;
    // The client waits for each answer before it asks again, so a query comes by itself and, being short, in one piece.
    const request = bytes[0] === QUERY ? parseSubscribe(bytes.toString('utf8', 5, bytes.length - 1)) : null;
    if (request === null) {
      inner.write(bytes);
      return;
    }
    taken = true;
    inner.unpipe(client);
    inner.off('close', closeClient);
    inner.destroy();
    serve(request, outputOn(client)).catch((thrown: unknown) => {
      process.stderr.write(`the source failed: ${thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown)}\n`);
      client.destroy();
    });
  });
}

function parseSubscribe(sql: string): SubscribeRequest | null {
  const match = /^COPY \(SUBSCRIBE (?:"[^"]+"\.)*"([^"]+)" WITH \(([^)]*)\)(?: AS OF (\d+))?\)/.exec(sql);
  if (match === null) return null;
  const [, relation = '', options = '', asOf] = match;
  return { relation, asOf: asOf === undefined ? null : BigInt(asOf), snapshot: !options.includes('SNAPSHOT = false') };
}

function outputOn(socket: Socket): SubscribeOutput {
  let wake = (): void => undefined;
  socket.on('drain', () => wake());
  socket.on('close', () => wake());
  return {
    isOpen: () => !socket.destroyed,
    async send(bytes) {
      if (socket.destroyed) return;
      socket.write(bytes);
      while (socket.writableLength > SEND_AHEAD_BYTES && !socket.destroyed) {
        await new Promise<void>((resolve) => { wake = resolve; });
      }
    },
  };
}
