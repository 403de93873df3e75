/**
 * One socket from accept to close: TLS, start-up, login, then a session. In: bytes. Out: bytes, and the session.
 *
 * Invariants: nothing is answered before the start-up packet; a message is handled when the one before it is done,
 * so what a client sends while rows stream is not even looked at; closing of the socket is seen at any time.
 */
import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { type CutStream, type Outbox, createOutbox } from './outbox.ts';
import type { Session } from './session.ts';
import { parseStartupOptions } from './session-variables.ts';
import {
  type FrontendMessage,
  type FrontendReader,
  StatementError,
  type WireError,
  authenticationCleartext,
  authenticationOk,
  createFrontendReader,
  errorResponse,
  readBody,
} from './wire-frames.ts';

const PROTOCOL_3_0 = 196608;
const CANCEL_REQUEST = 80877102;
const SSL_REQUEST = 80877103;
const GSSENC_REQUEST = 80877104;

export interface ConnectionSetting {
  readonly secureContext: SecureContext | null;
  readonly requireTls: boolean;
  readonly cut: CutStream | null;
  /** Null when everybody may log in as anybody. */
  readonly passwordOf: ((user: string) => string | null | undefined) | null;
  /** After the login: sends what belongs before the first ReadyForQuery. */
  openSession(startup: ReadonlyMap<string, string>, outbox: Outbox, terminate: () => void): Session;
  cancel(pid: number, secret: number): void;
}

/** What one connection is at; TLS replaces socket, outbox and reader. */
interface Connection {
  readonly setting: ConnectionSetting;
  socket: Socket;
  outbox: Outbox;
  reader: FrontendReader;
  /** Parameters of the start-up packet; null before it. */
  startup: ReadonlyMap<string, string> | null;
  /** Null before the login. */
  session: Session | null;
  readonly waiting: FrontendMessage[];
  handling: boolean;
}

/** Serves `accepted` until it closes. */
export function serveConnection(accepted: Socket, setting: ConnectionSetting): void {
  accepted.setNoDelay(true);
  accepted.on('error', () => accepted.destroy());
  const connection: Connection = {
    setting,
    socket: accepted,
    outbox: createOutbox(accepted, setting.cut),
    reader: createFrontendReader(),
    startup: null,
    session: null,
    waiting: [],
    handling: false,
  };
  listen(connection);
}

function listen(connection: Connection): void {
  const { socket } = connection;
  socket.on('data', (bytes: Buffer) => {
    try {
      readMessages(connection, bytes);
    } catch (thrown) {
      const malformed = { sqlstate: '08P01', message: 'malformed message' };
      hangUp(connection, thrown instanceof StatementError ? thrown.wire : malformed);
    }
  });
  // Half-closing is closing: the server polls for it while it streams.
  socket.on('end', () => {
    connection.session?.abandon();
    socket.destroy();
  });
  socket.on('close', () => connection.session?.abandon());
  socket.on('error', () => socket.destroy());
}

function readMessages(connection: Connection, bytes: Buffer): void {
  for (let input = bytes; ; input = Buffer.alloc(0)) {
    const messages = connection.reader.push(input);
    if (messages.length === 0) return;
    connection.waiting.push(...messages);
    void handleWaiting(connection);
    if (connection.startup === null) return;
  }
}

async function handleWaiting(connection: Connection): Promise<void> {
  if (connection.handling) return;
  connection.handling = true;
  const { waiting } = connection;
  for (let next = waiting.shift(); next !== undefined && !connection.socket.destroyed; next = waiting.shift()) {
    try {
      await onMessage(connection, next);
    } catch (thrown) {
      const unknown = { sqlstate: 'XX000', message: String(thrown) };
      hangUp(connection, thrown instanceof StatementError ? thrown.wire : unknown);
    }
  }
  connection.handling = false;
}

async function onMessage(connection: Connection, message: FrontendMessage): Promise<void> {
  const { session, startup, setting } = connection;
  if (session !== null) return session.handle(message);
  if (startup === null) return onStartupPacket(connection, message.body);
  if (message.tag !== 'p') {
    return hangUp(connection, { sqlstate: '08P01', message: 'expected a password message' });
  }
  const password = readBody(message.body).cstring();
  const expected = setting.passwordOf?.(startup.get('user') ?? '');
  if (expected === undefined || expected !== password) {
    return hangUp(connection, { sqlstate: '28P01', message: 'invalid password' });
  }
  logIn(connection, startup);
}

function onStartupPacket(connection: Connection, body: Buffer): void {
  const { setting, outbox, socket, reader } = connection;
  const code = body.length >= 4 ? body.readInt32BE(0) : 0;
  if (code === CANCEL_REQUEST) {
    setting.cancel(body.readInt32BE(4), body.readInt32BE(8));
    return hangUp(connection, null);
  }
  if (code === GSSENC_REQUEST) return outbox.send(Buffer.from('N'));
  if (code === SSL_REQUEST) {
    if (setting.secureContext === null) return outbox.send(Buffer.from('N'));
    // The answer goes out in the clear before the handshake takes the socket over.
    socket.write('S');
    return secure(connection, setting.secureContext);
  }
  if (code !== PROTOCOL_3_0) {
    const message = "server does not support the client's requested protocol version";
    return hangUp(connection, { sqlstate: '08004', message });
  }
  if (setting.requireTls && !(socket instanceof TLSSocket)) {
    return hangUp(connection, { sqlstate: '08004', message: 'TLS encryption is required' });
  }
  reader.expectTagged();
  connection.startup = readStartup(body);
  if (setting.passwordOf === null) return logIn(connection, connection.startup);
  outbox.send(authenticationCleartext());
}

function secure(connection: Connection, context: SecureContext): void {
  const plain = connection.socket;
  const rest = connection.reader.takeRest();
  plain.removeAllListeners('data');
  if (rest.length > 0) plain.unshift(rest);
  connection.socket = new TLSSocket(plain, { isServer: true, secureContext: context });
  connection.outbox = createOutbox(connection.socket, connection.setting.cut);
  connection.reader = createFrontendReader();
  listen(connection);
}

function logIn(connection: Connection, parameters: ReadonlyMap<string, string>): void {
  const { outbox, setting } = connection;
  outbox.send(authenticationOk());
  connection.session = setting.openSession(parameters, outbox, () => hangUp(connection, null));
}

/** Ends the connection once everything before, and the error, has gone out. */
function hangUp(connection: Connection, error: WireError | null): void {
  const { outbox, socket } = connection;
  if (error !== null) outbox.send(errorResponse({ ...error, severity: 'FATAL' }));
  void outbox.flushed().then(() => socket.end());
}

/** Parameters of a start-up packet; those of `options` beside the others, names in lower case. */
function readStartup(body: Buffer): Map<string, string> {
  const read = readBody(body.subarray(4));
  const parameters = new Map<string, string>();
  for (let name = read.cstring(); name !== ''; name = read.cstring()) {
    parameters.set(name.toLowerCase(), read.cstring());
  }
  for (const [name, value] of parseStartupOptions(parameters.get('options') ?? '')) {
    parameters.set(name.toLowerCase(), value);
  }
  return parameters;
}
