/**
 * One logged-in connection: simple and extended queries, and subscriptions. In: frontend messages in order. Out:
 * bytes into the outbox.
 *
 * Invariants: messages are handled one after the other, and none while a subscription streams (as Materialize, which
 * reads nothing then); after an error in the extended protocol everything up to Sync is skipped.
 */
import { constantRelation } from './constant-relation.ts';
import { splitStatements } from './sql-tokens.ts';
import { type StatementPlan, type StatementSession, planStatement, resolveRelation } from './statements.ts';
import { describePlan, runLocal } from './statement-results.ts';
import { type SessionSetting, streamSubscribe } from './subscribe-session.ts';
import type { SubscribeTarget } from './subscribe-syntax.ts';
import {
  type FrontendMessage,
  StatementError,
  type WireError,
  bindComplete,
  closeComplete,
  commandComplete,
  emptyQuery,
  errorResponse,
  parseComplete,
  readBody,
  readyForQuery,
} from './wire-frames.ts';
import type { StandInRelation } from './world.ts';

export interface Session {
  handle(message: FrontendMessage): Promise<void>;
  /** CancelRequest: ends what runs with 57014. */
  cancel(): void;
  /** The client is gone. */
  abandon(): void;
}

interface Prepared {
  /** Null for an empty statement. */
  readonly plan: StatementPlan | null;
  readonly parameterTypes: Uint8Array;
}

interface Portal extends Prepared {
  readonly binding: Uint8Array;
}

const NO_PARAMETERS = Buffer.from([0, 0]);
const NO_BINDING = Buffer.alloc(6);

const CANCELLED: WireError = { sqlstate: '57014', message: 'canceling statement due to user request' };

export function createSession(setting: SessionSetting): Session {
  const { statements, outbox } = setting;
  const prepared = new Map<string, Prepared>();
  const portals = new Map<string, Portal>();
  let skipToSync = false;
  let stopStream: ((error: WireError) => void) | null = null;

  const fail = (thrown: unknown): void => {
    const error = thrown instanceof StatementError ? thrown.wire : internalError(thrown);
    if (statements.transaction === 'T') statements.transaction = 'E';
    outbox.send(errorResponse(error));
  };
  const ready = (): void => outbox.send(readyForQuery(statements.transaction));

  /** Rows and the command tag of one planned statement; `describe` sends the columns first. */
  const execute = async (portal: Portal, describe: boolean): Promise<void> => {
    const { plan } = portal;
    if (plan === null) return outbox.send(emptyQuery());
    if (plan.kind === 'local') return runLocal(outbox, plan, describe);
    if (plan.kind === 'engine') {
      const answer = await plan.run(portal.parameterTypes, portal.binding);
      for (const notice of answer.notices) outbox.send(notice);
      if (describe && answer.description[0] === ROW_DESCRIPTION) outbox.send(answer.description);
      for (const row of answer.rows) outbox.send(row);
      return outbox.send(commandComplete(answer.tag ?? ''));
    }
    const relation = await targetOf(statements, plan.statement.target);
    const running = streamSubscribe(setting, plan.statement, relation, describe);
    stopStream = (error) => running.stop(error);
    const end = await running.ended;
    stopStream = null;
    if (end.kind === 'error') throw new StatementError(end.error);
    running.finish(end.rows);
  };
  const simpleQuery = async (sql: string): Promise<void> => {
    try {
      const all = splitStatements(sql);
      if (all.length === 0) outbox.send(emptyQuery());
      for (const statement of all) {
        const plan = planStatement(statements, statement);
        await execute({ plan, parameterTypes: NO_PARAMETERS, binding: NO_BINDING }, true);
      }
    } catch (thrown) {
      fail(thrown);
    }
    ready();
  };
  const extended = async (tag: string, body: Buffer): Promise<void> => {
    const read = readBody(body);
    if (tag === 'P') {
      const [name, sql] = [read.cstring(), read.cstring()];
      const [statement] = splitStatements(sql);
      const plan = statement === undefined ? null : planStatement(statements, statement);
      prepared.set(name, { plan, parameterTypes: read.rest() });
      outbox.send(parseComplete());
    } else if (tag === 'B') {
      const [portal, name] = [read.cstring(), read.cstring()];
      portals.set(portal, { ...found(prepared, name, 'prepared statement', '26000'), binding: read.rest() });
      outbox.send(bindComplete());
    } else if (tag === 'D') {
      const kind = String.fromCharCode(read.bytes(1)[0] ?? 0);
      const name = read.cstring();
      const portal = kind === 'P' ? found(portals, name, 'portal', '34000') : null;
      const { plan, parameterTypes } = portal ?? found(prepared, name, 'prepared statement', '26000');
      const relation = plan?.kind === 'subscribe' ? await targetOf(statements, plan.statement.target) : null;
      for (const part of await describePlan(plan, parameterTypes, portal === null, relation)) outbox.send(part);
    } else if (tag === 'E') {
      await execute(found(portals, read.cstring(), 'portal', '34000'), false);
    } else if (tag === 'C') {
      const kind = String.fromCharCode(read.bytes(1)[0] ?? 0);
      (kind === 'S' ? prepared : portals).delete(read.cstring());
      outbox.send(closeComplete());
    }
  };
  return {
    async handle({ tag, body }) {
      if (tag === 'X') return setting.terminate();
      if (tag === 'Q') {
        skipToSync = false;
        return simpleQuery(readBody(body).cstring());
      }
      if (tag === 'S') {
        skipToSync = false;
        portals.clear();
        return ready();
      }
      if (skipToSync) return;
      try {
        await extended(tag, body);
      } catch (thrown) {
        skipToSync = true;
        fail(thrown);
      }
    },
    cancel: () => stopStream?.(CANCELLED),
    abandon: () => stopStream?.(CANCELLED),
  };
}

const ROW_DESCRIPTION = 'T'.charCodeAt(0);

function found<T>(among: ReadonlyMap<string, T>, name: string, what: string, sqlstate: string): T {
  const value = among.get(name);
  if (value === undefined) throw new StatementError({ sqlstate, message: `${what} "${name}" does not exist` });
  return value;
}

function internalError(thrown: unknown): WireError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { sqlstate: 'XX000', message: `internal error: ${message}` };
}

/** The relation of a SUBSCRIBE; a query over constants becomes a relation of its own that is complete. */
async function targetOf(statements: StatementSession, target: SubscribeTarget): Promise<StandInRelation> {
  if (target.kind === 'relation') return resolveRelation(statements, target.name);
  return constantRelation(statements, target.sql);
}
