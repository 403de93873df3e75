/**
 * Materialize as a Source: looks the relation up, and subscribes to it over a connection of its own.
 *
 * `pg` logs in; then its socket is taken over. From there on pg sees nothing: the bytes go straight into the
 * subscription stream, in the socket's own callback, so that no row passes a queue or becomes an object. What can't be
 * held goes to disk (sink/row-intake), because a server whose client stops reading for long drops the SUBSCRIBE; the
 * socket is paused only while disk can't keep up. During a COPY Materialize reads nothing from its client; only an end of the socket stops it.
 */
import type { Client } from 'pg';

import type { ChunkMemory } from '../batch/chunk-memory.ts';
import type { QualifiedName } from '../definition/definitions.ts';
import { SinkError } from '../errors.ts';
import type { Relation } from '../relation/relation.ts';
import type { Source, SourceEvent, SubscribeRequest, Subscription } from '../sink/ports.ts';
import { slicingColumns } from '../subscribe/slice-columns.ts';
import { quoteIdentifier, subscribeSql } from '../subscribe/subscribe-sql.ts';
import { createSubscriptionStream } from '../subscribe/subscription-stream.ts';
import {
  type MaterializeAddress,
  type Session,
  connect,
  destroyClient,
  queryText,
  socketOf,
} from './materialize-connect.ts';
import { discoverRelation } from './materialize-discovery.ts';
import { type IdleConnection, type SubscribePart, chunkLimitsOf, subscribeInSlices } from './materialize-slices.ts';

export interface MaterializeSourceConfig extends MaterializeAddress {
  readonly relationName: QualifiedName;
  /** The cluster of catalog look-ups; a subscription names its own. */
  readonly cluster: string | null;
  /** Shared with whoever gives the memory of chunks back. */
  readonly chunkMemory?: ChunkMemory;
}

/** A Source on one Materialize relation. Nothing is opened before the first call. */
export function createMaterializeSource(config: MaterializeSourceConfig): Source {
  /** Every client that may hold a socket, also those still connecting: `close` ends them all. */
  const clients = new Set<Client>();
  const subscriptions = new Set<Subscription>();
  let isClosed = false;

  async function open(cluster: string | null): Promise<Session> {
    assertOpen();
    const session = await connect(config, (client) => {
      clients.add(client);
      client.once('end', () => clients.delete(client));
    });
    try {
      assertOpen();
      if (cluster !== null) await queryText(session, `SET cluster = ${quoteIdentifier(cluster)}`);
      return session;
    } catch (thrown) {
      destroyClient(session.client);
      throw thrown;
    }
  }

  function assertOpen(): void {
    if (isClosed) throw new SinkError('source-disconnected', 'The source was closed.');
  }

  async function discover(): Promise<Relation> {
    const session = await open(config.cluster);
    try {
      return await discoverRelation(session, config.relationName);
    } finally {
      destroyClient(session.client);
    }
  }

  /** A connection that is ready for its SUBSCRIBE. */
  async function connectIdle(request: SubscribeRequest): Promise<IdleConnection> {
    const session = await open(request.cluster);
    return {
      start(part, onEvent) {
        const subscription = startSubscription(session, request, part, onEvent, config.chunkMemory);
        subscriptions.add(subscription);
        session.client.once('end', () => subscriptions.delete(subscription));
        return subscription;
      },
      close: () => destroyed(session.client),
    };
  }

  async function subscribe(request: SubscribeRequest, onEvent: (event: SourceEvent) => void): Promise<Subscription> {
    const columns = slicingColumns(request.relation, request.keyColumns);
    if (request.slices > 1 && columns !== null) {
      const sliced = await subscribeInSlices(() => connectIdle(request), request, columns, onEvent);
      const owned: Subscription = {
        ...sliced,
        async close() {
          subscriptions.delete(owned);
          await sliced.close();
        },
      };
      subscriptions.add(owned);
      return owned;
    }
    const connection = await connectIdle(request);
    return connection.start({ slice: null, asOf: request.asOf, snapshot: request.snapshot }, onEvent);
  }

  async function close(): Promise<void> {
    isClosed = true;
    // Subscriptions first: they must fall silent before their sockets go.
    await Promise.all([...subscriptions].map((subscription) => subscription.close()));
    await Promise.all([...clients].map(destroyed));
  }

  return { discover, subscribe, close };
}

/**
 * Frees the memory of a read of TLS at once. Left to the collector, a gigabyte of reads costs fifty collections of everything, which
 * is half of what receiving it takes. Every such read has a buffer of its own; the stream has copied what it needs of it.
 */
function letGo(chunk: Buffer): void {
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && chunk.byteLength === buffer.byteLength) buffer.transfer(0);
}

/** Destroys the client's socket and resolves when it is gone. */
function destroyed(client: Client): Promise<void> {
  const socket = socketOf(client);
  return new Promise((resolve) => {
    if (socket.closed) {
      resolve();
      return;
    }
    socket.once('close', () => resolve());
    socket.destroy();
  });
}

/** Takes the idle session's socket over, sends the SUBSCRIBE, and feeds what comes back into the stream. */
function startSubscription(
  session: Session,
  request: SubscribeRequest,
  part: SubscribePart,
  onEvent: (event: SourceEvent) => void,
  chunkMemory: ChunkMemory | undefined,
): Subscription {
  const { relation } = request;
  const socket = socketOf(session.client);
  const shape = { columnCount: relation.columns.length, keyColumns: request.keyColumns };
  const stream = createSubscriptionStream(shape, (event) => onEvent(withAsOf(event, request)), chunkLimitsOf(part.slice, chunkMemory));
  if (socket.destroyed) {
    throw new SinkError('source-disconnected', 'The connection ended before the SUBSCRIBE was sent.');
  }
  // pg's parser is the only listener of data. Its other listeners stay: they see to it that an error of the socket
  // has a listener, and the session is idle, so no query of theirs can fail.
  socket.removeAllListeners('data');
  const take = (bytes: Uint8Array): void => {
    stream.push(bytes);
    if (stream.isOver()) socket.destroy();
  };
  if (socket === session.reused.socket) session.reused.takeOver(take);
  else {
    socket.on('data', (chunk: Buffer) => {
      take(chunk);
      letGo(chunk);
    });
  }
  socket.on('end', () => stream.disconnected('the server closed it'));
  socket.on('error', (error: NodeJS.ErrnoException) => stream.disconnected(error.code ?? error.message));
  socket.on('close', () => stream.disconnected('the socket was closed'));
  socket.setNoDelay(true);
  const statement = { ...part, database: relation.database, schema: relation.schema, name: relation.name };
  socket.write(queryMessage(subscribeSql(statement)));
  return {
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    async close() {
      stream.stop();
      await destroyed(session.client);
    },
  };
}

/** The server says that the time can't be read and not always which: where the table stands is what the operator needs. */
function withAsOf(event: SourceEvent, { asOf }: SubscribeRequest): SourceEvent {
  if (event.kind !== 'failed' || event.error.code !== 'history-compacted' || asOf === null) return event;
  const { code, message, detail } = event.error;
  return { kind: 'failed', error: new SinkError(code, `${message}; it was to be read AS OF ${asOf}, where the table ends`, detail) };
}

/** A simple Query message: 'Q', length, the text, a zero byte. */
function queryMessage(sql: string): Buffer {
  const text = Buffer.from(sql, 'utf8');
  const message = Buffer.alloc(text.length + 6);
  message.writeUInt8(0x51, 0);
  message.writeInt32BE(text.length + 5, 1);
  text.copy(message, 5);
  return message;
}
