/**
 * A worker thread of the encode pool: consolidates, decodes and encodes for the sessions it is given, so that the
 * main thread's timers (token refresh, heartbeats) never wait for a Parquet file.
 *
 * Messages of a session are worked off in order; sessions don't wait for each other except for the thread. At most
 * OPEN_FILES finished files of a session are on their way: the next waits until one has been taken over.
 */
import { parentPort } from 'node:worker_threads';

import { letGo } from '../batch/chunk-memory.ts';
import type { RowChunk } from '../batch/row-chunk.ts';
import { type ErrorCode, type SinkErrorDetail, asSinkError, invariant } from '../errors.ts';
import { createEncodingMemories } from '../write/encoding-memories.ts';
import { UPLOAD_PART_BYTES } from '../write/file-parts.ts';
import { wasmHeapBytes } from '../write/parquet.ts';
import type { WritePlan } from '../write/plan.ts';
import { type SpanSummary, type SpanWriter, openSpanWriter } from '../write/span-writer.ts';
import type { WrittenFile, WrittenPart } from '../write/table-file.ts';

export type ToWorker =
  | { readonly kind: 'open'; readonly session: number; readonly plan: WritePlan }
  | {
    readonly kind: 'group'; readonly session: number; readonly chunks: readonly RowChunk[];
    readonly consolidate: boolean;
    /** Buffers of the chunks that are wanted back. */
    readonly lent: readonly ArrayBuffer[];
  }
  | { readonly kind: 'finish'; readonly session: number }
  | { readonly kind: 'abort'; readonly session: number }
  | { readonly kind: 'file-taken'; readonly session: number }
  /** The part is in storage; its buffer comes back for another one. */
  | { readonly kind: 'part-taken'; readonly session: number; readonly buffer: ArrayBuffer };

export type FromWorker =
  | { readonly kind: 'group-done'; readonly session: number; readonly lent: readonly ArrayBuffer[] }
  | { readonly kind: 'part'; readonly session: number; readonly written: WrittenPart }
  | { readonly kind: 'file'; readonly session: number; readonly written: WrittenFile }
  | { readonly kind: 'finished'; readonly session: number; readonly summary: SpanSummary; readonly heapBytes: number }
  /** A SinkError in parts: structured clone would keep only its message. */
  | {
    readonly kind: 'failed'; readonly session: number; readonly code: ErrorCode; readonly message: string;
    readonly detail: SinkErrorDetail;
  };

const OPEN_FILES = 2;
/** Parts of a session on their way: enough to keep a connection or three busy. */
const OPEN_PARTS = 4;

interface Session {
  readonly writer: SpanWriter;
  /** Everything asked for so far; never rejects. */
  work: Promise<void>;
  openFiles: number;
  openParts: number;
  /** Resolved and renewed with each file or part that was taken. */
  taken: PromiseWithResolvers<void>;
  ended: boolean;
}

const sessions = new Map<number, Session>();
const memories = createEncodingMemories();
/** Buffers of parts that came back, so that a stream of parts makes no garbage. */
const spareParts: ArrayBuffer[] = [];

function post(message: FromWorker, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function open(id: number, plan: WritePlan): void {
  const session: Session = {
    writer: openSpanWriter(plan, {
      allocatePart: () => new Uint8Array(spareParts.pop() ?? new ArrayBuffer(UPLOAD_PART_BYTES)),
      reusePart: (part) => keepPart(part.buffer),
      memories,
      takePart: (written) => sendPart(id, session, written),
      takeFile: (written) => sendFile(id, session, written),
    }),
    work: Promise.resolve(),
    openFiles: 0,
    openParts: 0,
    taken: Promise.withResolvers<void>(),
    ended: false,
  };
  sessions.set(id, session);
}

async function sendFile(id: number, session: Session, written: WrittenFile): Promise<void> {
  while (session.openFiles >= OPEN_FILES && !session.ended) await session.taken.promise;
  if (session.ended) return;
  session.openFiles += 1;
  post({ kind: 'file', session: id, written }, [ownBuffer(written.bytes)]);
}

async function sendPart(id: number, session: Session, written: WrittenPart): Promise<void> {
  while (session.openParts >= OPEN_PARTS && !session.ended) await session.taken.promise;
  if (session.ended) return;
  session.openParts += 1;
  post({ kind: 'part', session: id, written }, [ownBuffer(written.bytes)]);
}

function keepPart(buffer: ArrayBuffer): void {
  if (spareParts.length < OPEN_PARTS) spareParts.push(buffer);
}

function ownBuffer(bytes: Uint8Array): ArrayBuffer {
  const { buffer } = bytes;
  invariant(buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength, 'what is sent owns its buffer');
  return buffer;
}

function wake(session: Session): void {
  session.taken.resolve();
  session.taken = Promise.withResolvers<void>();
}

function enqueue(id: number, task: (session: Session) => Promise<void>): void {
  const session = sessions.get(id);
  // Unknown: aborted or failed, and the main thread's message crossed ours.
  if (session === undefined) return;
  session.work = session.work.then(async () => {
    if (!session.ended) await task(session);
  }).catch((thrown: unknown) => fail(id, session, thrown));
}

function fail(id: number, session: Session, thrown: unknown): void {
  if (session.ended) return;
  end(id, session);
  postFailure(id, thrown);
}

function postFailure(id: number, thrown: unknown): void {
  const { code, message, detail } = asSinkError(thrown, 'encode-failed', 'encoding failed');
  post({ kind: 'failed', session: id, code, message, detail });
}

function end(id: number, session: Session): void {
  sessions.delete(id);
  session.ended = true;
  session.taken.resolve();
  session.writer.abort();
}

function receive(message: ToWorker): void {
  const id = message.session;
  const session = sessions.get(id);
  switch (message.kind) {
    case 'open':
      try {
        open(id, message.plan);
      } catch (thrown) {
        postFailure(id, thrown);
      }
      return;
    case 'group':
      enqueue(id, async (current) => {
        await current.writer.write(message.chunks, message.consolidate);
        post({ kind: 'group-done', session: id, lent: message.lent }, message.lent);
        // What was lent has gone back with the message.
        for (const chunk of message.chunks) letGo(chunk, null);
      });
      return;
    case 'finish':
      enqueue(id, async (current) => {
        const summary = await current.writer.finish();
        if (current.ended) return;
        sessions.delete(id);
        post({ kind: 'finished', session: id, summary, heapBytes: wasmHeapBytes() });
      });
      return;
    case 'abort':
      if (session !== undefined) end(id, session);
      return;
    case 'file-taken':
      if (session === undefined) return;
      session.openFiles -= 1;
      wake(session);
      return;
    case 'part-taken':
      keepPart(message.buffer);
      if (session === undefined) return;
      session.openParts -= 1;
      wake(session);
      return;
  }
}

parentPort?.on('message', receive);
