/** Catalogs say in different places when keys end (peer-faults 17): each place is read, and none means a short life. */
import { describe, expect, test } from 'vitest';
import { createStorageCredentials } from '../../../src/io/credentials.ts';
import { type TableStorageProperties, earliestExpiryMs } from '../../../src/io/storage-properties.ts';
import { manualClock } from './fakes.ts';

const LOCATION = 's3://b/ns/t/data/x';
const KEYS = { 's3.access-key-id': 'id', 's3.secret-access-key': 'secret', 's3.session-token': 'token' };
const END = 1_800_003_600_000;

const places: readonly (readonly [string, TableStorageProperties])[] = ['s3.session-token-expires-at-ms', 'expiration-time'].flatMap((key) => [
  [`${key} beside the keys`, { config: {}, credentials: [{ prefix: 's3://b/ns/t', config: { ...KEYS, [key]: String(END) } }] }] as const,
  [`${key} in config, with the keys`, { config: { ...KEYS, [key]: String(END) }, credentials: [] }] as const,
]);

function credentialsOf(properties: TableStorageProperties) {
  const clock = manualClock();
  let fetched = 0;
  const credentials = createStorageCredentials({
    clock, delegated: true, catalogProperties: () => Promise.resolve({}),
    fetch: async () => {
      fetched += 1;
      return properties;
    },
  });
  return { clock, use: () => credentials.s3Access(LOCATION), fetched: () => fetched };
}

describe('GIVEN keys whose end is told', () => {
  test.each(places)('WHEN it is %s THEN it is known, and they are renewed 900 s ahead', async (_, properties) => {
    expect(earliestExpiryMs(properties)).toBe(END);
    const { clock, use, fetched } = credentialsOf(properties);
    expect(await use()).toMatchObject({ expiresAtMs: END });
    clock.advance(3_600_000 - 900_000 - 1);
    await use();
    expect(fetched()).toBe(1);
    clock.advance(1);
    await use();
    expect(fetched()).toBe(2);
  });

  test('WHEN several sets tell different ends THEN the earliest counts', () => {
    const set = (prefix: string, end: number) => ({ prefix, config: { ...KEYS, 's3.session-token-expires-at-ms': String(end) } });
    expect(earliestExpiryMs({ config: {}, credentials: [set('s3://b/ns', END + 5), set('s3://b/ns/t', END), set('s3://b', END + 9)] })).toBe(END);
  });
});

describe('GIVEN keys whose end is not told', () => {
  test.each([['absent', {}], ['empty', { 's3.session-token-expires-at-ms': '' }], ['a date in words', { 'expiration-time': 'tomorrow' }], ['negative', { 'expiration-time': '-1' }]])(
    'WHEN it is %s THEN they are taken to live 300 s, not for ever', async (_, expiry) => {
      const { clock, use, fetched } = credentialsOf({ config: {}, credentials: [{ prefix: 's3://b/ns/t', config: { ...KEYS, ...expiry } }] });
      await use();
      clock.advance(299_999);
      await use();
      expect(fetched()).toBe(1);
      clock.advance(1);
      await use();
      expect(fetched()).toBe(2);
    },
  );
});
