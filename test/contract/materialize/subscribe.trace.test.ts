import { afterEach, expect, test } from 'vitest';
import { type StandInOptions, type MaterializeStandIn, createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import type { StandInRelation } from '../../../src/embedded/materialize/world.ts';
import { scalar } from '../../../src/relation/sql-type.ts';
import { copyToEnd, fieldsOf, loginRaw, sendCancel } from './raw-client.ts';

const T = 1700000000000n;
let standIn: MaterializeStandIn | null = null;

afterEach(async () => {
  await standIn?.close();
  standIn = null;
});

const columns = [
  { name: 'id', type: scalar('integer'), nullable: false },
  { name: 'name', type: scalar('text'), nullable: true },
];

async function start(options: StandInOptions = {}): Promise<{ server: MaterializeStandIn; relation: StandInRelation }> {
  const server = await createMaterializeStandIn({ manualTime: true, ...options });
  standIn = server;
  const relation = server.createRelation({ name: 't', columns, keys: [[0]], retainHistoryMs: 10_000 });
  return { server, relation };
}

test('GIVEN rows WHEN subscribed with PROGRESS THEN first the progress at as_of, then the snapshot stamped as_of, then its progress', async () => {
  const { server, relation } = await start();
  server.apply(relation, T, [{ row: ['7', 'abc'], diff: 1 }, { row: ['8', null], diff: 2 }]);
  server.advance(T + 1n);
  server.closeRelation(relation);
  const client = await loginRaw(server.port);
  const { lines, tag } = await copyToEnd(client, 'COPY (SUBSCRIBE t WITH (PROGRESS) AS OF 1700000000000) TO STDOUT');
  expect(lines).toEqual([
    '1700000000000\tt\t\\N\t\\N\t\\N\n',
    '1700000000000\tf\t1\t7\tabc\n',
    '1700000000000\tf\t2\t8\t\\N\n',
  ]);
  // The batch that ends the stream has no progress row; the tag counts the progress row before it.
  expect(tag).toBe('COPY 3');
  const copy = client.messages.find((message) => message.tag === 'H');
  expect([...(copy?.body ?? [])]).toEqual([0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  client.close();
});

test('GIVEN a running stream WHEN several times arrive in one step THEN rows by time and row, consolidated, one progress row', async () => {
  const { server, relation } = await start();
  server.apply(relation, T, [{ row: ['1', 'a'], diff: 1 }]);
  server.advance(T + 1n);
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS, SNAPSHOT = false) AS OF 1700000000000) TO STDOUT');
  await client.next(({ body }) => body.toString().startsWith('1700000000001\tt'));
  server.apply(relation, T + 5n, [{ row: ['2', 'b'], diff: 1 }, { row: ['2', 'b'], diff: -1 }]);
  server.apply(relation, T + 3n, [{ row: ['1', 'a'], diff: -1 }, { row: ['1', 'A'], diff: 1 }]);
  server.advance(T + 10n);
  server.advance(T + 10n);
  server.advance(T + 11n);
  await client.next(({ body }) => body.toString().startsWith('1700000000011\tt'));
  expect(client.lines()).toEqual([
    '1700000000000\tt\t\\N\t\\N\t\\N\n',
    '1700000000001\tt\t\\N\t\\N\t\\N\n',
    '1700000000003\tf\t1\t1\tA\n',
    '1700000000003\tf\t-1\t1\ta\n',
    '1700000000010\tt\t\\N\t\\N\t\\N\n',
    '1700000000011\tt\t\\N\t\\N\t\\N\n',
  ]);
  client.close();
});

test('GIVEN history WHEN resumed from progress F with AS OF F-1 THEN the changes at exactly F come', async () => {
  const { server, relation } = await start();
  server.apply(relation, T, [{ row: ['1', 'a'], diff: 1 }]);
  server.apply(relation, T + 5n, [{ row: ['2', 'b'], diff: 1 }]);
  server.advance(T + 6n);
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE TO (SELECT * FROM public.t) WITH (SNAPSHOT = false, PROGRESS) AS OF 1700000000004 UP TO 1700000000006) TO STDOUT');
  await client.nextTag('Z');
  expect(client.lines()).toEqual(['1700000000004\tt\t\\N\t\\N\t\\N\n', '1700000000005\tf\t1\t2\tb\n']);
  client.close();
});

test('GIVEN AS OF before since WHEN subscribed THEN 22000, in old versions XX000', async () => {
  const { server, relation } = await start();
  server.advance(T);
  server.compact(relation, T - 5n);
  const client = await loginRaw(server.port);
  const { tag } = await copyToEnd(client, 'COPY (SUBSCRIBE t AS OF 1699999999994) TO STDOUT');
  expect(tag).toBe('22000 could not find a valid timestamp for the query');
  const atLeast = await copyToEnd(client, `COPY (SUBSCRIBE t WITH (PROGRESS) AS OF AT LEAST 5 UP TO ${T}) TO STDOUT`);
  expect(atLeast.lines[0]).toBe('1699999999995\tt\t\\N\t\\N\t\\N\n');
  const reversed = await copyToEnd(client, `COPY (SUBSCRIBE t AS OF ${T} UP TO ${T - 1n}) TO STDOUT`);
  expect(reversed.tag).toBe(
    '22000 subscription lower bound (`AS OF`) is greater than its upper bound (`UP TO`): 1700000000000 > 1699999999999',
  );
  client.close();
});

test('GIVEN AS OF equal to UP TO WHEN subscribed THEN a notice and no rows', async () => {
  const { server } = await start();
  const client = await loginRaw(server.port, { parameters: { welcome_message: 'off' } });
  const { lines, tag } = await copyToEnd(client, `COPY (SUBSCRIBE t AS OF ${T} UP TO ${T}) TO STDOUT`);
  expect([lines, tag]).toEqual([[], 'COPY 0']);
  const notices = client.messages.filter((message) => message.tag === 'N').map((message) => fieldsOf(message));
  expect(notices).toMatchObject([{ S: 'NOTICE', C: '00000', M: expect.stringContaining('is guaranteed to be empty') as unknown }]);
  client.close();
});

test('GIVEN AS OF in the future WHEN subscribed THEN progress at once, the snapshot when time gets there', async () => {
  const { server, relation } = await start();
  server.advance(T);
  const client = await loginRaw(server.port);
  client.query(`COPY (SUBSCRIBE t WITH (PROGRESS) AS OF ${T + 10n}) TO STDOUT`);
  await client.next(({ body }) => body.toString().startsWith('1700000000010\tt'));
  server.apply(relation, T + 2n, [{ row: ['1', 'a'], diff: 1 }]);
  server.advance(T + 10n);
  server.advance(T + 11n);
  await client.next(({ body }) => body.toString().startsWith('1700000000011\tt'));
  expect(client.lines()[1]).toBe('1700000000010\tf\t1\t1\ta\n');
  client.close();
});

test('GIVEN a constant query WHEN subscribed THEN its row bears the last timestamp', async () => {
  const { server } = await start();
  const client = await loginRaw(server.port);
  const plain = await copyToEnd(client, 'COPY (SUBSCRIBE (SELECT 1)) TO STDOUT');
  expect(plain).toEqual({ lines: ['18446744073709551615\t1\t1\n'], tag: 'COPY 1' });
  const csv = await copyToEnd(client, "COPY (SUBSCRIBE (SELECT 'a,b', NULL, '') AS OF 5) TO STDOUT WITH (FORMAT csv)");
  expect(csv.lines).toEqual(['18446744073709551615,1,"a,b",,""\n']);
  client.close();
});

test('GIVEN a running stream WHEN the relation is dropped THEN 42704 without CopyDone, and the session goes on', async () => {
  const { server, relation } = await start();
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  server.drop(relation);
  expect(fieldsOf(await client.nextTag('E'))).toMatchObject({ S: 'ERROR', C: '42704', M: "relation 'materialize.public.t' was dropped" });
  await client.nextTag('Z');
  expect(client.messages.some(({ tag }) => tag === 'c')).toBe(false);
  const { tag } = await copyToEnd(client, 'COPY (SUBSCRIBE t) TO STDOUT');
  expect(tag).toBe("XX000 unknown catalog item 't'");
  client.close();
});

test('GIVEN an evaluation error WHEN subscribed again THEN it repeats until it is gone', async () => {
  const { server, relation } = await start();
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  server.setError(relation, 'division by zero');
  expect(fieldsOf(await client.nextTag('E'))).toMatchObject({ C: 'XX000', M: 'division by zero' });
  await client.nextTag('Z');
  expect((await copyToEnd(client, 'COPY (SUBSCRIBE t) TO STDOUT')).tag).toBe('XX000 division by zero');
  server.setError(relation, null);
  server.closeRelation(relation);
  expect((await copyToEnd(client, 'COPY (SUBSCRIBE t) TO STDOUT')).tag).toBe('COPY 0');
  client.close();
});

test('GIVEN no replica WHEN subscribed THEN 0A000 at the start; WHEN it goes later THEN a stall and a notice between rows', async () => {
  const { server } = await start();
  server.advance(T);
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  server.setReplicas('quickstart', 0);
  const notice = fieldsOf(await client.next(({ tag, body }) => tag === 'N' && body.includes('replica')));
  expect(notice).toMatchObject({ S: 'NOTICE', C: '00000' });
  expect(notice['M']).toMatch(/^cluster replica quickstart\.r1 changed status to "offline" at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/);
  server.advance(T + 5n);
  const second = await loginRaw(server.port);
  const refused = await copyToEnd(second, 'COPY (SUBSCRIBE t) TO STDOUT');
  expect(refused.tag).toBe('0A000 CLUSTER "quickstart" has no replicas available to service request');
  expect(client.lines().some((line) => line.startsWith('1700000000005'))).toBe(false);
  server.setReplicas('quickstart', 1);
  await client.next(({ body }) => body.toString().startsWith('1700000000005\tt'));
  client.close();
  second.close();
});

test('GIVEN a stream WHEN Terminate and Sync are sent THEN they are not read; WHEN cancelled THEN 57014', async () => {
  const { server } = await start();
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  client.query('SHOW cluster');
  server.advance(T);
  await client.next(({ body }) => body.toString().startsWith('1700000000000\tt'));
  await sendCancel(server.port, client.pid, client.secret);
  expect(fieldsOf(await client.nextTag('E'))).toMatchObject({ C: '57014', M: 'canceling statement due to user request' });
  // What was sent meanwhile is answered now.
  expect((await client.nextTag('D')).body.toString()).toContain('quickstart');
  client.close();
});

test('GIVEN a client that does not read WHEN the backlog passes the budget THEN 53200', async () => {
  const { server, relation } = await start({ maxBufferedBytes: 1_000_000 });
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  client.socket.pause();
  const wide = 'x'.repeat(100_000);
  for (let i = 1n; i < 400n; i++) {
    server.apply(relation, T + i, [{ row: [String(i), wide], diff: 1 }]);
    server.advance(T + i + 1n);
    if (i % 20n === 0n) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  client.socket.resume();
  const error = fieldsOf(await client.nextTag('E'));
  expect(error).toMatchObject({ C: '53200', M: expect.stringMatching(/^SUBSCRIBE fell behind: .* reached \d+ bytes, exceeding the 1000000 byte budget$/) as unknown });
  client.close();
});

test('GIVEN a step beyond max_result_size WHEN subscribed THEN XX000 total result exceeds max size', async () => {
  const { server, relation } = await start({ maxResultBytes: 10_000 });
  server.apply(relation, T, [{ row: ['1', 'x'.repeat(20_000)], diff: 1 }]);
  server.advance(T + 1n);
  const client = await loginRaw(server.port);
  expect((await copyToEnd(client, 'COPY (SUBSCRIBE t) TO STDOUT')).tag).toBe('XX000 total result exceeds max size of 10.0 KB');
  client.close();
});

test('GIVEN a query that selects by a hash WHEN subscribed THEN each row is in one slice; any other condition is refused', async () => {
  const { server, relation } = await start();
  const rows = Array.from({ length: 50 }, (_, id) => ({ row: [String(id), id % 3 === 0 ? null : 'x'], diff: 1 }));
  server.apply(relation, T, rows);
  server.advance(T + 1n);
  server.closeRelation(relation);
  let count = 0;
  for (const slice of [0, 1, 2]) {
    const client = await loginRaw(server.port);
    const where = `seahash(concat(${relation.columns.map(({ name }) => `"${name}"::text`).join(', ')})) % 3::uint8 = ${slice}::uint8`;
    const { tag } = await copyToEnd(client, `COPY (SUBSCRIBE (SELECT * FROM t WHERE ${where}) AS OF ${T}) TO STDOUT`);
    const sent = Number(/^COPY (\d+)$/.exec(tag)?.[1]);
    expect(sent).toBeGreaterThan(5);
    count += sent;
    client.close();
  }
  expect(count).toBe(50);
  for (const where of ['true', 'seahash(concat(a::text)) % 3 = 0', 'seahash(concat(nothing::text)) % 3::uint8 = 0::uint8']) {
    const client = await loginRaw(server.port);
    expect((await copyToEnd(client, `COPY (SUBSCRIBE (SELECT * FROM t WHERE ${where})) TO STDOUT`)).tag).toMatch(/^(0A000|XX000) /);
    client.close();
  }
});

test('GIVEN plain SUBSCRIBE WHEN rows stream THEN RowDescription with the wire types, the notice, DataRows, SELECT n', async () => {
  const { server, relation } = await start();
  server.apply(relation, T, [{ row: ['7', 'a\\tb'], diff: 1 }]);
  server.advance(T + 1n);
  server.closeRelation(relation);
  const client = await loginRaw(server.port, { parameters: { application_name: 'psql' } });
  client.query('SUBSCRIBE t WITH (PROGRESS)');
  const description = await client.nextTag('T');
  expect(description.body.readInt16BE(0)).toBe(5);
  expect(description.body.subarray(2, 34).toString('latin1')).toContain('mz_timestamp\0');
  expect(description.body.readInt32BE(2 + 13 + 6)).toBe(1700);
  const notice = fieldsOf(await client.nextTag('N'));
  expect(notice).toMatchObject({ C: '01000', H: 'Wrap your SUBSCRIBE statement in `COPY (SUBSCRIBE ...) TO STDOUT`.' });
  await client.nextTag('D');
  expect((await client.nextTag('D')).body.toString()).toContain('a\tb');
  expect((await client.nextTag('C')).body.toString()).toBe('SELECT 2\0');
  client.close();
});

test('GIVEN the stream is cut into single bytes WHEN rows hold UTF-8 THEN it is the same stream', async () => {
  const { server, relation } = await start({ cut: () => 1 });
  server.apply(relation, T, [{ row: ['7', 'äö€😀'], diff: 1 }]);
  server.advance(T + 1n);
  server.closeRelation(relation);
  const client = await loginRaw(server.port);
  const { lines } = await copyToEnd(client, `COPY (SUBSCRIBE t AS OF ${T}) TO STDOUT`);
  expect(lines).toEqual(['1700000000000\t1\t7\täö€😀\n']);
  client.close();
});

test('GIVEN a stream WHEN connections are killed THEN the socket is reset in the middle', async () => {
  const { server } = await start();
  const client = await loginRaw(server.port);
  client.query('COPY (SUBSCRIBE t WITH (PROGRESS)) TO STDOUT');
  await client.nextTag('d');
  server.killConnections();
  await expect(client.nextTag('E')).rejects.toThrow('closed after');
});
