/**
 * Plants the bugs of `planted-commit-bugs.ts` and `planted-row-bugs.ts`, one at a time, in a copy of the sources, and
 * runs the simulator on it. Each must be caught within its number of seeds; one that is not is a hole in the simulator.
 *
 * `node test/simulation/mutations.ts [--only TEXT]`
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Edit, Mutation } from './planted-bug.ts';
import { COMMIT_BUGS } from './planted-commit-bugs.ts';
import { ROW_BUGS } from './planted-row-bugs.ts';

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

function judge(copy: string, mutation: Mutation): Verdict {
  const args = [join(copy, 'test/simulation/main.ts'), '--seeds', String(mutation.seeds), '--quick', '--once'];
  const options = { cwd: copy, encoding: 'utf8', timeout: TIMEOUT_MS } as const;
  const { status, stdout, stderr, signal } = spawnSync(process.execPath, args, options);
  if (status === 0) return { mutation, seed: null, how: 'survives' };
  const failure = /^seed (\d+) fails: ([a-z-]+|unhandled rejection):/m.exec(stdout);
  if (failure !== null) return { mutation, seed: Number(failure[1]), how: failure[2] ?? '' };
  if (signal !== null) return { mutation, seed: 0, how: 'hangs' };
  const message = stderr.trim().split('\n').find((line) => line.includes('Error')) ?? 'no message';
  return { mutation, seed: null, how: `the run itself broke: ${message}` };
}

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const copy = copyProject();
const verdicts: Verdict[] = [];
try {
  for (const mutation of [...COMMIT_BUGS, ...ROW_BUGS].filter(({ name }) => name.includes(values.only))) {
    const files = new Map(mutation.edits.map(({ file }) => [file, readFileSync(join(copy, 'src', file))]));
    plant(copy, mutation.edits);
    const verdict = judge(copy, mutation);
    for (const [file, bytes] of files) writeFileSync(join(copy, 'src', file), bytes);
    verdicts.push(verdict);
    const caught = verdict.seed === null ? `NOT CAUGHT in ${mutation.seeds}` : `seed ${verdict.seed}`;
    console.log(`| ${mutation.name} | ${caught} of ${mutation.seeds} | ${verdict.how} |`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
const survivors = verdicts.filter(({ seed }) => seed === null);
console.log(`${verdicts.length - survivors.length} of ${verdicts.length} planted bugs are caught`);
process.exitCode = survivors.length === 0 ? 0 : 1;
