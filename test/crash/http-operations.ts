/**
 * What a request of the sink is for, told from its method and path, so that a fault or a kill can be aimed; and how the
 * servers word a refusal, so that a forged one is taken for theirs.
 */
export type Service = 'catalog' | 's3';

export type Operation =
  | 'token' | 'config' | 'load' | 'create' | 'commit' | 'catalog-other'
  | 'put-data' | 'put-deletes' | 'put-manifest' | 'put-list' | 'get' | 's3-other';

/** The stages at which a request of the sink can be watched, and the process killed. */
export const OPERATIONS_THAT_WRITE: readonly Operation[] = ['create', 'commit', 'put-data', 'put-deletes', 'put-manifest', 'put-list'];

export function operationOf(service: Service, method: string, target: string): Operation {
  const path = target.split('?', 1)[0] ?? '';
  return service === 'catalog' ? catalogOperation(method, path) : storageOperation(method, path);
}

function catalogOperation(method: string, path: string): Operation {
  if (method === 'POST' && path.endsWith('/oauth/tokens')) return 'token';
  if (method === 'GET' && path.endsWith('/v1/config')) return 'config';
  if (method === 'GET' && /\/tables\/[^/]+$/.test(path)) return 'load';
  if (method === 'POST' && path.endsWith('/tables')) return 'create';
  if (method === 'POST' && /\/tables\/[^/]+$/.test(path)) return 'commit';
  return 'catalog-other';
}

function storageOperation(method: string, path: string): Operation {
  if (method === 'GET') return 'get';
  if (method !== 'PUT') return 's3-other';
  if (/-data-\d+\.parquet$/.test(path)) return 'put-data';
  if (/-deletes-\d+\.parquet$/.test(path)) return 'put-deletes';
  if (/\/snap-[^/]*\.avro$/.test(path)) return 'put-list';
  return path.endsWith('.avro') ? 'put-manifest' : 's3-other';
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Buffer;
}

const CATALOG_TYPES: Readonly<Record<number, string>> = {
  409: 'CommitFailedException', 429: 'TooManyRequestsException', 500: 'InternalServerError', 503: 'ServiceUnavailableException',
};
const S3_CODES: Readonly<Record<number, string>> = {
  409: 'ConditionalRequestConflict', 429: 'SlowDown', 500: 'InternalError', 503: 'SlowDown',
};

/** 502 and 504 come from a gateway, which speaks HTML. */
export function refusal(service: Service, status: number, retryAfterSeconds: number | null): Answer {
  const text = status === 502 || status === 504
    ? `<html><body><h1>${status} from the gateway</h1></body></html>`
    : service === 'catalog'
      ? JSON.stringify({ error: { message: 'planted by the test', type: CATALOG_TYPES[status] ?? 'Exception', code: status } })
      : `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${S3_CODES[status] ?? 'InternalError'}</Code><Message>planted</Message></Error>`;
  const type = text.startsWith('<html') ? 'text/html' : service === 'catalog' ? 'application/json' : 'application/xml';
  const wait: Record<string, string> = retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status, headers: { 'content-type': type, ...wait }, body: Buffer.from(text) };
}
