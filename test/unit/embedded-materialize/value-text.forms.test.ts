import { expect, test } from 'vitest';
import { copyColumn, valueText } from '../../../src/embedded/materialize/value-text.ts';
import { type SqlType, range, scalar } from '../../../src/relation/sql-type.ts';

const list = (element: SqlType): SqlType => ({ kind: 'list', element });
const map = (value: SqlType): SqlType => ({ kind: 'map', value });
const array = (element: SqlType): SqlType => ({ kind: 'array', element });
const record = (...types: SqlType[]): SqlType => ({
  kind: 'record',
  fields: types.map((type, i) => ({ name: `f${i + 1}`, type, nullable: true })),
});
const [int, text, date] = [scalar('integer'), scalar('text'), scalar('date')];
const bce = -2_440_588;

// Expected texts are those of the wire reference, sections 2.2 and 2.3.
test.each<[string, SqlType, unknown, string]>([
  ['numeric keeps no trailing zeros', scalar('numeric', 2), '1.230', '1.23'],
  ['numeric zero', scalar('numeric', 2), '0.00', '0'],
  ['numeric whole', scalar('numeric'), '100', '100'],
  ['numeric exponent', scalar('numeric'), '-1e-3', '-0.001'],
  ['real small', scalar('real'), 1.1920929e-7, '1.1920929e-7'],
  ['real max', scalar('real'), 3.4028235e38, '3.4028235e+38'],
  ['real short', scalar('real'), 1.1, '1.1'],
  ['double 1e16', scalar('double precision'), 1e16, '1e+16'],
  ['double 1e15', scalar('double precision'), 1e15, '1000000000000000'],
  ['double 1e-5', scalar('double precision'), 0.00001, '0.00001'],
  ['double 1e-6', scalar('double precision'), 0.000001, '1e-6'],
  ['double negative zero', scalar('double precision'), -0, '-0'],
  ['double infinity', scalar('double precision'), -Infinity, '-Infinity'],
  ['date BC', date, bce, '4714-11-24 BC'],
  ['date far', date, 95_026_601, '262143-12-31'],
  ['time', scalar('time'), 14_706_700_000n, '04:05:06.7'],
  ['timestamp before 1970', scalar('timestamp'), -1n, '1969-12-31 23:59:59.999999'],
  ['timestamptz BC', scalar('timestamptz'), BigInt(bce) * 86_400_000_000n, '4714-11-24 00:00:00+00 BC'],
  ['interval', scalar('interval'), { months: 14, days: 3, micros: 14_706_700_000n }, '1 year 2 months 3 days 04:05:06.7'],
  ['interval zero', scalar('interval'), { months: 0, days: 0, micros: 0n }, '00:00:00'],
  ['interval mixed', scalar('interval'), { months: -12, days: 5, micros: 68_369_300_000n }, '-1 years +5 days 18:59:29.3'],
  ['interval -1', scalar('interval'), { months: -1, days: -1, micros: 1_000_000n }, '-1 months -1 days +00:00:01'],
  [
    'interval least', scalar('interval'),
    { months: -2_147_483_648, days: -2_147_483_648, micros: -9_223_372_036_854_775_807n },
    '-178956970 years -8 months -2147483648 days -2562047788:00:54.775807',
  ],
  ['jsonb', scalar('jsonb'), '{"b": 1.0, "a": [1e2, "x y"]}', '{"a":[100,"x y"],"b":1}'],
  ['bytea', scalar('bytea'), new Uint8Array([0, 255]), '\\x00ff'],
  ['list of text', list(list(text)), [['a', 'white space'], [null, ''], ['escape"m\\e', 'nUlL']], '{{a,"white space"},{NULL,""},{"escape\\"m\\\\e",nUlL}}'],
  ['list of the word NULL', list(text), ['NULL'], '{"NULL"}'],
  ['list of vertical tab', list(text), ['\v'], '{\v}'],
  ['list of BC date is bare', list(date), [bce], '{4714-11-24 BC}'],
  ['list of interval is quoted', list(scalar('interval')), [{ months: 0, days: 1, micros: 1_000_000n }], '{"1 day 00:00:01"}'],
  ['map', map(int), { b: 2, a: 1 }, '{a=>1,b=>2}'],
  ['map of maps', map(map(text)), { a: { b: 'c' } }, '{a=>{b=>c}}'],
  ['map of lists', map(list(int)), { a: [1, 2] }, '{a=>{1,2}}'],
  ['map key quoted', map(text), { 'a=': null }, '{"a="=>NULL}'],
  ['record', record(int, text), [1, 'abc'], '(1,abc)'],
  ['record of NULL and empty', record(int, text), [null, ''], '(,"")'],
  ['empty record', record(), [], '()'],
  ['list inside a record is bare', record(list(int), int), [[1, 2], 3], '({1,2},3)'],
  ['text list inside a record', record(list(text), int), [['a)b', 'c,d'], 3], '({a)b,"c,d"},3)'],
  ['list of records', list(record(int, text)), [[1, 'a'], [2, 'b c']], '{"(1,a)","(2,\\"b c\\")"}'],
  ['list of one-field records', list(record(int)), [[5]], '{(5)}'],
  ['record in record', record(record(int, int), text), [[1, 2], 'x'], '("(1,2)",x)'],
  ['array of two dimensions', array(int), [[1, 2], [3, 4]], '{{1,2},{3,4}}'],
  ['array with bounds', array(int), { lowerBounds: [2], elements: [1, 2] }, '[2:3]={1,2}'],
  ['range', range('int4range'), { lower: 1, upper: 10, lowerInclusive: true, upperInclusive: false }, '[1,10)'],
  ['unbounded range', range('int4range'), { lower: null, upper: null, lowerInclusive: false, upperInclusive: false }, '(,)'],
  ['empty range', range('numrange'), 'empty', 'empty'],
  ['timestamp range', range('tsrange'), { lower: 0n, upper: null, lowerInclusive: true, upperInclusive: false }, '["1970-01-01 00:00:00",)'],
  ['array of ranges', array(range('int4range')), ['empty', { lower: -99, upper: -50, lowerInclusive: true, upperInclusive: false }], '{empty,"[-99,-50)"}'],
])('GIVEN %s WHEN it is printed THEN it is the text of Materialize', (_name, type, value, expected) => {
  expect(valueText(type, value)).toBe(expected);
});

test('GIVEN backslashes and control characters WHEN a column is made THEN only four are escaped', () => {
  expect(copyColumn(text, 'a\\\n\r\t\b\f\vz')).toBe('a\\\\\\n\\r\\t\b\f\vz');
  expect(copyColumn(scalar('bytea'), new Uint8Array([0]))).toBe('\\\\x00');
  expect(copyColumn(text, null)).toBeNull();
});
