/**
 * Objects in S3 and S3-compatible stores.
 *
 * In: whole objects at absolute locations whose names are never used twice. Out: stored, or a named error.
 * Why repeating a put is safe: the name is ours alone, the store takes an object whole or not at all, and the content
 * of a name never differs. So a repeated put that finds the name taken has found its own earlier transmission.
 */
import type { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import PQueue from 'p-queue';
import { SinkError, invariant } from '../errors.ts';
import type { Clock, Entropy, ObjectStore, ObjectUpload, PutOutcome } from '../sink/ports.ts';
import { parseLocation } from './location.ts';
import { MAX_READ_BYTES, READ_TIMEOUT_MS, tooLarge } from './read-limit.ts';
import { type RetryPolicy, withRetries } from './retry.ts';
import { createS3Clients } from './s3-client.ts';
import { type S3Failure, classifyS3 } from './s3-errors.ts';
import { type Conditionally, MAX_PARTS, type Run, type Target, isFailure, openS3Upload } from './s3-upload.ts';
import type { S3Access } from './storage-properties.ts';

/** Where the store gets its keys. `credentials.ts` makes one per table; a fixed one serves tests. */
export interface S3Keys {
  s3Access(location: string): Promise<S3Access>;
  renew(location: string, stale: S3Access): Promise<S3Access>;
}

export interface S3StoreOptions {
  readonly keys: S3Keys;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly retries?: RetryPolicy;
  /** Objects larger than this go up in parts. */
  readonly multipartThresholdBytes?: number;
  /** At least 5 MiB, as S3 demands of every part but the last. */
  readonly partBytes?: number;
}

export interface S3Store extends ObjectStore {
  close(): void;
}

const MIB = 1024 * 1024;
const CONCURRENT_PARTS = 4;
const S3_RETRIES: RetryPolicy = { maxTries: 6, firstDelayMs: 100, maxDelayMs: 10_000 };

export function createS3Store(options: S3StoreOptions): S3Store {
  const clients = createS3Clients();
  const run = createRun(options, (access) => clients.clientFor(access));
  const threshold = options.multipartThresholdBytes ?? 64 * MIB;
  const partBytes = options.partBytes ?? 16 * MIB;
  // Remembered per store: a server that does not know conditional writes won't learn them while we run.
  let conditional = true;

  const conditionally: Conditionally = async (put) => {
    let outcome = await put(conditional ? { IfNoneMatch: '*' } : {});
    if (typeof outcome !== 'string' && outcome.meaning === 'no-condition' && conditional) {
      conditional = false;
      outcome = await put({});
    }
    if (typeof outcome === 'string') return outcome;
    if (outcome.meaning === 'exists') return 'exists';
    throw outcome.error;
  };

  const open = (location: string): ObjectUpload => openS3Upload(run, conditionally, location, targetOf(location));

  return {
    open,
    put: async (location, bytes) => {
      if (bytes.length > threshold) return await putInParts(open(location), bytes, partBytes);
      const target = targetOf(location);
      return await conditionally(async (condition) => {
        const result = await run(location, `put ${location}`, (client) =>
          client.send(new PutObjectCommand({ ...target, Body: bytes, ContentLength: bytes.length, ...condition })));
        return isFailure(result) ? result : 'stored';
      });
    },
    get: async (location) => {
      const target = targetOf(location);
      return orThrow(await run(location, `get ${location}`, (client) =>
        readObject(client, target, `get ${location}`, options.clock)));
    },
    delete: async (location) => {
      const target = targetOf(location);
      const result = await run(location, `delete ${location}`, (client) =>
        client.send(new DeleteObjectCommand(target)));
      if (isFailure(result) && result.meaning !== 'missing') throw result.error;
    },
    close: () => clients.close(),
  };
}

/** The whole object, never more of it than the limit in memory, nor longer than the deadline. */
async function readObject(client: S3Client, target: Target, action: string, clock: Clock): Promise<Uint8Array> {
  const abort = new AbortController();
  let body: Readable | null = null;
  const late = (): SinkError => new SinkError('storage-unavailable', `${action}: no end of the object in ${READ_TIMEOUT_MS} ms`);
  const cancel = clock.after(READ_TIMEOUT_MS, () => {
    abort.abort();
    body?.destroy(late());
  });
  try {
    const answer = await client.send(new GetObjectCommand(target), { abortSignal: abort.signal });
    if (answer.Body === undefined) return new Uint8Array();
    // In Node the SDK hands on the answer of the HTTP module as it is.
    body = answer.Body as Readable;
    const expected = answer.ContentLength;
    if (expected !== undefined && expected > MAX_READ_BYTES) throw tooLarge(action);
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > MAX_READ_BYTES) throw tooLarge(action);
      chunks.push(chunk);
    }
    // A connection that ends early may look like the end of the object.
    if (expected !== undefined && expected !== length) {
      throw new SinkError('storage-unavailable', `${action}: ${length} of ${expected} bytes arrived`);
    }
    return Buffer.concat(chunks, length);
  } finally {
    cancel();
    body?.destroy();
  }
}

function createRun(options: S3StoreOptions, clientFor: (access: S3Access) => S3Client): Run {
  const { keys, clock, entropy } = options;
  return async (location, action, request) => {
    let renewed = false;
    let access = await keys.s3Access(location);
    const once = async (): ReturnType<typeof request> => {
      try {
        return await request(clientFor(access));
      } catch (thrown) {
        const failure = classifyS3(thrown, action, secretsOf(access));
        if (!renewed && wantsNewKeys(failure, access, clock.nowMs())) {
          access = await keys.renew(location, access);
          renewed = true;
          return await once();
        }
        if (failure.meaning === 'transient') throw failure.error;
        throw new Settled(permanent(failure, access));
      }
    };
    try {
      return await withRetries({ clock, entropy }, options.retries ?? S3_RETRIES, once);
    } catch (thrown) {
      if (thrown instanceof Settled) return thrown.failure;
      throw thrown;
    }
  };
}

/** A server may echo what it was sent, in its message too. */
function secretsOf(access: S3Access): readonly string[] {
  return [access.secretAccessKey.reveal(), access.sessionToken?.reveal() ?? ''];
}

/** Carries a failure that repeating won't change past the retries, which stop at all that isn't a SinkError. */
class Settled extends Error {
  readonly failure: S3Failure;

  constructor(failure: S3Failure) {
    super(failure.error.message);
    this.failure = failure;
  }
}

/**
 * AccessDenied is also what some stores say of keys past their expiry. Before it, it is what it says, and asking the
 * catalog again would only hide a missing grant.
 */
function wantsNewKeys(failure: S3Failure, access: S3Access, nowMs: number): boolean {
  if (failure.meaning === 'stale-keys') return true;
  if (failure.meaning !== 'denied' || access.sessionToken === null) return false;
  return access.expiresAtMs === null || nowMs >= access.expiresAtMs;
}

/** Permanent keys that the store doesn't know won't become known by waiting, unlike a session's. */
function permanent(failure: S3Failure, access: S3Access): S3Failure {
  if (failure.meaning !== 'stale-keys' || access.sessionToken !== null) return failure;
  return { meaning: 'denied', error: new SinkError('storage-forbidden', failure.error.message, failure.error.detail) };
}

/** The bytes are at hand, so an upload that the store lost is no more than a put that has to be repeated. */
async function putInParts(upload: ObjectUpload, bytes: Uint8Array, wantedPartBytes: number): Promise<PutOutcome> {
  const partBytes = Math.max(wantedPartBytes, Math.ceil(bytes.length / MAX_PARTS));
  const queue = new PQueue({ concurrency: CONCURRENT_PARTS });
  const offsets = Array.from({ length: Math.ceil(bytes.length / partBytes) }, (_, index) => index * partBytes);
  try {
    await queue.addAll(offsets.map((offset, index) => async () =>
      await upload.put({ index, offset, bytes: bytes.subarray(offset, offset + partBytes) })));
    return await upload.finish();
  } catch (thrown) {
    queue.clear();
    await queue.onIdle();
    await upload.abort();
    const isLost = thrown instanceof SinkError && thrown.code === 'upload-lost';
    throw isLost ? new SinkError('storage-unavailable', thrown.message, thrown.detail) : thrown;
  }
}

function targetOf(location: string): Target {
  const parsed = parseLocation(location);
  invariant(parsed.kind === 's3' && parsed.key !== '', 'the S3 store is given locations of S3 objects only');
  return { Bucket: parsed.bucket, Key: parsed.key };
}

function orThrow<T>(result: T | S3Failure): T {
  if (isFailure(result)) throw result.error;
  return result;
}
