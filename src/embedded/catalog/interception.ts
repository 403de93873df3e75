/**
 * Faults on the wire, for tests: what may happen to a request between a client and a catalog that itself works.
 * The `apply` ones carry the request out and lose or change the answer: the case that a client can't tell from
 * the ones where nothing was done.
 */
import type { ServerResponse } from 'node:http';
import type { Answer } from './answer.ts';

export type Interception =
  | { readonly kind: 'pass' }
  /** Answers without carrying the request out: 503 before anything happened, 429, 401. */
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'reset' }
  /** Neither carried out nor answered; the connection stays open until the client gives up. */
  | { readonly kind: 'hang' }
  | { readonly kind: 'apply-then-answer'; readonly answer: Answer }
  | { readonly kind: 'apply-then-reset' }
  | { readonly kind: 'apply-then-hang' }
  /** The real answer's head and the first half of its body, then the connection breaks. */
  | { readonly kind: 'apply-then-truncate' };

export function sendAnswer(response: ServerResponse, answer: Answer): void {
  const length = answer.body === null ? {} : { 'content-length': String(Buffer.byteLength(answer.body)) };
  response.writeHead(answer.status, { ...length, ...answer.headers });
  response.end(answer.body ?? undefined);
}

/** `apply` carries the request out and gives its answer; it is called at most once. */
export async function answerThrough(
  interception: Interception, response: ServerResponse, apply: () => Promise<Answer>,
): Promise<void> {
  switch (interception.kind) {
    case 'pass':
      sendAnswer(response, await apply());
      return;
    case 'answer':
      sendAnswer(response, interception.answer);
      return;
    case 'reset':
      response.destroy();
      return;
    case 'hang':
      return;
    case 'apply-then-answer':
      await apply();
      sendAnswer(response, interception.answer);
      return;
    case 'apply-then-reset':
      await apply();
      response.destroy();
      return;
    case 'apply-then-hang':
      await apply();
      return;
    case 'apply-then-truncate':
      truncate(response, await apply());
      return;
  }
}

function truncate(response: ServerResponse, answer: Answer): void {
  const body = Buffer.from(answer.body ?? '', 'utf8');
  response.writeHead(answer.status, { ...answer.headers, 'content-length': String(body.length) });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
}
