/**
 * From what a SUBSCRIBE says to what it reads. In: the statement, the world, the session's cluster and search path.
 * Out: relation, first time, shape of the rows; or the error that Materialize gives at the start.
 */
import { type SqlType, scalar } from '../../relation/sql-type.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../../time/timestamp.ts';
import { latestReadable } from './relation-history.ts';
import type { SubscribeStatement } from './subscribe-syntax.ts';
import { type WireError, type WireField, failStatement } from './wire-frames.ts';
import { typeOidOf, typmodOf } from './wire-types.ts';
import type { StandInRelation, World } from './world.ts';

export interface SubscribePlan {
  readonly relation: StandInRelation;
  readonly cluster: string;
  readonly asOf: Timestamp;
  readonly notices: readonly WireError[];
}

export interface SubscribeSession {
  readonly cluster: string;
  readonly deniedRelations: ReadonlySet<string>;
  /** SQLSTATE 22000 with the new words, or XX000 with the old ones. */
  readonly oldTimestampErrors: boolean;
}

/** Checks what is checked before the stream starts. Throws a StatementError. */
export function planSubscribe(
  world: World,
  session: SubscribeSession,
  statement: SubscribeStatement,
  relation: StandInRelation,
): SubscribePlan {
  if (session.deniedRelations.has(relation.name)) {
    const kind = relation.kind.replaceAll('-', ' ').toUpperCase();
    failStatement('42501', `permission denied for ${kind} "${relation.database}.${relation.schema}.${relation.name}"`);
  }
  checkCluster(world, session.cluster);
  const asOf = chooseAsOf(session, statement, relation);
  const notices: WireError[] = [];
  const { upTo } = statement;
  if (upTo !== null && asOf > upTo) {
    if (session.oldTimestampErrors) {
      const words = 'subscription lower ("as of") bound is beyond its upper ("up to") bound';
      failStatement('22000', `${words}: ${upTo} < ${asOf}`);
    }
    const words = 'subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`)';
    failStatement('22000', `${words}: ${asOf} > ${upTo}`);
  }
  if (upTo === asOf) {
    const bounds = `as of ${asOf} (inclusive) up to the same bound ${upTo} (exclusive)`;
    notices.push({ sqlstate: '00000', message: `subscribe ${bounds} is guaranteed to be empty` });
  }
  return { relation, cluster: session.cluster, asOf, notices };
}

function checkCluster(world: World, cluster: string): void {
  const replicas = world.clusters.get(cluster);
  if (replicas === undefined) failStatement('42704', `unknown cluster '${cluster}'`);
  if (replicas > 0) return;
  failStatement('0A000', `CLUSTER "${cluster}" has no replicas available to service request`, {
    hint:
      'Use ALTER CLUSTER to adjust the replication factor of the cluster. ' +
      'Example:`ALTER CLUSTER <cluster-name> SET (REPLICATION FACTOR 1)`',
  });
}

function chooseAsOf(session: SubscribeSession, statement: SubscribeStatement, relation: StandInRelation): Timestamp {
  const { history } = relation;
  // A constant does not depend on time: AS OF is ignored and the result bears the last timestamp of all.
  if (isConstant(relation)) return TIMESTAMP_MAX;
  const { asOf, asOfAtLeast } = statement;
  if (asOf === null) return latestReadable(history);
  if (asOf >= history.since) return asOf;
  if (asOfAtLeast) return history.since;
  if (session.oldTimestampErrors) {
    const frontiers = `[Antichain { elements: [${history.since}] }]`;
    failStatement('XX000', `Timestamp (${asOf}) is not valid for all inputs: ${frontiers}`);
  }
  return failStatement('22000', 'could not find a valid timestamp for the query');
}

export function isConstant(relation: StandInRelation): boolean {
  return relation.history.upper.length === 0 && relation.history.since === 0n && relation.history.log.length === 0;
}

/** The columns of a SUBSCRIBE that streams rows directly. */
export function subscribeFields(statement: SubscribeStatement, relation: StandInRelation): WireField[] {
  const fixed: WireField[] = [{ name: 'mz_timestamp', typeOid: 1700, typmod: (39 << 16) + 4 }];
  if (statement.progress) fixed.push({ name: 'mz_progressed', typeOid: 16, typmod: -1 });
  fixed.push({ name: 'mz_diff', typeOid: 20, typmod: -1 });
  return [
    ...fixed,
    ...relation.columns.map(({ name, type }) => ({ name, typeOid: typeOidOf(type), typmod: typmodOf(type) })),
  ];
}

/** The types of the output columns. */
export function outputTypes(statement: SubscribeStatement, relation: StandInRelation): SqlType[] {
  const progress = statement.progress ? [scalar('boolean')] : [];
  return [scalar('numeric', 0), ...progress, scalar('bigint'), ...relation.columns.map(({ type }) => type)];
}
