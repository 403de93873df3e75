/** `validate` changes nothing: after it every file of catalog and warehouse is what it was, byte for byte. */
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { columns } from '../harness/model.ts';
import { within } from '../harness/sink.ts';
import { START, type Stage, openStage } from '../harness/stage.ts';
import { oddSink } from './halting-command.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;
let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/** Path → digest of everything that the catalog and its storage hold. */
function contents(): Readonly<Record<string, string>> {
  const entries = readdirSync(stage.lake.directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(stage.lake.directory.length), createHash('sha256').update(readFileSync(path)).digest('hex')];
  }));
}

describe('GIVEN tables, some of them with rows', () => {
  test('WHEN sinks that fit, that do not, and that have no table yet are validated THEN every byte is as it was', async () => {
    for (const name of ['committed', 'empty_table', 'not_there', 'foreign', 'misfit']) {
      stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] }).commit(at(0), [[['1', 'a']]]);
    }
    const committed = stage.run({ name: 'committed', from: 'committed', table: 'committed', mode: 'upsert', key: '(id)' });
    const foreign = stage.run({ name: 'somebody', from: 'foreign', table: 'foreign', mode: 'upsert', key: '(id)' });
    for (const table of ['committed', 'foreign']) await stage.waitForFrontier(table, at(0) + 1n);
    await Promise.all([committed.stop(), foreign.stop()]);
    const id = { id: 1, name: 'id', required: true, type: 'long' };
    await stage.lake.createTable('empty_table', { type: 'struct', fields: [id, { id: 2, name: 'v', required: false, type: 'string' }] });
    await stage.lake.createTable('misfit', { type: 'struct', fields: [id] });

    const before = contents();
    const writes: string[] = [];
    stage.lake.fault = (request) => {
      if (request.method !== 'GET' && !request.segments.includes('oauth')) writes.push(`${request.method} ${request.segments.join('/')}`);
      return undefined;
    };
    const sql = stage.sql() + ['committed', 'empty_table', 'not_there', 'foreign', 'misfit'].map((name) => oddSink({ name })).join('')
      + oddSink({ name: 'nowhere', from: 'not_there', namespace: 'no_such_namespace' });
    const child = stage.spawn([], { sql, command: 'validate' });
    const code = await within(child.exited, 60_000, () => child.output());
    const output = child.output();

    expect(code).toBe(1);
    expect(output).toMatch(/the sink would resume materialize\.committed from frontier \[1780000000001\]/);
    expect(output.match(/takes a probe object below/g)).toHaveLength(4);
    expect(output).toContain('materialize.not_there would be created');
    for (const problem of ['foreign-sink', 'table-schema-mismatch', 'namespace-missing']) expect(output).toContain(`[${problem}]`);
    expect(writes).toEqual([]);
    expect(contents()).toEqual(before);
  });

  test('WHEN it is validated THEN nothing is left in the spill directory either', () => {
    expect(readdirSync(stage.lake.directory).filter((name) => name === 'spill').flatMap((name) => readdirSync(join(stage.lake.directory, name)))).toEqual([]);
  });
});
