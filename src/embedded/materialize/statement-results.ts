/**
 * Statements that are answered without the engine. In: their plan. Out: columns, rows and tag as messages.
 */
import type { Outbox } from './outbox.ts';
import type { StatementPlan } from './statements.ts';
import { commandComplete, dataRow, rowDescription } from './wire-frames.ts';

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
