/**
 * What the catalog answers: a status, headers and text, or a thrown `Refusal` that becomes the error JSON
 * of the REST specification. Every refusal a client can see is made here or by `refuse`, so that the wire
 * shape (`{"error":{"message","type","code"}}`) exists once.
 */
import { formatJson } from '../../iceberg/json.ts';
import type { JsonObject } from '../../iceberg/json.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** null: no body at all (204, 304, and Polaris's 401). */
  readonly body: string | null;
}

/** A request that is answered with an error: HTTP status, the exception name clients switch on, and why. */
export class Refusal extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.type = type;
  }
}

const JSON_HEADERS = { 'content-type': 'application/json;charset=UTF-8' } as const;

export function jsonAnswer(status: number, body: JsonObject, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body: formatJson(body) };
}

export function emptyAnswer(status: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers, body: null };
}

/**
 * Polaris answers every failed authentication like this, whatever the reason: nothing to parse, so a client
 * has to go by the status alone.
 */
export function unauthenticatedAnswer(): Answer {
  return emptyAnswer(401, { 'www-authenticate': 'Bearer', 'content-length': '0' });
}

export function refusalAnswer(refusal: Refusal): Answer {
  return jsonAnswer(refusal.status, {
    error: { message: refusal.message, type: refusal.type, code: refusal.status },
  });
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, 'BadRequestException', message);
}

/** What Polaris says of JSON it can't map to its model, unknown requirements and updates included. */
export function unreadableRequest(): Refusal {
  return new Refusal(400, 'WebApplicationException', 'HTTP 400 Bad Request');
}

export function notFound(message: string): Refusal {
  return new Refusal(404, 'NotFoundException', message);
}

export function alreadyExists(message: string): Refusal {
  return new Refusal(409, 'AlreadyExistsException', message);
}

export function commitFailed(message: string): Refusal {
  return new Refusal(409, 'CommitFailedException', message);
}

export function forbidden(message: string): Refusal {
  return new Refusal(403, 'ForbiddenException', message);
}
