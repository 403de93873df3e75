/** The S3 and STS server of the shared services, started for one test file and stopped after it. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3ClientConfig } from '@aws-sdk/client-s3';

export const SERVICES = join(process.env['MZ_SINK_SHARED'] ?? join(import.meta.dirname, '../../../../shared'), 'services');

export interface S3Server {
  readonly endpoint: string;
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string };
  client(credentials?: S3ClientConfig['credentials']): S3Client;
  stop(): Promise<void>;
}

/** `port` and the nine after it are taken. `sessionLife`: of sessions that name no duration, `6s` or `1h`. */
export async function startS3(port: number, bucket: string, sessionLife = '1h'): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 's3-server-'));
  const child = spawn(join(SERVICES, 's3/start'), {
    env: { ...process.env, S3_PORT: String(port), S3_BUCKETS: bucket, S3_DATA_DIR: directory, STS_DEFAULT_DURATION: sessionLife },
    stdio: 'ignore',
  });
  const exited = new Promise<void>((resolve) => { child.once('exit', () => resolve()); });
  const keys = { accessKeyId: 'icebergsink', secretAccessKey: 'icebergsink-secret' };
  const endpoint = `http://127.0.0.1:${port}`;
  const client: S3Server['client'] = (credentials = keys) =>
    new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1, credentials });
  const probe = client();
  for (let attempt = 0; ; attempt += 1) {
    try {
      await probe.send(new HeadBucketCommand({ Bucket: bucket }));
      break;
    } catch (thrown) {
      if (attempt > 240 || child.exitCode !== null) throw new Error('the S3 server did not come up', { cause: thrown });
      await sleep(250);
    }
  }
  return {
    endpoint,
    keys,
    client,
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
