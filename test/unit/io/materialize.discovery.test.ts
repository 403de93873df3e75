import { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import type { QualifiedName } from '../../../src/definition/definitions.ts';
import { Secret } from '../../../src/definition/secret.ts';
import { SinkError } from '../../../src/errors.ts';
import { createMaterializeSource } from '../../../src/io/materialize.ts';
import { formatSqlType } from '../../../src/relation/sql-type-text.ts';
import type { Relation } from '../../../src/relation/relation.ts';
import { type Answer, type TestServer, startServer } from './materialize-server.ts';

// The catalog of Materialize as tables of a real Postgres, so that the look-ups are judged by a SQL engine that is
// not ours. Types, ids and names follow the documented catalog.
const CATALOG = `
  CREATE SCHEMA mz_catalog;
  CREATE TABLE mz_catalog.mz_databases (id text, name text);
  CREATE TABLE mz_catalog.mz_schemas (id text, database_id text, name text);
  CREATE TABLE mz_catalog.mz_objects (id text, schema_id text, name text, type text);
  CREATE TABLE mz_catalog.mz_columns (id text, name text, position int8, nullable bool, type text, type_oid oid, type_mod int4);
  CREATE TABLE mz_catalog.mz_types (id text, oid oid, schema_id text, name text, category text);
  CREATE TABLE mz_catalog.mz_array_types (id text, element_id text);
  CREATE TABLE mz_catalog.mz_list_types (id text, element_id text, element_modifiers text);
  CREATE TABLE mz_catalog.mz_map_types (id text, key_id text, value_id text, key_modifiers text, value_modifiers text);
  INSERT INTO mz_catalog.mz_databases VALUES ('u1', 'materialize'), ('u2', 'other');
  INSERT INTO mz_catalog.mz_schemas VALUES ('u3', 'u1', 'public'), ('u4', 'u1', 'sales'), ('u5', 'u2', 'public'), ('s1', NULL, 'mz_internal');
  INSERT INTO mz_catalog.mz_objects VALUES
    ('u10', 'u3', 't', 'table'), ('u11', 'u4', 't', 'materialized-view'), ('u12', 'u5', 't', 'source'),
    ('u13', 'u3', 'v', 'view'), ('u14', 'u3', 'i', 'index'), ('u15', 'u3', 'k', 'sink'), ('u16', 'u3', 'c', 'connection'),
    ('u17', 'u4', 'only sales', 'table'), ('s20', 's1', 'mz_sessions', 'table'), ('u21', 'u3', 'nested', 'table'),
    ('u22', 'u3', 'it''s', 'table'), ('u23', 'u3', 'no cluster', 'table');
  INSERT INTO mz_catalog.mz_columns VALUES
    ('u10', 'b', 2, true, 'numeric', 1700, 2555910), ('u10', 'a', 1, false, 'integer', 23, -1),
    ('u10', 'c', 3, true, 'timestamp with time zone', 1184, -1), ('u10', 'd', 4, true, 'integer[]', 1007, -1),
    ('u10', 'e', 5, true, 'numeric', 1700, -1),
    ('u21', 'anonymous', 1, false, 'list', 16384, -1), ('u21', 'named_list', 2, true, 'l', 20001, -1),
    ('u21', 'named_map', 3, true, 'm', 20002, -1), ('u21', 'composite', 4, true, 'p', 20003, -1),
    ('u21', 'of_named', 5, true, 'map', 16385, -1), ('u21', 'odd', 6, true, 'odd', 20009, -1),
    ('u33', 'y', 2, true, 'l', 20001, -1), ('u33', 'x', 1, false, 'numeric', 1700, 2555910);
  INSERT INTO mz_catalog.mz_types VALUES
    ('s1005', 23, 's1', 'int4', 'numeric'), ('s1006', 1700, 's1', 'numeric', 'numeric'), ('u31', 20001, 'u3', 'l', 'list'),
    ('u32', 20002, 'u3', 'm', 'pseudo'), ('u33', 20003, 'u3', 'p', 'composite');
  INSERT INTO mz_catalog.mz_list_types VALUES ('u31', 's1006', '{2555910}');
  INSERT INTO mz_catalog.mz_map_types VALUES ('u32', 's1004', 'u31', NULL, NULL);
`;

const EXPLAINED: Readonly<Record<string, string>> = {
  'types "materialize"."public"."nested"':
    'types: "(integer list, materialize.public.l?, m?, p?, map[text=>materialize.public.p]?, odd?)"',
  'keys "materialize"."public"."t"': 'keys: "([0], [1, 2])"',
  'keys "materialize"."sales"."t"': 'keys: "([7])"',
  'keys "materialize"."public"."v"': 'keys: "()"',
};

const database = new PGlite();
beforeAll(async () => {
  await database.exec(CATALOG);
});
afterAll(() => database.close());

const open: { close(): Promise<void> }[] = [];
let server: TestServer;
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

async function answer(sql: string): Promise<Answer> {
  const explain = /^EXPLAIN OPTIMIZED PLAN WITH \((\w+)\) AS TEXT FOR SELECT \* FROM (.*)$/.exec(sql);
  if (explain !== null) {
    const annotation = EXPLAINED[`${explain[1]} ${explain[2]}`];
    if (sql.includes('no cluster')) return { error: ['XX000', "unknown cluster 'quick'"] };
    if (annotation === undefined) return { error: ['XX000', 'no plan'] };
    return { rows: [[`Explained Query:\n  ReadStorage x // { ${annotation} }\n`]] };
  }
  if (sql.startsWith('SET')) return { rows: [] };
  try {
    const { rows } = await database.query<unknown[]>(sql, [], { rowMode: 'array' });
    return { rows: rows.map((row) => row.map(textOf)) };
  } catch (thrown) {
    return { error: ['XX000', String(thrown)] };
  }
}

/** The text form of what PGlite parsed: names, numbers and booleans only. */
function textOf(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return typeof value === 'string' ? value : value === null ? null : JSON.stringify(value);
}

async function discover(
  name: Partial<QualifiedName>,
  parameters: Readonly<Record<string, string>> = {},
): Promise<Relation> {
  server = await startServer({ answer, parameters });
  const source = createMaterializeSource({
    connectionString: new Secret(`postgres://me@127.0.0.1:${server.port}/materialize?sslmode=disable`),
    applicationName: 'test', relationName: { database: null, schema: null, name: 't', ...name }, cluster: 'quick',
  });
  open.push(source, server);
  return source.discover();
}

const typesOf = (relation: Relation): readonly string[] => (
  relation.columns.map((column) => `${column.name} ${formatSqlType(column.type)}${column.nullable ? '?' : ''}`)
);

describe('GIVEN a name in FROM', () => {
  it.each<[Partial<QualifiedName>, Record<string, string>, string, string]>([
    [{}, {}, 'u10', 'table'],
    [{ schema: 'sales' }, {}, 'u11', 'materialized-view'],
    [{ database: 'other', schema: 'public' }, {}, 'u12', 'source'],
    [{}, { database: 'other' }, 'u12', 'source'],
    [{}, { search_path: '"sales", public' }, 'u11', 'materialized-view'],
    [{}, { search_path: 'public, sales' }, 'u10', 'table'],
    [{ name: 'only sales' }, { search_path: '"public", sales' }, 'u17', 'table'],
    [{ schema: 'mz_internal', name: 'mz_sessions' }, {}, 's20', 'table'],
    [{ name: 'v' }, {}, 'u13', 'view'], [{ name: 'i' }, {}, 'u14', 'index'], [{ name: 'k' }, {}, 'u15', 'other'],
    [{ name: "it's" }, {}, 'u22', 'table'],
  ])('WHEN it is %j in a session of %j THEN it is %s, a %s', async (name, parameters, id, kind) => {
    const relation = await discover(name, parameters);
    expect([relation.id, relation.kind]).toEqual([id, kind]);
    expect(server.queries[0]).toBe('SET cluster = "quick"');
  });

  it.each<Partial<QualifiedName>>([
    { name: 'none' }, { name: 'T' }, { name: 'c' }, { name: 'only sales' }, { schema: 'none' }, { database: 'none', schema: 'public' },
  ])('WHEN it is %j THEN it is relation-missing', async (name) => {
    await expect(discover(name)).rejects.toSatisfy((thrown) => thrown instanceof SinkError && thrown.code === 'relation-missing');
  });
});

describe('GIVEN a relation', () => {
  it('WHEN its types are built in THEN columns come by position with scale and nullability', async () => {
    const relation = await discover({});
    expect(relation).toMatchObject({ database: 'materialize', schema: 'public', name: 't' });
    expect(typesOf(relation)).toEqual([
      'a integer', 'b numeric(39,2)?', 'c timestamp with time zone?', 'd integer[]?', 'e numeric?',
    ]);
    expect(server.queries.some((sql) => sql.includes('WITH (types)'))).toBe(false);
  });

  it('WHEN types are named or anonymous and nested THEN they are known at every depth', async () => {
    const composite = 'record(x: numeric(39,2),y: numeric(39,2) list?)';
    expect(typesOf(await discover({ name: 'nested' }))).toEqual([
      'anonymous integer list', 'named_list numeric(39,2) list?', 'named_map map[text=>numeric(39,2) list]?',
      `composite ${composite}?`, `of_named map[text=>${composite}]?`, 'odd odd?',
    ]);
  });

  it.each<[Partial<QualifiedName>, Relation['uniqueKeys']]>([
    [{}, [[0], [1, 2]]], [{ name: 'v' }, []], [{ name: 'nested' }, null],
    // A key of a column that does not exist vouches for nothing.
    [{ schema: 'sales' }, null],
  ])('WHEN the plan of %j is explained THEN its keys are %j', async (name, keys) => {
    expect((await discover(name)).uniqueKeys).toEqual(keys);
  });

  it('WHEN the cluster does not exist THEN that is named, and not taken for a relation without keys', async () => {
    await expect(discover({ name: 'no cluster' })).rejects
      .toSatisfy((thrown) => thrown instanceof SinkError && thrown.code === 'cluster-missing');
  });

  it('WHEN its socket is not needed any more THEN it is closed', async () => {
    await discover({});
    await expect.poll(() => server.sockets.size).toBe(0);
  });
});
