import { describe, expect, it } from 'vitest';

import { type SqlType, range, scalar } from '../../../src/relation/sql-type.ts';
import { formatSqlType, parseSqlType, parseSqlTypeTuple, sqlTypeFromCatalog } from '../../../src/relation/sql-type-text.ts';

const integer = scalar('integer');
const text = scalar('text');
const list = (element: SqlType): SqlType => ({ kind: 'list', element });
const map = (value: SqlType): SqlType => ({ kind: 'map', value });

describe('GIVEN the text of a type', () => {
  it.each<[string, SqlType]>([
    ['boolean', scalar('boolean')], ['bool', scalar('boolean')], ['int2', scalar('smallint')], ['int4', integer],
    ['int', integer], ['INTEGER', integer], ['int8', scalar('bigint')], ['float4', scalar('real')],
    ['float8', scalar('double precision')], ['double precision', scalar('double precision')],
    ['character varying', scalar('varchar')], ['character varying(10)', scalar('varchar')], ['varchar(5)', scalar('varchar')],
    ['character', scalar('character')], ['character(5)', scalar('character')], ['bpchar', scalar('character')],
    ['char(3)', scalar('character')], ['"char"', scalar('"char"')], ['name', scalar('name')],
    ['numeric', scalar('numeric')], ['numeric(38,2)', scalar('numeric', 2)], ['numeric(39,0)', scalar('numeric', 0)],
    ['numeric(39, 39)', scalar('numeric', 39)], ['numeric(10)', scalar('numeric', 0)], ['decimal(38,2)', scalar('numeric', 2)],
    ['timestamp', scalar('timestamp')], ['timestamp without time zone', scalar('timestamp')],
    ['timestamp(3)', scalar('timestamp')], ['timestamp(3) without time zone', scalar('timestamp')],
    ['timestamp with time zone', scalar('timestamptz')], ['timestamptz', scalar('timestamptz')],
    ['timestamp(6) with time zone', scalar('timestamptz')], ['timestamptz(3)', scalar('timestamptz')],
    ['time', scalar('time')], ['time without time zone', scalar('time')], ['mz_timestamp', scalar('mz_timestamp')],
    ['uint8', scalar('uint8')], ['int2vector', scalar('int2vector')], ['pg_catalog.int4', integer],
    ['pg_catalog."char"', scalar('"char"')],
    ['int4range', range('int4range')], ['tstzrange', range('tstzrange')],
    ['integer[]', { kind: 'array', element: integer }], ['integer[][]', { kind: 'array', element: integer }],
    ['_int4', { kind: 'array', element: integer }], ['timestamp with time zone[]', { kind: 'array', element: scalar('timestamptz') }],
    ['int4range[]', { kind: 'array', element: range('int4range') }],
    ['integer list', list(integer)], ['integer list list', list(list(integer))], ['numeric(38,2) list', list(scalar('numeric', 2))],
    ['timestamp with time zone list', list(scalar('timestamptz'))],
    ['map[text=>integer]', map(integer)], ['map[text=>integer list]', map(list(integer))],
    ['map[text=>map[text=>integer]]', map(map(integer))], ['map[text=>integer] list', list(map(integer))],
    ['map[text=>integer?]', map(integer)],
    ['record()', { kind: 'record', fields: [] }],
    ['record(f1: integer,f2: text?)', { kind: 'record', fields: [
      { name: 'f1', type: integer, nullable: false }, { name: 'f2', type: text, nullable: true }] }],
    ['record("a: b,"" c": integer? , x y: text list?) list', list({ kind: 'record', fields: [
      { name: 'a: b," c', type: integer, nullable: true }, { name: 'x y', type: list(text), nullable: true }] })],
    ['materialize.public.my_type', { kind: 'unsupported', name: 'materialize.public.my_type' }],
    ['"My Type" list', list({ kind: 'unsupported', name: '"My Type"' })],
    ['"integer"', { kind: 'unsupported', name: '"integer"' }], ['public.integer', { kind: 'unsupported', name: 'public.integer' }],
    ['list', { kind: 'unsupported', name: 'list' }], ['record', { kind: 'unsupported', name: 'record' }],
    ['map', { kind: 'unsupported', name: 'map' }], ['inet', { kind: 'unsupported', name: 'inet' }],
    ['listing', { kind: 'unsupported', name: 'listing' }],
  ])('WHEN it is %s THEN it is that type at every depth', (spelling, type) => {
    expect(parseSqlType(spelling)).toEqual(type);
  });

  it.each([
    '', ' ', '?', 'integer?', 'integer)', '(integer)', 'integer text', 'map[integer=>text]', 'map[text=>integer', 'map[text integer]',
    'record(integer)', 'record(f1: integer', 'record(f1: integer,)', 'record(: integer)', 'integer[', 'numeric(', 'numeric(a)',
    '"open', 'list list list list?', '1', '.a', 'a.',
  ])('WHEN it is %j, no type, THEN the answer is null', (spelling) => {
    expect(parseSqlType(spelling)).toBeNull();
  });

  it('WHEN it is nested without end THEN the answer is null and not an exhausted stack', () => {
    expect(parseSqlType('map[text=>'.repeat(100_000))).toBeNull();
  });
});

describe('GIVEN the columns of an EXPLAIN', () => {
  it('WHEN the tuple is well formed THEN each type has its nullability', () => {
    expect(parseSqlTypeTuple('(integer, text?, map[text=>integer]?)')).toEqual([
      { type: integer, nullable: false }, { type: text, nullable: true }, { type: map(integer), nullable: true },
    ]);
    expect(parseSqlTypeTuple('()')).toEqual([]);
  });

  it.each(['', '(', '(integer', '(integer,)', '(integer) x', 'integer'])('WHEN it is %j THEN the answer is null', (tuple) => {
    expect(parseSqlTypeTuple(tuple)).toBeNull();
  });
});

describe('GIVEN a catalog row', () => {
  it.each<[string, number, SqlType]>([
    ['numeric', ((39 << 16) | 2) + 4, scalar('numeric', 2)], ['numeric', ((39 << 16) | 0) + 4, scalar('numeric', 0)],
    ['numeric', -1, scalar('numeric')], ['character varying', 14, scalar('varchar')], ['timestamp', 3, scalar('timestamp')],
  ])('WHEN it says %s with modifier %i THEN the scale of numeric is known', (name, modifier, type) => {
    expect(sqlTypeFromCatalog(name, modifier)).toEqual(type);
  });
});

describe('GIVEN a type', () => {
  it('WHEN it is formatted THEN the spelling is that of EXPLAIN', () => {
    const record: SqlType = { kind: 'record', fields: [
      { name: 'f1', type: scalar('timestamptz'), nullable: false },
      { name: 'a b', type: list(scalar('numeric', 2)), nullable: true },
    ] };
    expect(formatSqlType(map(record))).toBe('map[text=>record(f1: timestamp with time zone,"a b": numeric(39,2) list?)]');
  });
});
