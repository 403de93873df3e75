import { expect, test } from 'vitest';
import { Secret } from '../../../src/definition/secret.ts';
import { createS3Clients } from '../../../src/io/s3-client.ts';
import type { S3Access } from '../../../src/io/storage-properties.ts';

const access: S3Access = {
  endpoint: null, region: 'eu-west-3', pathStyle: false, accessKeyId: 'id', secretAccessKey: new Secret('secret'), sessionToken: null,
  expiresAtMs: null,
};

test.each([['eu-west-3', 's3.eu-west-3.amazonaws.com'], ['cn-north-1', 's3.cn-north-1.amazonaws.com.cn']])(
  'GIVEN an access in %s without an endpoint WHEN the environment names another THEN requests go to %s', async (region, host) => {
    process.env['AWS_ENDPOINT_URL_S3'] = 'http://127.0.0.1:1';
    process.env['AWS_ACCESS_KEY_ID'] = 'ambient';
    try {
      const client = createS3Clients().clientFor({ ...access, region });
      expect((await client.config.endpoint?.())?.hostname).toBe(host);
      expect(await client.config.region()).toBe(region);
      expect((await client.config.credentials()).accessKeyId).toBe('id');
    } finally {
      delete process.env['AWS_ENDPOINT_URL_S3'];
      delete process.env['AWS_ACCESS_KEY_ID'];
    }
  },
);

test('GIVEN one access WHEN it is used again THEN it has one client; other keys have another over the same connections', () => {
  const clients = createS3Clients();
  const first = clients.clientFor(access);
  const renewed = clients.clientFor({ ...access, accessKeyId: 'newer' });
  expect(clients.clientFor(access)).toBe(first);
  expect(renewed).not.toBe(first);
  expect(renewed.config.requestHandler).toBe(first.config.requestHandler);
});
