/** Planted bugs are replacements of text, and the text changes; a bug that can't be planted would be found in CI only. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMIT_BUGS } from './planted-commit-bugs.ts';
import { KNOWN_TABLE_BUGS } from './planted-known-table-bugs.ts';
import { ROW_BUGS } from './planted-row-bugs.ts';
import { SECTION_BUGS } from './planted-section-bugs.ts';
import { WORLD_BUGS } from './planted-world-bugs.ts';

const SOURCES = resolve(import.meta.dirname, '../../src');
const BUGS = [...COMMIT_BUGS, ...KNOWN_TABLE_BUGS, ...ROW_BUGS, ...SECTION_BUGS, ...WORLD_BUGS];

describe('GIVEN the planted bugs', () => {
  test.each(BUGS)('THEN "$name" has one place in the sources for each of its edits', ({ edits }) => {
    for (const { file, find, replace } of edits) {
      expect(readFileSync(join(SOURCES, file), 'utf8').split(find), file).toHaveLength(2);
      expect(replace).not.toBe(find);
    }
  });

  test('THEN each has a name of its own', () => {
    expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length);
  });
});
