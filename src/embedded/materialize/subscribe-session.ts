/**
 * A SUBSCRIBE inside of a session: what goes out before the first row and after the last one. In: the statement and
 * its relation. Out: the running stream.
 */
import type { Outbox } from './outbox.ts';
import type { StatementSession } from './statements.ts';
import { type SubscribeSession, planSubscribe, subscribeFields } from './subscribe-plan.ts';
import type { SubscribeStatement } from './subscribe-syntax.ts';
import { type RunningStream, type StreamLimits, startStream } from './subscription-stream.ts';
import { type WireError, commandComplete, copyDone, copyOutResponse, noticeResponse, rowDescription } from './wire-frames.ts';
import type { StandInRelation } from './world.ts';

export interface SessionSetting {
  readonly statements: StatementSession;
  readonly outbox: Outbox;
  readonly limits: () => StreamLimits;
  readonly oldTimestampErrors: boolean;
  readonly terminate: () => void;
}

export interface SessionStream extends RunningStream {
  /** Says that the stream is complete. */
  finish(rows: number): void;
}

/** Starts the stream; `describe` sends the columns of a stream of plain rows. Throws a StatementError. */
export function streamSubscribe(
  setting: SessionSetting,
  statement: SubscribeStatement,
  relation: StandInRelation,
  describe: boolean,
): SessionStream {
  const { statements, outbox, oldTimestampErrors } = setting;
  const cluster = statements.variables.get('cluster') ?? '';
  const session: SubscribeSession = {
    cluster,
    deniedRelations: statements.deniedRelations,
    oldTimestampErrors,
  };
  const plan = planSubscribe(statements.world, session, statement, relation);
  for (const notice of plan.notices) outbox.send(noticeResponse(notice));
  const fields = subscribeFields(statement, relation);
  const copy = statement.format !== 'data-row';
  if (copy) {
    outbox.send(copyOutResponse(fields.length));
  } else {
    if (describe) outbox.send(rowDescription(fields));
    outbox.send(noticeResponse(directStreamNotice(statements.variables.get('application_name') ?? '')));
  }
  const cursor = { asOf: plan.asOf, snapshot: statement.snapshot, upTo: statement.upTo, sentBelow: null };
  const shape = { format: statement.format, progress: statement.progress, columns: relation.columns.length };
  const source = { world: statements.world, relation, cluster: plan.cluster, cursor, shape };
  const stream = startStream(source, setting.limits(), outbox);
  const finish = (rows: number): void => {
    if (copy) outbox.send(copyDone());
    outbox.send(commandComplete(`${copy ? 'COPY' : 'SELECT'} ${rows}`));
  };
  return { ...stream, finish };
}

function directStreamNotice(applicationName: string): WireError {
  return {
    sqlstate: '01000',
    message: 'streaming SUBSCRIBE rows directly requires a client that does not buffer output',
    ...(applicationName === 'psql' && { hint: 'Wrap your SUBSCRIBE statement in `COPY (SUBSCRIBE ...) TO STDOUT`.' }),
  };
}
