/**
 * What somebody changes by SQL while the demo runs, and when it has arrived: the frontier of the table's newest
 * snapshot has passed the time of the change.
 */
import type { MaterializeStandIn } from '../materialize/stand-in.ts';
import { DEMO_SINKS } from './sinks-sql.ts';
import type { SinkCounters } from './sink-counters.ts';

interface UserWrite {
  readonly relation: string;
  readonly table: string;
  readonly changes: number;
  readonly timeMs: number;
}

export interface UserWrites {
  /** A line for each write that has arrived since the last call. `countersOf` takes a table. */
  arrived(countersOf: (table: string) => SinkCounters | undefined, nowMs: number): string[];
}

export function watchUserWrites(standIn: MaterializeStandIn): UserWrites {
  let pending: UserWrite[] = [];
  standIn.onWritten(({ name, history }, changes) => {
    const table = DEMO_SINKS.find(({ relation }) => relation === name)?.table;
    const time = history.log.at(-1)?.time;
    if (table === undefined || time === undefined) return;
    pending.push({ relation: name, table, changes: changes.length, timeMs: Number(time) });
  });
  return {
    arrived(countersOf, nowMs) {
      const isCommitted = ({ table, timeMs }: UserWrite): boolean => (countersOf(table)?.committedMs ?? 0) > timeMs;
      const arrived = pending.filter(isCommitted);
      pending = pending.filter((write) => !isCommitted(write));
      return arrived.map(({ relation, table, changes, timeMs }) => {
        const what = changes === 1 ? 'change' : `${changes} changes`;
        const seconds = ((nowMs - timeMs) / 1000).toFixed(1);
        return `  your ${what} of ${relation} arrived in table ${table} within ${seconds} s`;
      });
    },
  };
}
