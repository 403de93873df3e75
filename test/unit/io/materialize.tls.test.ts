import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';

import { Secret } from '../../../src/definition/secret.ts';
import { SinkError } from '../../../src/errors.ts';
import { type SslMode, connect, destroyClient } from '../../../src/io/materialize-connect.ts';
import { CERTIFICATE } from './materialize-certificate.ts';
import { type TestServer, startServer } from './materialize-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'mz-sink-tls-'));
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, CERTIFICATE);
afterAll(() => rmSync(folder, { recursive: true }));

let server: TestServer | null = null;
afterEach(async () => {
  await server?.close();
});

/** How a login ends: `tls`, `plain`, or the code of its error. */
async function attempt(serverTls: boolean, host: string, query: Readonly<Record<string, string>>): Promise<string> {
  server = await startServer({ tls: serverTls });
  const url = `postgres://me@${host}:${server.port}/db?${new URLSearchParams(query).toString()}`;
  try {
    const { client } = await connect({ connectionString: new Secret(url), applicationName: 'test' }, () => {});
    const isTls = 'encrypted' in (client as unknown as { connection: { stream: object } }).connection.stream;
    destroyClient(client);
    return isTls ? 'tls' : 'plain';
  } catch (thrown) {
    return thrown instanceof SinkError ? thrown.code : String(thrown);
  }
}

describe('GIVEN an sslmode in the connection string', () => {
  const ca = { sslrootcert: caFile };
  it.each<[SslMode | 'none', boolean, string, Record<string, string>, string]>([
    ['none', true, '127.0.0.1', {}, 'tls'],
    ['none', false, '127.0.0.1', {}, 'plain'],
    ['disable', true, '127.0.0.1', {}, 'plain'],
    ['prefer', true, '127.0.0.1', {}, 'tls'],
    ['prefer', false, '127.0.0.1', {}, 'plain'],
    ['require', true, '127.0.0.1', {}, 'tls'],
    ['require', false, '127.0.0.1', {}, 'source-tls-refused'],
    ['require', true, '127.0.0.1', ca, 'tls'],
    ['verify-ca', true, '127.0.0.1', ca, 'tls'],
    ['verify-ca', true, '127.0.0.1', {}, 'source-tls-refused'],
    ['verify-full', true, 'localhost', ca, 'tls'],
    ['verify-full', true, '127.0.0.1', ca, 'source-tls-refused'],
    ['verify-full', true, 'localhost', { sslrootcert: 'system' }, 'source-tls-refused'],
    ['verify-full', true, 'localhost', { sslrootcert: join(folder, 'none.pem') }, 'source-tls-refused'],
  ])('WHEN it is %s, server TLS %s, host %s, options %j THEN the outcome is %s', async (mode, tls, host, options, outcome) => {
    expect(await attempt(tls, host, mode === 'none' ? options : { sslmode: mode, ...options })).toBe(outcome);
  });
});
