/**
 * A client that shows messages as they are: what drivers hide (order, notices between rows, framing) is what these
 * tests are about. Written apart from the product's reader.
 */
import { type Socket, connect } from 'node:net';

export interface WireMessage {
  readonly tag: string;
  readonly body: Buffer;
}

export interface RawClient {
  readonly socket: Socket;
  readonly messages: WireMessage[];
  readonly pid: number;
  readonly secret: number;
  /** Waits for the next message that `matches`, from those not waited over yet. */
  next(matches: (message: WireMessage) => boolean): Promise<WireMessage>;
  nextTag(tag: string): Promise<WireMessage>;
  send(tag: string, ...parts: Uint8Array[]): void;
  query(sql: string): void;
  /** Lines of the CopyData messages so far. */
  lines(): string[];
  close(): void;
}

export interface LoginOptions {
  readonly user?: string;
  readonly password?: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

export const cstring = (text: string): Buffer => Buffer.from(`${text}\0`);

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Opens a connection and sends the start-up packet; nothing is awaited. */
export async function openRaw(port: number, options: LoginOptions = {}): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  const messages: WireMessage[] = [];
  let seen = 0;
  let pid = 0;
  let secret = 0;
  let rest = Buffer.alloc(0);
  let wake = (): void => undefined;
  socket.on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
      const end = 1 + rest.readInt32BE(1);
      const message = { tag: rest.toString('latin1', 0, 1), body: rest.subarray(5, end) };
      rest = rest.subarray(end);
      messages.push(message);
      if (message.tag === 'K') [pid, secret] = [message.body.readInt32BE(0), message.body.readInt32BE(4)];
    }
    wake();
  });
  socket.on('error', () => undefined);
  let closed = false;
  socket.on('close', () => {
    closed = true;
    wake();
  });
  const next = async (matches: (message: WireMessage) => boolean): Promise<WireMessage> => {
    for (;;) {
      while (seen < messages.length) {
        const message = messages[seen++];
        if (message !== undefined && matches(message)) return message;
      }
      if (closed) throw new Error(`closed after: ${messages.map(({ tag }) => tag).join('')}`);
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const send = (tag: string, ...parts: Uint8Array[]): void => {
    const body = Buffer.concat(parts);
    socket.write(Buffer.concat([Buffer.from(tag, 'latin1'), int32(body.length + 4), body]));
  };
  const parameters = { user: options.user ?? 'joe', ...options.parameters };
  const startup = Object.entries(parameters).flatMap(([name, value]) => [cstring(name), cstring(value)]);
  send('', int32(196608), ...startup, Buffer.from([0]));
  return {
    socket,
    messages,
    get pid() {
      return pid;
    },
    get secret() {
      return secret;
    },
    next,
    nextTag: (tag) => next((message) => message.tag === tag),
    send,
    query: (sql) => send('Q', cstring(sql)),
    lines: () => messages.filter(({ tag }) => tag === 'd').map(({ body }) => body.toString('utf8')),
    close: () => socket.destroy(),
  };
}

/** A client that is ready for a query. */
export async function loginRaw(port: number, options: LoginOptions = {}): Promise<RawClient> {
  const client = await openRaw(port, options);
  if (options.password !== undefined) {
    await client.nextTag('R');
    client.send('p', cstring(options.password));
  }
  await client.nextTag('Z');
  return client;
}

/** Fields of an ErrorResponse or NoticeResponse by their letter. */
export function fieldsOf(message: WireMessage): Record<string, string> {
  const fields = message.body.toString('utf8').split('\0').filter((field) => field !== '');
  return Object.fromEntries(fields.map((field) => [field.slice(0, 1), field.slice(1)]));
}

/** Runs a COPY to its end and gives its lines; the client must have sent nothing else. */
export async function copyToEnd(client: RawClient, sql: string): Promise<{ lines: string[]; tag: string }> {
  const before = client.lines().length;
  client.query(sql);
  const end = await client.next(({ tag }) => tag === 'C' || tag === 'E');
  const tag = end.tag === 'E' ? `${fieldsOf(end)['C']} ${fieldsOf(end)['M']}` : end.body.toString('utf8').replace('\0', '');
  await client.nextTag('Z');
  return { lines: client.lines().slice(before), tag };
}

/** A CancelRequest on a connection of its own. */
export async function sendCancel(port: number, pid: number, secret: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.end(Buffer.concat([int32(16), int32(80877102), int32(pid), int32(secret)]));
  await new Promise((resolve) => socket.once('close', resolve));
}
