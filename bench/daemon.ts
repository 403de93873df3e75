/** The daemon as a user runs it, in a process of its own, and what its log says. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcessCost, processCost } from './process-cost.ts';

export interface DaemonOptions {
  readonly definitions: string;
  readonly materializeUrl: string;
  /** For definitions and spilled rows. */
  readonly folder: string;
  readonly arguments?: readonly string[];
  /** false where the daemon's idling is measured, which the watch's timer would be most of. */
  readonly watchLoop?: boolean;
  /** Writes a CPU profile of every thread there when the daemon ends. */
  readonly profileFolder?: string | null;
}

export interface CommitLine {
  readonly sink: string;
  /** null: the input is complete. */
  readonly frontierMs: number | null;
  readonly records: number;
  readonly deletes: number;
  readonly dataFiles: number;
  readonly deleteFiles: number;
  readonly attempts: number;
  /** Of performance.now() of this process, when the line was read. */
  readonly atMs: number;
  readonly cost: ProcessCost;
}

export interface LoopDelay {
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export interface Daemon {
  readonly pid: number;
  readonly startedMs: number;
  readonly commits: readonly CommitLine[];
  /** Resolves with the first commit from index `from` on that satisfies; rejects when the daemon ends or halts. */
  committed(wanted: (commit: CommitLine) => boolean, from?: number): Promise<CommitLine>;
  /** Throws when the daemon ended or a sink halted. */
  assertAlive(): void;
  cost(): ProcessCost;
  /** Not with `watchLoop: false`. Of the main thread since the start or the last call. */
  loopDelay(): Promise<LoopDelay>;
  /** Everything of level warn or error that the log said. */
  readonly complaints: readonly string[];
  stop(): Promise<void>;
}

const WAKE_POLL_MS = 1;
const STOP_MS = 60_000;

/** Built once for each run of the benchmarks. */
let builtPath: string | null = null;

/** The program as it is published: compiled, since stripping types at every start is a developer's cost. */
function builtMain(): string {
  if (builtPath !== null) return builtPath;
  const project = join(import.meta.dirname, '..');
  const built = spawnSync('npm', ['run', 'build'], { cwd: project, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(`the build failed: ${built.stdout}${built.stderr}`);
  builtPath = join(project, 'dist/main.js');
  return builtPath;
}

export function startDaemon(options: DaemonOptions): Daemon {
  mkdirSync(options.folder, { recursive: true });
  const definitions = join(options.folder, 'sinks.sql');
  writeFileSync(definitions, options.definitions);
  const main = builtMain();
  const profile = options.profileFolder ?? null;
  const args = [
    ...(profile === null ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]),
    ...(options.watchLoop === false ? [] : ['--import', join(import.meta.dirname, 'loop-delay.ts')]),
    main, 'run', definitions, '--materialize', options.materializeUrl, '--log-format', 'json', '--spill-dir', join(options.folder, 'spill'),
    ...options.arguments ?? [],
  ];
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const { pid } = child;
  if (pid === undefined) throw new Error('the daemon did not start');
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const commits: CommitLine[] = [];
  const complaints: string[] = [];
  let delay: LoopDelay | null = null;
  createInterface({ input: child.stderr }).on('line', (line) => {
    const entry = parseEntry(line);
    if (entry['event'] === 'committed') commits.push(commitLine(entry, pid));
    else if (entry['event'] === 'bench-loop-delay') delay = entry as unknown as LoopDelay;
    else if (entry['level'] !== 'info') complaints.push(line);
  });
  const assertAlive = (): void => {
    const halted = complaints.find((line) => parseEntry(line)['event'] === 'halted');
    if (child.exitCode === null && child.signalCode === null && halted === undefined) return;
    throw new Error(`the daemon ended (${child.exitCode ?? child.signalCode ?? 'halted'}): ${complaints.slice(-5).join('\n')}`);
  };
  return {
    pid, startedMs, commits, complaints, assertAlive,
    committed: async (wanted, from = 0) => {
      let next = from;
      for (;;) {
        for (; next < commits.length; next++) {
          const commit = commits[next];
          if (commit !== undefined && wanted(commit)) return commit;
        }
        assertAlive();
        await sleep(WAKE_POLL_MS);
      }
    },
    cost: () => processCost(pid),
    loopDelay: async () => {
      delay = null;
      child.kill('SIGUSR2');
      while (delay === null) {
        assertAlive();
        await sleep(WAKE_POLL_MS);
      }
      return delay;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    },
  };
}

function parseEntry(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return { level: 'error', event: 'not-json', message: line };
  }
}

function commitLine(entry: Record<string, unknown>, pid: number): CommitLine {
  const number = (key: string): number => Number(entry[key]);
  return {
    sink: String(entry['sink']), frontierMs: entry['frontier'] === 'complete' ? null : number('frontier'),
    records: number('records'), deletes: number('deletes'), dataFiles: number('dataFiles'), deleteFiles: number('deleteFiles'),
    attempts: number('attempts'), atMs: performance.now(), cost: processCost(pid),
  };
}
