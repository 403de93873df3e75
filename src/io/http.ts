/**
 * One HTTP request, one answer. In: a request with its limits. Out: a response, or the kind of failure; never a
 * rejection for anything the network did.
 *
 * Invariant: a request with a body is transmitted at most once. Retrying a commit below the commit protocol is
 * how tables elsewhere were destroyed, so nothing here repeats anything:
 *  - `redirect: 'manual'`: neither body nor Authorization ever travels to where a server points;
 *  - the body goes out as a stream with a declared length, because `fetch` sends a body that it can rewind a
 *    second time by itself when the server answers 421.
 */
import type { Clock } from '../sink/ports.ts';
import { systemCodeOf } from './system-code.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'HEAD' | 'DELETE';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /**
   * Asked of the beginning of a 2xx answer as it grows: whether that says all there is to know. The response then has that
   * much for its body, at once; the rest is read and dropped, so that the connection can serve again.
   */
  readonly isEnough?: (begun: string) => boolean;
}

export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** From Retry-After, seconds or a date; null when absent or unreadable. */
  readonly retryAfterMs: number | null;
}

/**
 * - unreachable: no connection came about, so the request was not sent.
 * - timeout, reset: it may have been sent and may have taken effect.
 * - body-cut, too-large: an answer began, but can't be read whole.
 */
export type HttpFailureKind = 'unreachable' | 'timeout' | 'reset' | 'body-cut' | 'too-large';

export interface HttpFailure {
  readonly kind: 'failure';
  readonly failure: HttpFailureKind;
  /** What happened in words, without URL query, headers or bodies. */
  readonly message: string;
}

export type HttpResult = HttpResponse | HttpFailure;

export interface HttpLimits {
  /** From the start to the answer's headers, connecting included (which by itself may take 10 s at most). */
  readonly headersTimeoutMs: number;
  /** From the headers to the end of the body. */
  readonly bodyTimeoutMs: number;
  readonly maxBodyBytes: number;
}

export const HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 60_000,
  bodyTimeoutMs: 120_000,
  maxBodyBytes: 256 * 1024 * 1024,
};

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpResult>;
}

const USER_AGENT = 'mz-iceberg-sink';

export function createHttpClient(clock: Clock, limits: HttpLimits = HTTP_LIMITS): HttpClient {
  // By address, what still comes of answers of which enough was known. The next such request waits for it: else answers of
  // megabytes would pile up at a server that is asked faster than it is listened to.
  const dropping = new Map<string, Promise<void>>();
  return {
    async send(request) {
      if (request.isEnough !== undefined) await dropping.get(request.url);
      return await sendOnce(request, clock, limits, (rest) => {
        const dropped: Promise<void> = rest.finally(() => {
          if (dropping.get(request.url) === dropped) dropping.delete(request.url);
        });
        dropping.set(request.url, dropped);
      });
    },
  };
}

async function sendOnce(
  request: HttpRequest, clock: Clock, limits: HttpLimits, onDropping: (rest: Promise<void>) => void,
): Promise<HttpResult> {
  const abort = new AbortController();
  let waitingFor = 'an answer';
  const giveUp = (): void => abort.abort(new Error(`no end of waiting for ${waitingFor}`));
  let cancel = clock.after(limits.headersTimeoutMs, giveUp);
  let response: Response | null = null;
  try {
    response = await fetch(request.url, fetchOptions(request, abort.signal));
    cancel();
    waitingFor = 'the rest of the answer';
    cancel = clock.after(limits.bodyTimeoutMs, giveUp);
    const isEnough = response.ok ? request.isEnough : undefined;
    const dropRest = (reader: BodyReader): void => onDropping(readToTheEnd(reader, clock.after(DROP_PATIENCE_MS, giveUp)));
    const body = await readBody(response, limits.maxBodyBytes, isEnough, dropRest);
    if (body === null) {
      abort.abort();
      return { kind: 'failure', failure: 'too-large', message: `the answer exceeds ${limits.maxBodyBytes} bytes` };
    }
    const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'), clock.nowMs());
    return { kind: 'response', status: response.status, headers: response.headers, body, retryAfterMs };
  } catch (thrown) {
    const where = originOf(request.url);
    if (abort.signal.aborted) {
      return { kind: 'failure', failure: 'timeout', message: `timed out waiting for ${waitingFor} of ${where}` };
    }
    const code = errorCode(thrown);
    const message = `${where}: ${describe(thrown)}`;
    if (response !== null) return { kind: 'failure', failure: 'body-cut', message: `answer cut short by ${message}` };
    const neverSent = NEVER_SENT.has(code) || code.startsWith('ERR_TLS');
    return { kind: 'failure', failure: neverSent ? 'unreachable' : 'reset', message };
  } finally {
    cancel();
  }
}

function fetchOptions(request: HttpRequest, signal: AbortSignal): RequestInit {
  const headers: Record<string, string> = { 'user-agent': USER_AGENT, accept: 'application/json', ...request.headers };
  const options: RequestInit = { method: request.method, headers, redirect: 'manual', signal };
  if (request.body === null) return options;
  const bytes = new TextEncoder().encode(request.body);
  headers['content-length'] = String(bytes.length);
  return { ...options, body: new Blob([bytes]).stream(), duplex: 'half' } as RequestInit;
}

/** How long an answer of which enough is known may go on before the connection is given up for it. */
const DROP_PATIENCE_MS = 10_000;

/** What is of interest stands at the beginning or nowhere in particular; asking again and again of megabytes would cost more. */
const MAX_BEGINNING_BYTES = 256 * 1024;

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/** The body as UTF-8 text, or its beginning when that is enough; null when it is longer than allowed. */
async function readBody(
  response: Response, maxBodyBytes: number, isEnough: HttpRequest['isEnough'], dropRest: (reader: BodyReader) => void,
): Promise<string | null> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  const textSoFar = (): string => Buffer.concat(chunks, length).toString('utf8');
  const reader = response.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.byteLength;
    if (length > maxBodyBytes) return null;
    chunks.push(read.value);
    if (isEnough === undefined || length > MAX_BEGINNING_BYTES) continue;
    const begun = textSoFar();
    if (!isEnough(begun)) continue;
    dropRest(reader);
    return begun;
  }
  return textSoFar();
}

/** Whatever becomes of the rest: what was said before it stands. */
async function readToTheEnd(reader: BodyReader, cancel: () => void): Promise<void> {
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read());
  } catch {
    // A connection that broke or was given up; the next request makes a new one.
  } finally {
    cancel();
  }
}

/** Errors of a connection that was never made; the request can't have been read by anyone. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'EPROTO',
]);

/** fetch says "fetch failed" and hides the reason in `cause`, several addresses in an AggregateError below it. */
function rootCause(thrown: unknown): unknown {
  let cause = thrown;
  for (let depth = 0; depth < 8; depth += 1) {
    if (cause instanceof AggregateError && cause.errors.length > 0) cause = cause.errors[0] as unknown;
    else if (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
    else break;
  }
  return cause;
}

function errorCode(thrown: unknown): string {
  return systemCodeOf(rootCause(thrown));
}

function describe(thrown: unknown): string {
  const cause = rootCause(thrown);
  const code = errorCode(thrown);
  const words = cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
  return code === '' || words.includes(code) ? words : `${words} (${code})`;
}

/** Scheme, host and port: queries hold warehouse names, user info may hold a password. */
export function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'an invalid URL';
}

/** A server that asks for years would stop the sink for good. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Retry-After (RFC 9110, 10.2.3): whole seconds or an HTTP date; an hour at most. */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.min(Math.max(at - nowMs, 0), MAX_RETRY_AFTER_MS);
}
