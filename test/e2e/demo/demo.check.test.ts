/** The demo as its user starts it: a process with an exit code and words, in an empty directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDuckdbTable } from '../../../src/embedded/check/duckdb-table.ts';

const DEMO = join(import.meta.dirname, '../../../src/embedded/demo/main.ts');
const DAMAGED_DEMO = join(import.meta.dirname, 'damaged-demo.ts');

interface Running {
  readonly child: ChildProcess;
  /** All that was written so far, both streams. */
  text(): string;
  readonly exit: Promise<number | null>;
}

let folder: string;
let started: Running[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mz-sink-demo-'));
  started = [];
});

afterEach(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(script: string, ...args: string[]): Running {
  const child = spawn(process.execPath, [script, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  const exit = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const running = { child, text: () => text, exit };
  started.push(running);
  return running;
}

async function textWith(running: Running, pattern: RegExp): Promise<RegExpExecArray> {
  await expect.poll(() => running.text(), { timeout: 60_000 }).toMatch(pattern);
  const found = pattern.exec(running.text());
  if (found === null) throw new Error('the text went away');
  return found;
}

describe('GIVEN an empty directory', () => {
  test('WHEN the demo runs for six seconds THEN both tables hold what the relations held and it exits 0', async () => {
    const demo = start(DEMO, '--seconds', '6');
    expect({ code: await demo.exit, text: demo.text() }).toMatchObject({ code: 0 });
    expect(demo.text()).toContain('OK: the tables hold exactly what the relations held.');
    expect(demo.text()).toMatch(/✓ auctions → auctions \(upsert\)\n +150 rows equal the relation's 150\n/);
    expect(demo.text()).toMatch(/✓ accounts → account_changes \(append\)\n +\d{3} changes fold to the relation's 100/);
    expect(demo.text().match(/([2-9]) of \1 snapshots equal the relation at their own time/g)).toHaveLength(2);
    // Not a terminal: no escape codes.
    expect(demo.text()).not.toContain('\x1b');
    const sql = readFileSync(join(folder, '.demo/sinks.sql'), 'utf8');
    expect(sql).toMatch(/CREATE SINK auctions_sink[^;]*KEY \(id\)\s+MODE UPSERT/);
    const scanned = [...demo.text().matchAll(/iceberg_scan\('([^']+)'\)/g)].map(([, path]) => path ?? '');
    expect(scanned.map((path) => existsSync(path))).toEqual([true, true]);
  });

  test('WHEN a user changes rows, starts a second demo and ends the first THEN the check of the first holds', async () => {
    const demo = start(DEMO, '--keep-running');
    const [, url = ''] = await textWith(demo, /psql (postgres:\S+)/);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query("INSERT INTO auctions VALUES (1000000, 7, 'My teapot', NULL, 0, now() + interval '1 day')");
    await client.query("INSERT INTO auctions VALUES (1000001, 7, 'Gone again', NULL, 0, now() + interval '1 day')");
    await textWith(demo, /your change of auctions arrived in table auctions/);
    await client.query("UPDATE auctions SET item = 'My Teekännchen' WHERE id = 1000000");
    await client.query('DELETE FROM auctions WHERE id = 1000001');
    await client.end();
    const second = start(DEMO);
    expect({ code: await second.exit, text: second.text() }).toMatchObject({ code: 1 });
    expect(second.text()).toContain('in use by process');
    demo.child.kill('SIGINT');
    expect({ code: await demo.exit, text: demo.text() }).toMatchObject({ code: 0 });
    const [, metadataLocation = ''] = await textWith(demo, /iceberg_scan\('([^']+auctions\/metadata[^']+)'\)/);
    const table = await openDuckdbTable({ metadataLocation });
    const rows = (await table.rows()).filter((line) => /"id":100000[01],/.test(line));
    table.close();
    expect(rows.map((line) => (JSON.parse(line) as { item: string }).item)).toEqual(['My Teekännchen']);
  });

  test('WHEN a user drops a relation THEN the halted sink is named, the other table is judged and it exits 1', async () => {
    const demo = start(DEMO, '--keep-running');
    const [, url = ''] = await textWith(demo, /psql (postgres:\S+)/);
    await textWith(demo, /running\n.*running\n/);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('DROP TABLE accounts');
    await client.end();
    expect({ code: await demo.exit, text: demo.text() }).toMatchObject({ code: 1 });
    expect(demo.text()).toContain('✗ account_changes_sink halted: relation-dropped');
    expect(demo.text()).toContain('FAILED: see above');
  });

  test('WHEN the options make no sense THEN it says so, exits 2 and touches nothing', async () => {
    const demo = start(DEMO, '--seconds', 'many');
    expect(await demo.exit).toBe(2);
    expect(demo.text()).toContain('--seconds takes a whole number');
    expect(existsSync(join(folder, '.demo'))).toBe(false);
  });
});

describe('GIVEN a table that is damaged after the sinks have stopped', () => {
  test.each([
    ['data-file-deleted', 'append', /the table can't be read: ENOENT/],
    ['manifest-deleted', 'append', /the table can't be read: ENOENT/],
    ['data-file-of-another-commit', 'append', /\d+ rows are missing and \d+ are not in the relation/],
    ['delete-file-of-another-commit', 'upsert', /\d+ rows are missing and \d+ are not in the relation/],
  ])('WHEN it is %s in the %s table THEN the check says so and it exits 1', async (damage, mode, words) => {
    const demo = start(DAMAGED_DEMO, damage);
    expect({ code: await demo.exit, text: demo.text() }).toMatchObject({ code: 1 });
    expect(demo.text()).toContain('FAILED: see above');
    expect(demo.text()).toMatch(words);
    expect(demo.text()).toMatch(mode === 'append' ? /✗ accounts → account_changes/ : /✗ auctions → auctions/);
    expect(demo.text()).toMatch(mode === 'append' ? /✓ auctions → auctions/ : /✓ accounts → account_changes/);
  });
});
