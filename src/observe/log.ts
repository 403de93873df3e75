/**
 * The log: one line an event on a stream. Fields are names, ids, counts, frontiers and codes; whoever writes an event
 * never puts a row value or a secret into it.
 */
import type { Log, LogLevel } from '../sink/ports.ts';

export type LogFormat = 'text' | 'json';

export interface LogOptions {
  readonly format: LogFormat;
  readonly level: LogLevel;
  readonly nowMs: () => number;
  readonly writeLine: (line: string) => void;
}

type Fields = Parameters<Log['write']>[2];

const RANK: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog(options: LogOptions): Log {
  const format = options.format === 'json' ? jsonLine : textLine;
  return {
    write: (level, event, fields) => {
      if (RANK[level] < RANK[options.level]) return;
      options.writeLine(format(new Date(options.nowMs()).toISOString(), level, event, fields));
    },
  };
}

/** The same log with fields that every line carries, such as the sink's name. */
export function withFields(log: Log, common: Fields): Log {
  return { write: (level, event, fields) => log.write(level, event, { ...common, ...fields }) };
}

function jsonLine(time: string, level: LogLevel, event: string, fields: Fields): string {
  return JSON.stringify({ time, level, event, ...fields }, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value);
}

function textLine(time: string, level: LogLevel, event: string, fields: Fields): string {
  const parts = Object.entries(fields).map(([name, value]) => `${name}=${textValue(value)}`);
  return [time, level.toUpperCase().padEnd(5), event, ...parts].join(' ');
}

/** Quoted where it could be misread; text of servers may not break the line or steer the terminal. */
function textValue(value: Fields[string]): string {
  if (typeof value !== 'string') return String(value);
  if (value !== '' && !/[\s"=\p{Cc}\p{Cf}]/u.test(value)) return value;
  return JSON.stringify(value).replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}
