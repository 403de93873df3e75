/** Benchmarks one after the other, each in a process of its own: all at their real sizes, or a short share of each. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeReport } from './report.ts';

export const ALL_USAGE = 'all [--budget-minutes 150] [--only NAME,NAME]: every benchmark at its real size (some two hours; soak when as much is left), then the report';
export const SMOKE_USAGE = 'smoke: a short share of every benchmark, in about three minutes; saves nothing in bench/results';

/** The most telling first: what a budget cuts off is the end. */
const ALL: readonly (readonly string[])[] = [
  ['throughput'],
  ['throughput', '--zstd-level', '3', '--peers', 'java,java-append-snapshot,rust'],
  ['interval'],
  ['memory'],
  ['many'],
  ['micro'],
  ['throughput', '--shape', 'all', '--rounds', '2', '--commits', '3'],
  ['throughput', '--store', 's3', '--peers', 'none'],
  ['interval', '--store', 's3', '--intervals', '1,5,15', '--delays', ''],
  ['age'],
  ['catch-up'],
  ['age', '--keep', '500', '--commits', '3000'],
  ['soak'],
];

/** What takes its time whatever the machine; it is left out when the budget has not that much left. */
const MINUTES: Readonly<Record<string, number>> = { soak: 122 };

const SMOKE: readonly (readonly string[])[] = ['throughput', 'interval', 'age', 'memory', 'catch-up', 'many', 'soak', 'micro'].map((name) => [name, '--smoke']);

export async function runAll(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { 'budget-minutes': { type: 'string' }, 'only': { type: 'string' } } });
  const wanted = values.only?.split(',') ?? null;
  const commands = ALL.filter(([name = '']) => wanted === null || wanted.includes(name));
  const failed = await runSeries(commands, Number(values['budget-minutes'] ?? 150));
  await writeReport();
  endWith(failed);
}

export async function runSmoke(): Promise<void> {
  endWith(await runSeries(SMOKE, 15));
}

function endWith(failed: readonly string[]): void {
  for (const what of failed) console.error(what);
  if (failed.length > 0) process.exit(1);
}

/** What failed or was left out; one that fails doesn't keep the others from running. */
async function runSeries(commands: readonly (readonly string[])[], budgetMinutes: number): Promise<readonly string[]> {
  const deadlineMs = performance.now() + budgetMinutes * 60_000;
  const failed: string[] = [];
  for (const command of commands) {
    const text = command.join(' ');
    const minutes = command.length === 1 ? MINUTES[text] ?? 0 : 0;
    if (minutes > 0 && performance.now() + minutes * 60_000 > deadlineMs) {
      console.log(`left out, for it takes ${minutes} minutes: ${text} (run it by --only ${text})`);
      continue;
    }
    if (performance.now() > deadlineMs) {
      failed.push(`not run, for the budget of ${budgetMinutes} minutes was used up: ${text}`);
      continue;
    }
    const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...command], { stdio: 'inherit' });
    const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
    if (code !== 0) failed.push(`failed: ${text}`);
  }
  return failed;
}
