/** The sink under test: in this process, or as the real command in a process of its own that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openWorld } from '../../../src/cli/assemble.ts';
import type { CommandOptions } from '../../../src/cli/options.ts';
import { runDefinitions } from '../../../src/cli/run.ts';
import { parseDefinitions } from '../../../src/definition/parse-definitions.ts';
import { createLog } from '../../../src/observe/log.ts';
import type { SinkEnd } from '../../../src/sink/driver.ts';
import type { SinkState } from '../../../src/sink/state.ts';

export interface LogEntry {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface InProcessSink {
  readonly log: readonly LogEntry[];
  readonly logText: () => string;
  state(name?: string): SinkState;
  /** How the only (or the named) sink ended; rejects after the time. */
  ended(timeoutMs?: number): Promise<SinkEnd>;
  ends(): Promise<ReadonlyMap<string, SinkEnd>>;
  /** Asks to stop and waits until everything is closed. Idempotent. */
  stop(): Promise<void>;
}

export interface SinkRunOptions {
  readonly sql: string;
  readonly materializeUrl: string;
  readonly memoryBudgetBytes?: number;
  readonly spillDir: string;
}

export function startInProcess(options: SinkRunOptions): InProcessSink {
  const parsed = parseDefinitions(options.sql, { env: (name) => process.env[name], readFile: (path) => readFileSync(path, 'utf8') });
  if (parsed.kind !== 'definitions') throw new Error(`the definitions are wrong: ${parsed.problems.map((problem) => problem.message).join('; ')}`);
  const lines: string[] = [];
  const log = createLog({ format: 'json', level: 'debug', nowMs: Date.now, writeLine: (line) => lines.push(line) });
  const command: CommandOptions = {
    command: 'run', definitionsPath: '', materializeUrl: options.materializeUrl, spillDir: options.spillDir,
    memoryBudgetBytes: options.memoryBudgetBytes ?? 64 * 1024 * 1024, logFormat: 'json', logLevel: 'debug', encodeWorkers: 1,
  };
  const world = openWorld(command, log);
  const run = runDefinitions(parsed.definitions, world);
  const closed = run.done.then(async (ends) => {
    await world.close();
    return ends;
  });
  const nameOf = (name?: string): string => name ?? [...run.sinks.keys()][0] ?? '';
  return {
    get log() { return lines.map((line) => JSON.parse(line) as LogEntry); },
    logText: () => lines.join('\n'),
    state: (name) => {
      const sink = run.sinks.get(nameOf(name));
      if (sink === undefined) throw new Error('there is no such sink');
      return sink.state();
    },
    ended: async (timeoutMs = 20_000) => {
      const ends = await within(closed, timeoutMs, () => `the sink did not end; its log:\n${lines.slice(-12).join('\n')}`);
      const end = ends.get(nameOf());
      if (end === undefined) throw new Error('there is no such sink');
      return end;
    },
    ends: () => closed,
    stop: async () => {
      run.stop();
      await closed;
    },
  };
}

export interface ChildSink {
  readonly child: ChildProcess;
  output(): string;
  /** Resolves with the exit code, null after a signal. */
  readonly exited: Promise<number | null>;
  /** SIGKILL, and waits until the process is gone. */
  kill(): Promise<void>;
  /** Peak resident memory so far, bytes; 0 where the system doesn't tell. */
  peakRssBytes(): number;
}

const MAIN = join(import.meta.dirname, '../../../src/main.ts');

export interface ChildOptions extends SinkRunOptions {
  readonly arguments?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: 'run' | 'validate';
}

export function startChild(options: ChildOptions): ChildSink {
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-child-'));
  const path = join(folder, 'sinks.sql');
  writeFileSync(path, options.sql);
  const child = spawn(process.execPath, [
    MAIN, options.command ?? 'run', path, '--materialize', options.materializeUrl, '--log-format', 'json', '--spill-dir', options.spillDir,
    ...(options.memoryBudgetBytes === undefined ? [] : ['--memory-budget', String(options.memoryBudgetBytes)]), ...(options.arguments ?? []),
  ], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...options.env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => { output += text; });
  }
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      rmSync(folder, { recursive: true, force: true });
      resolve(code);
    });
  });
  return {
    child,
    output: () => output,
    exited,
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    peakRssBytes: () => {
      try {
        const match = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
        return Number(match?.[1] ?? 0) * 1024;
      } catch {
        return 0;
      }
    },
  };
}

export async function within<T>(promise: Promise<T>, timeoutMs: number, message: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message())), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
