/** The real servers of the interop suite. Each throws where it can't be installed or started; none is ever skipped. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HeadBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { freePorts } from './free-ports.ts';
import { answersOk, awaitReady, installService, type RunningProcess, startProcess } from './service-process.ts';
import { servicesFolder } from './shared-folder.ts';

export interface Server {
  readonly output: () => string;
  stop(): Promise<void>;
}

export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Server extends Server {
  /** Also where STS answers. */
  readonly endpoint: string;
  readonly region: string;
  readonly keys: S3Keys;
  readonly roleArn: string;
  /** With the full-access keys. */
  client(): S3Client;
}

export interface SeaweedServer extends S3Server {
  readonly catalogUri: string;
  /** Client id and secret of the catalog's token endpoint, `id:secret`. */
  readonly credential: string;
  readonly warehouses: readonly string[];
}

export interface CatalogServer extends Server {
  readonly catalogUri: string;
}

export interface S3Options {
  readonly buckets?: readonly string[];
  /** Life of sessions that name no duration, e.g. `6s` or `1h`. */
  readonly sessionLife?: string;
}

export interface SeaweedOptions extends S3Options {
  readonly warehouses?: readonly string[];
  /** Life of vended credentials, at least 900; 0: `sessionLife`. */
  readonly vendedSeconds?: number;
  readonly tokenSeconds?: number;
}

const KEYS: S3Keys = { accessKeyId: 'icebergsink', secretAccessKey: 'icebergsink-secret' };
const REGION = 'us-east-1';
/** S3 or S3-compatible, plus nine inner ports, plus the catalog. */
const SEAWEED_PORTS = 11;

export async function startSeaweed(options: SeaweedOptions = {}): Promise<SeaweedServer> {
  const warehouses = options.warehouses ?? ['warehouse'];
  const port = await freePorts(SEAWEED_PORTS);
  const icebergPort = port + SEAWEED_PORTS - 1;
  const server = await startWeed('seaweedfs', port, [...warehouses, ...(options.buckets ?? [])], {
    ICEBERG_PORT: String(icebergPort),
    ICEBERG_WAREHOUSES: warehouses.join(','),
    ICEBERG_VENDED_SECONDS: String(options.vendedSeconds ?? 3600),
    ICEBERG_OAUTH_TOKEN_EXPIRY: String(options.tokenSeconds ?? 3600),
    S3_BUCKETS: (options.buckets ?? []).join(','),
    STS_DEFAULT_DURATION: options.sessionLife ?? '1h',
  });
  return {
    ...server, warehouses, catalogUri: `http://127.0.0.1:${icebergPort}`,
    credential: `${KEYS.accessKeyId}:${KEYS.secretAccessKey}`,
  };
}

export async function startS3(options: S3Options = {}): Promise<S3Server> {
  const buckets = options.buckets ?? ['lake'];
  const environment = { S3_BUCKETS: buckets.join(','), STS_DEFAULT_DURATION: options.sessionLife ?? '1h' };
  return await startWeed('s3', await freePorts(SEAWEED_PORTS), buckets, environment);
}

async function startWeed(
  service: 'seaweedfs' | 's3', port: number, buckets: readonly string[], environment: Readonly<Record<string, string>>,
): Promise<S3Server> {
  const endpoint = `http://127.0.0.1:${port}`;
  const client = (): S3Client =>
    new S3Client({ endpoint, region: REGION, forcePathStyle: true, maxAttempts: 1, credentials: KEYS });
  const probe = client();
  // The port answers a second before the buckets are there.
  const ready = async (): Promise<boolean> => {
    for (const bucket of buckets) await probe.send(new HeadBucketCommand({ Bucket: bucket }));
    return true;
  };
  const server = await startService(service, 'S3_DATA_DIR', { S3_PORT: String(port), ...environment }, ready, 60_000);
  probe.destroy();
  return { ...server, endpoint, region: REGION, keys: KEYS, roleArn: 'arn:aws:iam::000000000000:role/iceberg-writer', client };
}

/** `s3`: its warehouse lies there; without it, in a local folder of its own. */
export async function startRestFixture(
  s3?: { readonly server: S3Server; readonly warehouse: string; readonly vend?: boolean },
): Promise<CatalogServer> {
  const port = await freePorts(1);
  const catalogUri = `http://127.0.0.1:${port}`;
  const storage: Record<string, string> = s3 === undefined
    ? {}
    : { ...s3Environment(s3.server), REST_WAREHOUSE: s3.warehouse, REST_VEND: s3.vend === true ? '1' : '0' };
  const ready = (): Promise<boolean> => answersOk(`${catalogUri}/v1/config`);
  const server = await startService('rest-fixture', 'REST_DATA_DIR', { REST_PORT: String(port), ...storage }, ready, 60_000);
  return { ...server, catalogUri };
}

export async function startNessie(s3: S3Server, warehouse: string): Promise<CatalogServer> {
  const port = await freePorts(2);
  const catalogUri = `http://127.0.0.1:${port}/iceberg`;
  const environment = { ...s3Environment(s3), NESSIE_PORT: String(port), NESSIE_WAREHOUSE: warehouse };
  const ready = (): Promise<boolean> => answersOk(`${catalogUri}/v1/config`);
  return { ...await startService('nessie', null, environment, ready, 120_000), catalogUri };
}

export interface TrinoServer extends Server {
  /** For `openReader('trino', …)` as `TRINO_URI`. */
  readonly uri: string;
}

export async function startTrino(): Promise<TrinoServer> {
  const port = await freePorts(1);
  const uri = `http://127.0.0.1:${port}`;
  const ready = (): Promise<boolean> => answersOk(`${uri}/v1/info`, (body) => body.includes('"starting":false'));
  return { ...await startService('trino', 'TRINO_DATA_DIR', { TRINO_PORT: String(port) }, ready, 180_000), uri };
}

export interface PolarisServer extends CatalogServer {
  readonly managementUri: string;
  readonly rootCredential: string;
}

/** The only server that depends on its surroundings: null where POLARIS_HOME names none. */
export async function startPolarisIfPresent(s3: S3Server): Promise<PolarisServer | null> {
  if (process.env['POLARIS_HOME'] === undefined) return null;
  const port = await freePorts(2);
  const environment = {
    POLARIS_PORT: String(port), POLARIS_HEALTH_PORT: String(port + 1),
    S3_ACCESS_KEY: s3.keys.accessKeyId, S3_SECRET_KEY: s3.keys.secretAccessKey, S3_REGION: s3.region,
  };
  const ready = (): Promise<boolean> => answersOk(`http://127.0.0.1:${port + 1}/q/health/ready`);
  const server = await startService('polaris', null, environment, ready, 120_000);
  const api = `http://127.0.0.1:${port}/api`;
  return { ...server, catalogUri: `${api}/catalog`, managementUri: `${api}/management`, rootCredential: 'root:s3cr3t' };
}

function s3Environment(server: S3Server): Record<string, string> {
  return {
    S3_ENDPOINT: server.endpoint, S3_ACCESS_KEY: server.keys.accessKeyId, S3_SECRET_KEY: server.keys.secretAccessKey,
    S3_REGION: server.region,
  };
}

/** `dataVariable`: the variable that names the service's data folder, which gets a fresh one. */
async function startService(
  service: string, dataVariable: string | null, environment: Readonly<Record<string, string>>,
  ready: () => Promise<boolean>, timeoutMs: number,
): Promise<Server> {
  // Polaris can't be installed; its start script says what is missing.
  if (service !== 'polaris') await installService(service);
  const data = mkdtempSync(join(tmpdir(), `interop-${service}-`));
  const running: RunningProcess = startProcess(join(servicesFolder(), service, 'start'), [], {
    ...environment, ...(dataVariable === null ? {} : { [dataVariable]: data }),
  });
  const stop = async (): Promise<void> => {
    await running.stop();
    rmSync(data, { recursive: true, force: true });
  };
  try {
    await awaitReady(service, running, ready, timeoutMs);
  } catch (thrown) {
    rmSync(data, { recursive: true, force: true });
    throw thrown;
  }
  return { output: running.output, stop };
}
