/**
 * A real S3 server with a real Iceberg REST catalog in one process, which can be killed and started again on its data; and
 * how the test itself looks at tables: past the proxies, with keys of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { mainAncestry, parseTableMetadata, type TableMetadata, type TableSnapshot } from '../../src/embedded/check/table-metadata.ts';
import { type RunningProcess, awaitReady, installService, startProcess } from '../services/service-process.ts';
import { servicesFolder } from '../services/shared-folder.ts';

export const WAREHOUSE = 'warehouse';
export const NAMESPACE = 'crash';

const ACCESS_KEY = 'icebergsink';
const SECRET_KEY = 'icebergsink-secret';
const READY_MS = 90_000;
const ASK_TRIES = 40;
const ASK_PAUSE_MS = 500;

export interface TableNow {
  readonly metadataLocation: string;
  readonly metadata: TableMetadata;
  /** Main's ancestry, oldest first. */
  readonly snapshots: readonly TableSnapshot[];
}

export interface Lakehouse {
  readonly s3Port: number;
  readonly catalogPort: number;
  readonly s3Endpoint: string;
  readonly catalogUri: string;
  readonly region: string;
  readonly credential: string;
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** null: the catalog has no such table. Asks again while the server is down. */
  table(name: string): Promise<TableNow | null>;
  fetchFile(location: string): Promise<Uint8Array>;
  /** SIGKILL to the whole server. */
  kill(): Promise<void>;
  /** Starts it again on the same data; resolves when it serves. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface LakehouseOptions {
  /** First of eleven free ports. */
  readonly firstPort: number;
  /** What the sink reaches storage under, which signatures cover and the catalog hands out. */
  readonly publicS3Url: string;
}

export async function openLakehouse(options: LakehouseOptions): Promise<Lakehouse> {
  await installService('seaweedfs');
  const s3Port = options.firstPort;
  const catalogPort = s3Port + 10;
  const catalogUri = `http://127.0.0.1:${catalogPort}`;
  const s3Endpoint = `http://127.0.0.1:${s3Port}`;
  const data = mkdtempSync(join(tmpdir(), 'mz-sink-crash-lake-'));
  const keys = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
  const s3 = new S3Client({ endpoint: s3Endpoint, region: 'us-east-1', forcePathStyle: true, maxAttempts: 1, credentials: keys });
  // After a kill it answers long before it takes writes again, and a write of that time hangs for half a minute.
  const isReady = async (): Promise<boolean> => {
    const probe = new PutObjectCommand({ Bucket: WAREHOUSE, Key: 'probe/probe/data/probe.parquet', Body: 'probe' });
    await s3.send(probe, { abortSignal: AbortSignal.timeout(3_000) });
    return (await mintToken(catalogUri)) !== '';
  };
  let running: RunningProcess | null = null;
  const start = async (): Promise<void> => {
    running = startProcess(join(servicesFolder(), 'seaweedfs/start'), [`-s3.externalUrl=${options.publicS3Url}`], {
      S3_PORT: String(s3Port), ICEBERG_PORT: String(catalogPort), ICEBERG_WAREHOUSES: WAREHOUSE, S3_BUCKETS: '', S3_DATA_DIR: data,
    });
    await awaitReady('seaweedfs', running, isReady, READY_MS);
  };
  const stop = async (): Promise<void> => {
    await running?.stop();
    s3.destroy();
    rmSync(data, { recursive: true, force: true });
  };
  const fetchFile = async (location: string): Promise<Uint8Array> => {
    const { hostname, pathname } = new URL(location);
    const key = decodeURIComponent(pathname.slice(1));
    return await persist(`read ${location}`, async () => {
      const answer = await s3.send(new GetObjectCommand({ Bucket: hostname, Key: key }));
      return await answer.Body?.transformToByteArray() ?? new Uint8Array();
    });
  };
  try {
    await start();
    await createNamespace(catalogUri);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return {
    s3Port, catalogPort, s3Endpoint, catalogUri, region: 'us-east-1', credential: `${ACCESS_KEY}:${SECRET_KEY}`, keys, fetchFile, stop,
    table: async (name) => await lookAt(catalogUri, name, fetchFile),
    kill: async () => {
      const pid = running?.child.pid;
      if (running === null || pid === undefined) throw new Error('the server does not run');
      process.kill(-pid, 'SIGKILL');
      await running.stop();
    },
    restart: start,
  };
}

async function lookAt(catalogUri: string, name: string, fetchFile: Lakehouse['fetchFile']): Promise<TableNow | null> {
  const path = `v1/${WAREHOUSE}/namespaces/${NAMESPACE}/tables/${name}`;
  const answer = await persist(`load ${name}`, async () => {
    const response = await ask(catalogUri, 'GET', path);
    if (response.status !== 200 && response.status !== 404) throw new Error(`the catalog answered ${response.status}`);
    return response;
  });
  if (answer.status === 404) return null;
  const metadataLocation = /"metadata-location"\s*:\s*"([^"]+)"/.exec(answer.text)?.[1];
  if (metadataLocation === undefined) throw new Error(`no metadata location in ${answer.text.slice(0, 300)}`);
  const metadata = parseTableMetadata(Buffer.from(await fetchFile(metadataLocation)).toString('utf8'));
  return { metadataLocation, metadata, snapshots: mainAncestry(metadata) };
}

async function createNamespace(catalogUri: string): Promise<void> {
  await persist('create the namespace', async () => {
    const answer = await ask(catalogUri, 'POST', `v1/${WAREHOUSE}/namespaces`, JSON.stringify({ namespace: [NAMESPACE] }));
    if (answer.status !== 200 && answer.status !== 409) throw new Error(`the catalog answered ${answer.status}: ${answer.text}`);
  });
}

async function ask(catalogUri: string, method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${catalogUri}/${path}`, {
    method,
    headers: { 'authorization': `Bearer ${await mintToken(catalogUri)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: response.status, text: await response.text() };
}

async function mintToken(catalogUri: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id: ACCESS_KEY, client_secret: SECRET_KEY, scope: 'catalog' });
  const response = await fetch(`${catalogUri}/v1/oauth/tokens`, { method: 'POST', body, signal: AbortSignal.timeout(10_000) });
  const { access_token: token } = await response.json() as { access_token?: string };
  return token ?? '';
}

/** The server may be down because the test has killed it; what stays so is an error. */
async function persist<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (tries === ASK_TRIES) throw new Error(`the test itself could not ${what}: ${String(thrown)}`, { cause: thrown });
      await sleep(ASK_PAUSE_MS);
    }
  }
}
