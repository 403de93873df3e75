/**
 * Every case of the shared `types.jsonl` through the whole sink: COPY bytes of the stand-in → subscription → Parquet and
 * manifests → catalog → DuckDB. The cases of a file share a table with one column for each type, so that a failure names
 * the column; a row holds one case of each type.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseSqlType } from '../../../src/relation/sql-type-text.ts';
import type { SqlType } from '../../../src/relation/sql-type.ts';
import type { Column } from '../../../src/relation/relation.ts';
import { parseRow, rowsOf } from '../harness/judge.ts';
import { type Change, columns } from '../harness/model.ts';
import { START, type Stage, openStage } from '../harness/stage.ts';

interface Case {
  readonly type: string;
  readonly copy: string;
  readonly iceberg: string;
  readonly value?: unknown;
  readonly error?: string;
}

const shared = process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared');
const cases = readFileSync(join(shared, 'cases/types.jsonl'), 'utf8').trim().split('\n')
  .map((line) => parseRow(line) as unknown as Case);
const sound = cases.filter((one) => one.error === undefined);
const broken = cases.filter((one) => one.error !== undefined);
const types = [...new Set(sound.map((one) => one.type))];
const depth = Math.max(...types.map((type) => sound.filter((one) => one.type === type).length));

/** Column `c<i>` has the i-th type. */
const columnList: Column[] = [
  { name: 'row', type: parseSqlType('integer') ?? fail('integer'), nullable: false },
  ...types.map((type, index) => ({ name: `c${index}`, type: nullableInside(parseSqlType(type) ?? fail(type)), nullable: true })),
];

/** A type as the catalog spells it says nothing of NULL in a record's fields, so they may be. */
function nullableInside(type: SqlType): SqlType {
  switch (type.kind) {
    case 'record': return { ...type, fields: type.fields.map((field) => ({ ...field, nullable: true, type: nullableInside(field.type) })) };
    case 'list':
    case 'array': return { ...type, element: nullableInside(type.element) };
    case 'map': return { ...type, value: nullableInside(type.value) };
    default: return type;
  }
}

function fail(type: string): never {
  throw new Error(`no type ${type}`);
}

const casesOf = (type: string): readonly Case[] => sound.filter((one) => one.type === type);
const copyOf = (one: Case | undefined): string | null => (one === undefined || one.copy === '\\N' ? null : one.copy);

/** Row r: the r-th case of every type, NULL where a type has fewer. */
const rows: Change[] = Array.from({ length: depth }, (_, row) =>
  [[String(row), ...types.map((type) => copyOf(casesOf(type)[row]))], 1]);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe.each([
  { mode: 'upsert', key: '(row)', snapshot: true }, { mode: 'upsert', key: '(row)', snapshot: false }, { mode: 'append', key: undefined, snapshot: true },
] as const)('GIVEN the cases of every type in $mode mode, in the first snapshot: $snapshot', ({ mode, key, snapshot }) => {
  const table = `types_${mode}_${snapshot ? 'snapshot' : 'changes'}`;
  let shown: Record<string, unknown>[];
  let fields: ReadonlyMap<string, string>;

  beforeAll(async () => {
    const model = stage.createModel(table, columnList, { keys: [[0]] });
    if (snapshot) model.change(START, rows);
    model.advance(START + 1n);
    stage.run({ from: table, table, mode, ...(key === undefined ? {} : { key }) });
    let frontier = START + 1n;
    await stage.waitForFrontier(table, frontier);
    if (!snapshot) {
      model.commit(START + 1000n, rows);
      frontier = START + 1001n;
    }
    const now = await stage.waitForFrontier(table, frontier);
    shown = (await rowsOf(stage.lake, table)).toSorted((left, right) => Number(left['row']) - Number(right['row']));
    const schema = (now.json['schemas'] as { fields: { name: string; type: unknown }[] }[])[0];
    fields = new Map(schema?.fields.map((field) => [field.name, typeText(field.type)]));
  });

  test.each(types.map((type, index) => ({ type, index })))('WHEN $type is written THEN the column and every value are as the case says', ({ type, index }) => {
    const own = casesOf(type);
    expect(fields.get(`c${index}`)).toBe(own[0]?.iceberg);
    expect(shown.slice(0, own.length).map((row) => row[`c${index}`])).toEqual(own.map((one) => one.value));
    expect(shown.slice(own.length).map((row) => row[`c${index}`])).toEqual(Array<null>(depth - own.length).fill(null));
  });
});

describe('GIVEN a value that the table cannot hold', () => {
  test.each(broken.map((one, index) => ({ ...one, index })))(
    'WHEN $type $copy arrives THEN the sink halts with row-not-representable and the table stays at the last good frontier',
    async ({ type, copy, index }) => {
      const name = `broken_${index}`;
      const model = stage.createModel(name, columns('id integer not null', `v ${type}`), { keys: [[0]] });
      model.commit(START, [[['1', '1']]]);
      const sink = stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' });
      await stage.waitForFrontier(name, START + 1n);
      model.commit(START + 2000n, [[['2', copy]]]);
      const end = await sink.ended();
      expect(end).toMatchObject({ reason: 'halted', error: { code: 'row-not-representable' } });
      expect(end.error?.message).toContain(`"v"`);
      expect(end.error?.message).toContain(name);
      if (copy.length > 3) expect(sink.logText() + String(end.error?.message)).not.toContain(copy);
      expect(await rowsOf(stage.lake, name)).toEqual([{ id: 1, v: '1.0000000000' }]);
    },
  );

  test("WHEN the sink is told ON ROW ERROR = 'null' THEN the values are NULL, the rest of the row is there, and they are counted", async () => {
    const model = stage.createModel('nulled', columns('id integer not null', 'v numeric', 'note text'), { keys: [[0]] });
    model.commit(START, broken.map((one, index) => [[String(index), one.copy, `n${index}`]] as const));
    const sink = stage.run({ from: 'nulled', table: 'nulled', mode: 'upsert', key: '(id)', options: "ON ROW ERROR = 'null'" });
    await stage.waitForFrontier('nulled', START + 1n);
    expect(await rowsOf(stage.lake, 'nulled')).toEqual(broken.map((_one, index) => ({ id: index, v: null, note: `n${index}` })));
    expect(sink.logText()).toMatch(new RegExp(`"nulledValues":${broken.length}\\b`));
    // The old row is deleted by its key although its value was never written.
    model.commit(START + 2000n, broken.slice(1).map((one, index) => [[String(index + 1), one.copy, `n${index + 1}`], -1] as const));
    await stage.waitForFrontier('nulled', START + 2001n);
    expect(await rowsOf(stage.lake, 'nulled')).toEqual([{ id: 0, v: null, note: 'n0' }]);
  });

  test("WHEN the value is a key THEN the sink halts in spite of ON ROW ERROR = 'null': as NULL it would be the key of other rows too", async () => {
    const model = stage.createModel('nulled_key', columns('k numeric', 'note text'), { keys: [[0]] });
    model.commit(START, [[[null, 'is null']], [['1', 'one']]]);
    const sink = stage.run({ from: 'nulled_key', table: 'nulled_key', mode: 'upsert', key: '(k)', options: "ON ROW ERROR = 'null'" });
    await stage.waitForFrontier('nulled_key', START + 1n);
    model.commit(START + 2000n, [[['NaN', 'not a number']]]);
    expect(await sink.ended()).toMatchObject({ reason: 'halted', error: { code: 'row-not-representable' } });
    expect(await rowsOf(stage.lake, 'nulled_key')).toEqual([{ k: '1.0000000000', note: 'one' }, { k: null, note: 'is null' }]);
  });
});

/** An Iceberg type of a metadata.json in the spelling of the cases. */
function typeText(type: unknown): string {
  if (typeof type === 'string') {
    return type.replaceAll(/,\s+/g, ',').replace(/^fixed\[(\d+)\]$/, 'fixed($1)');
  }
  const nested = type as { type: string; fields?: { name: string; type: unknown }[]; element?: unknown; key?: unknown; value?: unknown };
  if (nested.type === 'list') return `list<${typeText(nested.element)}>`;
  if (nested.type === 'map') return `map<${typeText(nested.key)}, ${typeText(nested.value)}>`;
  return `struct<${(nested.fields ?? []).map((field) => `${field.name}: ${typeText(field.type)}`).join(', ')}>`;
}
