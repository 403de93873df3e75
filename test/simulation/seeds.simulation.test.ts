/** A share of the simulator in every test run, as its command line runs it, and a planted bug that it must find. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../..');

function run(project: string, args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((done) => {
    const command = [join(project, 'test/simulation/main.ts'), ...args];
    execFile(process.execPath, command, { cwd: project }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr });
    });
  });
}

describe('GIVEN two hundred seeds of workload, faults and rivals', () => {
  test('WHEN each is played twice THEN nothing that must hold is broken, and both traces are the same', async () => {
    const { code, output } = await run(PROJECT, ['--seeds', '200']);
    expect(output).toMatch(/^200 seeds in /m);
    expect(output).not.toMatch(/^seed .* fails/m);
    expect(code).toBe(0);
  });

  test('WHEN the seeds are divided among processes THEN the same happens as in one', async () => {
    const whole = await run(PROJECT, ['--seeds', '60', '--once']);
    const divided = await run(PROJECT, ['--seeds', '60', '--once', '--shards', '3']);
    const counted = ({ output }: { readonly output: string }): string => output.replace(/ in [\d.]+ s \(\d+ a second\)/, '');
    expect(counted(divided)).toBe(counted(whole));
    expect(counted(whole)).toMatch(/^60 seeds, /);
    expect(divided.code).toBe(0);
  });

  test('WHEN real bytes are written THEN the same holds', async () => {
    const { code, output } = await run(PROJECT, ['--seeds', '40', '--from', '1000', '--bytes']);
    expect(output).toMatch(/^40 seeds in /m);
    expect(code).toBe(0);
  });
});

describe('GIVEN a bug in the sink', () => {
  test('WHEN the seeds are played THEN one fails, is made smaller, and says how to play it again', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'planted-'));
    try {
      for (const part of ['src', 'test/simulation', 'test/doubles', 'package.json']) {
        cpSync(join(PROJECT, part), join(copy, part), { recursive: true });
      }
      symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'));
      const opening = join(copy, 'src/sink/opening.ts');
      const text = readFileSync(opening, 'utf8');
      const planted = text.replace('frontier - 1n, snapshot: false', 'frontier, snapshot: false');
      expect(planted).not.toBe(text);
      writeFileSync(opening, planted);
      const { code, output } = await run(copy, ['--seeds', '1000', '--once']);
      expect(code).toBe(1);
      expect(output).toMatch(/^seed \d+ fails: rows: /m);
      expect(output).toMatch(/made smaller:/);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});
