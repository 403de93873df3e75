/**
 * A SUBSCRIBE inside of a session: what goes out before the first row and after the last one. In: the statement and
 * its relation. Out: the running stream.
 */
import { requireBinary } from './binary-values.ts';
import { copyEnd, copyStart, withBinaryHeader } from './copy-out.ts';
import type { Outbox } from './outbox.ts';
import { sliceFilter } from './slice-condition.ts';
import type { StatementSession } from './statements.ts';
import { type SubscribeSession, outputTypes, planSubscribe, subscribeFields } from './subscribe-plan.ts';
import type { SubscribeStatement } from './subscribe-syntax.ts';
import { type RunningStream, type StreamLimits, type StreamSink, startStream } from './subscription-stream.ts';
import { type WireError, commandComplete, noticeResponse, rowDescription } from './wire-frames.ts';
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

export interface StreamRequest {
  readonly statement: SubscribeStatement;
  readonly relation: StandInRelation;
  readonly sink: StreamSink;
  /** Sends the columns of a stream of plain rows first. */
  readonly describe: boolean;
  /** A FETCH announces nothing: the client asked for a portion and gets it. */
  readonly fetched: boolean;
  /** Which output columns of a stream of plain rows go in binary format. */
  readonly binary?: readonly boolean[];
}

/** Starts the stream. Throws a StatementError for what Materialize refuses before the first row. */
export function streamSubscribe(setting: SessionSetting, request: StreamRequest): SessionStream {
  const { statement, relation, sink, binary = [] } = request;
  const { statements, oldTimestampErrors } = setting;
  const { format, progress, snapshot, upTo } = statement;
  const { deniedRelations, variables, world } = statements;
  const session: SubscribeSession = { cluster: variables.get('cluster') ?? '', deniedRelations, oldTimestampErrors };
  const plan = planSubscribe(world, session, statement, relation);
  const { target } = statement;
  const keeps = target.kind === 'relation' && target.where !== null ? sliceFilter(relation, target.where) : null;
  const types = outputTypes(statement, relation);
  types.filter((_, i) => binary[i] === true).forEach(requireBinary);
  const opening = format === 'data-row' ? [] : [copyStart(format, types)];
  for (const notice of plan.notices) sink.send(noticeResponse(notice));
  if (format === 'data-row' && !request.fetched) {
    if (request.describe) opening.push(rowDescription(subscribeFields(statement, relation), binary));
    opening.push(noticeResponse(directStreamNotice(variables.get('application_name') ?? '')));
  }
  for (const message of opening) sink.send(message);
  const cursor = { asOf: plan.asOf, snapshot, upTo, keeps, sentBelow: null };
  const shape = { format, progress, columns: relation.columns.map(({ type }) => type), binary };
  const source = { world, relation, cluster: plan.cluster, cursor, shape };
  const rowSink = format === 'copy-binary' ? withBinaryHeader(sink) : sink;
  const stream = startStream(source, setting.limits(), rowSink);
  const finish = (rows: number): void => {
    if (format !== 'data-row') sink.send(copyEnd(format));
    sink.send(commandComplete(`${format === 'data-row' ? 'SELECT' : 'COPY'} ${rows}`));
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
