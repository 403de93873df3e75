/**
 * A real HTTP server on a real socket that answers by script and can misbehave as networks do. Every request that
 * reached it is recorded, which is how "exactly one transmission" is counted: at the receiver.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Reply =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>>;
      /** The body is only a beginning. */
      readonly endsNever?: boolean }
  /** The connection is reset, before or in the middle of an answer. */
  | 'reset' | 'cut'
  /** Never answered, or answered up to the headers only. */
  | 'silent' | 'stalled';

export interface ScriptedServer {
  readonly url: string;
  readonly received: Received[];
  /** How many there have been. */
  connections(): number;
  close(): Promise<void>;
}

export async function scriptedServer(script: (request: Received, index: number) => Reply): Promise<ScriptedServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const entry = {
        method: request.method ?? '', url: request.url ?? '', headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      received.push(entry);
      reply(script(entry, received.length - 1), response);
    });
  });
  let connections = 0;
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    connections: () => connections,
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

function reply(wanted: Reply, response: ServerResponse): void {
  if (wanted === 'silent') return;
  if (wanted === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (wanted === 'cut' || wanted === 'stalled') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"metadata": {');
    if (wanted === 'cut') setTimeout(() => response.socket?.resetAndDestroy(), 20);
    return;
  }
  const body = wanted.body === undefined ? '' : typeof wanted.body === 'string' ? wanted.body : JSON.stringify(wanted.body);
  response.writeHead(wanted.status, { 'content-type': 'application/json', ...wanted.headers });
  if (wanted.endsNever === true) response.write(body);
  else response.end(body);
}
