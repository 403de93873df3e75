/**
 * `Idempotency-Key`: a repeated request gets the answer of the first one, and is not carried out again. A repeat
 * that arrives while the first is still running waits for it. Server errors are not kept: nothing is known to have
 * been done, and the specification lets a client try again under the same key. Kept in memory for as long as
 * the catalog advertises; of answers beyond KEPT_BYTES_MAX only the key, since each answer of a commit holds every snapshot of
 * its table. Their repeat is told that its outcome is unknown, which sends a client to the table, where it finds it.
 */
import { createHash } from 'node:crypto';
import type { Answer } from './answer.ts';
import { Refusal, refusalAnswer } from './answer.ts';
import type { CatalogRequest } from './request.ts';

export interface IdempotentAnswers {
  /** `answer` of a request, or of the earlier request with the same key. Must not reject. */
  once(principal: string, request: CatalogRequest, answer: () => Promise<Answer>): Promise<Answer>;
}

/** Of bodies, in characters. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

interface Entry {
  readonly requestHash: string;
  /** null: its answer was too much to keep. */
  answer: Promise<Answer> | null;
  readonly madeMs: number;
}

export function createIdempotentAnswers(
  lifetimeMs: number, nowMs: () => number, keptBytesMax: number = KEPT_BYTES_MAX,
): IdempotentAnswers {
  const entries = new Map<string, Entry>();
  /** Characters of the bodies kept, in the order in which they were answered. */
  const bodies = new Map<Entry, number>();
  let keptBytes = 0;
  const dropBody = (entry: Entry): void => {
    keptBytes -= bodies.get(entry) ?? 0;
    bodies.delete(entry);
  };
  const keepBody = (entry: Entry, bytes: number): void => {
    keptBytes += bytes;
    bodies.set(entry, bytes);
    for (const oldest of bodies.keys()) {
      // The newest stays whatever its size: it is the one that is asked for again.
      if (keptBytes <= keptBytesMax || oldest === entry) return;
      oldest.answer = null;
      dropBody(oldest);
    }
  };
  const forgetOld = (now: number): void => {
    // In order of insertion, so the first that is young enough ends it.
    for (const [id, entry] of entries) {
      if (now - entry.madeMs < lifetimeMs) return;
      entries.delete(id);
      dropBody(entry);
    }
  };
  return {
    once: async (principal, request, answer) => {
      const key = request.headers['idempotency-key'];
      if (key === undefined || request.method === 'GET' || request.method === 'HEAD') return answer();
      const now = nowMs();
      forgetOld(now);
      const id = JSON.stringify([principal, key]);
      const requestHash = hashOf(request);
      const known = entries.get(id);
      if (known !== undefined) {
        if (known.requestHash !== requestHash) {
          throw new Refusal(422, 'UnprocessableEntityException', 'Idempotency-Key was used for a different request');
        }
        return known.answer ?? refusalAnswer(answerGone());
      }
      const running = answer();
      const entry: Entry = { requestHash, answer: running, madeMs: now };
      entries.set(id, entry);
      const given = await running;
      if (given.status >= 500) entries.delete(id);
      else if (entries.get(id) === entry) keepBody(entry, given.body?.length ?? 0);
      return given;
    },
  };
}

function answerGone(): Refusal {
  return new Refusal(500, 'CommitStateUnknownException', 'The request was answered before, and its answer is no longer kept');
}

function hashOf(request: CatalogRequest): string {
  return createHash('sha256').update(JSON.stringify([request.method, request.path, request.bodyText])).digest('hex');
}
