/**
 * RESULTS.md out of the saved figures, and only out of them, so that it can't say what was not measured. What has to be said
 * in words about them stands in FINDINGS.md and is taken in as it is.
 */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SavedOutcome } from './outcome.ts';
import { tableText } from './table-text.ts';
import { targetRows } from './targets.ts';

export const REPORT_USAGE = 'report: composes bench/RESULTS.md of the figures in bench/results';

const ORDER = ['throughput', 'interval', 'age', 'memory', 'catch-up', 'many', 'soak', 'micro'];

export async function writeReport(): Promise<void> {
  const folder = join(import.meta.dirname, 'results');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  const saved = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as SavedOutcome)
    .toSorted((a, b) => rank(a.name) - rank(b.name) || (a.name < b.name ? -1 : 1));
  const outcomes = new Map(saved.map((outcome) => [outcome.name, outcome]));
  const findings = join(import.meta.dirname, 'FINDINGS.md');
  const text = [
    '# Measured',
    'Composed by `npm run bench -- report` of the figures in [results](results); `npm run bench -- all` measures anew. Figures of one run '
    + 'compare with each other; across machines only ratios do.',
    '## Targets',
    tableText(targetRows(outcomes)),
    ...existsSync(findings) ? [readFileSync(findings, 'utf8').trim()] : [],
    ...saved.map(chapter),
  ].join('\n\n');
  writeFileSync(join(import.meta.dirname, 'RESULTS.md'), `${text}\n`);
  console.log(`bench/RESULTS.md of ${saved.length} runs`);
}

function rank(name: string): number {
  const place = ORDER.findIndex((known) => name === known || name.startsWith(`${known}-`));
  return place < 0 ? ORDER.length : place;
}

function chapter(outcome: SavedOutcome): string {
  const { name, machine, commit, command, finishedAt, seconds, loadBefore } = outcome;
  const busy = loadBefore > 0.7 ? `; the machine was not idle before (load ${loadBefore})` : '';
  return [
    `## ${name}`,
    `\`${command}\` at ${commit}, ${finishedAt.slice(0, 10)}, ${Math.round(seconds)} s, on ${machine}${busy}.`,
    ...(outcome.pictures ?? []).map(({ name: picture, title }) => `![${title}](results/${picture}.svg)`),
    ...outcome.sections.flatMap(({ title, rows, notes = [] }) => [`**${title}**`, tableText(rows), ...notes]),
  ].join('\n\n');
}
