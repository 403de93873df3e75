/**
 * S1 to S3 against a catalog that means harm: the daemon over real HTTP, and between it and a catalog that works answers
 * changed to lead the secret, the token, the files or the reads of the sink elsewhere.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Interception } from '../../../src/embedded/catalog/interception.ts';
import type { CatalogRequest } from '../../../src/embedded/catalog/request.ts';
import { type ScriptedServer, scriptedServer } from '../../unit/io/scripted-server.ts';
import { CATALOG_NAME, isCommit, isLoad } from '../harness/lake.ts';
import { type Model, columns } from '../harness/model.ts';
import { type InProcessSink } from '../harness/sink.ts';
import { START, type Stage, eventually, openStage } from '../harness/stage.ts';

const at = (seconds: number): bigint => START + BigInt(seconds) * 1000n;

let stage: Stage;
/** Where a fooled sink would go; whatever reaches it is a leak. */
let thief: ScriptedServer;
beforeAll(async () => {
  stage = await openStage();
  thief = await scriptedServer(() => ({ status: 200, body: { access_token: 'stolen', metadata: {} } }));
});
afterAll(async () => {
  await stage.close();
  await thief.close();
});
afterEach(() => {
  stage.lake.fault = undefined;
  expect(thief.received).toEqual([]);
});

const isToken = (request: CatalogRequest): boolean => request.path.endsWith('/oauth/tokens');
const isConfig = (request: CatalogRequest): boolean => request.segments.at(-1) === 'config';
const answer = (status: number, body: string, headers: Record<string, string> = {}): Interception =>
  ({ kind: 'answer', answer: { status, headers: { 'content-type': 'application/json', ...headers }, body } });

const models = new Map<string, Model>();

/** A sink on a relation of two rows. */
function start(name: string): InProcessSink {
  const model = stage.createModel(name, columns('id bigint not null', 'v text'), { keys: [[0]] });
  models.set(name, model);
  model.commit(at(0), [[['1', 'a']], [['2', 'row-value-marker']]]);
  return stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' });
}

/** The same sink once more, with a change that makes it commit. */
function again(name: string): InProcessSink {
  models.get(name)?.commit(at(5), [[['3', 'row-value-marker']]]);
  return stage.run({ from: name, table: name, mode: 'upsert', key: '(id)' });
}

async function stopsWith(sink: InProcessSink, codes: readonly string[]): Promise<void> {
  await eventually('the sink names an error', () => codes.includes(sink.state().lastError?.code ?? ''));
  expect(sink.logText()).not.toContain(stage.lake.clientSecret);
  expect(sink.logText()).not.toContain('row-value-marker');
  await sink.stop();
}

describe('GIVEN a catalog that redirects', () => {
  const steps: readonly (readonly [string, (request: CatalogRequest) => boolean])[] = [
    ['token', isToken], ['config', isConfig], ['load', isLoad], ['commit', isCommit],
  ];
  test.each(steps.flatMap(([what, matches]) => [302, 307, 308].map((status) => [what, status, matches] as const)))(
    'WHEN the answer to a %s is %i to another server THEN nothing goes there', async (what, status, matches) => {
      stage.lake.fault = (request) => (matches(request) ? answer(status, '', { location: `${thief.url}/${what}` }) : undefined);
      await stopsWith(start(`redirect_${what}_${status}`), ['catalog-protocol', 'catalog-unauthorized', 'commit-refused', 'commit-unknown']);
      expect(thief.received).toEqual([]);
    });
});

describe('GIVEN a configuration that names other servers', () => {
  test('WHEN uri, oauth2-server-uri, token and credential are among overrides and defaults THEN the table is written as if they were not', async () => {
    const real = await stage.lake.api('GET', `catalog/v1/config?warehouse=${CATALOG_NAME}`);
    const config = JSON.parse(real.text) as { overrides: Record<string, string>; defaults: Record<string, string> };
    const evil = {
      uri: thief.url, 'oauth2-server-uri': `${thief.url}/token`, token: 'stolen-token', credential: 'thief:thief', 'rest.signing-name': 'x',
      's3.signer.uri': thief.url, 's3.endpoint': thief.url, 'client.refresh-credentials-endpoint': `${thief.url}/credentials`, '__proto__': 'x',
    };
    const seen = new Set<string>();
    stage.lake.fault = (request) => {
      seen.add(request.headers['authorization'] ?? '');
      if (!isConfig(request)) return undefined;
      return answer(200, JSON.stringify({ ...config, overrides: { ...config.overrides, ...evil }, defaults: { ...config.defaults, ...evil } }));
    };
    const sink = start('config_evil');
    await stage.waitForFrontier('config_evil', at(0) + 1n);
    expect([...seen].join()).not.toContain('stolen-token');
    await sink.stop();
  });

  test.each(['../../../elsewhere', '%2e%2e/%2e%2e', 'a?b=', 'a\\..\\..\\b'])('WHEN its prefix is %s THEN no request goes there', async (prefix) => {
    const paths: string[] = [];
    stage.lake.fault = (request) => {
      paths.push(request.path);
      return isConfig(request) ? answer(200, JSON.stringify({ overrides: { prefix } })) : undefined;
    };
    await stopsWith(start(`prefix_${prefix.length}`), ['catalog-protocol']);
    expect(paths.filter((path) => !/oauth\/tokens$|\/v1\/config$/.test(path))).toEqual([]);
  });
});

describe('GIVEN answers that quote what they were sent', () => {
  test('WHEN the token endpoint echoes the secret beyond where messages are cut THEN no part of it is shown', async () => {
    const { clientSecret } = stage.lake;
    stage.lake.fault = (request) => (isToken(request)
      ? answer(400, JSON.stringify({ error: 'invalid_request', error_description: `${'x'.repeat(400 - 20 - clientSecret.length / 2)}${clientSecret}` })) : undefined);
    const sink = start('echo_secret');
    await stopsWith(sink, ['catalog-unauthorized', 'catalog-protocol']);
    expect(sink.logText()).not.toContain(clientSecret.slice(0, 8));
  });

  test('WHEN the catalog echoes the token THEN it is not shown', async () => {
    let token = '';
    stage.lake.fault = (request) => {
      token = /Bearer (.+)/.exec(request.headers['authorization'] ?? '')?.[1] ?? token;
      return isLoad(request) ? answer(403, JSON.stringify({ error: { message: `token ${token} may not`, type: `T ${token}`, code: 403 } })) : undefined;
    };
    const sink = start('echo_token');
    await stopsWith(sink, ['catalog-forbidden']);
    expect(token.length).toBeGreaterThan(10);
    expect(sink.logText()).not.toContain(token);
  });
});

/** The answer of the catalog to a load, changed. */
async function changedLoad(request: CatalogRequest, change: (text: string) => string): Promise<Interception | undefined> {
  if (!isLoad(request)) return undefined;
  const real = await stage.lake.api('GET', request.path.replace(/^.*?catalog\/v1/, 'catalog/v1').replace(/^\/+/, ''));
  return real.status === 200 ? answer(200, change(real.text)) : undefined;
}

describe('GIVEN a table that says it lies elsewhere', () => {
  test.each<[string, (directory: string) => string]>([
    ['climbs', (directory) => `file://${directory}/warehouse/../outside`], ['climbs in the middle', (directory) => `file://${directory}/warehouse/x/../../outside`],
    ['is of a scheme that is no storage', () => 'http://127.0.0.1:1/outside'], ['has a line break', (directory) => `file://${directory}/out\\nside`],
    ['is the root', () => 'file:///'], ['names a host', () => 'file://evil/outside'], ['is empty', () => ''],
  ])('WHEN its location %s THEN the sink stops by name and writes nothing', async (what, location) => {
    const name = `location_${what.replaceAll(' ', '_')}`;
    const first = start(name);
    await stage.waitForFrontier(name, at(0) + 1n);
    await first.stop();
    const { directory } = stage.lake;
    const before = readdirSync(directory).sort();
    const moved = (text: string): string => text.replace(/"location"\s*:\s*"[^"]*"/, () => `"location":"${location(directory)}"`);
    stage.lake.fault = (request) => changedLoad(request, moved);
    await stopsWith(again(name), ['table-location-unsupported', 'fenced', 'catalog-protocol']);
    expect(readdirSync(directory).sort()).toEqual(before);
  });
});

describe('GIVEN a snapshot whose manifest list is said to be elsewhere', () => {
  test.each<[string, string, (directory: string) => string]>([
    ['a file of another owner', 'catalog-protocol', (directory) => `file://${directory}/secret.txt`],
    ['a device without end', 'storage-forbidden', () => 'file:///dev/zero'],
    ['what the kernel knows of the process', 'catalog-protocol', () => 'file:///proc/self/environ'],
    ['a pipe', 'storage-forbidden', (directory) => `file://${directory}/pipe`],
    ['a web server', 'table-location-unsupported', () => `${thief.url}/list.avro`],
    ['a bucket', 'table-location-unsupported', () => 's3://other/list.avro'],
    ['a directory', 'storage-forbidden', (directory) => `file://${directory}`],
  ])('WHEN it is %s THEN the sink stops with %s, soon, and shows nothing of it', async (what, code, location) => {
    const { directory } = stage.lake;
    writeFileSync(join(directory, 'secret.txt'), 'content-of-the-secret-file');
    execFileSync('rm', ['-f', join(directory, 'pipe')]);
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    const name = `list_${what.replaceAll(' ', '_')}`;
    const first = start(name);
    const table = await stage.waitForFrontier(name, at(0) + 1n);
    await first.stop();
    const list = table.snapshots.at(-1)!.manifestList;
    stage.lake.fault = (request) => changedLoad(request, (text) => text.replaceAll(list, location(directory)));
    const second = again(name);
    await stopsWith(second, [code]);
    expect(second.logText()).not.toContain('content-of-the-secret-file');
  });
});
