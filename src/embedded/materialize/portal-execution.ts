/**
 * Running what was planned, for one session. In: portals (a simple query is one too). Out: rows, CommandComplete or
 * PortalSuspended in the outbox.
 *
 * Invariants: one thing runs at a time, so there is at most one to cancel; cursors live in their transaction and end
 * with it; a subscription in a transaction is its only read.
 */
import { constantRelation } from './constant-relation.ts';
import { copyEnd, copyRowOf, copyStart, withBinaryHeader } from './copy-out.ts';
import { type RowCursor, type RowPatience, cursorOverRows, cursorOverStream } from './row-cursor.ts';
import { runLocal } from './statement-results.ts';
import {
  type EnginePlan,
  type StatementPlan,
  type StatementSession,
  type SubscribePlanned,
  resolveRelation,
} from './statements.ts';
import { subscribeFields } from './subscribe-plan.ts';
import { type SessionSetting, streamSubscribe } from './subscribe-session.ts';
import type { SubscribeStatement } from './subscribe-syntax.ts';
import {
  StatementError,
  type WireError,
  commandComplete,
  emptyQuery,
  failStatement,
  fieldsOfDescription,
  int16,
  noData,
  portalSuspended,
  readBody,
  rowDescription,
  wireMessage,
} from './wire-frames.ts';
import { typeOfOid } from './wire-types.ts';
import type { StandInRelation } from './world.ts';

export interface Portal {
  /** Null for an empty statement. */
  readonly plan: StatementPlan | null;
  readonly parameterTypes: Uint8Array;
  /** Formats, parameters and result formats of a Bind. */
  readonly binding: Uint8Array;
  /** What is left of an Execute with a row limit. */
  cursor: RowCursor | null;
}

export interface ExecuteRequest {
  /** Sends the columns first, as a simple query does. */
  readonly describe: boolean;
  /** 0 for no limit. */
  readonly rowsMax: number;
}

export interface Execution {
  /** Throws a StatementError when the statement fails. */
  execute(portal: Portal, request: ExecuteRequest): Promise<void>;
  /** Answer to Describe: ParameterDescription for a statement, then the columns or NoData. */
  describe(portal: Portal, ofStatement: boolean): Promise<Buffer[]>;
  /** Ends what runs with `error`. */
  stop(error: WireError): void;
  /** Ends what runs and every cursor: the client is gone. */
  abandon(error: WireError): void;
}

interface DeclaredCursor {
  readonly query: SubscribePlanned | EnginePlan;
  /** Null until the first FETCH, which is what starts the query. */
  open: OpenQuery | null;
}

interface OpenQuery {
  readonly cursor: RowCursor;
  readonly description: Buffer;
}

interface ExecutionState {
  readonly setting: SessionSetting;
  readonly cursors: Map<string, DeclaredCursor>;
  running: { stop(error: WireError): void } | null;
  /** What the present transaction has read. */
  reads: 'nothing' | 'select' | 'subscribe';
}

export function createExecution(setting: SessionSetting): Execution {
  const state: ExecutionState = { setting, cursors: new Map(), running: null, reads: 'nothing' };
  return {
    async execute(portal, request) {
      try {
        await executePlan(state, portal, request);
      } finally {
        state.running = null;
        if (setting.statements.transaction === 'I') endTransaction(state);
      }
    },
    describe: (portal, ofStatement) => describePlan(state, portal, ofStatement),
    stop: (error) => state.running?.stop(error),
    abandon(error) {
      state.running?.stop(error);
      for (const { open } of state.cursors.values()) open?.cursor.stop(error);
    },
  };
}

const CLOSED: WireError = { sqlstate: '34000', message: 'cursor is closed' };

function endTransaction(state: ExecutionState): void {
  for (const { open } of state.cursors.values()) open?.cursor.stop(CLOSED);
  state.cursors.clear();
  state.reads = 'nothing';
}

async function executePlan(state: ExecutionState, portal: Portal, request: ExecuteRequest): Promise<void> {
  const { outbox } = state.setting;
  const { plan } = portal;
  if (plan === null) return outbox.send(emptyQuery());
  switch (plan.kind) {
    case 'local':
      return runLocal(outbox, plan, request.describe);
    case 'engine':
    case 'subscribe':
      return executeQuery(state, portal, plan, request);
    case 'copy-query':
      return copyQuery(state, portal, plan);
    case 'declare':
      requireTransaction(state, 'DECLARE CURSOR');
      if (state.cursors.has(plan.name)) failStatement('42P03', `cursor "${plan.name}" already exists`);
      state.cursors.set(plan.name, { query: plan.query, open: null });
      return outbox.send(commandComplete('DECLARE CURSOR'));
    case 'fetch':
      return fetchRows(state, portal, plan, request.describe);
    case 'close':
      if (plan.name !== null) closeCursor(state, plan.name);
      else for (const name of state.cursors.keys()) closeCursor(state, name);
      return outbox.send(commandComplete('CLOSE CURSOR'));
  }
}

async function executeQuery(
  state: ExecutionState,
  portal: Portal,
  plan: SubscribePlanned | EnginePlan,
  { describe, rowsMax }: ExecuteRequest,
): Promise<void> {
  const { outbox } = state.setting;
  if (rowsMax > 0 && (plan.kind === 'engine' ? plan.reads : plan.statement.format === 'data-row')) {
    portal.cursor ??= (await openQuery(state, plan, portal, false)).cursor;
    state.running = portal.cursor;
    const portion = await portal.cursor.take(rowsMax, { kind: 'until-all' });
    for (const message of portion.messages) outbox.send(message);
    // A limit that was reached suspends, also when nothing is left: only asking again finds that out.
    return outbox.send(portion.rows === rowsMax ? portalSuspended() : commandComplete(`SELECT ${portion.rows}`));
  }
  if (plan.kind === 'engine') {
    noteRead(state, plan);
    const answer = await plan.run(portal.parameterTypes, portal.binding);
    for (const notice of answer.notices) outbox.send(notice);
    if (describe && answer.description[0] === ROW_DESCRIPTION) outbox.send(answer.description);
    for (const row of answer.rows) outbox.send(row);
    return outbox.send(commandComplete(answer.tag ?? ''));
  }
  const { statement } = plan;
  const relation = await targetOf(state.setting.statements, statement);
  noteRead(state, plan);
  const binary = resultFormats(portal.binding, subscribeFields(statement, relation).length);
  const request = { statement, relation, sink: outbox, describe, fetched: false, binary };
  const stream = streamSubscribe(state.setting, request);
  state.running = stream;
  const end = await stream.ended;
  if (end.kind === 'error') throw new StatementError(end.error);
  stream.finish(end.rows);
}

const ROW_DESCRIPTION = 'T'.charCodeAt(0);

/** Starts a query whose rows are taken in portions. */
async function openQuery(
  state: ExecutionState,
  plan: SubscribePlanned | EnginePlan,
  portal: Portal,
  fetched: boolean,
): Promise<OpenQuery> {
  const { setting } = state;
  if (plan.kind === 'engine') {
    noteRead(state, plan);
    const answer = await plan.run(portal.parameterTypes, portal.binding);
    return { cursor: cursorOverRows(answer.rows), description: answer.description };
  }
  const { statement } = plan;
  const relation = await targetOf(setting.statements, statement);
  noteRead(state, plan);
  const fields = subscribeFields(statement, relation);
  const binary = resultFormats(portal.binding, fields.length);
  const cursor = cursorOverStream((sink) => {
    return streamSubscribe(setting, { statement, relation, sink, describe: false, fetched, binary });
  });
  return { cursor, description: rowDescription(fields, binary) };
}

async function fetchRows(
  state: ExecutionState,
  portal: Portal,
  fetch: Extract<StatementPlan, { kind: 'fetch' }>,
  describe: boolean,
): Promise<void> {
  const { outbox } = state.setting;
  requireTransaction(state, 'FETCH');
  const declared = declaredCursor(state, fetch.name);
  declared.open ??= await openQuery(state, declared.query, portal, true);
  const { cursor, description } = declared.open;
  state.running = cursor;
  if (describe) outbox.send(description);
  const { timeoutMs } = fetch;
  const patience: RowPatience = timeoutMs === null ? { kind: 'until-one' } : { kind: 'for', timeoutMs };
  const portion = await cursor.take(fetch.count, patience);
  for (const message of portion.messages) outbox.send(message);
  outbox.send(commandComplete(`FETCH ${portion.rows}`));
}

async function copyQuery(
  state: ExecutionState,
  portal: Portal,
  { query, format }: Extract<StatementPlan, { kind: 'copy-query' }>,
): Promise<void> {
  const { outbox } = state.setting;
  noteRead(state, query);
  const described = await query.run(portal.parameterTypes, null);
  const types = fieldsOfDescription(described.description).map(({ typeOid }) => typeOfOid(typeOid));
  const announcement = copyStart(format, types);
  const { rows } = await query.run(portal.parameterTypes, portal.binding);
  outbox.send(announcement);
  const sink = format === 'copy-binary' ? withBinaryHeader(outbox) : outbox;
  for (const row of rows) sink.send(copyRowOf(format, types, row));
  outbox.send(copyEnd(format));
  outbox.send(commandComplete(`COPY ${rows.length}`));
}

function requireTransaction(state: ExecutionState, what: string): void {
  if (state.setting.statements.transaction === 'T') return;
  failStatement('25P01', `${what} can only be used in transaction blocks`);
}

function declaredCursor(state: ExecutionState, name: string): DeclaredCursor {
  return state.cursors.get(name) ?? failStatement('34000', `cursor "${name}" does not exist`);
}

function closeCursor(state: ExecutionState, name: string): void {
  declaredCursor(state, name).open?.cursor.stop(CLOSED);
  state.cursors.delete(name);
}

/** A subscription without AS OF allows no other read in its transaction; with one it is not counted. */
function noteRead(state: ExecutionState, plan: SubscribePlanned | EnginePlan): void {
  if (state.setting.statements.transaction !== 'T') return;
  const subscribes = plan.kind === 'subscribe';
  if (subscribes ? plan.statement.asOf !== null : !plan.reads) return;
  if (state.reads === 'subscribe') {
    failStatement('25000', 'SUBSCRIBE in transactions must be the only read statement');
  }
  if (subscribes && state.reads === 'select') {
    failStatement('25006', 'transaction in read-only mode', {
      detail: 'SELECT queries cannot be combined with other query types, including SUBSCRIBE.',
    });
  }
  state.reads = subscribes ? 'subscribe' : 'select';
}

/** Which of `columns` columns a Bind wants in binary format. */
function resultFormats(binding: Uint8Array, columns: number): boolean[] {
  const read = readBody(Buffer.from(binding));
  for (let formats = read.int16(); formats > 0; formats--) read.int16();
  for (let parameters = read.int16(); parameters > 0; parameters--) read.bytes(Math.max(0, read.int32()));
  const formats = Array.from({ length: read.int16() }, () => read.int16() === 1);
  // One format is for all columns, none is text.
  return Array.from({ length: columns }, (_, i) => (formats.length === 1 ? formats[0] : formats[i]) === true);
}

async function describePlan(state: ExecutionState, portal: Portal, ofStatement: boolean): Promise<Buffer[]> {
  const { statements } = state.setting;
  const { plan, parameterTypes, binding } = portal;
  const parameters = ofStatement ? [wireMessage('t', int16(0))] : [];
  switch (plan?.kind) {
    case 'engine': {
      const answer = await plan.run(parameterTypes, null);
      return ofStatement && answer.parameters !== null ? [answer.parameters, answer.description] : [answer.description];
    }
    case 'local':
      return [...parameters, plan.fields === null ? noData() : rowDescription(plan.fields)];
    case 'subscribe': {
      const { statement } = plan;
      if (statement.format !== 'data-row') return [...parameters, noData()];
      const fields = subscribeFields(statement, await targetOf(statements, statement));
      return [...parameters, rowDescription(fields, resultFormats(binding, fields.length))];
    }
    case 'fetch': {
      const { query, open } = declaredCursor(state, plan.name);
      const columns = open?.description ?? (await describePlan(state, { ...portal, plan: query }, false)).at(-1);
      return [...parameters, columns ?? noData()];
    }
    default:
      return [...parameters, noData()];
  }
}

/** The relation of a SUBSCRIBE; a query over constants becomes a relation of its own that is complete. */
async function targetOf(statements: StatementSession, { target }: SubscribeStatement): Promise<StandInRelation> {
  if (target.kind === 'relation') return resolveRelation(statements, target.name);
  return constantRelation(statements, target.sql);
}
