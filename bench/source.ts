/** Starts the source process and talks to it. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type ProcessCost, processCost } from './process-cost.ts';
import type { SourceReport, SourceScript } from './source-script.ts';

type Closed = Extract<SourceReport, { event: 'closed' }>;

export interface Source {
  readonly pid: number;
  readonly url: string;
  /** What was closed so far, in order. */
  readonly closed: readonly Closed[];
  give(tokens: number, relation?: string): void;
  cost(): ProcessCost;
  stop(): Promise<void>;
}

/** `folder`: for the script. */
export async function startSource(script: SourceScript, folder: string): Promise<Source> {
  const path = join(folder, 'source-script.json');
  writeFileSync(path, JSON.stringify(script));
  const program = join(import.meta.dirname, 'source-process.ts');
  const child = spawn(process.execPath, ['--max-old-space-size=512', program, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const { pid } = child;
  if (pid === undefined) throw new Error('the source did not start');
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const closed: Closed[] = [];
  const ready = Promise.withResolvers<string>();
  child.once('exit', () => ready.reject(new Error('the source ended')));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const report = JSON.parse(line) as SourceReport;
    if (report.event === 'ready') ready.resolve(report.url);
    else closed.push(report);
  });
  return {
    pid,
    url: await ready.promise,
    closed,
    give: (tokens, relation) => void child.stdin.write(`token ${tokens}${relation === undefined ? '' : ` ${relation}`}\n`),
    cost: () => processCost(pid),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
