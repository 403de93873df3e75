/** What every benchmark hands back, and where it goes: a table on standard output, JSON and pictures beside this file. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type TableRow, tableText } from './table-text.ts';

export interface Section {
  readonly title: string;
  readonly rows: readonly TableRow[];
  /** What has to be known to read the table. */
  readonly notes?: readonly string[];
}

export interface Picture {
  /** Without ending. */
  readonly name: string;
  readonly title: string;
  readonly svg: string;
}

export interface Outcome {
  /** Told apart from other runs of the benchmark with other options, in file names. */
  readonly variant?: string;
  readonly sections: readonly Section[];
  readonly pictures?: readonly Picture[];
  /** Whatever a later look may want beside the tables: rounds, time lines. */
  readonly details?: unknown;
}

export interface SavedOutcome extends Outcome {
  readonly name: string;
  readonly command: string;
  readonly machine: string;
  readonly commit: string;
  readonly finishedAt: string;
  readonly seconds: number;
  /** Programs that ran or waited in the minute before: above 2 at the start, the machine was not ours. */
  readonly loadBefore: number;
}

export function machineText(): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${memory} GiB, Linux, Node ${process.version}`;
}

export function commitText(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const dirty = git('status', '--porcelain', '--', '../src') === '' ? '' : ' and changes';
    return `${git('rev-parse', '--short', 'HEAD')}${dirty}`;
  } catch {
    return 'unknown';
  }
}

export function resultsFolder(smoke: boolean): string {
  return smoke ? join(tmpdir(), 'mz-sink-bench-smoke') : join(import.meta.dirname, 'results');
}

/** Runs one benchmark and saves what came out. */
export async function recordOutcome(
  name: string, args: readonly string[], smoke: boolean, run: () => Promise<Outcome>,
): Promise<SavedOutcome> {
  const loadBefore = Math.round((loadavg()[0] ?? 0) * 10) / 10;
  const begunMs = performance.now();
  const outcome = await run();
  const seconds = Math.round((performance.now() - begunMs) / 100) / 10;
  const command = ['npm run bench --', name, ...args.map((argument) => (argument === '' ? "''" : argument))].join(' ');
  const { sections, details, variant } = outcome;
  const pictures = outcome.pictures ?? [];
  const facts = { name: variant === undefined ? name : `${name}-${variant}`, command, machine: machineText(), commit: commitText(), finishedAt: new Date().toISOString(), seconds, loadBefore };
  const saved = { ...facts, sections, pictures, ...(details === undefined ? {} : { details }) };
  const folder = resultsFolder(smoke);
  mkdirSync(folder, { recursive: true });
  for (const picture of pictures) writeFileSync(join(folder, `${picture.name}.svg`), picture.svg);
  const withoutSvg = { ...saved, pictures: pictures.map(({ name: picture, title }) => ({ name: picture, title })) };
  writeFileSync(join(folder, `${saved.name}.json`), `${JSON.stringify(withoutSvg, null, 1)}\n`);
  print(saved);
  return saved;
}

function print({ name, machine, commit, seconds, loadBefore, sections }: SavedOutcome): void {
  console.log(`\n# ${name} (${machine}; commit ${commit}; ${seconds} s; load before ${loadBefore})`);
  for (const { title, rows, notes = [] } of sections) {
    console.log(`\n${title}\n\n${tableText(rows)}`);
    for (const note of notes) console.log(note);
  }
}
