import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { binaryValue } from '../../../src/embedded/materialize/binary-values.ts';
import { type MaterializeStandIn, createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { type SqlType, range, scalar } from '../../../src/relation/sql-type.ts';

let server: MaterializeStandIn;
let client: pg.Client;

beforeAll(async () => {
  server = await createMaterializeStandIn({ manualTime: true });
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await server.close();
});

test('GIVEN columns of Materialize\'s own types WHEN selected THEN the OIDs of the reference, 2.1', async () => {
  const types: Readonly<Record<string, SqlType>> = {
    l: { kind: 'list', element: scalar('integer') },
    m: { kind: 'map', value: scalar('integer') },
    r: { kind: 'record', fields: [{ name: 'f1', type: scalar('integer'), nullable: true }] },
    u2: scalar('uint2'), u4: scalar('uint4'), u8: scalar('uint8'), ts: scalar('mz_timestamp'), n: scalar('numeric', 2),
  };
  const columns = Object.entries(types).map(([name, type]) => ({ name, type, nullable: true }));
  const relation = server.createRelation({ name: 'wide', columns });
  server.apply(relation, 0n, [{ row: ['{1,2}', '{a=>1}', '(5)', '1', '2', '18446744073709551615', '3', '1.5'], diff: 1 }]);
  server.advance(1n);
  const { fields, rows } = await client.query<unknown[]>({ text: 'SELECT * FROM wide', rowMode: 'array' });
  expect(fields.map(({ dataTypeID }) => dataTypeID)).toEqual([16384, 16385, 2249, 16460, 16462, 16464, 16552, 1700]);
  expect(fields[7]?.dataTypeModifier).toBe(((39 << 16) | 2) + 4);
  expect(fields.every(({ tableID, columnID }) => tableID === 0 && columnID === 0)).toBe(true);
  expect(rows).toEqual([['{1,2}', '{a=>1}', '(5)', '1', '2', '18446744073709551615', '3', '1.5']]);
  const frontiers = await client.query('SELECT read_frontier, write_frontier, mz_now() FROM mz_internal.mz_frontiers');
  expect(frontiers.fields.map(({ dataTypeID }) => dataTypeID)).toEqual([16552, 16552, 16552]);
  await expect(client.query('COPY (SELECT l FROM wide) TO STDOUT (FORMAT binary)')).rejects.toMatchObject({
    code: '08P01', message: 'binary encoding of list types is not implemented',
  });
});

const array = (element: SqlType): SqlType => ({ kind: 'array', element });

test.each<[string, SqlType, string]>([
  ['boolean', scalar('boolean'), 't'],
  ['smallint', scalar('smallint'), '-2'],
  ['bigint', scalar('bigint'), '-9223372036854775808'],
  ['real', scalar('real'), '1.5'],
  ['double precision', scalar('double precision'), '-0.1'],
  ['numeric', scalar('numeric'), '-12345.678'],
  ['numeric', scalar('numeric'), '0.00001'],
  ['numeric', scalar('numeric'), '10000'],
  ['numeric', scalar('numeric'), '0'],
  ['numeric', scalar('numeric'), 'NaN'],
  ['bytea', scalar('bytea'), '\\x00ff'],
  ['date', scalar('date'), '2020-02-29'],
  ['date', scalar('date'), '4713-01-01 BC'],
  ['time', scalar('time'), '04:05:06.7'],
  ['timestamp', scalar('timestamp'), '1999-12-31 23:59:59.999999'],
  ['timestamptz', scalar('timestamptz'), '2020-01-01 00:00:00+00'],
  ['uuid', scalar('uuid'), '00112233-4455-6677-8899-aabbccddeeff'],
  ['int[]', array(scalar('integer')), '{{1,NULL},{3,4}}'],
  ['text[]', array(scalar('text')), '{"a,b",NULL,"","NULL"}'],
  ['text[]', array(scalar('text')), '{}'],
  ['int[]', array(scalar('integer')), '[2:3]={1,2}'],
  ['int4range', range('int4range'), '[1,10)'],
  ['int4range', range('int4range'), '(,5)'],
  ['tsrange', range('tsrange'), '["2020-01-01 00:00:00",)'],
  ['int4range', range('int4range'), 'empty'],
])('GIVEN %s WHEN encoded THEN the bytes Postgres sends for %o %s', async (name, type, text) => {
  const { rows } = await lite.query<{ bytes: string }>(`SELECT encode(${SEND[name] ?? `${name}send`}($1::text::${name}), 'hex') AS bytes`, [text]);
  expect(binaryValue(type, Buffer.from(text)).toString('hex')).toBe(rows[0]?.bytes);
});

/** Postgres's own functions of the binary format. */
const SEND: Readonly<Record<string, string>> = {
  'boolean': 'boolsend', 'smallint': 'int2send', 'bigint': 'int8send', 'real': 'float4send', 'double precision': 'float8send',
  'numeric': 'numeric_send', 'date': 'date_send', 'time': 'time_send', 'timestamp': 'timestamp_send',
  'timestamptz': 'timestamptz_send', 'uuid': 'uuid_send', 'int[]': 'array_send', 'text[]': 'array_send',
  'int4range': 'range_send', 'tsrange': 'range_send',
};

test('GIVEN an interval, unsigned, json and record WHEN encoded THEN the layouts of the reference, 2.4', () => {
  const hex = (type: SqlType, text: string): string => binaryValue(type, Buffer.from(text)).toString('hex');
  expect(hex(scalar('interval'), '-1 years +5 days -00:00:00.000001')).toBe('ffffffffffffffff' + '00000005' + 'fffffff4');
  expect(hex(scalar('uint8'), '18446744073709551615')).toBe('ff'.repeat(8));
  expect(hex(scalar('uint2'), '258')).toBe('0102');
  expect(hex(scalar('jsonb'), '{"a":1}')).toBe('01' + Buffer.from('{"a":1}').toString('hex'));
  expect(hex(scalar('mz_timestamp'), '12')).toBe('3132');
  const record: SqlType = {
    kind: 'record',
    fields: [array(scalar('integer')), scalar('text'), scalar('integer')].map((type, i) => ({ name: `f${i}`, type, nullable: true })),
  };
  const numbers = '0000000100000000000000170000000200000001' + '0000000400000001' + '0000000400000002';
  expect(hex(record, '({1,2},"a,""b",)')).toBe(
    '00000003' + '000003ef' + '00000024' + numbers + '00000019' + '00000004' + '612c2262' + '00000017' + 'ffffffff',
  );
});

let lite: PGlite;
beforeAll(async () => {
  lite = await PGlite.create();
  await lite.exec("SET timezone = 'UTC'");
});
afterAll(() => lite.close());

test('GIVEN a relation WHEN its timestamp is explained THEN query timestamp, upper, since and both frontiers', async () => {
  server.createRelation({ name: 'timed', columns: [{ name: 'a', type: scalar('text'), nullable: true }] }, 1000n);
  server.advance(5000n);
  const { fields, rows } = await client.query<Record<string, string>>('EXPLAIN TIMESTAMP FOR SELECT * FROM timed');
  expect(fields[0]?.name).toBe('Timestamp');
  const text = rows[0]?.['Timestamp'] ?? '';
  expect(text).toContain('                query timestamp: 4999 (1970-01-01 00:00:04.999)\n');
  expect(text).toContain('                          upper:[5000 (1970-01-01 00:00:05.000)]\n');
  expect(text).toContain('        can respond immediately: true\n');
  expect(text).toMatch(/source materialize\.public\.timed \(u\d+, storage\):\n {18}read frontier:\[4000 /);
});
