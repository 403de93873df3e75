/**
 * What a catalog's refusal means. In: status and body of an answer, or a network failure, and what was asked.
 * Out: a SinkError whose message begins with the cause in the words of Materialize's troubleshooting guide where
 * the guide knows it, and then says what the server said.
 *
 * Server text is quoted shortened and without control characters; known secrets are cut out of it, since a
 * server may echo what it was sent.
 */
import { type ErrorCode, SinkError, type SinkErrorDetail } from '../errors.ts';
import type { HttpFailure, HttpResponse, HttpResult } from './http.ts';

/** The error of the REST specification, `{"error": {message, type, code}}`; null when the body is something else. */
export interface CatalogError {
  readonly type: string;
  readonly message: string;
}

/** Text of any length costs little only when what is done with it is bounded first. */
const MAX_ERROR_BODY = 1024 * 1024;

export function parseCatalogError(body: string): CatalogError | null {
  const parsed = tryParse(body);
  const error = isRecord(parsed) ? parsed['error'] : null;
  if (!isRecord(error)) return null;
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  const type = typeof error['type'] === 'string' ? error['type'] : '';
  return { type, message: shorten(message) };
}

/**
 * RFC 6749 section 5.2: `{"error": "invalid_scope", "error_description": …}`; null when it is something else. `secrets`
 * are cut out before anything is shortened: the part of one before the cut would be left.
 */
export function parseOauthError(
  body: string, secrets: readonly string[],
): { readonly error: string; readonly description: string } | null {
  const parsed = tryParse(body);
  if (!isRecord(parsed) || typeof parsed['error'] !== 'string') return null;
  const description = parsed['error_description'];
  return {
    error: shorten(redact(parsed['error'], secrets)),
    description: typeof description === 'string' ? shorten(redact(description, secrets)) : '',
  };
}

const MAX_QUOTE = 400;

export function shorten(text: string): string {
  const oneLine = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  return oneLine.length > MAX_QUOTE ? `${oneLine.slice(0, MAX_QUOTE)}…` : oneLine;
}

/** Cuts every non-empty secret out of text that came from outside, as it stands and as a form or a URL encodes it. */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) =>
    [secret, encodeURIComponent(secret.toWellFormed()), new URLSearchParams({ s: secret }).toString().slice(2)]);
  return forms.reduce((rest, form) => (form === '' ? rest : rest.replaceAll(form, '<redacted>')), text);
}

/** An answer that is not a success, without the secrets of the request it may echo. */
export function withoutSecrets<R extends HttpResult>(result: R, secrets: readonly string[]): R {
  if (result.kind === 'failure' || result.status < 300) return result;
  return { ...result, body: redact(result.body.slice(0, MAX_ERROR_BODY), secrets) };
}

/** A network failure while talking to the catalog or its token endpoint. */
export function failureError(failure: HttpFailure, action: string): SinkError {
  const code: ErrorCode = failure.failure === 'too-large' ? 'catalog-protocol' : 'catalog-unreachable';
  return new SinkError(code, `${action}: ${failure.message}`, { cause: failure.failure });
}

/** The error for an answer that is not a success. `action` says what was asked, for people: `load table a.b`. */
export function answerError(response: HttpResponse, action: string): SinkError {
  const error = parseCatalogError(response.body);
  const { code, cause } = classify(response.status, error);
  const said = error === null ? '' : `: ${[error.type, error.message].filter((part) => part !== '').join(': ')}`;
  const because = cause === '' ? '' : `${cause} `;
  return new SinkError(code, `${action}: ${because}(HTTP ${response.status}${said})`, detailOf(response, cause));
}

export function resultError(result: HttpResult, action: string): SinkError {
  return result.kind === 'failure' ? failureError(result, action) : answerError(result, action);
}

export function detailOf(response: HttpResponse, cause: string): SinkErrorDetail {
  const status = { status: String(response.status), ...(cause === '' ? {} : { cause }) };
  return response.retryAfterMs === null ? status : { ...status, retryAfterMs: response.retryAfterMs };
}

export const CAUSE = {
  scopeMissing: 'SCOPE is missing.',
  unauthorized: 'The credential is wrong, or SCOPE names a principal role that is not assigned to the principal.',
  vendingForbidden: "The principal's catalog role lacks either CATALOG_MANAGE_CONTENT or both TABLE_READ_DATA and "
    + 'TABLE_WRITE_DATA, so the catalog refuses to vend credentials.',
  storageBroken: 'The catalog cannot reach the object store, or its storage credentials cannot call AssumeRole. '
    + 'Check the catalog logs.',
  credentialsMissing: 'The sink has no storage credentials. '
    + "Set ACCESS DELEGATION = 'vended-credentials' on the connection.",
  endpointUnreachable: "The endpoint in the catalog's storageConfigInfo is not reachable from the sink.",
  namespaceMissing: 'The namespace named by NAMESPACE does not exist, or the principal cannot see it.',
  warehouseMissing: 'The warehouse named by WAREHOUSE does not exist, or the principal cannot see it.',
} as const;

interface Classified {
  readonly code: ErrorCode;
  readonly cause: string;
}

function classify(status: number, error: CatalogError | null): Classified {
  const message = error?.message ?? '';
  if (status === 401 || status === 419) return { code: 'catalog-unauthorized', cause: CAUSE.unauthorized };
  if (status === 403) return classifyForbidden(message);
  if (status === 404) return classifyNotFound(error);
  if (/credential vending was requested .*no credentials are available/i.test(message)) {
    return {
      code: 'storage-credentials-missing',
      cause: 'The catalog has no storage credentials to vend for this table (it runs without STS).',
    };
  }
  if (status === 422 && /subscoped credentials|assume ?role|sts/i.test(message)) {
    return { code: 'catalog-storage-broken', cause: CAUSE.storageBroken };
  }
  // Polaris answers 500 to whatever its object store does to it; gateways answer 502 to 504 for the catalog.
  if (status === 500) return { code: 'catalog-storage-broken', cause: CAUSE.storageBroken };
  if (status > 500 || status === 429 || status === 408 || status === 425) {
    return { code: 'catalog-unavailable', cause: '' };
  }
  if (status >= 300 && status < 400) {
    return { code: 'catalog-protocol', cause: 'The catalog answered with a redirect, which is not followed: it would '
      + 'carry the token to another address. Correct the URL.' };
  }
  if (status < 300 || error === null) {
    return { code: 'catalog-protocol', cause: 'The answer is not the one of the REST specification.' };
  }
  return { code: 'catalog-refused', cause: '' };
}

function classifyForbidden(message: string): Classified {
  if (/_WITH_(READ|WRITE)_DELEGATION|vend(ed|ing)? /i.test(message)) {
    return { code: 'catalog-vending-forbidden', cause: CAUSE.vendingForbidden };
  }
  return { code: 'catalog-forbidden', cause: '' };
}

function classifyNotFound(error: CatalogError | null): Classified {
  if (error === null) return { code: 'catalog-protocol', cause: 'There is no REST catalog at this URL.' };
  if (/namespace/i.test(error.type) || /^namespace /i.test(error.message)) {
    return { code: 'namespace-missing', cause: CAUSE.namespaceMissing };
  }
  if (/table|tabular|view/i.test(error.type)) return { code: 'table-missing', cause: '' };
  if (/warehouse|catalog|project/i.test(`${error.type} ${error.message}`)) {
    return { code: 'warehouse-missing', cause: CAUSE.warehouseMissing };
  }
  return { code: 'table-missing', cause: '' };
}

function tryParse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return null;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
