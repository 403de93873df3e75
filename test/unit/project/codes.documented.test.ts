/** The table of codes in docs/codes.md and the one of src/errors.ts are the same table, and no code is there for nothing. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Disposition, ERROR_CODES } from '../../../src/errors.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CODES = Object.entries(ERROR_CODES);

/** What the documentation calls a disposition. */
const WORDS: Readonly<Record<Disposition, string>> = { retry: 'waits', verify: 'looks first', restart: 'starts over', halt: 'stops' };

interface Row {
  readonly code: string;
  readonly disposition: string;
  readonly saw: string;
  readonly why: string;
  readonly remedy: string;
}

const text = readFileSync(join(ROOT, 'docs/codes.md'), 'utf8');
const rows: readonly Row[] = text.split('\n').filter((line) => line.startsWith('| `')).map((line) => {
  const [code = '', disposition = '', saw = '', why = '', remedy = '', ...rest] = line.slice(2, -2).split(' | ');
  expect(rest).toEqual([]);
  return { code: code.replaceAll('`', ''), disposition, saw, why, remedy };
});

describe('GIVEN the codes of src/errors.ts and the rows of docs/codes.md', () => {
  test('THEN each code has one row and each row is a code', () => {
    expect(rows.map(({ code }) => code).toSorted()).toEqual(CODES.map(([code]) => code).toSorted());
  });

  test.each(CODES)('THEN %s has the same disposition and the same remedy in both', (code, { disposition, remedy }) => {
    expect(rows.find((row) => row.code === code)).toMatchObject({ disposition: WORDS[disposition], remedy });
  });

  test.each(rows)('THEN $code says what was seen and why', ({ saw, why }) => {
    expect(saw.length).toBeGreaterThan(20);
    expect(why.length).toBeGreaterThan(8);
  });

  test('THEN each word for a disposition is explained', () => {
    for (const word of Object.values(WORDS)) expect(text).toContain(`- **${word}**: `);
  });
});

describe('GIVEN the code of the sink', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'errors.ts' && !path.startsWith('embedded'))
    .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'))
    .join('\n')
    // Comparisons and comments mention codes without raising them.
    .replaceAll(/[=!]== '[a-z-]+'/g, '')
    .replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '');

  test.each(CODES)('THEN %s is raised somewhere', (code) => {
    expect(sources).toContain(`'${code}'`);
  });
});
