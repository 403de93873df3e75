import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../../src/definition/secret.ts';
import { signForm } from '../../../src/embedded/catalog/request-signature.ts';
import { SinkError } from '../../../src/errors.ts';
import { createStorageCredentials } from '../../../src/io/credentials.ts';
import { createS3Store } from '../../../src/io/s3-store.ts';
import type { S3Access, TableStorageProperties } from '../../../src/io/storage-properties.ts';
import { createSystemClock, createSystemEntropy } from '../../../src/io/system.ts';
import type { ObjectStore } from '../../../src/sink/ports.ts';
import { objectStoreSuite, pattern } from '../../contract/object-store/object-store-suite.ts';
import { type S3Server, startS3 } from '../catalog/s3-server.ts';

const PORT = 19_500;
const clock = createSystemClock();
const entropy = createSystemEntropy();
let server: S3Server;
let store: ObjectStore;

function access(changes: Partial<S3Access> = {}): S3Access {
  return {
    endpoint: server.endpoint, region: 'us-east-1', pathStyle: true, accessKeyId: server.keys.accessKeyId,
    secretAccessKey: new Secret(server.keys.secretAccessKey), sessionToken: null, expiresAtMs: null, ...changes,
  };
}

function storeWith(held: S3Access): ObjectStore {
  const keys = { s3Access: () => Promise.resolve(held), renew: () => Promise.resolve(held) };
  return createS3Store({ keys, clock, entropy, multipartThresholdBytes: 6 * 1024 * 1024, partBytes: 5 * 1024 * 1024 });
}

beforeAll(async () => {
  server = await startS3(PORT, 'lake', '6s');
  store = storeWith(access());
});
afterAll(async () => server.stop());

objectStoreSuite('a real S3 server', {
  store: () => store, location: (name) => `s3://lake/${name}`, sizes: [6 * 1024 * 1024, 6 * 1024 * 1024 + 1, 23_000_000],
});

/** Keys that live as long as the server's default session, six seconds here, as a catalog would vend them. */
async function vend(): Promise<TableStorageProperties> {
  const form = {
    Action: 'AssumeRole', Version: '2011-06-15', RoleSessionName: 'interop', RoleArn: 'arn:aws:iam::000000000000:role/iceberg-writer',
  };
  const signed = signForm(form, new URL(server.endpoint), 'us-east-1', server.keys, Date.now());
  const answer = await fetch(server.endpoint, { method: 'POST', headers: signed.headers, body: signed.body });
  const xml = await answer.text();
  const element = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
  return {
    config: { 's3.endpoint': server.endpoint, 's3.path-style-access': 'true', 's3.region': 'us-east-1' },
    credentials: [{ prefix: 's3://lake/', config: {
      's3.access-key-id': element('AccessKeyId'), 's3.secret-access-key': element('SecretAccessKey'),
      's3.session-token': element('SessionToken'),
      's3.session-token-expires-at-ms': String(Date.parse(element('Expiration'))),
    } }],
  };
}

describe('GIVEN keys that live for six seconds', () => {
  test('WHEN objects are put for longer than that THEN keys are renewed and every put succeeds', async () => {
    let vended = 0;
    const credentials = createStorageCredentials({
      clock, delegated: true, catalogProperties: () => Promise.resolve({}),
      fetch: async () => {
        vended += 1;
        return await vend();
      },
    });
    const renewing = createS3Store({ keys: credentials, clock, entropy });
    const endMs = Date.now() + 14_000;
    for (let count = 0; Date.now() < endMs; count += 1) {
      expect(await renewing.put(`s3://lake/data/renewed-${Date.now()}-${count}`, pattern(10_000))).toBe('stored');
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(vended).toBeGreaterThanOrEqual(3);
    expect(vended).toBeLessThan(20);
  });

  test('WHEN the catalog names no expiry and they end THEN the refused put is repeated with newer keys', async () => {
    let vended = 0;
    const credentials = createStorageCredentials({
      clock, delegated: true, catalogProperties: () => Promise.resolve({}),
      fetch: async () => {
        vended += 1;
        const { config, credentials: [first] } = await vend();
        const { 's3.session-token-expires-at-ms': _, ...unstated } = first?.config ?? {};
        return { config, credentials: [{ prefix: 's3://lake/', config: unstated }] };
      },
    });
    const renewing = createS3Store({ keys: credentials, clock, entropy });
    await renewing.put(`s3://lake/data/early-${Date.now()}`, pattern(10));
    await new Promise((resolve) => setTimeout(resolve, 7_500));
    const puts = Array.from({ length: 8 }, (_, index) => renewing.put(`s3://lake/data/late-${Date.now()}-${index}`, pattern(10)));
    expect(await Promise.all(puts)).toEqual(Array.from({ length: 8 }, () => 'stored'));
    expect(vended).toBe(2);
  });
});

describe('GIVEN a store that refuses', () => {
  const refusals: [string, () => S3Access, string, string][] = [
    ['a wrong secret', () => access({ secretAccessKey: new Secret('wrong-secret') }), 's3://lake/data/x', 'storage-forbidden'],
    ['a key without write rights', () => access({ accessKeyId: `${server.keys.accessKeyId}-reader` }), 's3://lake/data/x', 'storage-forbidden'],
    ['a missing bucket', access, 's3://nowhere/data/x', 'storage-forbidden'],
    ['unknown permanent keys', () => access({ accessKeyId: 'unknown' }), 's3://lake/data/x', 'storage-forbidden'],
    ['unknown keys of a session', () => access({ accessKeyId: 'unknown', sessionToken: new Secret('x') }), 's3://lake/data/x',
      'storage-credentials-expired'],
  ];
  test.each(refusals)('WHEN it is for %s THEN the error is named and holds no secret', async (_, held, location, code) => {
    const error = await storeWith(held()).put(location, pattern(3)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SinkError);
    expect(error).toMatchObject({ code });
    expect((error as Error).message).not.toContain(server.keys.secretAccessKey);
    expect((error as Error).message).not.toContain('wrong-secret');
  });
});
