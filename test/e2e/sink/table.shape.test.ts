/** The table as it is created, and existing tables that fit or don't (sections 2, 3 and 13 of the reference). */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDuckdbTable } from '../../../src/embedded/check/duckdb-table.ts';
import { CATALOG_NAME, NAMESPACE } from '../harness/lake.ts';
import { rowsOf } from '../harness/judge.ts';
import { columns } from '../harness/model.ts';
import { START, type Stage, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;

interface Field {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: unknown;
}

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

async function fieldsOf(table: string): Promise<readonly Field[]> {
  const schemas = (await stage.lake.table(table))?.json['schemas'] as { fields: Field[] }[];
  return schemas.at(-1)?.fields ?? [];
}

describe('GIVEN a table that is missing', () => {
  test('WHEN the sink starts THEN it is created unpartitioned in format 2, with NOT NULL as required and the key as identifier', async () => {
    const model = stage.createModel('created', columns('v text', 'id bigint not null', 'n numeric(10,2) not null'), { keys: [[1]] });
    model.commit(at(0), [[['a', '1', '1.50']]]);
    stage.run({ from: 'created', table: 'created', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('created', at(0) + 1n);
    const fields = await fieldsOf('created');
    expect(fields.map(({ name, required, type }) => [name, required, type])).toEqual([
      ['v', false, 'string'], ['id', true, 'long'], ['n', true, expect.stringMatching(/^decimal\(38, ?2\)$/)],
    ]);
    const json = (await stage.lake.table('created'))?.json;
    expect(json).toMatchObject({
      'format-version': 2,
      'partition-specs': [expect.objectContaining({ fields: [] })],
      properties: {
        'write.parquet.compression-codec': 'zstd', 'write.metadata.delete-after-commit.enabled': 'true', 'write.metadata.previous-versions-max': '100',
      },
    });
    const schemas = (json?.['schemas'] ?? []) as { 'identifier-field-ids'?: number[] }[];
    expect(schemas[0]?.['identifier-field-ids']).toEqual([fields[1]?.id]);
    await stage.expectEquals('created', model, { mode: 'upsert' });
  });

  test('WHEN the key may be NULL THEN the table has no identifier fields', async () => {
    const model = stage.createModel('no_identifier', columns('id bigint', 'v text'));
    model.commit(at(0), [[[null, 'a']]]);
    stage.run({ from: 'no_identifier', table: 'no_identifier', mode: 'upsert', key: '(id) NOT ENFORCED' });
    const now = await stage.waitForFrontier('no_identifier', at(0) + 1n);
    expect((now.json['schemas'] as { 'identifier-field-ids'?: number[] }[])[0]?.['identifier-field-ids'] ?? []).toEqual([]);
  });

  test('WHEN the mode is append THEN _mz_diff and _mz_timestamp are required int and long at the end', async () => {
    const model = stage.createModel('appended', columns('a integer'));
    model.commit(at(0), [[['1']]]);
    stage.run({ from: 'appended', table: 'appended', mode: 'append' });
    await stage.waitForFrontier('appended', at(0) + 1n);
    expect((await fieldsOf('appended')).map(({ name, required, type }) => [name, required, type])).toEqual([
      ['a', false, 'int'], ['_mz_diff', true, 'int'], ['_mz_timestamp', true, 'long'],
    ]);
  });

  test('WHEN columns are called a, a, a2 THEN every field has a name of its own', async () => {
    const model = stage.createModel('duplicates', columns('a integer', 'a integer', 'a2 integer'));
    model.commit(at(0), [[['1', '2', '3']]]);
    stage.run({ from: 'duplicates', table: 'duplicates', mode: 'append' });
    await stage.waitForFrontier('duplicates', at(0) + 1n);
    expect((await fieldsOf('duplicates')).slice(0, 3).map(({ name }) => name)).toEqual(['a', 'a3', 'a2']);
    expect(await rowsOf(stage.lake, 'duplicates')).toMatchObject([{ a: 1, a3: 2, a2: 3 }]);
  });

  test('WHEN names have quotes, dots, spaces, unicode and capitals THEN they are kept', async () => {
    const names = ['Größe', 'a.b', 'it\'s', 'SELECT', '世界'];
    const list = names.map((name) => ({ ...columns('x integer')[0], name })) as ReturnType<typeof columns>;
    const model = stage.createModel('Odd "name"', list);
    model.commit(at(0), [[['1', '2', '3', '4', '5']]]);
    stage.run({ name: 'odd', from: 'Odd "name"', table: 'odd_names', mode: 'append' });
    await stage.waitForFrontier('odd_names', at(0) + 1n);
    expect((await fieldsOf('odd_names')).slice(0, 5).map(({ name }) => name)).toEqual(names);
    await stage.expectEquals('odd_names', model, { mode: 'append' });
  });

  test.each(['_mz_diff', '_mz_timestamp'])('WHEN an append relation has a column %s THEN it is refused and no table is created', async (name) => {
    const table = `clash${name}`;
    stage.createModel(table, columns('a integer', `${name} integer`)).advance(at(1));
    const end = await stage.run({ from: table, table, mode: 'append' }).ended();
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'columns-unmappable' } });
    expect(end.error?.message).toContain(name);
    expect(await stage.lake.table(table)).toBeNull();
  });

  test('WHEN the key names a column that is there twice THEN it is refused as ambiguous', async () => {
    stage.createModel('ambiguous', columns('id integer', 'id integer')).advance(at(1));
    const end = await stage.run({ from: 'ambiguous', table: 'ambiguous', mode: 'upsert', key: '(id) NOT ENFORCED' }).ended();
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'key-invalid' } });
    expect(end.error?.message).toContain('column referenced in KEY is ambiguous: id');
  });
});

const field = (id: number, name: string, type: unknown, required = false): Field => ({ id, name, type, required });
const schemaOf = (...fields: readonly Field[]): object => ({ type: 'struct', fields });

describe('GIVEN a table that exists', () => {
  test.each([
    ['fewer columns', [field(1, 'id', 'long', true)]],
    ['more columns', [field(1, 'id', 'long', true), field(2, 'v', 'string'), field(3, 'extra', 'int')]],
    ['a renamed column', [field(1, 'id', 'long', true), field(2, 'w', 'string')]],
    ['a column of another type', [field(1, 'id', 'long', true), field(2, 'v', 'int')]],
    ['a column that must not be NULL', [field(1, 'id', 'long', true), field(2, 'v', 'string', true)]],
  ])('WHEN it has %s THEN the sink halts as table-schema-mismatch, and the table stays', async (what, fields) => {
    const name = `mismatch_${what.replaceAll(/\W+/g, '_')}`;
    stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] }).commit(at(0), [[['1', 'a']]]);
    await stage.lake.createTable(name, schemaOf(...fields));
    const end = await stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' }).ended();
    expect(end).toMatchObject({ reason: 'halted', error: { code: 'table-schema-mismatch' } });
    expect((await stage.lake.table(name))?.snapshots).toEqual([]);
  });

  test('WHEN it has the columns in another order THEN each value is written where its name is', async () => {
    const model = stage.createModel('reordered', columns('id bigint not null', 'v text', 'w text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'v1', 'w1']], [['2', 'v2', null]]]);
    await stage.lake.createTable('reordered', schemaOf(field(1, 'w', 'string'), field(2, 'v', 'string'), field(3, 'id', 'long', true)));
    stage.run({ from: 'reordered', table: 'reordered', mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier('reordered', at(0) + 1n);
    model.commit(at(2), [[['1', 'v1', 'w1'], -1]]);
    await stage.waitForFrontier('reordered', at(2) + 1n);
    await stage.expectEquals('reordered', model, { mode: 'upsert' });
  });

  test('WHEN its schema is changed while the sink runs THEN it halts and names it, and goes on after the repair', async () => {
    const model = stage.createModel('drifting', columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'a']]]);
    const clause = { from: 'drifting', table: 'drifting', mode: 'upsert', key: '(id)' } as const;
    const sink = stage.run(clause);
    await stage.waitForFrontier('drifting', at(0) + 1n);
    const wider = JSON.stringify({ ...schemaOf(field(1, 'id', 'long', true), field(2, 'v', 'string'), field(3, 'extra', 'int')), 'schema-id': 1, 'identifier-field-ids': [1] });
    expect(await stage.lake.commit('drifting', [`{"action":"add-schema","schema":${wider},"last-column-id":3}`, '{"action":"set-current-schema","schema-id":-1}'])).toBe(200);
    model.commit(at(2), [[['2', 'b']]]);
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'schema-changed' } });
    expect(await stage.lake.commit('drifting', ['{"action":"set-current-schema","schema-id":0}'])).toBe(200);
    stage.run(clause);
    await stage.waitForFrontier('drifting', at(2) + 1n);
    await stage.expectEquals('drifting', model, { mode: 'upsert' });
  });

  test.each([['fixed[16]', 'a0eebc999c0b4ef8bb6d6bb9bd380a11'], ['string', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], ['uuid', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']])(
    'WHEN its uuid column is %s THEN it is served as it is found', async (type, shown) => {
      const name = `uuid_${type.replaceAll(/\W/g, '')}`;
      const model = stage.createModel(name, columns('id bigint not null', 'u uuid'), { keys: [[0]] });
      model.commit(at(0), [[['1', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']], [['2', null]]]);
      await stage.lake.createTable(name, schemaOf(field(1, 'id', 'long', true), field(2, 'u', type)));
      stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' });
      await stage.waitForFrontier(name, at(0) + 1n);
      expect(await rowsOf(stage.lake, name)).toEqual([{ id: 1, u: shown }, { id: 2, u: null }]);
    },
  );

  test('WHEN a text column meets fixed[16] THEN it is refused before any row', async () => {
    stage.createModel('text_fixed', columns('id bigint not null', 'u text'), { keys: [[0]] }).commit(at(0), [[['1', 'x']]]);
    await stage.lake.createTable('text_fixed', schemaOf(field(1, 'id', 'long', true), field(2, 'u', 'fixed[16]')));
    expect(await stage.run({ from: 'text_fixed', table: 'text_fixed', mode: 'upsert', key: '(id)' }).ended())
      .toMatchObject({ reason: 'halted', error: { code: 'table-schema-mismatch' } });
  });

  test.each([0, 1, 2])('WHEN write.data.path ends with %i slashes THEN files go there and every path of the manifests resolves', async (slashes) => {
    const name = `data_path_${slashes}`;
    const model = stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] });
    model.commit(at(0), [[['1', 'a']]]);
    const folder = `file://${stage.lake.directory}/warehouse/${CATALOG_NAME}/${NAMESPACE}/elsewhere_${slashes}`;
    await stage.lake.createTable(name, schemaOf(field(1, 'id', 'long', true), field(2, 'v', 'string')), { 'write.data.path': folder + '/'.repeat(slashes) });
    stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' });
    await stage.waitForFrontier(name, at(0) + 1n);
    model.commit(at(2), [[['1', 'a'], -1], [['1', 'b']]]);
    const now = await stage.waitForFrontier(name, at(2) + 1n);
    const reader = await openDuckdbTable({ metadataLocation: now.metadataLocation });
    const paths = (await reader.liveFiles()).map((entry) => entry.path);
    reader.close();
    expect(paths).toHaveLength(3);
    for (const path of paths) expect(path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).startsWith('/')).toBe(true);
    expect(readdirSync(fileURLToPath(folder), { recursive: true }).length).toBeGreaterThanOrEqual(3);
    await stage.expectEquals(name, model, { mode: 'upsert' });
  });
});
