/**
 * One S3 object in parts: begun with the first part, visible when it is completed.
 *
 * Why every step may be repeated: a part of a number replaces the same bytes, and a completion that finds the upload
 * gone looks for the object of its own name and length, which is then an earlier completion whose answer was lost.
 */
import {
  AbortMultipartUploadCommand, CompleteMultipartUploadCommand, CreateMultipartUploadCommand, HeadObjectCommand,
  type S3Client, UploadPartCommand,
} from '@aws-sdk/client-s3';
import { SinkError, invariant } from '../errors.ts';
import type { ObjectPart, ObjectUpload, PutOutcome } from '../sink/ports.ts';
import type { S3Failure } from './s3-errors.ts';
import { once } from './single-flight.ts';

/** The most that S3 takes for one object. */
export const MAX_PARTS = 10_000;

export interface Target {
  readonly Bucket: string;
  readonly Key: string;
}

/** One request with a client of fresh keys, repeated while the store is unwell and once when it wants newer keys. */
export type Run = <T>(location: string, action: string, request: (client: S3Client) => Promise<T>) => Promise<T | S3Failure>;

/** Asks for a name that is free, by the condition that is given, if the server knows conditional writes. */
export type Conditionally = (
  put: (condition: { IfNoneMatch?: '*' }) => Promise<PutOutcome | S3Failure>,
) => Promise<PutOutcome>;

type Upload = Target & { readonly UploadId: string };

export function openS3Upload(run: Run, conditionally: Conditionally, location: string, target: Target): ObjectUpload {
  const upload = once(() => createUpload(run, location, target));
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  const onTheirWay = new Set<Promise<unknown>>();
  let length = 0;

  const putPart = async ({ index, offset, bytes }: ObjectPart): Promise<void> => {
    invariant(index < MAX_PARTS, `an S3 object has at most ${MAX_PARTS} parts`);
    const PartNumber = index + 1;
    const begun = await upload.get();
    const sent = await run(location, `upload part ${PartNumber} of ${location}`, (client) =>
      client.send(new UploadPartCommand({ ...begun, PartNumber, Body: bytes, ContentLength: bytes.length })));
    if (isFailure(sent)) throw sent.meaning === 'missing' ? lost(location, sent) : sent.error;
    parts[index] = { PartNumber, ETag: sent.ETag };
    length = Math.max(length, offset + bytes.length);
  };
  return {
    put: async (part) => {
      const sending = putPart(part).finally(() => onTheirWay.delete(sending));
      onTheirWay.add(sending);
      await sending;
    },
    finish: async () => {
      const begun = await upload.get();
      const complete = async (condition: { IfNoneMatch?: '*' }): Promise<PutOutcome | S3Failure> => {
        const completed = await run(location, `complete upload of ${location}`, (client) =>
          client.send(new CompleteMultipartUploadCommand({ ...begun, ...condition, MultipartUpload: { Parts: parts } })));
        if (!isFailure(completed)) return 'stored';
        // The upload is gone: either a first completion landed and its answer was lost, or somebody aborted it.
        if (completed.meaning !== 'missing') return completed;
        if (await hasLength(run, location, target, length)) return 'exists';
        throw lost(location, completed);
      };
      const outcome = await conditionally(complete);
      // A name taken by an object leaves the upload open.
      if (outcome === 'exists') await abortUpload(run, location, begun);
      return outcome;
    },
    abort: async () => {
      // Parts on their way may land after the abort and would be kept and billed; wait for them first.
      await Promise.allSettled([...onTheirWay, upload.begun()]);
      const begun = await upload.begun();
      if (begun !== null) await abortUpload(run, location, begun);
    },
  };
}

async function createUpload(run: Run, location: string, target: Target): Promise<Upload> {
  const created = await run(location, `start upload of ${location}`, (client) =>
    client.send(new CreateMultipartUploadCommand(target)));
  if (isFailure(created)) throw created.error;
  if (created.UploadId === undefined) throw new SinkError('storage-unavailable', `start upload of ${location}: no upload id`);
  return { ...target, UploadId: created.UploadId };
}

async function hasLength(run: Run, location: string, target: Target, length: number): Promise<boolean> {
  const head = await run(location, `look at ${location}`, (client) => client.send(new HeadObjectCommand(target)));
  if (!isFailure(head)) return head.ContentLength === length;
  if (head.meaning === 'missing') return false;
  throw head.error;
}

/** Best effort: parts that stay are garbage that the bucket's own rules collect, and the first error matters more. */
async function abortUpload(run: Run, location: string, upload: Upload): Promise<void> {
  await run(location, `abort upload of ${location}`, (client) =>
    client.send(new AbortMultipartUploadCommand(upload))).catch(() => undefined);
}

function lost(location: string, failure: S3Failure): SinkError {
  return new SinkError('upload-lost', `the upload of ${location} is gone: ${failure.error.message}`, failure.error.detail);
}

export function isFailure(result: unknown): result is S3Failure {
  return typeof result === 'object' && result !== null && 'meaning' in result && 'error' in result;
}
