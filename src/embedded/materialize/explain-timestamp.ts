/**
 * `EXPLAIN TIMESTAMP FOR SELECT … FROM x`: the frontiers a query would be answered with. In: a relation and a clock.
 * Out: the text, labels right-aligned as in the documentation.
 */
import type { Timestamp } from '../../time/timestamp.ts';
import { latestReadable } from './relation-history.ts';
import { type StandInRelation, qualifiedName } from './world.ts';

const LABEL_WIDTH = 31;

/** `nowMs` is the time of the oracle that hands out timestamps. */
export function explainTimestampText(relation: StandInRelation, nowMs: number): string {
  const { history } = relation;
  const [upper] = history.upper;
  const readable = latestReadable(history);
  const line = (label: string, value: string): string => `${label.padStart(LABEL_WIDTH)}:${value}`;
  const frontier = (time: Timestamp | undefined): string => (time === undefined ? '[]' : `[${shown(time)}]`);
  return [
    line('query timestamp', ` ${shown(readable)}`),
    line('oracle read timestamp', ` ${shown(BigInt(Math.floor(nowMs)))}`),
    line('largest not in advance of upper', ` ${shown(readable)}`),
    line('upper', frontier(upper)),
    line('since', frontier(history.since)),
    line('can respond immediately', ` ${upper === undefined || upper > readable}`),
    line('timeline', ' Some(EpochMilliseconds)'),
    line('session wall time', ` ${shown(BigInt(Math.floor(nowMs)))}`),
    '',
    `source ${qualifiedName(relation)} (${relation.id}, storage):`,
    line('read frontier', frontier(history.since)),
    line('write frontier', frontier(upper)),
    '',
  ].join('\n');
}

/** The last millisecond JavaScript's calendar knows. */
const CALENDAR_MAX_MS = 8_640_000_000_000_000n;

function shown(time: Timestamp): string {
  if (time > CALENDAR_MAX_MS) return String(time);
  return `${time} (${new Date(Number(time)).toISOString().replace('T', ' ').replace('Z', '')})`;
}
