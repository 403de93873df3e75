/**
 * What the sinks do, while they do it. On a terminal one block is drawn again in place; anywhere else (a pipe, a CI
 * log) a plain line a sink every few seconds, since escape codes would only be noise there.
 */
import type { SinkCounters } from './sink-counters.ts';

export interface DisplayedSink {
  readonly label: string;
  readonly counters: SinkCounters;
  /** What the sink is busy with: `running`, `backing-off`, … */
  readonly phase: () => string;
}

export interface LiveDisplay {
  /** `note` says what the demo waits for. Draws when it is time to. */
  update(nowMs: number, note: string): void;
  /** A line that stays. */
  say(line: string): void;
  /** Draws a last time and leaves the block where it is. */
  finish(nowMs: number, note: string): void;
}

export interface DisplayOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const PLAIN_INTERVAL_MS = 5000;

export function createLiveDisplay(output: DisplayOutput, sinks: readonly DisplayedSink[]): LiveDisplay {
  return output.isTTY === true ? terminalDisplay(output, sinks) : plainDisplay(output, sinks);
}

function terminalDisplay(output: DisplayOutput, sinks: readonly DisplayedSink[]): LiveDisplay {
  let drawn = 0;
  const draw = (nowMs: number, note: string): void => {
    // A line that wraps would be two on the screen, and the way back up would be wrong.
    const width = Math.max(20, (output.columns ?? 120) - 1);
    const lines = [...tableLines(sinks, nowMs), note].map((line) => line.slice(0, width));
    const up = drawn === 0 ? '' : `\x1b[${drawn}A`;
    output.write(`${up}\r${lines.map((line) => `${line}\x1b[K\n`).join('')}`);
    drawn = lines.length;
  };
  const say = (line: string): void => {
    const up = drawn === 0 ? '' : `\x1b[${drawn}A`;
    // The block is drawn again below the line, at the next update.
    output.write(`${up}\r\x1b[J${line}\n`);
    drawn = 0;
  };
  return { update: draw, say, finish: draw };
}

function plainDisplay(output: DisplayOutput, sinks: readonly DisplayedSink[]): LiveDisplay {
  let nextMs = 0;
  const draw = (nowMs: number, note: string): void => {
    output.write(`${[...tableLines(sinks, nowMs), note].join('\n')}\n`);
    nextMs = nowMs + PLAIN_INTERVAL_MS;
  };
  return {
    update: (nowMs, note) => {
      if (nowMs >= nextMs) draw(nowMs, note);
    },
    say: (line) => void output.write(`${line}\n`),
    finish: draw,
  };
}

/** Narrow enough for 80 columns. */
const HEADINGS = ['rows in', 'rows out', 'deletes', 'commits', 'files', 'lag ms', 'state'];

/**
 * `rows in` came from Materialize, `rows out` and `deletes` are in committed files: less where a key changed more than
 * once between two commits. `lag ms` is how far the table is behind the clock: it grows to the commit interval and
 * falls with each commit.
 */
function tableLines(sinks: readonly DisplayedSink[], nowMs: number): string[] {
  const labelWidth = Math.max(...sinks.map(({ label }) => label.length));
  const rows = sinks.map(({ label, counters, phase }) => {
    return [label.padEnd(labelWidth), ...cells(counters, phase(), nowMs)];
  });
  const header = ['table'.padEnd(labelWidth), ...HEADINGS];
  return [header, ...rows].map((row) => row.map((cell, i) => cell.padStart(HEADINGS[i - 1]?.length ?? 0)).join('  '));
}

function cells(counters: SinkCounters, phase: string, nowMs: number): string[] {
  const { rowsReceived, rowsCommitted, deletes, commits, files, committedMs } = counters;
  const lag = committedMs === null ? '-' : String(Math.max(0, Math.round(nowMs - committedMs)));
  return [rowsReceived, rowsCommitted, deletes, commits, files, lag, phase].map(String);
}
