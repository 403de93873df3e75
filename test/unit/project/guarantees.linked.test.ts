/**
 * The tables of faults in README.md and docs/guarantees.md: each row links the test that shows it, and the link's title is the
 * title of that test, or enough of it. A test that is renamed or removed turns this red.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../../../src/errors.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['README.md', 'docs/guarantees.md', 'docs/codes.md'];
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Link {
  readonly page: string;
  readonly target: string;
  readonly title: string;
}

const links: readonly Link[] = PAGES.flatMap((page) =>
  [...read(page).matchAll(/\]\((?!https?:)([^)\s"#]+)(?:#[^)\s"]*)?(?: "([^"]*)")?\)/g)].map(([, target = '', title = '']) => ({ page, target, title })));
const shown = links.filter(({ target }) => target.endsWith('.test.ts') && !target.includes('/project/'));

/** Rows of the tables whose last column is called `shown by`. */
function rowsOf(page: string): readonly string[] {
  const rows: string[] = [];
  let inTable = false;
  for (const line of read(page).split('\n')) {
    if (line.endsWith('| shown by |')) inTable = true;
    else if (!line.startsWith('|')) inTable = false;
    else if (inTable && !line.startsWith('|---')) rows.push(line);
  }
  return rows;
}

describe('GIVEN the guarantees', () => {
  test('THEN both tables are there, and every row links a test with its title', () => {
    expect(rowsOf('README.md').length).toBeGreaterThanOrEqual(10);
    expect(rowsOf('docs/guarantees.md').length).toBeGreaterThanOrEqual(30);
    for (const row of [...rowsOf('README.md'), ...rowsOf('docs/guarantees.md')]) expect(row).toMatch(/\]\([^) ]+\.test\.ts "[^"]+"\)/);
  });

  test.each(shown)('THEN the test that $page links is there: $target, $title', ({ page, target, title }) => {
    const text = read(join(dirname(page), target));
    expect(title).not.toBe('');
    expect(text).toContain(title);
  });

  test.each(links)('THEN what $page links exists: $target', ({ page, target }) => {
    expect(existsSync(join(ROOT, dirname(page), target))).toBe(true);
  });

  test('THEN README links the codes and the guarantees, and every code that a row names is one', () => {
    const targets = links.filter(({ page }) => page === 'README.md').map(({ target }) => target);
    expect(targets).toEqual(expect.arrayContaining(['docs/codes.md', 'docs/guarantees.md']));
    const named = rowsOf('docs/guarantees.md').flatMap((row) => [...row.matchAll(/`([a-z]+(?:-[a-z]+)+|fenced)`/g)].map(([, code]) => code));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((code) => code !== undefined && !(code in ERROR_CODES))).toEqual([]);
  });
});
