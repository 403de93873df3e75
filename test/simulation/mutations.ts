/**
 * Plants the bugs of `planted-*-bugs.ts`, one at a time, in a copy of the sources, and runs the simulator on it. Each must
 * be caught within its number of seeds; one that is not is a hole in the simulator.
 *
 * `node test/simulation/mutations.ts [--only TEXT] [--jobs N]`
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Edit, Mutation } from './planted-bug.ts';
import { COMMIT_BUGS } from './planted-commit-bugs.ts';
import { KNOWN_TABLE_BUGS } from './planted-known-table-bugs.ts';
import { ROW_BUGS } from './planted-row-bugs.ts';
import { SECTION_BUGS } from './planted-section-bugs.ts';
import { WORLD_BUGS } from './planted-world-bugs.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** A bug may also make the sink go round in circles without time passing; that is noticed by nothing but the clock. */
const TIMEOUT_MS = 240_000;

interface Verdict {
  readonly mutation: Mutation;
  /** The seed that caught it; null: it survived. */
  readonly seed: number | null;
  readonly how: string;
}

function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutations-'));
  cpSync(join(PROJECT, 'src'), join(copy, 'src'), { recursive: true });
  cpSync(join(PROJECT, 'test/simulation'), join(copy, 'test/simulation'), { recursive: true });
  cpSync(join(PROJECT, 'test/doubles'), join(copy, 'test/doubles'), { recursive: true });
  // Only what seeds find by themselves counts.
  writeFileSync(join(copy, 'test/simulation/seeds.json'), '[]');
  cpSync(join(PROJECT, 'package.json'), join(copy, 'package.json'));
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function plant(copy: string, edits: readonly Edit[]): void {
  for (const { file, find, replace } of edits) {
    const path = join(copy, 'src', file);
    const text = readFileSync(path, 'utf8');
    if (text.split(find).length !== 2) throw new Error(`${file} does not hold exactly once: ${find}`);
    writeFileSync(path, text.replace(find, () => replace));
  }
}

interface Ended {
  readonly code: number | null;
  readonly wasKilled: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function simulate(copy: string, seeds: number): Promise<Ended> {
  const args = [join(copy, 'test/simulation/main.ts'), '--seeds', String(seeds), '--quick', '--once'];
  return new Promise((done) => {
    execFile(process.execPath, args, { cwd: copy, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      done({ code, wasKilled: error?.killed === true, stdout, stderr });
    });
  });
}

async function judge(copy: string, mutation: Mutation): Promise<Verdict> {
  try {
    plant(copy, mutation.edits);
  } catch (thrown) {
    return { mutation, seed: null, how: `it can't be planted: ${String(thrown)}` };
  }
  const { code, wasKilled, stdout, stderr } = await simulate(copy, mutation.seeds);
  if (code === 0) return { mutation, seed: null, how: 'survives' };
  const failure = /^seed (\d+) fails: ([a-z-]+|unhandled rejection):/m.exec(stdout);
  if (failure !== null) return { mutation, seed: Number(failure[1]), how: failure[2] ?? '' };
  if (wasKilled) return { mutation, seed: 0, how: 'hangs' };
  const message = stderr.trim().split('\n').find((line) => line.includes('Error')) ?? 'no message';
  return { mutation, seed: null, how: `the run itself broke: ${message}` };
}

/** Takes bugs off the list, in a copy of its own, until none is left. */
async function work(bugs: Mutation[], verdicts: Verdict[]): Promise<void> {
  const copy = copyProject();
  try {
    for (let mutation = bugs.shift(); mutation !== undefined; mutation = bugs.shift()) {
      const files = new Map(mutation.edits.map(({ file }) => [file, readFileSync(join(copy, 'src', file))]));
      const verdict = await judge(copy, mutation);
      for (const [file, bytes] of files) writeFileSync(join(copy, 'src', file), bytes);
      verdicts.push(verdict);
      const caught = verdict.seed === null ? `NOT CAUGHT in ${mutation.seeds}` : `seed ${verdict.seed}`;
      console.log(`| ${mutation.name} | ${caught} of ${mutation.seeds} | ${verdict.how} |`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, jobs: { type: 'string', default: String(availableParallelism()) } },
});
const startedMs = performance.now();
// Those that need the most seeds first, so that no worker is left alone with one at the end.
const bugs = [...COMMIT_BUGS, ...KNOWN_TABLE_BUGS, ...ROW_BUGS, ...SECTION_BUGS, ...WORLD_BUGS]
  .filter(({ name }) => name.includes(values.only))
  .sort((left, right) => right.seeds - left.seeds);
const verdicts: Verdict[] = [];
await Promise.all(Array.from({ length: Number(values.jobs) }, () => work(bugs, verdicts)));
const survivors = verdicts.filter(({ seed }) => seed === null);
const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
console.log(`${verdicts.length - survivors.length} of ${verdicts.length} planted bugs are caught, in ${seconds} s`);
process.exitCode = survivors.length === 0 ? 0 : 1;
