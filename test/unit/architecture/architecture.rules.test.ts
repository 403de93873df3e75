/** ARCHITECTURE.md's table, held to the code; and each rule shown to fire on a planted fault. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MAY_IMPORT, cycleFaults, importFaults, packagesAtStart, privacyFaults, shapeFaults, worldFaults } from '../../architecture/rules.ts';
import { ROOT, parseSource, readSource } from '../../architecture/source-files.ts';

const FILE_LINES_MAX = 400;
const src = readSource('src');
const tests = [...readSource('test'), ...readSource('bench')];

describe('GIVEN the source', () => {
  test('THEN every folder imports only what the table allows', () => {
    expect(importFaults(src)).toEqual([]);
  });

  test('THEN there is no cycle of imports', () => {
    expect(cycleFaults(src)).toEqual([]);
  });

  test('THEN decisions have no clock, no randomness, no waiting and no world', () => {
    expect(worldFaults(src)).toEqual([]);
  });

  test('THEN files are short, no file is a barrel, and no folder is called after nothing', () => {
    expect(shapeFaults([...src, ...tests], FILE_LINES_MAX)).toEqual([]);
  });

  test('THEN nobody imports main.ts', () => {
    const importers = src.filter((file) => file.imports.some((item) => item.target === 'src/main.ts')).map((file) => file.path);
    expect(importers).toEqual([]);
  });

  test('THEN neither the program nor a worker starts with the large packages that only some tables need', () => {
    expect([...packagesAtStart(src, 'src/main.ts')].toSorted()).toEqual(['avsc', 'pg']);
    expect([...packagesAtStart(src, 'src/io/encode-worker.ts')].toSorted()).toEqual(['apache-arrow/data', 'apache-arrow/schema', 'apache-arrow/type']);
  });

  test('THEN every folder of the table is described in ARCHITECTURE.md', () => {
    const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
    const folders = Object.keys(MAY_IMPORT).filter((name) => name !== 'main').map((name) => name.split('/')[0] ?? '');
    expect(folders.filter((name) => !new RegExp(`\\| \`${name}(\\.ts)?\``).test(text))).toEqual([]);
  });

  test('THEN no tracked file names a registry host or a place of one machine', () => {
    const paths = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n').filter((path) => path !== '');
    const files = paths.filter((path) => path !== 'test/architecture/rules.ts' && !path.endsWith('architecture.rules.test.ts'))
      .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
    expect(privacyFaults(files)).toEqual([]);
  });
});

describe('GIVEN a planted fault', () => {
  const file = (path: string, text: string) => parseSource(path, text);

  test.each([
    ['a stage that looks right', file('src/batch/x.ts', "import { y } from '../write/y.ts';"), /batch may not import write/],
    ['a run-time import where types are allowed', file('src/subscribe/x.ts', "import { y } from '../batch/y.ts';"), /only types/],
    ['a folder that nobody knows', file('src/magic/x.ts', ''), /not in the table/],
    ['the check that shares code with the writer', file('src/embedded/check/x.ts', "import { y } from '../../iceberg/y.ts';"), /may not import iceberg/],
  ])('WHEN there is %s THEN the table refuses it', (_what, planted, message) => {
    expect(importFaults([planted])).toEqual([expect.stringMatching(message)]);
  });

  test('WHEN types alone are imported where types are allowed THEN nothing is refused', () => {
    expect(importFaults([file('src/subscribe/x.ts', "import type { y } from '../batch/y.ts';")])).toEqual([]);
    expect(importFaults([file('src/subscribe/x.ts', "import { type y, type z } from '../batch/y.ts';")])).toEqual([]);
  });

  test('WHEN two files import each other THEN the cycle is named', () => {
    const files = [file('src/io/a.ts', "import { b } from './b.ts';"), file('src/io/b.ts', "import { a } from './a.ts';")];
    expect(cycleFaults(files)).toEqual([expect.stringContaining('src/io/a.ts → src/io/b.ts → src/io/a.ts')]);
  });

  test.each([
    ['const t = Date.now();', /clock/], ['Math.random();', /randomness/], ['setTimeout(f, 1);', /timer/], ['process.exit();', /process/],
    ['await x;', /synchronous/], ["import fs from 'node:fs';", /no world/], ['void fetch(url);', /network/],
  ])('WHEN a decision says %s THEN it is refused', (text, message) => {
    expect(worldFaults([file('src/commit/x.ts', text)])).toEqual([expect.stringMatching(message)]);
    expect(worldFaults([file('src/io/x.ts', text)])).toEqual([]);
  });

  test('WHEN a forbidden word stands in a comment or a string THEN nothing is refused', () => {
    expect(worldFaults([file('src/commit/x.ts', "// Date.now()\n/* await */ const a = 'process.exit';")])).toEqual([]);
  });

  test('WHEN a file is long, a barrel or in a folder of leftovers THEN it is named', () => {
    expect(shapeFaults([file('src/io/x.ts', '\n'.repeat(500))], FILE_LINES_MAX)).toEqual([expect.stringContaining('lines')]);
    expect(shapeFaults([file('src/io/index.ts', '')], FILE_LINES_MAX)).toEqual([expect.stringContaining('barrel')]);
    expect(shapeFaults([file('src/utils/x.ts', '')], FILE_LINES_MAX)).toEqual([expect.stringContaining('name the folder')]);
  });

  test('WHEN a file names a place of this machine THEN it is named', () => {
    expect(privacyFaults([{ path: 'a', text: 'see /root/x' }])).toHaveLength(1);
  });
});
