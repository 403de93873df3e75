/**
 * One logged-in connection: simple and extended queries. In: frontend messages in order. Out: bytes into the outbox.
 *
 * Invariants: messages are handled one after the other, and none while a subscription streams (as Materialize, which
 * reads nothing then); after an error in the extended protocol everything up to Sync is skipped.
 */
import { type Execution, type Portal, createExecution } from './portal-execution.ts';
import { splitStatements } from './sql-tokens.ts';
import { planStatement } from './statements.ts';
import type { SessionSetting } from './subscribe-session.ts';
import {
  type FrontendMessage,
  StatementError,
  type WireError,
  bindComplete,
  closeComplete,
  emptyQuery,
  errorResponse,
  failStatement,
  parseComplete,
  readBody,
  readyForQuery,
} from './wire-frames.ts';

export interface Session {
  handle(message: FrontendMessage): Promise<void>;
  /** CancelRequest: ends what runs with 57014. */
  cancel(): void;
  /** The client is gone. */
  abandon(): void;
}

type Prepared = Pick<Portal, 'plan' | 'parameterTypes'>;

interface SessionState {
  readonly setting: SessionSetting;
  readonly execution: Execution;
  readonly prepared: Map<string, Prepared>;
  readonly portals: Map<string, Portal>;
  /** After an error: everything but Sync and a simple query is ignored. */
  skipToSync: boolean;
}

const NO_PARAMETERS = Buffer.from([0, 0]);
const NO_BINDING = Buffer.alloc(6);

const CANCELLED: WireError = { sqlstate: '57014', message: 'canceling statement due to user request' };

export function createSession(setting: SessionSetting): Session {
  const execution = createExecution(setting);
  const state: SessionState = { setting, execution, prepared: new Map(), portals: new Map(), skipToSync: false };
  return {
    handle: (message) => handleMessage(state, message),
    cancel: () => execution.stop(CANCELLED),
    abandon() {
      dropPortals(state);
      execution.abandon(CANCELLED);
    },
  };
}

async function handleMessage(state: SessionState, { tag, body }: FrontendMessage): Promise<void> {
  const { setting } = state;
  if (tag === 'X') return setting.terminate();
  if (tag === 'Q') {
    state.skipToSync = false;
    await simpleQuery(state, readBody(body).cstring());
    return ready(state);
  }
  if (tag === 'S') {
    state.skipToSync = false;
    return ready(state);
  }
  if (state.skipToSync) return;
  try {
    await extendedMessage(state, tag, body);
  } catch (thrown) {
    state.skipToSync = true;
    fail(state, thrown);
  }
}

async function simpleQuery(state: SessionState, sql: string): Promise<void> {
  const { setting, execution } = state;
  try {
    const all = splitStatements(sql);
    if (all.length === 0) setting.outbox.send(emptyQuery());
    for (const statement of all) {
      const plan = planStatement(setting.statements, statement);
      const portal = { plan, parameterTypes: NO_PARAMETERS, binding: NO_BINDING, cursor: null };
      await execution.execute(portal, { describe: true, rowsMax: 0 });
    }
  } catch (thrown) {
    fail(state, thrown);
  }
}

async function extendedMessage(state: SessionState, tag: string, body: Buffer): Promise<void> {
  const { setting, execution, prepared, portals } = state;
  const { outbox, statements } = setting;
  const read = readBody(body);
  switch (tag) {
    case 'P': {
      const [name, sql] = [read.cstring(), read.cstring()];
      const all = splitStatements(sql);
      if (all.length > 1) failStatement('42601', 'cannot insert multiple commands into a prepared statement');
      const plan = all[0] === undefined ? null : planStatement(statements, all[0]);
      prepared.set(name, { plan, parameterTypes: read.rest() });
      return outbox.send(parseComplete());
    }
    case 'B': {
      const [portal, name] = [read.cstring(), read.cstring()];
      const { plan, parameterTypes } = found(prepared, name, 'prepared statement', '26000');
      portals.get(portal)?.cursor?.stop(CANCELLED);
      portals.set(portal, { plan, parameterTypes, binding: read.rest(), cursor: null });
      return outbox.send(bindComplete());
    }
    case 'D': {
      const isStatement = readKind(read.bytes(1)) === 'S';
      const name = read.cstring();
      const portal = isStatement
        ? { ...found(prepared, name, 'prepared statement', '26000'), binding: NO_BINDING, cursor: null }
        : found(portals, name, 'portal', '34000');
      for (const part of await execution.describe(portal, isStatement)) outbox.send(part);
      return;
    }
    case 'E': {
      const portal = found(portals, read.cstring(), 'portal', '34000');
      return execution.execute(portal, { describe: false, rowsMax: Math.max(0, read.int32()) });
    }
    case 'C': {
      const isStatement = readKind(read.bytes(1)) === 'S';
      const name = read.cstring();
      if (!isStatement) portals.get(name)?.cursor?.stop(CANCELLED);
      (isStatement ? prepared : portals).delete(name);
      return outbox.send(closeComplete());
    }
    default:
      // Flush has nothing to do: what is sent goes out at once.
      return;
  }
}

function readKind(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** Ends the statement; outside of a transaction portals end with it. */
function ready(state: SessionState): void {
  const { statements, outbox } = state.setting;
  if (statements.transaction === 'I') dropPortals(state);
  outbox.send(readyForQuery(statements.transaction));
}

function dropPortals(state: SessionState): void {
  for (const { cursor } of state.portals.values()) cursor?.stop(CANCELLED);
  state.portals.clear();
}

function fail(state: SessionState, thrown: unknown): void {
  const { statements, outbox } = state.setting;
  const error = thrown instanceof StatementError ? thrown.wire : internalError(thrown);
  if (statements.transaction === 'T') statements.transaction = 'E';
  outbox.send(errorResponse(error));
}

function found<T>(among: ReadonlyMap<string, T>, name: string, what: string, sqlstate: string): T {
  return among.get(name) ?? failStatement(sqlstate, `${what} "${name}" does not exist`);
}

function internalError(thrown: unknown): WireError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { sqlstate: 'XX000', message: `internal error: ${message}` };
}
