/**
 * Temporary S3 keys from STS, scoped to one table: AssumeRole with a session policy that names the table's
 * prefix. Cached, so that the same keys come back until they are too old, as Polaris does it.
 */
import { createHash } from 'node:crypto';
import type { StorageConfig } from './access-state.ts';
import { Refusal } from './answer.ts';
import type { StorageKeys } from './metadata-storage.ts';
import { objectOf } from './metadata-storage.ts';
import { signForm } from './request-signature.ts';

const STS_TIMEOUT_MS = 10_000;

export interface SessionKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiresMs: number;
}

export interface SessionKeysOptions {
  readonly keys: StorageKeys | null;
  readonly nowMs: () => number;
  /** DurationSeconds of AssumeRole; null leaves it to the server (the only way to lives under 900 s). */
  readonly credentialLifetimeS: number | null;
  /** How long the same keys are given out; 0: new ones on each call. */
  readonly credentialCacheMs: number;
  /** For catalogs that name no role: some S3 servers insist on one. */
  readonly defaultRoleArn: string | null;
  /** What a client sees when STS fails: Polaris 1.4 answers 422, older ones 500. */
  readonly stsFailureStatus: 422 | 500;
}

export interface SessionKeysSource {
  /** Keys for everything under `locations`; read-only ones unless `writable`. Rejects with a Refusal. */
  get(storage: StorageConfig, locations: readonly string[], writable: boolean): Promise<SessionKeys>;
}

export function createSessionKeys(options: SessionKeysOptions): SessionKeysSource {
  const cache = new Map<string, { readonly keys: SessionKeys; readonly madeMs: number }>();
  return {
    get: async (storage, locations, writable) => {
      const id = JSON.stringify([storage, locations, writable]);
      const cached = cache.get(id);
      const now = options.nowMs();
      if (cached !== undefined) {
        // Half of their life at most: keys that a client gets must be worth having.
        const ageLimitMs = Math.min(options.credentialCacheMs, (cached.keys.expiresMs - cached.madeMs) / 2);
        if (now - cached.madeMs < ageLimitMs) return cached.keys;
      }
      const keys = await assumeRole(storage, locations, writable, options);
      if (options.credentialCacheMs > 0) cache.set(id, { keys, madeMs: now });
      return keys;
    },
  };
}

async function assumeRole(
  storage: StorageConfig, locations: readonly string[], writable: boolean, options: SessionKeysOptions,
): Promise<SessionKeys> {
  const refuse = (reason: string): Refusal => new Refusal(
    options.stsFailureStatus,
    options.stsFailureStatus === 422 ? 'UnprocessableEntityException' : 'StsException',
    `Failed to get subscoped credentials: ${reason}`,
  );
  if (options.keys === null) throw refuse('Unable to load credentials from any of the providers in the chain');
  const region = storage.region ?? 'us-east-1';
  const storeEndpoint = storage.endpointInternal ?? storage.endpoint;
  const endpoint = new URL(storage.stsEndpoint ?? storeEndpoint ?? `https://sts.${region}.amazonaws.com`);
  const roleArn = storage.roleArn ?? options.defaultRoleArn;
  const form = {
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleSessionName: `embedded-catalog-${sessionName(locations)}`,
    Policy: JSON.stringify(sessionPolicy(locations, writable)),
    ...(roleArn === null ? {} : { RoleArn: roleArn }),
    ...(storage.externalId === null ? {} : { ExternalId: storage.externalId }),
    ...(options.credentialLifetimeS === null ? {} : { DurationSeconds: String(options.credentialLifetimeS) }),
  };
  // Signed with the real time: STS compares it with its own clock, whatever clock the tests give the catalog.
  const signed = signForm(form, endpoint, region, options.keys, Date.now());
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(endpoint, { method: 'POST', ...signed, signal: AbortSignal.timeout(STS_TIMEOUT_MS) });
    text = await answer.text();
  } catch (thrown) {
    throw refuse(thrown instanceof Error ? thrown.message : 'STS is not reachable');
  }
  if (!answer.ok) {
    throw refuse(`${element(text, 'Message') ?? 'no message'} (Service: Sts, Status Code: ${answer.status})`);
  }
  const expiresMs = Date.parse(element(text, 'Expiration') ?? '');
  const accessKeyId = element(text, 'AccessKeyId');
  const secretAccessKey = element(text, 'SecretAccessKey');
  const sessionToken = element(text, 'SessionToken');
  if (accessKeyId === null || secretAccessKey === null || sessionToken === null || Number.isNaN(expiresMs)) {
    throw refuse('STS answered without a complete set of keys');
  }
  return { accessKeyId, secretAccessKey, sessionToken, expiresMs };
}

/** The narrowest policy a writer can work with: objects below the locations, and listing just these. */
export function sessionPolicy(locations: readonly string[], writable: boolean): object {
  const objects = locations.map(objectOf);
  const resources = objects.map(({ Bucket, Key }) => `arn:aws:s3:::${Bucket}/${Key}/*`);
  const buckets = [...new Set(objects.map(({ Bucket }) => `arn:aws:s3:::${Bucket}`))];
  const write = ['s3:PutObject', 's3:DeleteObject', 's3:AbortMultipartUpload', 's3:ListMultipartUploadParts'];
  return {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: ['s3:GetObject', 's3:GetObjectVersion', ...(writable ? write : [])],
        Resource: resources,
      },
      {
        Effect: 'Allow',
        Action: ['s3:ListBucket'],
        Resource: buckets,
        Condition: { StringLike: { 's3:prefix': objects.map(({ Key }) => `${Key}/*`) } },
      },
      { Effect: 'Allow', Action: ['s3:GetBucketLocation'], Resource: buckets },
    ],
  };
}

/** Stable and safe for STS (2 to 64 of a few characters), whatever the location holds. */
function sessionName(locations: readonly string[]): string {
  return createHash('sha256').update(locations.join('\n')).digest('hex').slice(0, 16);
}

/** Text of the first such element; STS answers are flat enough for that. */
function element(xml: string, name: string): string | null {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  if (text === undefined) return null;
  const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: '\'', amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => entities[entity] ?? '').trim();
}
