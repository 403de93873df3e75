/**
 * S3 clients of the SDK that depend on nothing but the access they are made for.
 *
 * Left alone the SDK looks for a region, an endpoint, keys and settings in the environment, in profile files and at
 * the machine's metadata address. Everything of that is given here, so that a sink writes with the rights the catalog
 * gave it or not at all. Retries are the store's own, one layer up, where a refusal of the keys is understood.
 */
import { S3Client } from '@aws-sdk/client-s3';
import type { S3Access } from './storage-properties.ts';

export interface S3Clients {
  clientFor(access: S3Access): S3Client;
  /** Closes idle connections. */
  close(): void;
}

export interface S3Timeouts {
  readonly connectTimeoutMs: number;
  /** Without a byte in either direction. */
  readonly socketIdleMs: number;
  /** From the end of the request to the answer. */
  readonly requestTimeoutMs: number;
}

export const S3_TIMEOUTS: S3Timeouts = { connectTimeoutMs: 10_000, socketIdleMs: 60_000, requestTimeoutMs: 120_000 };

/** One client per set of keys; connections survive a change of keys, since they belong to the shared handler. */
export function createS3Clients(timeouts: S3Timeouts = S3_TIMEOUTS): S3Clients {
  const clients = new WeakMap<S3Access, S3Client>();
  let newest: S3Client | null = null;
  const make = (access: S3Access): S3Client => new S3Client({
    region: access.region,
    endpoint: access.endpoint ?? awsEndpoint(access.region),
    forcePathStyle: access.pathStyle,
    credentials: {
      accessKeyId: access.accessKeyId,
      secretAccessKey: access.secretAccessKey.reveal(),
      ...(access.sessionToken === null ? {} : { sessionToken: access.sessionToken.reveal() }),
    },
    maxAttempts: 1,
    retryMode: 'standard',
    // S3-compatible servers differ on the newer checksum trailers. The signature covers the hash of the whole
    // payload anyway, so a body that changed on its way is refused.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    useArnRegion: false,
    disableMultiregionAccessPoints: true,
    disableS3ExpressSessionAuth: true,
    defaultsMode: 'standard',
    // The SDK's own handler, shared through the first client: connection pools are kept when keys change.
    ...(newest === null
      ? { requestHandler: {
          connectionTimeout: timeouts.connectTimeoutMs, socketTimeout: timeouts.socketIdleMs,
          requestTimeout: timeouts.requestTimeoutMs, throwOnRequestTimeout: true,
        } }
      : { requestHandler: newest.config.requestHandler }),
  });
  return {
    clientFor: (access) => {
      const known = clients.get(access);
      if (known !== undefined) return known;
      newest = make(access);
      clients.set(access, newest);
      return newest;
    },
    close: () => newest?.destroy(),
  };
}

/** AWS itself, spelled out so that no AWS_ENDPOINT_URL of the environment takes its place. */
function awsEndpoint(region: string): string {
  return `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}
