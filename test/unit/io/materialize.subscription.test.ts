import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { Secret } from '../../../src/definition/secret.ts';
import { SinkError } from '../../../src/errors.ts';
import { type MaterializeSourceConfig, createMaterializeSource } from '../../../src/io/materialize.ts';
import type { Relation } from '../../../src/relation/relation.ts';
import { scalar } from '../../../src/relation/sql-type.ts';
import type { Source, SourceEvent, SubscribeRequest } from '../../../src/sink/ports.ts';
import { COPY_END, copyOut, errorResponse, notice, progress, row } from '../subscribe/backend-messages.ts';
import { rowsOf } from '../subscribe/flat-events.ts';
import { type ServerOptions, type TestServer, startServer } from './materialize-server.ts';

const relation: Relation = {
  id: 'u1', database: 'materialize', schema: 'public', name: 't', kind: 'table', uniqueKeys: null,
  columns: [{ name: 'a', type: scalar('text'), nullable: true }],
};
const request: SubscribeRequest = { relation, cluster: null, asOf: null, snapshot: true, keyColumns: [], slices: 1 };
const PASSWORD = 'p%@ss:w/rd';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).toReversed()) await thing.close();
});

async function setUp(
  options: ServerOptions,
  config: Partial<MaterializeSourceConfig> = {},
): Promise<{ readonly server: TestServer; readonly source: Source }> {
  const server = await startServer(options);
  const source = createMaterializeSource({
    connectionString: new Secret(`postgres://me:${encodeURIComponent(PASSWORD)}@127.0.0.1:${server.port}/db`),
    applicationName: 'test-sink', relationName: { database: null, schema: null, name: 't' }, cluster: null, ...config,
  });
  open.push(server, source);
  return { server, source };
}

/** Answers the SUBSCRIBE by `speak` and everything else by an empty result. */
const speaking = (speak: (socket: Socket) => void): ServerOptions => ({
  answer: (sql) => (sql.startsWith('COPY') ? { raw: speak } : { rows: [] }),
});

/** Subscribes and gathers events until one of `until`, in words. */
async function gather(source: Source, until: RegExp, its: SubscribeRequest = request): Promise<readonly string[]> {
  const seen: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const onEvent = (event: SourceEvent): void => {
      seen.push(...inWords(event));
      if (until.test(event.kind)) resolve();
    };
    source.subscribe(its, onEvent).catch(reject);
  });
  return seen;
}

function inWords(event: SourceEvent): readonly string[] {
  switch (event.kind) {
    case 'rows': return rowsOf(event.chunk).map((flat) => `${flat.time} ${flat.diff} ${flat.text}`);
    case 'progress': return [`progress ${event.frontier[0]}`];
    case 'notice': return [`notice ${event.message}`];
    case 'failed': return [`failed ${event.error.code}`];
    case 'closed': return ['closed'];
  }
}

async function refusal(promise: Promise<unknown>): Promise<SinkError> {
  const thrown: unknown = await promise.then(() => null, (error: unknown) => error);
  if (!(thrown instanceof SinkError)) throw new Error(`no SinkError but ${String(thrown)}`);
  for (const text of [thrown.message, thrown.stack, JSON.stringify(thrown)]) {
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain(encodeURIComponent(PASSWORD));
  }
  return thrown;
}

describe('GIVEN a server that streams', () => {
  const whole = Buffer.concat([
    copyOut(4), progress(5n, 1), row(5n, 2n, 'a'), notice('00000', 'replica offline'), row(5n, 1n, 'b'),
    progress(6n, 1), row(6n, -1n, 'a'), COPY_END,
  ]);
  const all = ['progress 5', 'notice replica offline', '5 2 a', '5 1 b', 'progress 6', '6 -1 a', 'closed'];

  it('WHEN it sends a finite relation THEN all events come in order', async () => {
    const { source, server } = await setUp({ ...speaking((socket) => socket.write(whole)), password: PASSWORD });
    expect(await gather(source, /closed|failed/)).toEqual(all);
    expect(server.queries).toEqual(['COPY (SUBSCRIBE "materialize"."public"."t" WITH (PROGRESS)) TO STDOUT']);
    expect(server.startups.at(-1)?.get('application_name')).toBe('test-sink');
    expect(server.startups.at(-1)?.get('options')).toBe('--welcome_message=off');
    expect(server.startups.at(-1)?.get('database')).toBe('db');
  });

  it('WHEN it sends byte by byte THEN the same events come', async () => {
    const { source } = await setUp(speaking((socket) => {
      for (const byte of whole) socket.write(Buffer.from([byte]));
    }));
    expect(await gather(source, /closed|failed/)).toEqual(all);
  });

  it('WHEN it speaks TLS THEN the same events come through the TLS socket', async () => {
    const { source, server } = await setUp({ ...speaking((socket) => socket.write(whole)), tls: true, password: PASSWORD },
      { sslMode: 'require' });
    expect(await gather(source, /closed|failed/)).toEqual(all);
    expect(server.startups).toHaveLength(1);
  });

  it('WHEN a cluster is named THEN it is set before the SUBSCRIBE, which resumes at the as of', async () => {
    const { source, server } = await setUp(speaking((socket) => socket.write(whole)));
    await gather(source, /closed/, { ...request, cluster: 'my "c"', asOf: 41n, snapshot: false });
    expect(server.queries).toEqual(['SET cluster = "my ""c"""',
      'COPY (SUBSCRIBE "materialize"."public"."t" WITH (PROGRESS, SNAPSHOT = false) AS OF 41) TO STDOUT']);
  });

  it('WHEN it answers with an error THEN the subscription fails by its name and the socket goes', async () => {
    const { source, server } = await setUp(speaking((socket) => {
      socket.write(errorResponse('22000', 'could not find a valid timestamp for the query'));
    }));
    expect(await gather(source, /failed/)).toEqual(['failed history-compacted']);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['ends the socket', (socket) => socket.end()],
    ['resets the socket', (socket) => socket.resetAndDestroy()],
  ])('WHEN it %s inside a row THEN the subscription fails and only rows before a progress came', async (_, end) => {
    const { source } = await setUp(speaking((socket) => {
      socket.write(Buffer.concat([copyOut(4), row(5n, 1n, 'a'), progress(6n, 1), row(6n, 1n, 'b'), row(6n, 1n, 'c').subarray(0, 9)]));
      setTimeout(() => end(socket), 30);
    }));
    expect(await gather(source, /failed/)).toEqual(['5 1 a', 'progress 6', 'failed source-disconnected']);
  });

  it('WHEN the subscription is closed THEN the socket goes and no event follows, twice over', async () => {
    const { source, server } = await setUp(speaking((socket) => {
      socket.write(Buffer.concat([copyOut(4), progress(5n, 1)]));
    }));
    const seen: string[] = [];
    const subscription = await source.subscribe(request, (event) => seen.push(...inWords(event)));
    await expect.poll(() => seen).toEqual(['progress 5']);
    await subscription.close();
    await subscription.close();
    await expect.poll(() => server.sockets.size).toBe(0);
    expect(seen).toEqual(['progress 5']);
  });

  it('WHEN the source is closed THEN its subscriptions fall silent and nothing can be opened', async () => {
    const { source, server } = await setUp(speaking((socket) => socket.write(copyOut(4))));
    const seen: string[] = [];
    await source.subscribe(request, (event) => seen.push(...inWords(event)));
    await source.close();
    await expect.poll(() => server.sockets.size).toBe(0);
    expect(seen).toEqual([]);
    expect((await refusal(source.subscribe(request, () => {}))).code).toBe('source-disconnected');
  });
});

describe('GIVEN a server that lets nobody in', () => {
  it.each<[string, ServerOptions, Partial<MaterializeSourceConfig>, string]>([
    ['refuses the password', { password: 'another' }, {}, 'source-login-refused'],
    ['refuses the role', { refuse: ['28000', 'role "me" does not exist'] }, {}, 'source-login-refused'],
    ['wants TLS', { refuse: ['08004', 'TLS encryption is required'] }, { sslMode: 'disable' }, 'source-tls-refused'],
    ['has no TLS', {}, { sslMode: 'require' }, 'source-tls-refused'],
    ['has an unknown certificate', { tls: true }, { sslMode: 'verify-full' }, 'source-tls-refused'],
    ['has an unknown issuer', { tls: true }, { sslMode: 'verify-ca' }, 'source-tls-refused'],
    ['is starting', { refuse: ['57P03', 'starting up'] }, {}, 'source-unreachable'],
  ])('WHEN it %s THEN that is named and no password shows', async (_, options, config, code) => {
    const { source, server } = await setUp(options, config);
    expect((await refusal(source.subscribe(request, () => {}))).code).toBe(code);
    expect((await refusal(source.discover())).code).toBe(code);
    await expect.poll(() => server.sockets.size).toBe(0);
  });

  it('WHEN nobody listens THEN it is source-unreachable', async () => {
    const { source, server } = await setUp({});
    await server.close();
    expect((await refusal(source.subscribe(request, () => {}))).code).toBe('source-unreachable');
  });

  it.each([`mysql://me:${PASSWORD}@h/db`, PASSWORD, `postgres://me:${PASSWORD}%@h/db`, 'postgres://h/db?sslmode=maybe'])(
    'WHEN the connection string is no use THEN it is named and not shown', async (text) => {
      const { source } = await setUp({}, { connectionString: new Secret(text) });
      expect((await refusal(source.discover())).code).toBe('definition-invalid');
    });
});
