/**
 * The OAuth2 client-credentials token of a catalog connection.
 *
 * The secret is revealed here only, into the body of one POST to the connection's own token endpoint: OAUTH2 SERVER
 * URL or `<url>/v1/oauth/tokens`. What the catalog advertises as `oauth2-server-uri` is ignored and redirects are
 * not followed, so no server can have the secret sent elsewhere.
 */
import { SinkError } from '../errors.ts';
import type { CatalogConnection } from '../definition/definitions.ts';
import type { Clock } from '../sink/ports.ts';
import { CAUSE, detailOf, failureError, isRecord, parseOauthError, shorten } from './catalog-errors.ts';
import type { HttpClient, HttpResponse } from './http.ts';
import { singleFlight } from './single-flight.ts';

export interface TokenSource {
  /** A bearer token, fresh by our clock. Rejects with catalog-scope-missing, catalog-unauthorized and the like. */
  token(): Promise<string>;
  /** The catalog refused this token: the next `token()` mints another one. */
  refused(token: string): void;
}

interface MintedToken {
  readonly value: string;
  readonly refreshAtMs: number;
  readonly expiresAtMs: number;
}

/** A token without `expires_in` is renewed hourly; the catalog says 401 if it ends before. */
const UNSTATED_LIFE_MS = 3_600_000;
const REFRESH_AHEAD_MS = 60_000;
const DEFAULT_SCOPE = 'catalog';

/** null when the connection has no CREDENTIAL: requests then go without Authorization. */
export function createTokenSource(connection: CatalogConnection, http: HttpClient, clock: Clock): TokenSource | null {
  if (connection.credential === null) return null;
  let current: MintedToken | null = null;
  const mint = singleFlight(async () => {
    current = await mintToken(connection, http, clock);
    return current.value;
  });
  return {
    token: async () => {
      const held = current;
      if (held === null || clock.nowMs() >= held.expiresAtMs) return await mint();
      if (clock.nowMs() < held.refreshAtMs) return held.value;
      // Ahead of expiry a token endpoint that is down for a moment must not stop the sink: the old token still works.
      return await mint().catch((thrown: unknown) => {
        const transient = thrown instanceof SinkError && thrown.disposition === 'retry';
        if (!transient || clock.nowMs() >= held.expiresAtMs) throw thrown;
        return held.value;
      });
    },
    refused: (token) => {
      if (current?.value === token) current = null;
    },
  };
}

async function mintToken(connection: CatalogConnection, http: HttpClient, clock: Clock): Promise<MintedToken> {
  const startedMs = clock.nowMs();
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  const clientId = connection.credential?.clientId ?? null;
  const secret = connection.credential?.clientSecret.reveal() ?? '';
  if (clientId !== null) form.set('client_id', clientId);
  form.set('client_secret', secret);
  form.set('scope', connection.scope ?? DEFAULT_SCOPE);
  const result = await http.send({
    method: 'POST',
    url: tokenUrl(connection),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  });
  if (result.kind === 'failure') throw failureError(result, 'request an OAuth2 token');
  if (result.status !== 200) throw tokenError(result, connection, secret);
  return readToken(result, startedMs);
}

function tokenUrl(connection: CatalogConnection): string {
  return connection.oauth2ServerUrl ?? `${connection.url.replace(/\/+$/, '')}/v1/oauth/tokens`;
}

function readToken(response: HttpResponse, startedMs: number): MintedToken {
  const unreadable = (why: string): SinkError =>
    new SinkError('catalog-protocol', `request an OAuth2 token: ${why}`, { status: '200' });
  let parsed: unknown;
  try {
    parsed = JSON.parse(response.body) as unknown;
  } catch {
    throw unreadable('the answer is not JSON');
  }
  const value = isRecord(parsed) ? parsed['access_token'] : undefined;
  // A token with a line break would end the Authorization header; fetch would refuse with the token in its message.
  const usable = typeof value === 'string' && /^[\u0021-\u007e]+$/.test(value);
  if (!usable) throw unreadable('the answer has no access_token');
  const expiresIn = isRecord(parsed) ? secondsOf(parsed['expires_in']) : Number.NaN;
  const lifeMs = expiresIn > 0 ? expiresIn * 1000 : UNSTATED_LIFE_MS;
  // A short life is used up to its half, so that tokens of a few seconds still work.
  const refreshAtMs = startedMs + Math.max(lifeMs / 2, lifeMs - REFRESH_AHEAD_MS);
  return { value, refreshAtMs, expiresAtMs: startedMs + lifeMs };
}

/** A number, or one as text, as some servers send it. */
function secondsOf(value: unknown): number {
  return typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
}

function tokenError(response: HttpResponse, connection: CatalogConnection, secret: string): SinkError {
  const oauth = parseOauthError(response.body, [secret]);
  const said = oauth === null ? '' : `: ${shorten(`${oauth.error} ${oauth.description}`)}`;
  const where = `(HTTP ${response.status}${said})`;
  const make = (code: SinkError['code'], cause: string): SinkError =>
    new SinkError(code, `request an OAuth2 token at ${tokenUrl(connection)}: ${cause} ${where}`, detailOf(response, cause));
  if (oauth?.error === 'invalid_scope') {
    if (connection.scope === null) return make('catalog-scope-missing', CAUSE.scopeMissing);
    return make('catalog-scope-missing', `The catalog does not accept SCOPE '${connection.scope}'.`);
  }
  const { status } = response;
  if (status === 401 || status === 403 || oauth?.error === 'invalid_client' || oauth?.error === 'unauthorized_client') {
    return make('catalog-unauthorized', CAUSE.unauthorized);
  }
  if (status >= 500 || status === 429 || status === 408) {
    return make('catalog-unavailable', 'The token endpoint is unwell.');
  }
  if (oauth !== null) return make('catalog-unauthorized', 'The token endpoint refuses the request.');
  return make('catalog-protocol', 'There is no OAuth2 token endpoint at this URL; OAUTH2 SERVER URL can name another.');
}
