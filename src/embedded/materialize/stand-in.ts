/**
 * A Materialize for tests and the demo: a real server on a real socket. In: relations and their changes, by calls
 * or by SQL. Out: what a client of Materialize would see.
 *
 * Time: with a clock (default) every open relation's upper follows it in ticks; with `manualTime` nothing moves but
 * by `advance`. Changes applied at a time become visible when the upper passes it.
 */
import { randomInt } from 'node:crypto';
import { type Server, type Socket, createServer } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Timestamp } from '../../time/timestamp.ts';
import { createCatalogEngine } from './catalog-engine.ts';
import { type ConnectionSetting, serveConnection } from './connection.ts';
import { type JournalFile, openJournal } from './journal-file.ts';
import type { CutStream, Outbox } from './outbox.ts';
import type { NamedType, NamedTypeDefinition, RelationDefinition } from './relation-definition.ts';
import type { Multiset } from './relation-history.ts';
import { type Session, createSession } from './session.ts';
import { REPORTED_VARIABLES, canonicalVariable, createSessionVariables } from './session-variables.ts';
import { type StatementSession, databasesOf } from './statements.ts';
import { type UserTables, createUserTables } from './user-tables.ts';
import { type WireError, backendKeyData, noticeResponse, parameterStatus, readyForQuery } from './wire-frames.ts';
import { type LineChange, type RowChange, type StandInRelation, type World, createWorld } from './world.ts';

export interface StandInOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Passwords by user; without it everybody may log in. */
  readonly users?: Readonly<Record<string, string>>;
  /** PEM texts; `required` refuses connections without TLS. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly required?: boolean };
  /** Milliseconds since 1970; default the system clock. */
  readonly nowMs?: () => number;
  readonly manualTime?: boolean;
  /** Default 1000. */
  readonly tickMs?: number;
  /** Keeps the history there, so that a killed stand-in resumes. */
  readonly stateDir?: string;
  /** Cuts the outgoing bytes of every connection. */
  readonly cut?: CutStream;
  /** Errors about timestamps in the words and codes of older versions. */
  readonly oldTimestampErrors?: boolean;
  /** Default 128 MiB. */
  readonly maxBufferedBytes?: number;
  /** Default 1 GB. */
  readonly maxResultBytes?: number;
}

export interface MaterializeStandIn {
  readonly url: string;
  readonly port: number;
  readonly host: string;
  relations(): StandInRelation[];
  relation(name: string): StandInRelation;
  createType(definition: NamedTypeDefinition): NamedType;
  /** With a clock the relation starts now, else at `start` (default 0). */
  createRelation(
    definition: Partial<RelationDefinition> & Pick<RelationDefinition, 'name' | 'columns'>,
    start?: Timestamp,
  ): StandInRelation;
  apply(relation: StandInRelation, time: Timestamp, changes: readonly RowChange[]): void;
  applyLines(relation: StandInRelation, time: Timestamp, changes: readonly LineChange[]): void;
  /** A time at which changes can be applied to any relation now. */
  writeTime(): Timestamp;
  advance(time: Timestamp, relation?: StandInRelation): void;
  compact(relation: StandInRelation, since: Timestamp): void;
  closeRelation(relation: StandInRelation): void;
  drop(relation: StandInRelation): void;
  setError(relation: StandInRelation, message: string | null): void;
  setReplicas(cluster: string, count: number): void;
  /** Content at `time` as row lines with their multiplicity. */
  snapshotAt(relation: StandInRelation, time: Timestamp): Multiset;
  /** Users lose SELECT on relations of that name. */
  denySelect(relationName: string): void;
  /** A notice to everybody, also between rows. */
  notice(notice: WireError): void;
  setLimits(limits: { maxBufferedBytes?: number; maxResultBytes?: number }): void;
  /** Called after somebody changed a table by SQL. */
  onWritten(listener: (relation: StandInRelation, changes: readonly LineChange[]) => void): void;
  connectionCount(): number;
  /** Resets every connection. */
  killConnections(): void;
  close(): Promise<void>;
}

/** Starts the server; resolves when it listens. */
export async function createMaterializeStandIn(options: StandInOptions = {}): Promise<MaterializeStandIn> {
  const journal = options.stateDir === undefined ? null : openJournal(options.stateDir);
  const nowMs = options.nowMs ?? Date.now;
  const world = createWorld((entry) => journal?.append(entry), nowMs);
  resume(world, journal);
  const engine = createCatalogEngine(world);
  const shared: Shared = {
    options,
    world,
    engine,
    tables: createUserTables(world),
    limits: {
      maxBufferedBytes: options.maxBufferedBytes ?? 128 * 1024 * 1024,
      maxResultBytes: options.maxResultBytes ?? 1e9,
    },
    denied: new Set(),
    sessions: new Map(),
    written: new Set(),
    nowMs,
  };
  const sockets = new Set<Socket>();
  const connectionSetting = connectionSettingOf(shared);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    serveConnection(socket, connectionSetting);
  });
  const host = options.host ?? '127.0.0.1';
  const port = await listen(server, options.port ?? 0, host);
  const ticking = options.manualTime === true ? null : setInterval(() => tick(shared), options.tickMs ?? 1000);
  const close = async (): Promise<void> => {
    if (ticking !== null) clearInterval(ticking);
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await engine.close();
    journal?.close();
  };
  const killConnections = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const connectionCount = (): number => sockets.size;
  const url = `postgres://materialize@${host}:${port}/materialize`;
  return { url, host, port, ...surface(shared), connectionCount, killConnections, close };
}

interface OpenSession {
  readonly secret: number;
  readonly session: Session;
  readonly outbox: Outbox;
}

interface Shared {
  readonly options: StandInOptions;
  readonly world: World;
  readonly engine: ReturnType<typeof createCatalogEngine>;
  readonly tables: UserTables;
  limits: { maxBufferedBytes: number; maxResultBytes: number };
  readonly denied: Set<string>;
  /** By process id. */
  readonly sessions: Map<number, OpenSession>;
  readonly written: Set<(relation: StandInRelation, changes: readonly LineChange[]) => void>;
  readonly nowMs: () => number;
}

type Surface = Omit<MaterializeStandIn, 'url' | 'host' | 'port' | 'connectionCount' | 'killConnections' | 'close'>;

function surface(shared: Shared): Surface {
  const { world } = shared;
  return {
    relations: () => [...world.relations.values()],
    relation(name) {
      const found = [...world.relations.values()].find((relation) => relation.name === name);
      if (found === undefined) throw new RangeError(`there is no relation ${name}`);
      return found;
    },
    createType: (definition) => world.createType(definition),
    createRelation(definition, start) {
      const defaults = { schema: 'public', database: 'materialize', kind: 'table' as const, keys: [] };
      const from = start ?? (shared.options.manualTime === true ? 0n : writeTime(shared));
      return world.createRelation({ ...defaults, ...definition }, from);
    },
    apply: (relation, time, changes) => world.apply(relation, time, changes),
    applyLines: (relation, time, changes) => world.applyLines(relation, time, changes),
    writeTime: () => writeTime(shared),
    advance: (time, relation) => world.advance(time, relation),
    compact: (relation, since) => world.compact(relation, since),
    closeRelation: (relation) => world.close(relation),
    drop: (relation) => world.drop(relation),
    setError: (relation, message) => world.setError(relation, message),
    setReplicas: (cluster, count) => world.setReplicas(cluster, count),
    snapshotAt: (relation, time) => world.snapshotAt(relation, time),
    denySelect: (name) => void shared.denied.add(name),
    notice(notice) {
      for (const { outbox } of shared.sessions.values()) outbox.send(noticeResponse(notice));
    },
    setLimits: (limits) => void (shared.limits = { ...shared.limits, ...limits }),
    onWritten: (listener) => void shared.written.add(listener),
  };
}

/** Replays the last run and starts a short journal. */
function resume(world: World, journal: JournalFile | null): void {
  if (journal === null) return;
  world.replay(journal.entries);
  journal.restart(world.compactedJournal());
}

/** Not before the clock, and not before any upper, so that a write is new to every relation. */
function writeTime(shared: Shared): Timestamp {
  let time = shared.options.manualTime === true ? 0n : BigInt(Math.floor(shared.nowMs()));
  for (const relation of shared.world.relations.values()) {
    const upper = relation.history.upper[0];
    if (upper !== undefined && upper > time) time = upper;
  }
  return time;
}

function tick(shared: Shared): void {
  const now = BigInt(Math.floor(shared.nowMs()));
  shared.world.advance(now);
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve(address === null || typeof address === 'string' ? 0 : address.port);
    });
  });
}

function connectionSettingOf(shared: Shared): ConnectionSetting {
  const { options } = shared;
  const { tls, users } = options;
  return {
    secureContext: tls === undefined ? null : createSecureContext({ cert: tls.cert, key: tls.key }),
    requireTls: tls?.required ?? false,
    cut: options.cut ?? null,
    passwordOf: users === undefined ? null : (user) => users[user],
    openSession: (startup, outbox, terminate) => openSession(shared, startup, outbox, terminate),
    cancel(pid, secret) {
      const open = shared.sessions.get(pid);
      if (open?.secret === secret) open.session.cancel();
    },
  };
}

/** Names of the start-up packet that are no session variables. */
const STARTUP_ONLY: ReadonlySet<string> = new Set(['user', 'database', 'options', 'replication']);

function openSession(
  shared: Shared,
  startup: ReadonlyMap<string, string>,
  outbox: Outbox,
  terminate: () => void,
): Session {
  const { world, options } = shared;
  const variables = createSessionVariables(startup);
  const reportVariable = (name: string): void => {
    if (REPORTED_VARIABLES.includes(name)) outbox.send(parameterStatus(name, variables.get(name) ?? ''));
  };
  const statements: StatementSession = {
    world,
    engine: shared.engine,
    tables: shared.tables,
    variables,
    deniedRelations: shared.denied,
    transaction: 'I',
    nowMs: shared.nowMs,
    startTime: () => writeTime(shared),
    closeWrittenTimes() {
      // With manual time nothing moves but by `advance`: what is pending there is meant to be unseen.
      if (options.manualTime !== true) world.advance(writeTime(shared) + 1n);
    },
    write(relation, changes) {
      if (changes.length === 0) return;
      const time = writeTime(shared);
      world.applyLines(relation, time, changes);
      world.advance(time + 1n);
      for (const listener of shared.written) listener(relation, changes);
    },
    reportVariable,
    notice: (notice) => outbox.send(noticeResponse(notice)),
  };
  const pid = nextPid(shared);
  const secret = randomInt(1, 2 ** 31);
  const session = createSession({
    statements,
    outbox,
    limits: () => shared.limits,
    oldTimestampErrors: options.oldTimestampErrors ?? false,
    terminate,
  });
  shared.sessions.set(pid, { secret, session, outbox });
  for (const name of REPORTED_VARIABLES) reportVariable(name);
  outbox.send(backendKeyData(pid, secret));
  for (const notice of greeting(shared, startup, variables)) outbox.send(noticeResponse(notice));
  outbox.send(readyForQuery('I'));
  const abandon = (): void => {
    shared.sessions.delete(pid);
    session.abandon();
  };
  return { ...session, abandon };
}

function nextPid(shared: Shared): number {
  for (;;) {
    const pid = randomInt(1, 2 ** 31);
    if (!shared.sessions.has(pid)) return pid;
  }
}

function greeting(
  shared: Shared,
  startup: ReadonlyMap<string, string>,
  variables: ReturnType<typeof createSessionVariables>,
): WireError[] {
  const notices: WireError[] = [];
  for (const name of startup.keys()) {
    if (STARTUP_ONLY.has(name) || canonicalVariable(name) !== null) continue;
    const reason = `unrecognized configuration parameter "${name}"`;
    notices.push({ sqlstate: '00000', message: `startup setting ${name} not set: ${reason}` });
  }
  const database = variables.get('database') ?? '';
  if (!databasesOf(shared.world).has(database)) {
    notices.push({ sqlstate: 'MZ004', message: `session database "${database}" does not exist` });
  }
  if (!['off', 'false', '0', 'f'].includes(variables.get('welcome_message') ?? 'on')) {
    const user = startup.get('user') ?? '';
    const cluster = variables.get('cluster') ?? '';
    const words = `connected to Materialize (embedded stand-in)\n  User: ${user}\n  Cluster: ${cluster}`;
    notices.push({ sqlstate: '00000', message: words });
  }
  return notices;
}
