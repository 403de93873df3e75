/**
 * How the command ends: 2 when it is told nonsense, 1 when a sink halts or a check fails, 0 otherwise. What is only not there
 * yet, Materialize or the catalog, is no reason for `run` to end: it waits, says what for, and goes on by itself.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { CATALOG_NAME, NAMESPACE, isLoad } from '../harness/lake.ts';
import { columns } from '../harness/model.ts';
import { type ChildOptions, type ChildSink, startChild, within } from '../harness/sink.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';
import { haltedOf, oddSink, remedyOf } from './halting-command.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
const MAIN = join(import.meta.dirname, '../../../src/main.ts');
const scratch = mkdtempSync(join(tmpdir(), 'mz-sink-exit-'));

let stage: Stage;
const children: ChildSink[] = [];

beforeAll(async () => {
  stage = await openStage();
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  await stage.close();
  rmSync(scratch, { recursive: true, force: true });
});

function command(...args: readonly string[]): { code: number | null; stdout: string; stderr: string } {
  const env = { ...process.env, MATERIALIZE_URL: '' };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env, timeout: 30_000 });
  return { code: status, stdout, stderr };
}

function start(options: Partial<ChildOptions> & Pick<ChildOptions, 'sql'>): ChildSink {
  const child = startChild({ materializeUrl: stage.materialize.url, spillDir: join(scratch, 'spill'), ...options });
  children.push(child);
  return child;
}

async function endOf(child: ChildSink): Promise<number | null> {
  return within(child.exited, 60_000, () => `still running:\n${child.output()}`);
}

async function terminated(child: ChildSink): Promise<number | null> {
  child.child.kill('SIGTERM');
  return endOf(child);
}

/** A port on which nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}

/** A relation with one row, and the file that defines a sink on it. */
function relationAndSql(name: string): string {
  stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] }).commit(at(0), [[['1', 'a']]]);
  return stage.sql() + oddSink({ name });
}

describe.each(['run', 'validate'] as const)('GIVEN %s is told nonsense', (name) => {
  const file = (text: string): string => {
    const path = join(scratch, `${name}.sql`);
    writeFileSync(path, text);
    return path;
  };
  const materialize = ['--materialize', 'postgres://nobody@127.0.0.1:1/x'];

  test('WHEN the definitions are wrong THEN it ends with 2, shows every place, and asks nobody', () => {
    const path = file("CREATE SECRET s AS 'id:hunter2';\nCREATE CONNECTION c TO ICEBERG CATALOG (CATALOG TYPE = 'rest', CREDENTIAL = SECRET s);\nCREATE SINK x FROM y;\n");
    const { code, stdout, stderr } = command(name, path, ...materialize);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/:2:\d+/);
    expect(stderr).toMatch(/:3:\d+/);
    expect(stderr).not.toContain('hunter2');
  });

  test('WHEN a secret names a variable that is not set THEN it ends with 2 and names it', () => {
    const { code, stderr } = command(name, file("CREATE SECRET s AS ENV 'MZ_SINK_NOT_SET';\n"), ...materialize);
    expect(code).toBe(2);
    expect(stderr).toMatch(/:1:\d+.*MZ_SINK_NOT_SET/s);
  });

  test('WHEN the file is missing, or the command line has no Materialize or an unknown option THEN it ends with 2', () => {
    expect(command(name, join(scratch, 'nowhere.sql'), ...materialize)).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') as string });
    expect(command(name, file('')).code).toBe(2);
    expect(command(name, file(''), '--fast', ...materialize)).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage') as string });
  });
});

describe('GIVEN a spill directory that takes no file', () => {
  test('WHEN sinks are run THEN it ends with 2 before anything is started', () => {
    const path = join(scratch, 'no-spill.sql');
    writeFileSync(path, relationAndSql('no_spill'));
    const taken = join(scratch, 'taken');
    writeFileSync(taken, 'a file where the folder should be');
    const options = ['--materialize', stage.materialize.url, '--spill-dir', join(taken, 'below')];
    const ran = command('run', path, ...options);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(/\[spill-failed\] the spill directory .*taken\/below takes no file: ENOTDIR/) as string });
    expect(ran.stderr).not.toContain('started');
  });
});

describe('GIVEN definitions that can not be run', () => {
  test('WHEN there is no sink THEN run ends with 2 and the code definition-invalid', () => {
    const path = join(scratch, 'empty.sql');
    writeFileSync(path, "CREATE SECRET s AS 'x';\n");
    expect(command('run', path, '--materialize', 'postgres://x@127.0.0.1:1/x')).toMatchObject({
      code: 2, stderr: expect.stringContaining('[definition-invalid] the file defines no sink') as string,
    });
  });
});

describe('GIVEN Materialize can not be reached', () => {
  test('WHEN it is validated THEN that is a finding with its remedy, the rest is checked, and it ends with 1', async () => {
    const port = await deadPort();
    const child = start({ sql: relationAndSql('no_mz_validate'), command: 'validate', materializeUrl: `postgres://m@127.0.0.1:${port}/materialize` });
    expect(await endOf(child)).toBe(1);
    expect(child.output()).toMatch(/FAIL +relation +\[source-unreachable\]/);
    expect(child.output()).toContain(remedyOf('source-unreachable'));
    expect(child.output()).toMatch(/ok +namespace +materialize exists/);
  });

  test('WHEN it is run THEN it says so and waits, goes on once Materialize is there, and ends with 0 when asked', async () => {
    const port = await deadPort();
    const sql = relationAndSql('no_mz_run');
    const child = start({ sql, materializeUrl: `postgres://m@127.0.0.1:${port}/materialize` });
    await eventually('it says so', () => child.output().includes('source-unreachable'));
    expect(child.output()).toContain(remedyOf('source-unreachable'));
    const late = await createMaterializeStandIn({ port, manualTime: true });
    try {
      const relation = late.createRelation({ name: 'no_mz_run', columns: columns('id bigint not null', 'v text'), keys: [[0]] }, START);
      late.apply(relation, at(0), [{ row: ['1', 'a'], diff: 1 }]);
      late.advance(at(0) + 1n);
      await stage.waitForFrontier('no_mz_run', at(0) + 1n, 30_000);
      expect(await terminated(child)).toBe(0);
    } finally {
      await late.close();
    }
  });

  test.each([
    ['the password is wrong', 'source-login-refused', 'postgres://m:WRONG-PW@HOST/materialize'],
    ['the server takes no TLS', 'source-tls-refused', 'postgres://m:right@HOST/materialize?sslmode=verify-full'],
  ] as const)('WHEN %s THEN run halts as %s and ends with 1, and validate finds the same', async (_what, code, url) => {
    await using guarded = await openStage({ materialize: { users: { m: 'right' } } });
    const sql = guarded.sql() + oddSink({ name: 'guarded' });
    const materializeUrl = url.replace('HOST', `127.0.0.1:${guarded.materialize.port}`);
    const child = start({ sql, materializeUrl });
    expect(await endOf(child)).toBe(1);
    expect(haltedOf(child.output()).get('guarded')).toMatchObject({ code, remedy: remedyOf(code) });
    const validated = start({ sql, materializeUrl, command: 'validate' });
    expect(await endOf(validated)).toBe(1);
    expect(validated.output()).toContain(`[${code}]`);
    expect(child.output() + validated.output()).not.toContain('WRONG-PW');
  });
});

describe('GIVEN the catalog can not be reached', () => {
  const unreachable = async (sql: string): Promise<string> => sql.replace(stage.lake.catalogUrl, `http://127.0.0.1:${await deadPort()}/api/catalog`);

  test('WHEN it is validated THEN that is a finding with its remedy, the rest is checked, and it ends with 1', async () => {
    const child = start({ sql: await unreachable(relationAndSql('no_cat_validate')), command: 'validate' });
    expect(await endOf(child)).toBe(1);
    expect(child.output()).toMatch(/FAIL +catalog +\[catalog-unreachable\]/);
    expect(child.output()).toContain(remedyOf('catalog-unreachable'));
    expect(child.output()).toMatch(/ok +relation +materialize\.public\.no_cat_validate is a table with 2 columns/);
    expect(child.output()).toMatch(/ok +reading +SUBSCRIBE answers/);
  });

  test('WHEN it is run THEN it says so and waits, and ends with 0 when asked', async () => {
    const child = start({ sql: await unreachable(relationAndSql('no_cat_run')) });
    await eventually('it says so', () => child.output().includes('catalog-unreachable'), 40_000);
    expect(child.output()).toContain(remedyOf('catalog-unreachable'));
    expect(await terminated(child)).toBe(0);
  });
});

describe('GIVEN a storage that can not be reached', () => {
  /** The catalog says that the table lies in a bucket whose endpoint is dead. */
  async function inDeadBucket(table: string): Promise<void> {
    const endpoint = `http://127.0.0.1:${await deadPort()}`;
    stage.lake.fault = async (request) => {
      if (!isLoad(request) || request.segments.at(-1) !== table) return undefined;
      const { text } = await stage.lake.api('GET', `catalog/v1/${CATALOG_NAME}/namespaces/${NAMESPACE}/tables/${table}`);
      const answer = JSON.parse(text) as { metadata: Record<string, unknown> };
      answer.metadata['location'] = 's3://bucket/t';
      const config = {
        's3.endpoint': endpoint, 's3.access-key-id': 'key', 's3.secret-access-key': 'SECRET-KEY', 's3.path-style-access': 'true', 's3.region': 'eu-west-3',
      };
      const body = JSON.stringify({ ...answer, config });
      return { kind: 'answer', answer: { status: 200, headers: { 'content-type': 'application/json' }, body } };
    };
    const fields = [{ id: 1, name: 'id', required: true, type: 'long' }, { id: 2, name: 'v', required: false, type: 'string' }];
    await stage.lake.createTable(table, { type: 'struct', fields });
  }

  test('WHEN it is validated THEN the probe finds it, with endpoint, remedy and exit code 1', async () => {
    const sql = relationAndSql('no_store_validate');
    await inDeadBucket('no_store_validate');
    const child = start({ sql, command: 'validate' });
    expect(await endOf(child)).toBe(1);
    expect(child.output()).toMatch(/FAIL +storage +\[storage-unreachable\] put s3:\/\/bucket\/t\/data\/mz-sink-probe-.*not reachable from the sink/);
    expect(child.output()).toContain(remedyOf('storage-unreachable'));
    expect(child.output()).not.toContain('SECRET-KEY');
  }, 90_000);

  test('WHEN it is run THEN it names storage and remedy, commits nothing, waits, and ends with 0 when asked', async () => {
    const sql = relationAndSql('no_store_run');
    await inDeadBucket('no_store_run');
    const child = start({ sql });
    await eventually('it says so', () => child.output().includes('storage-unreachable'), 60_000);
    expect(haltedOf(child.output()).size).toBe(0);
    expect((await stage.lake.table('no_store_run'))?.snapshots).toEqual([]);
    expect(await terminated(child)).toBe(0);
    expect(child.output()).not.toContain('SECRET-KEY');
  }, 120_000);
});

describe('GIVEN a row of the relation beyond max_result_size, which no slice makes smaller', () => {
  test('WHEN it is run THEN it tries up to 64 slices, halts as source-result-too-large, names the limit, and ends with 1', async () => {
    await using small = await openStage({ materialize: { maxResultBytes: 10_000 } });
    const model = small.createModel('bulky', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), Array.from({ length: 10 }, (_, id) => [[String(id), 'v'.repeat(id === 7 ? 20_000 : 10)]] as const));
    const child = start({ sql: small.sql() + oddSink({ name: 'bulky' }), materializeUrl: small.materialize.url });
    expect(await endOf(child)).toBe(1);
    expect(haltedOf(child.output()).get('bulky')).toMatchObject({
      code: 'source-result-too-large', remedy: remedyOf('source-result-too-large'), message: expect.stringMatching(/max size of.*64 slices/s) as string,
    });
  });
});
