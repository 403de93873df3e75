import { describe, expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import { createStorageCredentials, refreshTimeMs } from '../../../src/io/credentials.ts';
import { type TableStorageProperties, s3AccessFor } from '../../../src/io/storage-properties.ts';
import { manualClock } from './fakes.ts';

const MINUTE = 60_000;
const LOCATION = 's3://warehouse/ns/t/data/x.parquet';

function keys(id: string, expiresAtMs: number | null = null): Record<string, string> {
  return {
    's3.access-key-id': id, 's3.secret-access-key': `secret-of-${id}`, 's3.session-token': `token-of-${id}`,
    ...(expiresAtMs === null ? {} : { 's3.session-token-expires-at-ms': String(expiresAtMs) }),
  };
}

function vended(id: string, expiresAtMs: number | null = null): TableStorageProperties {
  return { config: { 's3.endpoint': 'http://store' }, credentials: [{ prefix: 's3://warehouse/ns/t', config: keys(id, expiresAtMs) }] };
}

describe('GIVEN what a catalog returned for a table', () => {
  test('WHEN several prefixes cover a location THEN the longest wins, whole segments compared', () => {
    const table = { config: {}, credentials: [
      { prefix: 's3://warehouse', config: keys('bucket') }, { prefix: 's3://warehouse/ns/t', config: keys('table') },
      { prefix: 's3://warehouse/ns/t/data-of-other', config: keys('other') }, { prefix: 'gs://warehouse/ns/t/data', config: {} },
      { prefix: 's3', config: keys('all') },
    ] };
    expect(s3AccessFor(LOCATION, {}, table, true).accessKeyId).toBe('table');
    expect(s3AccessFor('s3://warehouse/ns/t2/x', {}, table, true).accessKeyId).toBe('bucket');
    expect(s3AccessFor('s3a://elsewhere/x', {}, table, true).accessKeyId).toBe('all');
  });

  test('WHEN endpoint, region and path style are only in config, as Polaris has them, THEN they join the keys', () => {
    const table = {
      config: { 's3.endpoint': 'http://e', 'client.region': 'eu-west-3', 's3.path-style-access': 'true', ...keys('config', 1) },
      credentials: [{ prefix: 's3://warehouse/ns/t', config: keys('credential', 2_000) }],
    };
    expect(s3AccessFor(LOCATION, {}, table, true)).toMatchObject({
      endpoint: 'http://e', region: 'eu-west-3', pathStyle: true, accessKeyId: 'credential', expiresAtMs: 2_000,
    });
  });

  test('WHEN a set of keys lacks a token THEN the token of another set is not put beside it', () => {
    const permanent = { 's3.access-key-id': 'id', 's3.secret-access-key': 'secret' };
    const table = { config: keys('config', 5), credentials: [{ prefix: 's3://warehouse/', config: permanent }] };
    expect(s3AccessFor(LOCATION, keys('catalog'), table, false)).toMatchObject({ accessKeyId: 'id', sessionToken: null, expiresAtMs: null });
    expect(s3AccessFor(LOCATION, keys('catalog'), { config: permanent, credentials: [] }, false).sessionToken).toBeNull();
  });

  test('WHEN delegation was not asked for and nothing came THEN the guide words the cause', () => {
    expect(() => s3AccessFor(LOCATION, {}, { config: {}, credentials: [] }, false)).toThrow(
      "The sink has no storage credentials. Set ACCESS DELEGATION = 'vended-credentials' on the connection.",
    );
  });

  test('WHEN delegation was asked for and nothing came THEN neither catalog keys nor the environment stand in', () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'ambient';
    process.env['AWS_SECRET_ACCESS_KEY'] = 'ambient';
    try {
      expect(() => s3AccessFor(LOCATION, keys('catalog'), { config: {}, credentials: [] }, true)).toThrow('returned none');
    } finally {
      delete process.env['AWS_ACCESS_KEY_ID'];
      delete process.env['AWS_SECRET_ACCESS_KEY'];
    }
  });

  test('WHEN the secret is absent THEN it is named', () => {
    const table = { config: { 's3.access-key-id': 'id' }, credentials: [] };
    expect(() => s3AccessFor(LOCATION, {}, table, true)).toThrow('missing s3.secret-access-key');
  });
});

test.each([
  [60 * MINUTE, 45 * MINUTE], [30 * MINUTE, 15 * MINUTE], [20 * MINUTE, 10 * MINUTE], [6_000, 3_000], [0, 500], [-5_000, 500],
])('GIVEN keys that live for %i ms WHEN the renewal is planned THEN it is due after %i ms', (lifeMs, due) => {
  expect(refreshTimeMs(1_000_000, 1_000_000 + lifeMs)).toBe(1_000_000 + due);
});

function setUp(answers: (call: number, nowMs: number) => TableStorageProperties | SinkError, delegated = true) {
  const clock = manualClock();
  let calls = 0;
  const credentials = createStorageCredentials({
    clock, delegated, catalogProperties: () => Promise.resolve({}),
    fetch: async () => {
      const answer = answers(calls, clock.nowMs());
      calls += 1;
      await Promise.resolve();
      if (answer instanceof SinkError) throw answer;
      return answer;
    },
  });
  const idNow = async (): Promise<string> => (await credentials.s3Access(LOCATION)).accessKeyId;
  return { clock, credentials, idNow, calls: () => calls };
}

describe('GIVEN keys of a table in use', () => {
  test('WHEN they have an expiry THEN they are renewed 900 s ahead, and once for all who ask', async () => {
    const { clock, idNow, calls } = setUp((call, nowMs) => vended(`k${call}`, nowMs + 60 * MINUTE));
    expect(await idNow()).toBe('k0');
    clock.advance(45 * MINUTE - 1);
    expect(await idNow()).toBe('k0');
    clock.advance(1);
    expect(new Set(await Promise.all(Array.from({ length: 10 }, idNow)))).toEqual(new Set(['k1']));
    expect(calls()).toBe(2);
  });

  test('WHEN vended ones have no expiry THEN they are renewed every 300 s; permanent ones never', async () => {
    const unstated = setUp((call) => vended(`k${call}`));
    expect(await unstated.idNow()).toBe('k0');
    unstated.clock.advance(300_000);
    expect(await unstated.idNow()).toBe('k1');
    const permanent = setUp((call) => vended(`k${call}`), false);
    await permanent.idNow();
    permanent.clock.advance(1e10);
    expect(await permanent.idNow()).toBe('k0');
  });

  test('WHEN the catalog hands out the same nearly expired keys THEN it is not asked at every use', async () => {
    const { clock, idNow, calls } = setUp(() => vended('same', 1_800_000_000_000 + 10 * MINUTE));
    await idNow();
    clock.advance(6 * MINUTE);
    for (let use = 0; use < 100; use += 1) await idNow();
    expect(calls()).toBe(2);
  });

  test('WHEN a renewal fails for a passing reason THEN living keys serve on, expired ones do not', async () => {
    const down = new SinkError('catalog-unavailable', 'down');
    const { clock, idNow, calls } = setUp((call, nowMs) => (call === 0 ? vended('k0', nowMs + 60 * MINUTE) : down));
    await idNow();
    clock.advance(50 * MINUTE);
    expect(await idNow()).toBe('k0');
    expect(await idNow()).toBe('k0');
    expect(calls()).toBe(2);
    clock.advance(10 * MINUTE);
    await expect(idNow()).rejects.toMatchObject({ code: 'catalog-unavailable' });
  });

  test('WHEN a renewal is refused for good THEN it is told at once', async () => {
    const { clock, idNow } = setUp((call, nowMs) => (call === 0 ? vended('k0', nowMs + 60 * MINUTE) : new SinkError('table-missing', 'gone')));
    await idNow();
    clock.advance(50 * MINUTE);
    await expect(idNow()).rejects.toMatchObject({ code: 'table-missing' });
  });

  test('WHEN eight uploads find the same keys refused THEN they are renewed once', async () => {
    const { credentials, calls } = setUp((call) => vended(`k${call}`));
    const stale = await credentials.s3Access(LOCATION);
    const renewed = await Promise.all(Array.from({ length: 8 }, () => credentials.renew(LOCATION, stale)));
    expect(new Set(renewed.map((access) => access.accessKeyId))).toEqual(new Set(['k1']));
    expect((await credentials.renew(LOCATION, stale)).accessKeyId).toBe('k1');
    expect(calls()).toBe(2);
  });

  test('WHEN a table response carries newer keys THEN they are used without a request; older or none change nothing', async () => {
    const { clock, credentials, idNow, calls } = setUp((call, nowMs) => vended(`k${call}`, nowMs + 60 * MINUTE));
    await idNow();
    credentials.offer({ config: {}, credentials: [] });
    credentials.offer(vended('older', clock.nowMs() + 5 * MINUTE));
    expect(await idNow()).toBe('k0');
    credentials.offer(vended('newer', clock.nowMs() + 90 * MINUTE));
    expect(await idNow()).toBe('newer');
    expect(calls()).toBe(1);
  });

  test('WHEN prefetch runs on a timer THEN keys are renewed when due only', async () => {
    const { clock, credentials, idNow, calls } = setUp((call, nowMs) => vended(`k${call}`, nowMs + 60 * MINUTE));
    await credentials.prefetch();
    expect(calls()).toBe(0);
    await idNow();
    await credentials.prefetch();
    expect(calls()).toBe(1);
    clock.advance(46 * MINUTE);
    await credentials.prefetch();
    expect(calls()).toBe(2);
  });
});
