import { afterEach, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/io/http.ts';
import { createTokenSource } from '../../../src/io/oauth.ts';
import { connection, manualClock, withCredential } from './fakes.ts';
import { type Reply, type ScriptedServer, scriptedServer } from './scripted-server.ts';

const servers: ScriptedServer[] = [];

async function setUp(script: (index: number) => Reply, changes: Parameters<typeof withCredential>[1] = {}) {
  const server = await scriptedServer((_, index) => script(index));
  servers.push(server);
  const clock = manualClock();
  const tokens = createTokenSource(withCredential(`${server.url}/api/catalog/`, changes), createHttpClient(clock), clock);
  if (tokens === null) throw new Error('a connection with a credential has tokens');
  return { server, clock, tokens };
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const grant = (index: number, expiresIn?: number): Reply => ({
  status: 200, body: { access_token: `token-${index}`, token_type: 'bearer', ...(expiresIn === undefined ? {} : { expires_in: expiresIn }) },
});

describe('GIVEN a connection with CREDENTIAL', () => {
  test('WHEN a token is asked for THEN one form goes to <url>/v1/oauth/tokens', async () => {
    const { server, tokens } = await setUp((index) => grant(index, 3600));
    expect(await tokens.token()).toBe('token-0');
    expect(server.received[0]?.url).toBe('/api/catalog/v1/oauth/tokens');
    expect(Object.fromEntries(new URLSearchParams(server.received[0]?.body))).toEqual({
      grant_type: 'client_credentials', client_id: 'materialize', client_secret: 's3cr3t-value', scope: 'PRINCIPAL_ROLE:ALL',
    });
  });

  test('WHEN it has no SCOPE THEN the scope is catalog', async () => {
    const { server, tokens } = await setUp((index) => grant(index), { scope: null });
    await tokens.token();
    expect(new URLSearchParams(server.received[0]?.body).get('scope')).toBe('catalog');
  });

  test('WHEN OAUTH2 SERVER URL is set THEN the secret goes there and nowhere else', async () => {
    const issuer = await scriptedServer((_, index) => grant(index, 60));
    servers.push(issuer);
    const { server, tokens } = await setUp(() => ({ status: 500 }), { oauth2ServerUrl: `${issuer.url}/token` });
    expect(await tokens.token()).toBe('token-0');
    expect(issuer.received[0]?.url).toBe('/token');
    expect(server.received).toHaveLength(0);
  });

  test('WHEN many ask at once THEN one token is minted', async () => {
    const { server, tokens } = await setUp((index) => grant(index, 3600));
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => tokens.token())))).toEqual(new Set(['token-0']));
    expect(server.received).toHaveLength(1);
  });

  test('WHEN a token nears its end THEN the next one is minted a minute ahead, or at half of a short life', async () => {
    const long = await setUp((index) => grant(index, 3600));
    await long.tokens.token();
    long.clock.advance(3_539_000);
    expect(await long.tokens.token()).toBe('token-0');
    long.clock.advance(2_000);
    expect(await long.tokens.token()).toBe('token-1');
    const short = await setUp((index) => grant(index, 3));
    await short.tokens.token();
    short.clock.advance(1_600);
    expect(await short.tokens.token()).toBe('token-1');
  });

  test('WHEN the endpoint is down ahead of expiry THEN the old token serves until it ends', async () => {
    const { clock, tokens } = await setUp((index) => (index === 0 ? grant(0, 3600) : { status: 503 }));
    await tokens.token();
    clock.advance(3_590_000);
    expect(await tokens.token()).toBe('token-0');
    clock.advance(20_000);
    await expect(tokens.token()).rejects.toMatchObject({ code: 'catalog-unavailable' });
  });

  test('WHEN the catalog refuses a token THEN another is minted, and only for the refused one', async () => {
    const { tokens } = await setUp((index) => grant(index));
    expect(await tokens.token()).toBe('token-0');
    tokens.refused('token-0');
    expect(await tokens.token()).toBe('token-1');
    tokens.refused('token-0');
    expect(await tokens.token()).toBe('token-1');
  });
});

describe('GIVEN a token endpoint that refuses', () => {
  const scopeError = { error: 'invalid_scope', error_description: 'The scope is invalid', error_uri: null };
  const refusals: [string, Reply, object, string, string][] = [
    ['invalid_scope without SCOPE', { status: 400, body: scopeError }, { scope: null }, 'catalog-scope-missing', 'SCOPE is missing.'],
    ['invalid_scope with SCOPE', { status: 400, body: scopeError }, { scope: 'x' }, 'catalog-scope-missing', "SCOPE 'x'"],
    ['401', { status: 401, body: { error: 'unauthorized_client', error_description: 'The client is not authorized' } }, {},
      'catalog-unauthorized', 'The credential is wrong, or SCOPE names a principal role that is not assigned to the principal.'],
    ['401 without a body', { status: 401 }, {}, 'catalog-unauthorized', 'The credential is wrong'],
    ['429', { status: 429, headers: { 'retry-after': '3' } }, {}, 'catalog-unavailable', ''],
    ['a page', { status: 404, body: '<html>' }, {}, 'catalog-protocol', 'OAUTH2 SERVER URL'],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, {}, 'catalog-protocol', ''],
    ['a 200 without a token', { status: 200, body: {} }, {}, 'catalog-protocol', 'access_token'],
    ['a reset', 'reset', {}, 'catalog-unreachable', ''],
  ];
  test.each(refusals)('WHEN it answers %s THEN the cause is named', async (_, reply, changes, code, words) => {
    const { tokens } = await setUp(() => reply, changes);
    await expect(tokens.token()).rejects.toMatchObject({ code, message: expect.stringContaining(words) as string });
  });

  test('WHEN it echoes the secret THEN the error does not', async () => {
    const { tokens } = await setUp(() => ({ status: 401, body: { error: 'invalid_client', error_description: 'bad s3cr3t-value!' } }));
    const error = await tokens.token().catch((thrown: unknown) => thrown) as Error;
    expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain('s3cr3t-value');
    expect(error.message).toContain('<redacted>');
  });
});

test('GIVEN a connection without CREDENTIAL WHEN tokens are set up THEN there are none', () => {
  expect(createTokenSource(connection('http://127.0.0.1:1'), createHttpClient(manualClock()), manualClock())).toBeNull();
});
