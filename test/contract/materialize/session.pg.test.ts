import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MaterializeStandIn, createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { range, scalar } from '../../../src/relation/sql-type.ts';
import { fieldsOf, loginRaw, openRaw } from './raw-client.ts';

const tls = {
  cert: readFileSync(join(import.meta.dirname, 'tls/server.crt'), 'utf8'),
  key: readFileSync(join(import.meta.dirname, 'tls/server.key'), 'utf8'),
};
let server: MaterializeStandIn;
let client: pg.Client;

function clientOf(more: pg.ClientConfig = {}): pg.Client {
  return new pg.Client({ host: server.host, port: server.port, user: 'joe', password: 'pw', database: 'materialize', ...more });
}

const field = (name: string, type: ReturnType<typeof scalar>, nullable = true): { name: string; type: ReturnType<typeof scalar>; nullable: boolean } => ({ name, type, nullable });

beforeAll(async () => {
  server = await createMaterializeStandIn({ users: { joe: 'pw' }, tls, tickMs: 20 });
  client = clientOf();
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await server.close();
});

test('GIVEN a user WHEN the password is right, wrong or the user unknown THEN in, 28P01, 28P01', async () => {
  await expect(clientOf({ password: 'no' }).connect()).rejects.toMatchObject({ code: '28P01', message: 'invalid password' });
  await expect(clientOf({ user: 'eve' }).connect()).rejects.toMatchObject({ code: '28P01' });
  const right = await loginRaw(server.port, { password: 'pw' });
  right.close();
});

test('GIVEN a login WHEN it is done THEN the reported parameters, the key and the welcome notice have come', async () => {
  const raw = await loginRaw(server.port, { password: 'pw', parameters: { options: '--cluster=other -c application_name=x\\ y' } });
  const reported = new Map(
    raw.messages.filter(({ tag }) => tag === 'S').map(({ body }) => body.toString().split('\0').slice(0, 2) as [string, string]),
  );
  expect(Object.fromEntries(reported)).toMatchObject({
    application_name: 'x y', client_encoding: 'UTF8', DateStyle: 'ISO, MDY', integer_datetimes: 'on', server_version: '9.5.0',
    standard_conforming_strings: 'on', TimeZone: 'UTC', IntervalStyle: 'postgres', cluster: 'other', cluster_replica: '',
    database: 'materialize', search_path: 'public',
  });
  expect(raw.messages.map(({ tag }) => tag).filter((tag) => tag !== 'S').join('')).toBe('RRKNZ');
  raw.close();
  const quiet = await loginRaw(server.port, { password: 'pw', parameters: { welcome_message: 'off', nonsense: '1' } });
  const notices = quiet.messages.filter(({ tag }) => tag === 'N').map((message) => fieldsOf(message)['M']);
  expect(notices).toEqual(['startup setting nonsense not set: unrecognized configuration parameter "nonsense"']);
  quiet.close();
});

test('GIVEN protocol 2 WHEN a client starts THEN FATAL 08004', async () => {
  const raw = await openRaw(server.port, {});
  raw.close();
  const { connect } = await import('node:net');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(Buffer.from([0, 0, 0, 8, 0, 2, 0, 0]));
  const [answer] = (await new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve([bytes])))) as [Buffer];
  expect(answer.toString()).toContain('SFATAL\0C08004\0');
  socket.destroy();
});

test('GIVEN a certificate WHEN a client verifies it THEN TLS works, and an unknown authority is refused', async () => {
  const secure = clientOf({ host: 'localhost', ssl: { ca: tls.cert } });
  await secure.connect();
  expect((await secure.query<{ cluster: string }>('SHOW cluster')).rows).toEqual([{ cluster: 'quickstart' }]);
  await secure.end();
  await expect(clientOf({ host: 'localhost', ssl: true }).connect()).rejects.toThrow(/self.signed/);
});

test('GIVEN session variables WHEN set, shown and reset THEN each keeps its value and is reported', async () => {
  await client.query("SET cluster = 'c2'");
  expect((await client.query('SHOW cluster')).rows).toEqual([{ cluster: 'c2' }]);
  await client.query('RESET cluster');
  expect((await client.query('SHOW cluster')).rows).toEqual([{ cluster: 'quickstart' }]);
  await client.query("SET transaction_isolation TO 'serializable'");
  await expect(client.query('SET nonsense = 1')).rejects.toMatchObject({ code: '42704' });
});

test('GIVEN named and anonymous types WHEN the catalog is queried with parameters THEN it describes them at every depth', async () => {
  server.createType({ name: 'int_list', schema: 'public', type: { kind: 'list', element: scalar('integer') } });
  const point = { kind: 'record' as const, fields: [field('x', scalar('integer')), field('label', scalar('text'))] };
  server.createType({ name: 'point', schema: 'public', type: point });
  const relation = server.createRelation({
    name: 'shapes',
    kind: 'materialized-view',
    columns: [
      field('id', scalar('bigint'), false),
      field('amount', scalar('numeric', 2)),
      { name: 'l', type: { kind: 'list', element: scalar('integer') }, nullable: true },
      { name: 'p', type: point, nullable: false },
      { name: 'm', type: { kind: 'map', value: scalar('integer') }, nullable: true },
      { name: 'r', type: range('int4range'), nullable: true },
    ],
    keys: [[0], [1, 2]],
    columnTypeNames: { l: 'int_list', p: 'point' },
  });
  const sql = `SELECT c.position, c.name, c.nullable, c.type, c.type_oid, c.type_mod, t.category, e.oid AS element_oid
    FROM mz_catalog.mz_columns c LEFT JOIN mz_catalog.mz_types t ON t.oid = c.type_oid
    LEFT JOIN mz_catalog.mz_list_types lt ON lt.id = t.id LEFT JOIN mz_catalog.mz_types e ON e.id = lt.element_id
    WHERE c.id = $1 ORDER BY c.position`;
  const { rows } = await client.query<Record<string, unknown>>(sql, [relation.id]);
  const shown = rows.map((row) => [row['name'], row['nullable'], row['type'], row['type_oid'], row['type_mod'], row['category'], row['element_oid']]);
  expect(shown).toEqual([
    ['id', false, 'bigint', 20, -1, 'numeric', null],
    ['amount', true, 'numeric', 1700, ((39 << 16) | 2) + 4, 'numeric', null],
    ['l', true, 'int_list', expect.any(Number) as unknown, -1, 'list', 23],
    ['p', false, 'point', expect.any(Number) as unknown, -1, 'composite', null],
    ['m', true, 'map', 16385, -1, 'pseudo', null],
    ['r', true, 'int4range', 3904, -1, 'range', null],
  ]);
  const fields = await client.query('SELECT c.name, c.type FROM mz_columns c JOIN mz_types t ON t.id = c.id WHERE t.name = $1 ORDER BY position', ['point']);
  expect(fields.rows).toEqual([{ name: 'x', type: 'integer' }, { name: 'label', type: 'text' }]);
  const plan = await client.query<Record<string, string>>('EXPLAIN OPTIMIZED PLAN WITH (types, keys) AS TEXT FOR SELECT * FROM materialize.public.shapes');
  expect(plan.rows[0]?.['Optimized Plan']).toContain(
    '// { types: "(bigint, numeric(39,2)?, materialize.public.int_list?, materialize.public.point, map[text=>integer]?, int4range?)", keys: "([0], [1, 2])" }',
  );
});

test('GIVEN relations WHEN mz_frontiers is read THEN since and upper, NULL for the empty frontier', async () => {
  const constant = server.createRelation({ name: 'constant', columns: [field('a', scalar('text'))] }, 0n);
  server.closeRelation(constant);
  const { rows } = await client.query('SELECT read_frontier, write_frontier FROM mz_internal.mz_frontiers WHERE object_id = $1', [constant.id]);
  expect(rows).toEqual([{ read_frontier: '0', write_frontier: null }]);
});

test('GIVEN a table made by SQL WHEN it is written THEN every change arrives in a subscription at its own time', async () => {
  await client.query('CREATE TABLE live (id bigint NOT NULL, price numeric(38,2), doc jsonb, tags text list)');
  const raw = await loginRaw(server.port, { password: 'pw' });
  raw.query('COPY (SUBSCRIBE live) TO STDOUT');
  await raw.nextTag('H');
  await client.query('INSERT INTO live VALUES ($1, $2, $3, $4)', [1, '1.50', '{"b": 1.0, "a": "x\\ty"}', '{a,b}']);
  const inserted = (await raw.nextTag('d')).body.toString();
  expect(inserted).toMatch(/^\d{13}\t1\t1\t1\.5\t\{"a":"x\\\\ty","b":1\}\t\{a,b\}\n$/);
  const updated = await client.query('UPDATE materialize.public.live SET price = price + 1, doc = NULL WHERE id = 1 RETURNING price');
  expect(updated.rows).toEqual([{ price: '2.5' }]);
  const pair = [(await raw.nextTag('d')).body.toString(), (await raw.nextTag('d')).body.toString()];
  expect(pair.map((line) => line.split('\t').slice(1).join(' '))).toEqual(expect.arrayContaining(['1 1 2.5 \\N {a,b}\n']));
  expect(new Set(pair.map((line) => line.split('\t')[0])).size).toBe(1);
  await client.query('DELETE FROM live');
  expect((await raw.nextTag('d')).body.toString()).toMatch(/^\d{13}\t-1\t1\t2\.5\t/);
  await expect(client.query("INSERT INTO shapes VALUES (1)")).rejects.toMatchObject({ message: expect.stringContaining('cannot insert') as unknown });
  await client.query('DROP TABLE live');
  expect(fieldsOf(await raw.nextTag('E'))['C']).toBe('42704');
  raw.close();
});

test('GIVEN wrong statements WHEN they run THEN the errors of Materialize and a usable session', async () => {
  await expect(client.query('SELECT * FROM nowhere')).rejects.toMatchObject({ code: 'XX000', message: "unknown catalog item 'nowhere'" });
  await expect(client.query('SELECT nope FROM mz_objects')).rejects.toMatchObject({ code: 'XX000', message: 'column "nope" does not exist' });
  await expect(client.query('COPY (SUBSCRIBE shapes AS OF now()) TO STDOUT')).rejects.toMatchObject({
    message: 'calling an unmaterializable function in AS OF or UP TO not yet supported',
  });
  await client.query('BEGIN');
  await expect(client.query('SELECT 1/0')).rejects.toMatchObject({ code: '22012' });
  await expect(client.query('SELECT 1')).rejects.toMatchObject({ code: '25P02' });
  await client.query('ROLLBACK');
  server.denySelect('constant');
  await expect(client.query('COPY (SUBSCRIBE constant) TO STDOUT')).rejects.toMatchObject({ code: '42501' });
  expect((await client.query('SELECT mz_now() > 0 AS later, current_database() AS database')).rows).toEqual([{ later: true, database: 'materialize' }]);
});
