/**
 * A worker thread of the encode pool: consolidates, decodes and encodes for the sessions it is given, so that the
 * main thread's timers (token refresh, heartbeats) never wait for a Parquet file.
 *
 * Messages of a session are worked off in order; sessions don't wait for each other except for the thread. At most
 * OPEN_FILES finished files of a session are on their way: the next waits until one has been taken over.
 */
import { parentPort } from 'node:worker_threads';

import type { RowChunk } from '../batch/row-chunk.ts';
import { type ErrorCode, type SinkErrorDetail, asSinkError, invariant } from '../errors.ts';
import { wasmHeapBytes } from '../write/parquet.ts';
import type { WritePlan } from '../write/plan.ts';
import { type SpanSummary, type SpanWriter, openSpanWriter } from '../write/span-writer.ts';
import type { WrittenFile } from '../write/table-file.ts';

export type ToWorker =
  | { readonly kind: 'open'; readonly session: number; readonly plan: WritePlan }
  | {
    readonly kind: 'group'; readonly session: number; readonly chunks: readonly RowChunk[];
    readonly consolidate: boolean;
  }
  | { readonly kind: 'finish'; readonly session: number }
  | { readonly kind: 'abort'; readonly session: number }
  | { readonly kind: 'file-taken'; readonly session: number };

export type FromWorker =
  | { readonly kind: 'group-done'; readonly session: number }
  | { readonly kind: 'file'; readonly session: number; readonly written: WrittenFile }
  | { readonly kind: 'finished'; readonly session: number; readonly summary: SpanSummary; readonly heapBytes: number }
  /** A SinkError in parts: structured clone would keep only its message. */
  | {
    readonly kind: 'failed'; readonly session: number; readonly code: ErrorCode; readonly message: string;
    readonly detail: SinkErrorDetail;
  };

const OPEN_FILES = 2;

interface Session {
  readonly writer: SpanWriter;
  /** Everything asked for so far; never rejects. */
  work: Promise<void>;
  openFiles: number;
  fileTaken: PromiseWithResolvers<void>;
  ended: boolean;
}

const sessions = new Map<number, Session>();

function post(message: FromWorker, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function open(id: number, plan: WritePlan): void {
  const session: Session = {
    writer: openSpanWriter(plan, (written) => sendFile(id, session, written)),
    work: Promise.resolve(),
    openFiles: 0,
    fileTaken: Promise.withResolvers<void>(),
    ended: false,
  };
  sessions.set(id, session);
}

async function sendFile(id: number, session: Session, written: WrittenFile): Promise<void> {
  while (session.openFiles >= OPEN_FILES && !session.ended) await session.fileTaken.promise;
  if (session.ended) return;
  session.openFiles += 1;
  const { bytes } = written;
  const { buffer } = bytes;
  invariant(buffer instanceof ArrayBuffer && bytes.byteLength === buffer.byteLength, 'a file owns its buffer');
  post({ kind: 'file', session: id, written }, [buffer]);
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
  session.fileTaken.resolve();
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
        post({ kind: 'group-done', session: id });
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
      session.fileTaken.resolve();
      session.fileTaken = Promise.withResolvers<void>();
      return;
  }
}

parentPort?.on('message', receive);
