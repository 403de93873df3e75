/** S1, S2 and never a hang: every JSON the catalog and its token endpoint answer with, damaged byte by byte and node by node. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/errors.ts';
import { formatJson, parseJson } from '../../../src/iceberg/json.ts';
import { parseCatalogConfig } from '../../../src/io/catalog-config.ts';
import { parseCatalogError, parseOauthError } from '../../../src/io/catalog-errors.ts';
import type { HttpClient, HttpResult } from '../../../src/io/http.ts';
import { createTokenSource } from '../../../src/io/oauth.ts';
import { createRestCatalog } from '../../../src/io/rest-catalog.ts';
import { s3AccessFor } from '../../../src/io/storage-properties.ts';
import { parseCredentialsResponse, parseTableResponse } from '../../../src/io/table-response.ts';
import { writePrefixes } from '../../../src/io/object-store.ts';
import { findProgress } from '../../../src/commit/ancestry.ts';
import { Secret } from '../../../src/definition/secret.ts';
import { connection, fixedEntropy, manualClock } from '../../unit/io/fakes.ts';
import { MARKER, attempt, corpusFile, refusal, shown } from './attempt.ts';
import { type Random, createRandom } from '../../../src/embedded/auction/seeded-random.ts';
import { damaged, runsOf, seedOf } from './mutate.ts';

const PROTOCOL: readonly ErrorCode[] = ['catalog-protocol', 'table-unsupported', 'table-location-unsupported', 'storage-credentials-missing'];

const metadata = Buffer.from(corpusFile('java-v2.metadata.json')).toString('utf8');
const progress = '"mz-frontier":"[1780000000000]","mz-sink-id":"s","mz-sink-version":"0"';
const loaded = `{"metadata-location":"s3://b/t/metadata/1.metadata.json","metadata":${metadata.replace('"operation"', `${progress},"operation"`)},`
  + `"config":{"s3.access-key-id":"AK","s3.secret-access-key":"${MARKER}","s3.endpoint":"http://s3:9000","s3.session-token-expires-at-ms":"1800000000000"},`
  + `"storage-credentials":[{"prefix":"s3://b/t","config":{"s3.access-key-id":"AK2","s3.secret-access-key":"${MARKER}","s3.session-token":"${MARKER}"}}]}`;
const config = '{"defaults":{"prefix":"a/b","namespace-separator":"%1F"},"overrides":{"s3.region":"eu-west-1","uri":"http://evil"},"endpoints":["GET /v1/{prefix}/namespaces"],"idempotency-key-lifetime":"PT1H"}';
const token = `{"access_token":"abc","token_type":"bearer","expires_in":3600,"scope":"all"}`;
const namespaces = '{"namespaces":[["a"],["b","c"]],"next-page-token":null}';
const failure = `{"error":{"message":"no such table ${'x'.repeat(50)}","type":"NoSuchTableException","code":404},"error_description":"y"}`;

/** What JSON may hold where something else is expected, conversions of JavaScript's own included. */
const POISON: readonly (() => unknown)[] = [
  () => null, () => true, () => -1, () => 0, () => 1e308, () => 2 ** 53, () => 9_223_372_036_854_775_807n, () => -(2n ** 63n), () => 10n ** 30n,
  () => '', () => '-1', () => 'NaN', () => '\u0000\r\nX-Evil: 1', () => '../../..', () => 'file:///etc', () => '__proto__', () => 'x'.repeat(10_000),
  () => [], () => [[]], () => ({}), () => ({ toString: 1, valueOf: 1 }), () => ({ toString: 'x' }), () => [null], () => [{ toString: 1 }],
  () => ({ constructor: { prototype: { polluted: 1 } } }), () => Array.from({ length: 300 }).reduce<unknown>((inner) => [inner], 1),
];

/** The text with one to three nodes replaced, removed or doubled. */
function poisoned(text: string, random: Random): string {
  let value = parseJson(text) as unknown;
  for (let left = 1 + random.below(3); left > 0; left -= 1) value = changed(value, random);
  const result = formatJson(value);
  // A member that an object literal can't have.
  return random.below(10) === 0 ? result.replace('{', '{"__proto__":{"polluted":1},') : result;
}

function changed(value: unknown, random: Random): unknown {
  const poison = (): unknown => POISON[random.below(POISON.length)]!();
  if (typeof value !== 'object' || value === null || random.below(8) === 0) return poison();
  if (Array.isArray(value)) {
    const items = [...value as unknown[]];
    if (items.length === 0) return [poison()];
    const at = random.below(items.length);
    items[at] = changed(items[at], random);
    return items;
  }
  const members = Object.entries(value);
  if (members.length === 0) return { more: poison() };
  const at = random.below(members.length);
  if (random.below(8) === 0) return Object.fromEntries(members.filter((_member, index) => index !== at));
  return Object.fromEntries(members.map(([key, item], index) => [key, index === at ? changed(item, random) : item]));
}

/** Whole tables of what the sink does with an answer, so that a value that is carried on and breaks later shows too. */
function useTable(text: string): void {
  const { table, storage } = parseTableResponse(text, 'load table a.b');
  writePrefixes(table.metadata);
  findProgress(table.metadata);
  for (const location of [table.metadata.location, 's3://b/t/data/x']) s3AccessFor(location, {}, storage, true);
}

const READERS: readonly (readonly [string, string, (text: string) => unknown])[] = [
  ['a loaded table', loaded, useTable],
  ['a configuration', config, (text) => parseCatalogConfig(text, {})],
  ['storage credentials', loaded, (text) => parseCredentialsResponse(text, 'fetch storage credentials')],
  ['an error of the catalog', failure, (text) => [parseCatalogError(text), parseOauthError(text, [MARKER])]],
];

afterEach(() => {
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

/** An HTTP client that always gives this answer. */
function answering(answer: (url: string) => Partial<HttpResult> & { body: string }): HttpClient {
  return {
    send: (request) => Promise.resolve({ kind: 'response', status: 200, headers: new Headers(), retryAfterMs: null, ...answer(request.url) } as HttpResult),
  };
}

describe('GIVEN an answer of the catalog', () => {
  test.each(READERS)('WHEN %s has damaged bytes THEN it is read or refused by name', (_what, text, read) => {
    const outcomes = new Set<string>();
    for (const bytes of damaged([Buffer.from(text)], seedOf(11), runsOf(1500))) {
      const given = Buffer.from(bytes).toString('utf8');
      outcomes.add(attempt(() => read(given), given, PROTOCOL).kind);
    }
    expect(outcomes).toContain('read');
  });

  test.each(READERS)('WHEN nodes of %s are something else THEN it is read or refused by name', (_what, text, read) => {
    const random = createRandom(seedOf(12));
    const outcomes = new Set<string>();
    for (let run = 0; run < runsOf(2500); run += 1) {
      const given = poisoned(text, random);
      outcomes.add(attempt(() => read(given), given, PROTOCOL).kind);
    }
    expect(outcomes).toContain('read');
  });

  test('WHEN a token answer has other nodes THEN a token comes that fits a header, or a named error without the secret', async () => {
    const random = createRandom(seedOf(13));
    let tokens = 0;
    for (let run = 0; run < runsOf(1500); run += 1) {
      const given = run % 2 === 0 ? poisoned(token, random) : Buffer.from([...damaged([Buffer.from(token)], seedOf(run), 2)][1]!).toString('utf8');
      const clock = manualClock();
      const source = createTokenSource(
        connection('http://c', { credential: { clientId: 'id', clientSecret: new Secret(MARKER) } }), answering(() => ({ body: given })), clock,
      );
      const value = await source!.token().catch((thrown: unknown) => refusal(thrown, given, ['catalog-protocol']));
      if (typeof value === 'string' && /^[\u0021-\u007e]+$/.test(value)) tokens += 1;
      else if (typeof value === 'string') throw new Error(`a token that fits no header came of ${shown(given)}`);
      // However its life was stated, it is renewed or given, never waited for.
      clock.advance(10 ** 9);
      await source!.token().catch((thrown: unknown) => refusal(thrown, given, ['catalog-protocol']));
    }
    expect(tokens).toBeGreaterThan(20);
  });

  test('WHEN lists of namespaces have other nodes THEN they are names or refused', async () => {
    const random = createRandom(seedOf(14));
    const levelTypes = new Set<string>();
    for (let run = 0; run < runsOf(800); run += 1) {
      const given = poisoned(namespaces, random);
      const http = answering((url) => ({ body: url.includes('/config') ? '{}' : given }));
      const catalog = createRestCatalog(connection('http://c'), { http, clock: manualClock(), entropy: fixedEntropy });
      const listed = await catalog.listNamespaces().catch((thrown: unknown) => refusal(thrown, given, ['catalog-protocol']));
      if (Array.isArray(listed)) for (const level of (listed as readonly unknown[]).flat()) levelTypes.add(typeof level);
    }
    expect([...levelTypes]).toEqual(['string']);
  });

  test('WHEN the pages of namespaces never end THEN the list is refused', async () => {
    let page = 0;
    const http = answering((url) => ({ body: url.includes('/config') ? '{}' : `{"namespaces":[["n${page}"]],"next-page-token":"p${page += 1}"}` }));
    const catalog = createRestCatalog(connection('http://c'), { http, clock: manualClock(), entropy: fixedEntropy });
    await expect(catalog.listNamespaces()).rejects.toThrow('no end');
  });
});

describe('GIVEN JSON made to kill its reader', () => {
  test.each<[string, () => string]>([
    ['100,000 levels of arrays', () => '['.repeat(100_000)],
    ['100,000 levels of objects', () => `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['a million digits', () => `{"metadata":{"format-version":${'9'.repeat(1_000_000)}}}`],
    ['30 million empty arrays', () => `[${'[],'.repeat(15_000_000)}[]]`],
    ['an unclosed string of 50 MB', () => `{"a":"${'x'.repeat(50_000_000)}`],
    ['backslashes without end', () => `{"a":"${'\\'.repeat(1_000_001)}`],
  ])('WHEN it is %s THEN it is refused, soon', (_what, make) => {
    const text = make();
    expect(attempt(() => parseTableResponse(text, 'load table'), text.slice(0, 100), PROTOCOL).kind).toBe('refused');
  });

  test.each(['expires_in', 'access_token'])('WHEN the %s of a token answer is an object that has no text THEN it is no TypeError', async (name) => {
    const http = answering(() => ({ body: `{"access_token":"abc","${name}":{"toString":1,"valueOf":1}}` }));
    const source = createTokenSource(connection('http://c', { credential: { clientId: null, clientSecret: new Secret('x') } }), http, manualClock());
    const outcome = await source!.token().catch((thrown: unknown) => refusal(thrown, name, ['catalog-protocol']).kind);
    expect(['abc', 'refused']).toContain(outcome);
  });

  test.each(['"1e308"', '1e308', '-5', '0', '1e-9', '"Infinity"', 'null'])('WHEN expires_in is %s THEN tokens still come', async (life) => {
    const http = answering(() => ({ body: `{"access_token":"abc","expires_in":${life}}` }));
    const clock = manualClock();
    const source = createTokenSource(connection('http://c', { credential: { clientId: null, clientSecret: new Secret('x') } }), http, clock);
    expect(await source!.token()).toBe('abc');
    clock.advance(10 ** 12);
    expect(await source!.token()).toBe('abc');
  });
});

describe('GIVEN a prefix of the configuration', () => {
  test.each(['..', 'a/../b', '%2e%2e', 'a/%2E%2e/b', '.%2e', 'a?x=', 'a#', 'a\\..\\b', 'a b', 'a\r\nHost: evil', '.'])(
    'WHEN it is %j, which would lead elsewhere, THEN the configuration is refused', (prefix) => {
      expect(() => parseCatalogConfig(JSON.stringify({ overrides: { prefix } }), {})).toThrow('prefix');
    });

  test.each(['', 'main', 'projects/p/catalogs/c', 'main%7Cs3:%2F%2Fb', 'a..b', '...'])('WHEN it is %j THEN it is kept', (prefix) => {
    expect(parseCatalogConfig(JSON.stringify({ overrides: { prefix } }), {}).prefix).toBe(prefix === '' ? '' : `${prefix}/`);
  });
});

describe('GIVEN storage properties that would lead keys elsewhere', () => {
  const keys = { 's3.access-key-id': 'AK', 's3.secret-access-key': MARKER };
  test.each<[string, Record<string, string>]>([
    ['a region that is a host', { 'client.region': 'evil.example/' }], ['a region with an at sign', { 's3.region': 'x@evil' }],
    ['an endpoint that is a file', { 's3.endpoint': 'file:///etc' }], ['an endpoint with a user', { 's3.endpoint': 'http://u:p@h' }],
    ['an endpoint that is no URL', { 's3.endpoint': 'evil' }], ['a token with a line break', { 's3.session-token': 'a\r\nx-evil: 1' }],
    ['a key with a line break', { 's3.access-key-id': 'a\nb' }],
  ])('WHEN there is %s THEN they are refused without showing them', (_what, more) => {
    const outcome = attempt(() => s3AccessFor('s3://b/t', {}, { config: { ...keys, ...more }, credentials: [] }, true), 'properties', PROTOCOL);
    expect(outcome.kind).toBe('refused');
  });
});
