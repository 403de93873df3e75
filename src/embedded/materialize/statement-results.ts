/**
 * Columns and rows of statements that are answered without the engine, as messages.
 */
import type { Outbox } from './outbox.ts';
import type { StatementPlan } from './statements.ts';
import { subscribeFields } from './subscribe-plan.ts';
import { commandComplete, dataRow, int16, noData, rowDescription, wireMessage } from './wire-frames.ts';
import type { StandInRelation } from './world.ts';

/** A row of text values. */
export function textRow(values: readonly (string | null)[]): Buffer {
  return dataRow(values.map((value) => (value === null ? null : Buffer.from(value, 'utf8'))));
}

/** Runs a local statement; `describe` sends its columns first. */
export function runLocal(outbox: Outbox, plan: Extract<StatementPlan, { kind: 'local' }>, describe: boolean): void {
  const result = plan.run();
  if (describe && plan.fields !== null) outbox.send(rowDescription(plan.fields));
  for (const row of result.rows) outbox.send(textRow(row));
  outbox.send(commandComplete(result.tag));
}

/** Answer to Describe: ParameterDescription for a statement, then the columns or NoData. */
export async function describePlan(
  plan: StatementPlan | null,
  parameterTypes: Uint8Array,
  ofStatement: boolean,
  relation: StandInRelation | null,
): Promise<Buffer[]> {
  if (plan?.kind === 'engine') {
    const answer = await plan.run(parameterTypes, null);
    return ofStatement && answer.parameters !== null ? [answer.parameters, answer.description] : [answer.description];
  }
  const parameters = ofStatement ? [wireMessage('t', int16(0))] : [];
  if (plan?.kind === 'local' && plan.fields !== null) return [...parameters, rowDescription(plan.fields)];
  if (plan?.kind === 'subscribe' && plan.statement.format === 'data-row' && relation !== null) {
    return [...parameters, rowDescription(subscribeFields(plan.statement, relation))];
  }
  return [...parameters, noData()];
}
