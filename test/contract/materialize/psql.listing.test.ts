import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MaterializeStandIn, createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { scalar } from '../../../src/relation/sql-type.ts';

const run = promisify(execFile);
let server: MaterializeStandIn;

beforeAll(async () => {
  server = await createMaterializeStandIn({ manualTime: true });
  server.createRelation({ name: 'auctions', columns: [{ name: 'id', type: scalar('bigint'), nullable: false }] });
});

afterAll(() => server.close());

async function psql(command: string): Promise<string> {
  const { stdout } = await run('psql', [server.url, '-X', '-q', '-A', '-t', '-c', command]);
  return stdout;
}

test('GIVEN a new stand-in WHEN psql lists and describes relations first THEN those of users are there, and only they', async () => {
  expect(await psql('\\d')).toBe('public|auctions|table|postgres\n');
  expect(await psql('\\dt')).toBe('public|auctions|table|postgres\n');
  expect(await psql('\\d auctions')).toBe('id|bigint||not null|\n');
  expect(await psql('\\d mz_frontiers')).toContain('write_frontier');
});

test('GIVEN a relation that was written and dropped WHEN psql looks THEN no trace of how it was captured, then nothing', async () => {
  await psql('INSERT INTO auctions VALUES (1)');
  expect(await psql('\\d auctions')).toBe('id|bigint||not null|\n');
  await psql('DROP TABLE auctions');
  expect(await psql('\\dt')).toBe('');
  await expect(psql('SELECT * FROM auctions')).rejects.toThrow("unknown catalog item 'auctions'");
});
