/**
 * What a failure of an S3 request means: pure, the SDK's error in, one of few meanings and a SinkError out.
 * The names are those of AWS and of S3-compatible servers as they were observed.
 */
import { SinkError } from '../errors.ts';
import { CAUSE, isRecord, redact, shorten } from './catalog-errors.ts';

/**
 * - exists: the condition "if none exists" was not met.
 * - missing: no such object (or upload).
 * - stale-keys: the store does not accept the keys any more; with newer ones it may.
 * - no-condition: the store does not know conditional writes.
 * - transient: the same request may succeed later.
 * - definite: it will not.
 */
export type S3Meaning = 'exists' | 'missing' | 'stale-keys' | 'denied' | 'no-condition' | 'transient' | 'definite';

export interface S3Failure {
  readonly meaning: S3Meaning;
  readonly error: SinkError;
}

/** An expired session is `ExpiredToken` at AWS, `InvalidAccessKeyId` at SeaweedFS, `InvalidToken` at others. */
const STALE_KEYS: ReadonlySet<string> = new Set([
  'ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', 'InvalidToken', 'InvalidAccessKeyId',
  'InvalidClientTokenId', 'RequestExpired',
]);

const TRANSIENT: ReadonlySet<string> = new Set([
  'SlowDown', 'Throttling', 'ThrottlingException', 'TooManyRequestsException', 'RequestLimitExceeded',
  'BandwidthLimitExceeded',
  'RequestTimeout', 'RequestTimeoutException', 'InternalError', 'ServiceUnavailable', 'OperationAborted',
  // The SDK corrects its clock from the answer, so the next signature is good.
  'RequestTimeTooSkewed',
  // Two conditional writes of one name at once; the next try finds the winner.
  'ConditionalRequestConflict',
]);

/** `secrets` are cut out of what the server says. */
export function classifyS3(thrown: unknown, action: string, secrets: readonly string[] = []): S3Failure {
  if (thrown instanceof SinkError) return { meaning: 'definite', error: thrown };
  const { message, status, code, ...parts } = partsOf(thrown);
  const name = shorten(redact(parts.name, secrets));
  const make = (error: SinkError['code'], why: string): SinkError => new SinkError(
    error,
    `${action}: ${why}${name}${status === null ? '' : ` (HTTP ${status})`}: ${shorten(redact(message, secrets))}`,
    { cause: name, ...(status === null ? {} : { status: String(status) }) },
  );
  if (status === null) {
    if (isNetworkError(name, code)) {
      return { meaning: 'transient', error: make('storage-unreachable', `${CAUSE.endpointUnreachable} `) };
    }
    return { meaning: 'transient', error: make('storage-unavailable', '') };
  }
  const refused = (meaning: S3Meaning, why: string): S3Failure => ({ meaning, error: make('storage-forbidden', why) });
  if (status === 412 || name === 'PreconditionFailed') return refused('exists', '');
  if (name === 'NoSuchBucket') return refused('definite', 'the bucket does not exist: ');
  // An upload that is gone is begun again; no file of the table is missing.
  if (name === 'NoSuchUpload') return { meaning: 'missing', error: make('storage-unavailable', '') };
  if (status === 404) return { meaning: 'missing', error: make('storage-object-missing', '') };
  if (status === 501 || name === 'NotImplemented') return refused('no-condition', '');
  if (STALE_KEYS.has(name)) return { meaning: 'stale-keys', error: make('storage-credentials-expired', '') };
  if (TRANSIENT.has(name) || status === 429 || status === 409 || status >= 500) {
    return { meaning: 'transient', error: make('storage-unavailable', '') };
  }
  if (status === 401 || status === 403) return refused('denied', '');
  if (status >= 300 && status < 400) return refused('definite', 'the bucket is in another region than was said: ');
  return refused('definite', '');
}

interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly status: number | null;
  readonly code: string;
}

/** A body the SDK could not read (an HTML page of a proxy) leaves the status only on the error's hidden response. */
function partsOf(thrown: unknown): ErrorParts {
  if (!(thrown instanceof Error)) return { name: 'Error', message: String(thrown), status: null, code: '' };
  const holder = thrown as unknown as Record<string, unknown>;
  const metadata = isRecord(holder['$metadata']) ? holder['$metadata'] : {};
  const response = isRecord(holder['$response']) ? holder['$response'] : {};
  const status = metadata['httpStatusCode'] ?? response['statusCode'];
  const code = typeof holder['code'] === 'string' ? holder['code'] : '';
  return { name: thrown.name, message: thrown.message, status: typeof status === 'number' ? status : null, code };
}

function isNetworkError(name: string, code: string): boolean {
  return name === 'TimeoutError' || /^(E[A-Z]+|ERR_|CERT_|SELF_SIGNED|UNABLE_TO|DEPTH_ZERO)/.test(code);
}
