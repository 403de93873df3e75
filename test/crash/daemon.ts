/**
 * The real command in a process of its own, that can be killed, stopped in its tracks and woken; and what its log says of its
 * life. A sink that halts, or a process that ends, without anybody having asked for it is a difference.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChildSink, type LogEntry, startChild } from '../e2e/harness/sink.ts';
import { type Tally, count } from './tally.ts';

export interface Daemon {
  readonly ordinal: number;
  readonly version: number;
  isAlive(): boolean;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGKILL without waiting, for use in the middle of something. */
  shoot(): void;
  freeze(): void;
  thaw(): void;
  /** SIGTERM, and SIGKILL when that doesn't end it in time, which is a difference. */
  stop(): Promise<void>;
  /** A newer version is about to take over, so this one may halt with `fenced`. Resolves when it has ended. */
  expectFenced(timeoutMs: number): Promise<void>;
  mayBeFenced(): void;
  /** Its log so far. */
  entries(): readonly LogEntry[];
}

/** What the daemons of an episode said. */
export interface Testimony {
  /** Snapshot ids by sink. */
  readonly claimed: Map<string, Set<string>>;
  readonly differences: string[];
}

export interface DaemonOptions {
  readonly ordinal: number;
  readonly version: number;
  readonly sql: string;
  readonly materializeUrl: string;
  readonly spillDir: string;
  readonly memoryBudgetBytes: number;
  readonly tally: Tally;
  readonly testimony: Testimony;
}

type Expected = 'nothing' | 'signal' | 'fenced';

const STOP_MS = 30_000;
const KEPT_LINES = 25;

export function startDaemon(options: DaemonOptions): Daemon {
  const { tally, testimony } = options;
  const child = startChild({
    sql: options.sql, materializeUrl: options.materializeUrl, spillDir: options.spillDir, memoryBudgetBytes: options.memoryBudgetBytes,
    arguments: ['--encode-workers', '1'],
  });
  let expected: Expected = 'nothing';
  let isAlive = true;
  const differ = (what: string): void => {
    const log = child.output().trimEnd().split('\n').slice(-KEPT_LINES).join('\n');
    testimony.differences.push(`daemon ${options.ordinal}: ${what}; the end of its log:\n${log}`);
  };
  const ended = child.exited.then((code) => {
    isAlive = false;
    const entries = parseLog(child);
    hear(entries, options, expected === 'fenced', differ);
    if (expected === 'nothing') differ(`it ended by itself with ${code ?? 'a signal'}`);
    if (expected === 'fenced' && code !== 1 && code !== null) differ(`a fenced daemon ended with ${code}`);
  });
  const signal = (name: NodeJS.Signals): void => {
    if (expected === 'nothing') expected = 'signal';
    child.child.kill(name);
  };
  return {
    ordinal: options.ordinal,
    version: options.version,
    isAlive: () => isAlive,
    kill: async () => {
      if (isAlive) signal('SIGKILL');
      await ended;
    },
    shoot: () => signal('SIGKILL'),
    freeze: () => void child.child.kill('SIGSTOP'),
    thaw: () => void child.child.kill('SIGCONT'),
    stop: async () => {
      if (isAlive) signal('SIGTERM');
      if (await Promise.race([ended.then(() => true), sleep(STOP_MS, false)])) return;
      differ(`it did not stop within ${STOP_MS} ms of SIGTERM`);
      signal('SIGKILL');
      await ended;
    },
    mayBeFenced: () => { expected = 'fenced'; },
    expectFenced: async (timeoutMs) => {
      expected = 'fenced';
      if (await Promise.race([ended.then(() => true), sleep(timeoutMs, false)])) {
        count(tally.events, 'fenced off');
        return;
      }
      differ(`a newer version has taken over and it goes on ${timeoutMs} ms later`);
      signal('SIGKILL');
      await ended;
    },
    entries: () => parseLog(child),
  };
}

/** Lines that aren't whole, because the process was killed while writing, say nothing. */
function parseLog(child: ChildSink): readonly LogEntry[] {
  return child.output().split('\n').flatMap((line) => {
    try {
      return line.startsWith('{') ? [JSON.parse(line) as LogEntry] : [];
    } catch {
      return [];
    }
  });
}

function hear(entries: readonly LogEntry[], options: DaemonOptions, mayBeFenced: boolean, differ: (what: string) => void): void {
  const { tally, testimony } = options;
  for (const entry of entries) {
    const { event } = entry;
    const code = typeof entry['code'] === 'string' ? entry['code'] : '';
    if (event === 'committed') {
      const sink = String(entry['sink']);
      const claimed = testimony.claimed.get(sink) ?? new Set();
      claimed.add(String(entry['snapshotId']));
      testimony.claimed.set(sink, claimed);
      if (entry['how'] === 'found') count(tally.answers, 'commit found after its answer was lost');
    } else if (event === 'restarting') count(tally.answers, `restarting: ${code}`);
    else if (event === 'commit-retry') count(tally.answers, `commit-retry: ${String(entry['cause'])}`);
    else if (event === 'storage-retry') count(tally.answers, `storage-retry: ${code}`);
    else if (event === 'halted') {
      count(tally.answers, `halted: ${code}`);
      if (!(mayBeFenced && code === 'fenced')) differ(`a sink halted with ${code}`);
    }
  }
}
