/**
 * `Idempotency-Key`: a repeated request gets the answer of the first one, and is not carried out again. A repeat
 * that arrives while the first is still running waits for it. Server errors are not kept: nothing is known to have
 * been done, and the specification lets a client try again under the same key. Kept in memory for as long as
 * the catalog advertises.
 */
import { createHash } from 'node:crypto';
import type { Answer } from './answer.ts';
import { Refusal } from './answer.ts';
import type { CatalogRequest } from './request.ts';

export interface IdempotentAnswers {
  /** `answer` of a request, or of the earlier request with the same key. Must not reject. */
  once(principal: string, request: CatalogRequest, answer: () => Promise<Answer>): Promise<Answer>;
}

interface Entry {
  readonly requestHash: string;
  readonly answer: Promise<Answer>;
  readonly madeMs: number;
}

export function createIdempotentAnswers(lifetimeMs: number, nowMs: () => number): IdempotentAnswers {
  const entries = new Map<string, Entry>();
  const forgetOld = (now: number): void => {
    // In order of insertion, so the first that is young enough ends it.
    for (const [id, entry] of entries) {
      if (now - entry.madeMs < lifetimeMs) return;
      entries.delete(id);
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
        return known.answer;
      }
      const entry: Entry = { requestHash, answer: answer(), madeMs: now };
      entries.set(id, entry);
      const given = await entry.answer;
      if (given.status >= 500) entries.delete(id);
      return given;
    },
  };
}

function hashOf(request: CatalogRequest): string {
  return createHash('sha256').update(JSON.stringify([request.method, request.path, request.bodyText])).digest('hex');
}
