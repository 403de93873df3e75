import { afterEach, expect, test } from 'vitest';
import { type MaterializeStandIn, createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import type { StandInRelation } from '../../../src/embedded/materialize/world.ts';
import { type SqlType, scalar } from '../../../src/relation/sql-type.ts';
import { type RawClient, cstring, fieldsOf, int32, loginRaw, sendCancel } from './raw-client.ts';

const T = 1700000000000n;
let standIn: MaterializeStandIn | null = null;

afterEach(async () => {
  await standIn?.close();
  standIn = null;
});

const field = (name: string, type: SqlType): { name: string; type: SqlType; nullable: boolean } => {
  return { name, type, nullable: true };
};

async function start(): Promise<{ server: MaterializeStandIn; relation: StandInRelation; client: RawClient }> {
  const server = await createMaterializeStandIn({ manualTime: true });
  standIn = server;
  const columns = [field('id', scalar('integer')), field('name', scalar('text'))];
  const relation = server.createRelation({ name: 't', columns, retainHistoryMs: 10_000 });
  return { server, relation, client: await loginRaw(server.port) };
}

/** Runs a simple query; tags of what came back, then the texts of rows, tag and error. */
async function answerTo(client: RawClient, sql: string): Promise<string> {
  const before = client.messages.length;
  client.query(sql);
  await client.nextTag('Z');
  return shown(client, before);
}

function shown(client: RawClient, from: number): string {
  return client.messages.slice(from).map((message) => {
    const { tag, body } = message;
    if (tag === 'E') return `E[${fieldsOf(message)['C']} ${fieldsOf(message)['M']}]`;
    if (tag === 'C') return `C[${body.toString().replace('\0', '')}]`;
    if (tag === 'Z') return `Z[${body.toString()}]`;
    return tag === 'D' ? `D[${rowOf(body).join(',')}]` : tag;
  }).join(' ');
}

function rowOf(body: Buffer): string[] {
  let at = 2;
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const length = body.readInt32BE(at);
    at += 4 + Math.max(0, length);
    return length < 0 ? '-' : body.toString('utf8', at - length, at);
  });
}

const int16 = (value: number): Buffer => int32(value).subarray(2);
const sync = Buffer.alloc(0);

/** Parse, Bind with `formats` for the results, Describe and Execute with a row limit. */
function sendExtended(client: RawClient, sql: string, rowsMax: number, formats: readonly number[] = []): void {
  client.send('P', cstring(''), cstring(sql), int16(0));
  client.send('B', cstring(''), cstring(''), int16(0), int16(0), int16(formats.length), ...formats.map(int16));
  client.send('D', Buffer.from('P\0'));
  client.send('E', cstring(''), int32(rowsMax));
}

test('GIVEN a cursor over SUBSCRIBE WHEN fetched THEN portions with their columns, and FETCH 0 for ever at the end', async () => {
  const { server, relation, client } = await start();
  server.apply(relation, T, [{ row: ['1', 'a'], diff: 1 }, { row: ['2', 'b'], diff: 1 }]);
  server.advance(T + 1n);
  expect(await answerTo(client, 'DECLARE c CURSOR FOR SUBSCRIBE t')).toBe(
    'E[25P01 DECLARE CURSOR can only be used in transaction blocks] Z[I]',
  );
  expect(await answerTo(client, `BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t AS OF ${T}`)).toBe(
    'C[BEGIN] C[DECLARE CURSOR] Z[T]',
  );
  expect(await answerTo(client, "FETCH 1 c WITH (timeout='1s')")).toBe(`T D[${T},1,1,a] C[FETCH 1] Z[T]`);
  expect(await answerTo(client, 'FETCH ALL c')).toBe(`T D[${T},1,2,b] C[FETCH 1] Z[T]`);
  expect(await answerTo(client, "FETCH ALL c WITH (timeout='0s')")).toBe('T C[FETCH 0] Z[T]');
  client.query('FETCH 5 c');
  server.apply(relation, T + 1n, [{ row: ['3', null], diff: 1 }]);
  server.advance(T + 2n);
  expect(rowOf((await client.nextTag('D')).body)).toEqual([String(T + 1n), '1', '3', '-']);
  await client.nextTag('Z');
  server.closeRelation(relation);
  expect(await answerTo(client, 'FETCH ALL c')).toBe('T C[FETCH 0] Z[T]');
  expect(await answerTo(client, 'FETCH ALL c')).toBe('T C[FETCH 0] Z[T]');
  expect(await answerTo(client, 'CLOSE c; FETCH c')).toBe('C[CLOSE CURSOR] E[34000 cursor "c" does not exist] Z[E]');
  expect(await answerTo(client, 'ROLLBACK')).toBe('C[ROLLBACK] Z[I]');
  expect(relation.subscribers.size).toBe(0);
  client.close();
});

test('GIVEN a FETCH that waits WHEN cancelled THEN 57014 and the transaction failed', async () => {
  const { server, client } = await start();
  server.advance(T);
  await answerTo(client, 'BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t');
  client.query('FETCH c');
  await client.nextTag('T');
  await sendCancel(server.port, client.pid, client.secret);
  expect(fieldsOf(await client.nextTag('E'))).toMatchObject({ C: '57014' });
  expect((await client.nextTag('Z')).body.toString()).toBe('E');
  client.close();
});

test('GIVEN a transaction that read WHEN it reads again with SUBSCRIBE THEN 25006 and 25000, but not with AS OF', async () => {
  const { server, relation, client } = await start();
  server.advance(T);
  expect(await answerTo(client, 'BEGIN; SELECT 1; SUBSCRIBE t')).toContain('E[25006 transaction in read-only mode]');
  await answerTo(client, 'ROLLBACK; BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t WITH (PROGRESS); FETCH c');
  expect(await answerTo(client, 'SELECT 1')).toBe(
    'E[25000 SUBSCRIBE in transactions must be the only read statement] Z[E]',
  );
  server.closeRelation(relation);
  expect(await answerTo(client, `ROLLBACK; BEGIN; SELECT 1; SUBSCRIBE t AS OF ${T}; COMMIT`)).toBe(
    'C[ROLLBACK] C[BEGIN] T D[1] C[SELECT 1] T N C[SELECT 0] C[COMMIT] Z[I]',
  );
  client.close();
});

test('GIVEN Execute with a row limit WHEN rows are fewer THEN it waits for all of them, PortalSuspended, then goes on', async () => {
  const { server, relation, client } = await start();
  server.apply(relation, T, [{ row: ['1', 'a'], diff: 1 }]);
  server.advance(T + 1n);
  const before = client.messages.length;
  sendExtended(client, `SUBSCRIBE t AS OF ${T}`, 2);
  client.send('H');
  await client.nextTag('T');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(client.messages.some(({ tag }) => tag === 'D')).toBe(false);
  server.apply(relation, T + 1n, [{ row: ['2', 'b'], diff: 1 }]);
  server.advance(T + 2n);
  await client.nextTag('s');
  server.closeRelation(relation);
  client.send('E', cstring(''), int32(2));
  client.send('S', sync);
  await client.nextTag('Z');
  expect(shown(client, before)).toBe(`1 2 T N D[${T},1,1,a] D[${T + 1n},1,2,b] s C[SELECT 0] Z[I]`);
  client.close();
});

test('GIVEN SELECT in the extended protocol WHEN limited THEN suspended portions', async () => {
  const { client } = await start();
  const before = client.messages.length;
  sendExtended(client, 'SELECT generate_series(1, 3)', 2);
  client.send('E', cstring(''), int32(2));
  client.send('S', sync);
  await client.nextTag('Z');
  expect(shown(client, before)).toBe('1 2 T D[1] D[2] s D[3] C[SELECT 1] Z[I]');
  client.close();
});

test('GIVEN binary results WHEN SUBSCRIBE streams THEN RowDescription says so and values are binary', async () => {
  const { server, relation, client } = await start();
  server.apply(relation, 5n, [{ row: ['7', 'a'], diff: 1 }]);
  server.advance(6n);
  server.closeRelation(relation);
  sendExtended(client, 'SUBSCRIBE t AS OF 5', 0, [1]);
  client.send('S', sync);
  const description = (await client.nextTag('T')).body;
  expect(description.subarray(-2)).toEqual(Buffer.from([0, 1]));
  const row = (await client.nextTag('D')).body.toString('hex');
  expect(row).toBe('0004' + '0000000a' + '00010000000000000005' + '00000008' + '0000000000000001' + '00000004' + '00000007' + '00000001' + '61');
  client.close();
});

test('GIVEN binary COPY WHEN rows come THEN the header before the first row, a trailer of its own', async () => {
  const { server, relation, client } = await start();
  server.apply(relation, 5n, [{ row: ['7', 'a'], diff: 1 }, { row: ['8', null], diff: 1 }]);
  server.advance(6n);
  server.closeRelation(relation);
  client.query('COPY (SUBSCRIBE t AS OF 5) TO STDOUT WITH (FORMAT binary)');
  expect((await client.nextTag('H')).body.toString('hex')).toBe('01' + '0004' + '0001'.repeat(4));
  const time = '0000000a' + '00010000000000000005';
  const diff = '00000008' + '0000000000000001';
  const header = '5047434f50590aff0d0a00' + '00000000' + '00000000';
  expect((await client.nextTag('d')).body.toString('hex')).toBe(`${header}0004${time}${diff}00000004000000070000000161`);
  expect((await client.nextTag('d')).body.toString('hex')).toBe(`0004${time}${diff}0000000400000008ffffffff`);
  expect((await client.nextTag('d')).body.toString('hex')).toBe('ffff');
  await client.nextTag('c');
  expect((await client.nextTag('C')).body.toString()).toBe('COPY 2\0');
  client.close();
});

test('GIVEN a list at any depth WHEN copied in binary THEN 08P01 before CopyOutResponse', async () => {
  const { server, client } = await start();
  const list: SqlType = { kind: 'list', element: scalar('integer') };
  const record: SqlType = { kind: 'record', fields: [field('f1', scalar('integer')), field('f2', list)] };
  server.createRelation({ name: 'r', columns: [field('a', record)] });
  server.createRelation({ name: 'm', columns: [field('a', { kind: 'map', value: scalar('text') })] });
  expect(await answerTo(client, 'COPY (SUBSCRIBE r) TO STDOUT (FORMAT binary)')).toBe(
    'E[08P01 binary encoding of list types is not implemented] Z[I]',
  );
  expect(await answerTo(client, 'COPY (SUBSCRIBE m) TO STDOUT (FORMAT binary)')).toBe(
    'E[08P01 binary encoding of map types is not implemented] Z[I]',
  );
  client.close();
});

test('GIVEN a query WHEN copied THEN text, csv and binary as for a subscription', async () => {
  const { client } = await start();
  const sql = "SELECT 1 AS a, E'x\\ty' AS b, NULL::text AS c";
  const lines = async (format: string): Promise<string> => {
    const from = client.messages.length;
    expect(await answerTo(client, `COPY (${sql}) TO STDOUT WITH (FORMAT ${format})`)).toMatch(/^H (d )+c C\[COPY 1\] Z\[I\]$/);
    return client.messages.slice(from).filter(({ tag }) => tag === 'd').map(({ body }) => body.toString('latin1')).join('');
  };
  expect(await lines('text')).toBe('1\tx\\ty\t\\N\n');
  expect(await lines('csv')).toBe('1,x\ty,\n');
  const bytes = Buffer.from(await lines('binary'), 'latin1').subarray(19);
  expect(bytes.toString('hex')).toBe('0003' + '0000000400000001' + '00000003780979' + 'ffffffff' + 'ffff');
  client.close();
});

test('GIVEN lists spelled in a query WHEN copied THEN text works, binary is refused with 08P01 also inside of a row', async () => {
  const { client } = await start();
  const refused = 'E[08P01 binary encoding of list types is not implemented] Z[I]';
  expect(await answerTo(client, 'COPY (SELECT LIST[1,2,3]) TO STDOUT')).toBe('H d c C[COPY 1] Z[I]');
  expect(client.lines()).toEqual(['{1,2,3}\n']);
  expect(await answerTo(client, 'COPY (SELECT LIST[1,2]) TO STDOUT WITH (FORMAT binary)')).toBe(refused);
  expect(await answerTo(client, 'COPY (SELECT ROW(1, LIST[1,2])) TO STDOUT WITH (FORMAT binary)')).toBe(refused);
  client.query('SELECT LIST[1,2]');
  // The name, its end, table and attribute, then the type.
  expect((await client.nextTag('T')).body.readInt32BE(2 + 5 + 6)).toBe(16384);
  client.close();
});

test('GIVEN binary COPY with PROGRESS WHEN rows come in several steps THEN the header is in front of the progress row only', async () => {
  const { server, relation, client } = await start();
  server.apply(relation, 5n, [{ row: ['7', 'a'], diff: 1 }]);
  server.advance(6n);
  server.closeRelation(relation);
  expect(await answerTo(client, 'COPY (SUBSCRIBE t WITH (PROGRESS) AS OF 5) TO STDOUT (FORMAT binary)')).toBe(
    'H d d d c C[COPY 2] Z[I]',
  );
  const bodies = client.messages.filter(({ tag }) => tag === 'd').map(({ body }) => body.toString('hex'));
  const time = '0000000a' + '00010000000000000005';
  expect(bodies[0]?.slice(38)).toBe(`0005${time}0000000101${'ffffffff'.repeat(3)}`);
  expect(bodies[1]).toBe(`0005${time}0000000100000000080000000000000001${'00000004000000070000000161'}`);
  client.close();
});
