/**
 * A tiny Postgres server that answers each simple query as the test says. It knows nothing of SQL; it is there for
 * the socket, the login and TLS. Written from the protocol documentation, apart from src.
 */
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { TLSSocket } from 'node:tls';

import { errorResponse, message } from '../subscribe/backend-messages.ts';
import { CERTIFICATE, PRIVATE_KEY } from './materialize-certificate.ts';

export type Answer =
  | { readonly rows: readonly (readonly (string | null)[])[] }
  | { readonly error: readonly [sqlState: string, text: string] }
  /** Sent as they are; the test ends the answer itself. */
  | { readonly raw: (socket: Socket) => void };

export interface ServerOptions {
  readonly answer?: (sql: string) => Answer | Promise<Answer>;
  readonly tls?: boolean;
  /** Refuses every login with this error. */
  readonly refuse?: readonly [sqlState: string, text: string];
  readonly password?: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface TestServer {
  readonly port: number;
  readonly queries: readonly string[];
  readonly startups: readonly ReadonlyMap<string, string>[];
  readonly sockets: ReadonlySet<Socket>;
  close(): Promise<void>;
}

const SSL_REQUEST = 80_877_103;
const READY = message('Z', 'I');

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const queries: string[] = [];
  const startups: ReadonlyMap<string, string>[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serve(socket, options, queries, startups);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    queries,
    startups,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serve(socket: Socket, options: ServerOptions, queries: string[], startups: ReadonlyMap<string, string>[]): void {
  let buffered = Buffer.alloc(0);
  let isStarted = false;
  socket.setNoDelay(true);
  socket.on('error', () => {});

  function login(): void {
    if (options.refuse !== undefined) {
      socket.end(errorResponse(...options.refuse));
      return;
    }
    const parameters = Object.entries({ client_encoding: 'UTF8', server_version: '9.5.0', ...options.parameters });
    socket.write(Buffer.concat([
      message('R', Buffer.alloc(4)), ...parameters.map(([name, value]) => message('S', `${name}\0${value}\0`)),
      message('K', Buffer.alloc(8)), READY,
    ]));
  }

  function startup(body: Buffer): void {
    const words = body.subarray(4).toString('utf8').split('\0');
    startups.push(new Map(words.flatMap((word, i) => (i % 2 === 0 && word !== '' ? [[word, words[i + 1] ?? '']] : []))));
    isStarted = true;
    if (options.password === undefined) login();
    else socket.write(message('R', Buffer.from([0, 0, 0, 3])));
  }

  function command(type: string, body: Buffer): void {
    const text = body.subarray(0, -1).toString('utf8');
    if (type === 'X') socket.end();
    if (type === 'p') {
      if (text === options.password) login();
      else socket.end(errorResponse('28P01', 'invalid password'));
    }
    if (type !== 'Q') return;
    queries.push(text);
    void Promise.resolve(options.answer?.(text) ?? { rows: [] }).then(reply);
  }

  function reply(answer: Answer): void {
    if ('raw' in answer) answer.raw(socket);
    else if ('error' in answer) socket.write(Buffer.concat([errorResponse(...answer.error), READY]));
    else socket.write(Buffer.concat([...table(answer.rows), message('C', `SELECT ${answer.rows.length}\0`), READY]));
  }

  function take(chunk: Buffer): void {
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      const head = isStarted ? 1 : 0;
      if (buffered.length < head + 4) return;
      const end = head + buffered.readInt32BE(head);
      if (buffered.length < end) return;
      const type = buffered.toString('latin1', 0, head);
      const body = buffered.subarray(head + 4, end);
      buffered = buffered.subarray(end);
      if (isStarted) command(type, body);
      else if (body.readInt32BE(0) === SSL_REQUEST) answerTls();
      else startup(body);
    }
  }

  function answerTls(): void {
    socket.write(options.tls === true ? 'S' : 'N');
    if (options.tls !== true) return;
    socket.removeAllListeners('data');
    const secure = new TLSSocket(socket, { isServer: true, cert: CERTIFICATE, key: PRIVATE_KEY });
    serve(secure, { ...options, tls: false }, queries, startups);
  }

  socket.on('data', take);
}

/** RowDescription and DataRows, everything as text. */
function table(rows: readonly (readonly (string | null)[])[]): readonly Buffer[] {
  const width = rows[0]?.length ?? 1;
  const field = Buffer.concat([Buffer.from('c\0'), Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0])]);
  const description = Buffer.concat([int16(width), ...Array.from({ length: width }, () => field)]);
  const data = rows.map((row) => message('D', Buffer.concat([int16(row.length), ...row.flatMap(cell)])));
  return [message('T', description), ...data];
}

function cell(value: string | null): readonly Buffer[] {
  if (value === null) return [Buffer.from([255, 255, 255, 255])];
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return [length, bytes];
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
