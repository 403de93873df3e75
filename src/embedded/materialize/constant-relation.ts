/**
 * `SUBSCRIBE (SELECT 1)`: a query that reads no relation has one content for all times. In: its SQL. Out: a
 * relation outside of the catalog, complete from the start.
 */
import { FRONTIER_EMPTY } from '../../time/frontier.ts';
import { escapeCopyText, joinCopyColumns } from './copy-text.ts';
import { addRow, createHistory } from './relation-history.ts';
import { splitStatements } from './sql-tokens.ts';
import { type StatementSession, planStatement } from './statements.ts';
import { failStatement, fieldsOfDescription, readBody } from './wire-frames.ts';
import { typeOfOid } from './wire-types.ts';
import type { RelationSubscriber, StandInRelation } from './world.ts';

/** Throws 0A000 for a query that mentions a relation, since only whole relations can be followed here. */
export async function constantRelation(session: StatementSession, sql: string): Promise<StandInRelation> {
  const [statement] = splitStatements(sql);
  if (statement === undefined) return failStatement('42601', 'Expected a query');
  const mentioned = new Set(statement.tokens.map(({ text }) => text));
  if ([...session.world.relations.values()].some(({ name }) => mentioned.has(name))) {
    failStatement('0A000', 'this stand-in subscribes to whole relations: SUBSCRIBE x or SUBSCRIBE (SELECT * FROM x)');
  }
  const plan = planStatement(session, statement);
  if (plan.kind !== 'engine') return failStatement('42601', 'Expected a query');
  const answer = await plan.run(Buffer.alloc(2), Buffer.alloc(6));
  const history = createHistory(0n);
  history.upper = FRONTIER_EMPTY;
  for (const row of answer.rows) {
    const read = readBody(row.subarray(5));
    const values = Array.from({ length: read.int16() }, () => {
      const length = read.int32();
      return length < 0 ? null : escapeCopyText(read.bytes(length).toString('utf8'));
    });
    addRow(history.base, joinCopyColumns(values), 1);
  }
  const columns = columnsOf(answer.description);
  const place = { name: 'query', schema: 'public', database: 'materialize', kind: 'other' as const };
  const live = { error: null, dropped: false, version: 0, subscribers: new Set<RelationSubscriber>() };
  return { ...place, ...live, id: 't1', oid: 0, columns, keys: [[]], history };
}

function columnsOf(description: Buffer): StandInRelation['columns'] {
  return fieldsOfDescription(description).map(({ name, typeOid }) => {
    return { name, type: typeOfOid(typeOid), nullable: true };
  });
}
