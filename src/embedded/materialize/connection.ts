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

/** Serves `socket` until it closes. */
export function serveConnection(accepted: Socket, setting: ConnectionSetting): void {
  let socket = accepted;
  let outbox = createOutbox(socket, setting.cut);
  let reader = createFrontendReader();
  let session: Session | null = null;
  let startup: ReadonlyMap<string, string> | null = null;
  const waiting: FrontendMessage[] = [];
  let handling = false;

  const hangUp = (error: WireError | null): void => {
    if (error !== null) outbox.send(errorResponse({ ...error, severity: 'FATAL' }));
    void outbox.flushed().then(() => socket.end());
  };
  const logIn = (parameters: ReadonlyMap<string, string>): void => {
    outbox.send(authenticationOk());
    session = setting.openSession(parameters, outbox, () => hangUp(null));
  };
  const secure = (context: SecureContext): void => {
    const rest = reader.takeRest();
    socket.removeAllListeners('data');
    if (rest.length > 0) socket.unshift(rest);
    socket = new TLSSocket(socket, { isServer: true, secureContext: context });
    outbox = createOutbox(socket, setting.cut);
    reader = createFrontendReader();
    listen();
  };
  const onStartupPacket = (body: Buffer): void => {
    const code = body.length >= 4 ? body.readInt32BE(0) : 0;
    if (code === CANCEL_REQUEST) {
      setting.cancel(body.readInt32BE(4), body.readInt32BE(8));
      return hangUp(null);
    }
    if (code === GSSENC_REQUEST || (code === SSL_REQUEST && setting.secureContext === null)) return outbox.send(Buffer.from('N'));
    if (code === SSL_REQUEST && setting.secureContext !== null) {
      // The answer goes out in the clear before the handshake takes the socket over.
      socket.write('S');
      return secure(setting.secureContext);
    }
    if (code !== PROTOCOL_3_0) {
      return hangUp({ sqlstate: '08004', message: "server does not support the client's requested protocol version" });
    }
    if (setting.requireTls && !(socket instanceof TLSSocket)) {
      return hangUp({ sqlstate: '08004', message: 'TLS encryption is required' });
    }
    reader.expectTagged();
    startup = readStartup(body);
    if (setting.passwordOf === null) return logIn(startup);
    outbox.send(authenticationCleartext());
  };
  const onMessage = async (message: FrontendMessage): Promise<void> => {
    if (session !== null) return session.handle(message);
    if (startup === null) return onStartupPacket(message.body);
    if (message.tag !== 'p') return hangUp({ sqlstate: '08P01', message: 'expected a password message' });
    const password = readBody(message.body).cstring();
    const expected = setting.passwordOf?.(startup.get('user') ?? '');
    if (expected === undefined || expected !== password) return hangUp({ sqlstate: '28P01', message: 'invalid password' });
    logIn(startup);
  };
  const handleWaiting = async (): Promise<void> => {
    if (handling) return;
    handling = true;
    for (let next = waiting.shift(); next !== undefined && !socket.destroyed; next = waiting.shift()) {
      try {
        await onMessage(next);
      } catch (thrown) {
        hangUp(thrown instanceof StatementError ? thrown.wire : { sqlstate: 'XX000', message: String(thrown) });
      }
    }
    handling = false;
  };
  const listen = (): void => {
    socket.on('data', (bytes: Buffer) => {
      try {
        for (let input = bytes; ; input = Buffer.alloc(0)) {
          const messages = reader.push(input);
          if (messages.length === 0) break;
          waiting.push(...messages);
          void handleWaiting();
          if (startup === null) break;
        }
      } catch (thrown) {
        hangUp(thrown instanceof StatementError ? thrown.wire : { sqlstate: '08P01', message: 'malformed message' });
      }
    });
    // Half-closing is closing: the server polls for it while it streams.
    socket.on('end', () => {
      session?.abandon();
      socket.destroy();
    });
    socket.on('close', () => session?.abandon());
    socket.on('error', () => socket.destroy());
  };
  accepted.setNoDelay(true);
  accepted.on('error', () => accepted.destroy());
  listen();
}

/** Parameters of a start-up packet; those of `options` beside the others, names in lower case. */
function readStartup(body: Buffer): Map<string, string> {
  const read = readBody(body.subarray(4));
  const parameters = new Map<string, string>();
  for (let name = read.cstring(); name !== ''; name = read.cstring()) parameters.set(name.toLowerCase(), read.cstring());
  for (const [name, value] of parseStartupOptions(parameters.get('options') ?? '')) parameters.set(name.toLowerCase(), value);
  return parameters;
}
