/**
 * Authorized requests to one catalog: base URL, configuration, token and the headers that every request carries.
 *
 * `send` transmits once. The one exception is 401 and 419, which the authentication in front of the catalog
 * answers before anything was looked at: then a new token is minted and the request goes out a second time. That
 * holds for commits too, since the first transmission was refused for certain.
 */
import type { CatalogConnection } from '../definition/definitions.ts';
import { SinkError } from '../errors.ts';
import type { Clock, Entropy } from '../sink/ports.ts';
import { type CatalogConfig, parseCatalogConfig } from './catalog-config.ts';
import { CAUSE, answerError, detailOf, parseCatalogError, resultError, withoutSecrets } from './catalog-errors.ts';
import type { HttpClient, HttpResponse, HttpResult } from './http.ts';
import { createTokenSource } from './oauth.ts';
import { READ_RETRIES, withRetries } from './retry.ts';
import { singleFlight } from './single-flight.ts';

export interface CatalogCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below `<url>/v1/`, without a leading slash, encoded. */
  readonly path: string;
  readonly body: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** See HttpRequest. */
  readonly isEnough?: (begun: string) => boolean;
}

export interface CatalogSession {
  /** Asked for once and kept; a failure is not kept. */
  config(): Promise<CatalogConfig>;
  /** Rejects only when no token can be had. */
  send(call: CatalogCall): Promise<HttpResult>;
}

export interface CatalogDeps {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export function createCatalogSession(connection: CatalogConnection, deps: CatalogDeps): CatalogSession {
  const baseUrl = `${connection.url.replace(/\/+$/, '')}/v1/`;
  const tokens = createTokenSource(connection, deps.http, deps.clock);
  const clientSecret = connection.credential?.clientSecret.reveal() ?? '';
  const transmit = async (call: CatalogCall, token: string | null): Promise<HttpResult> => {
    const headers: Record<string, string> = { ...call.headers };
    if (call.body !== null) headers['content-type'] = 'application/json';
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    if (connection.accessDelegation !== null) headers['x-iceberg-access-delegation'] = connection.accessDelegation;
    const request = {
      method: call.method, url: baseUrl + call.path, headers, body: call.body,
      ...(call.isEnough === undefined ? {} : { isEnough: call.isEnough }),
    };
    return withoutSecrets(await deps.http.send(request), [token ?? '', clientSecret]);
  };

  const send = async (call: CatalogCall): Promise<HttpResult> => {
    if (tokens === null) return await transmit(call, null);
    const token = await tokens.token();
    const result = await transmit(call, token);
    if (result.kind === 'failure' || (result.status !== 401 && result.status !== 419)) return result;
    tokens.refused(token);
    return await transmit(call, await tokens.token());
  };

  let known: CatalogConfig | null = null;
  const fetchConfig = singleFlight(async () => {
    const query = connection.warehouse === null ? '' : `?warehouse=${encodeURIComponent(connection.warehouse)}`;
    const response = await withRetries(deps, READ_RETRIES, async () => {
      const result = await send({ method: 'GET', path: `config${query}`, body: null });
      if (result.kind === 'response' && result.status === 200) return result;
      throw configError(result, connection);
    });
    known = parseCatalogConfig(response.body, clientProperties(connection));
    return known;
  });
  return { config: async () => known ?? await fetchConfig(), send };
}

function configError(result: HttpResult, connection: CatalogConnection): SinkError {
  const action = 'read the catalog configuration';
  if (result.kind === 'failure') return resultError(result, action);
  // Nothing but the warehouse is named in this request, so an answer of the catalog itself that refuses it means that.
  if ((result.status === 404 || result.status === 400) && parseCatalogError(result.body) !== null) {
    return warehouseError(result, connection, action);
  }
  return answerError(result, action);
}

function warehouseError(response: HttpResponse, connection: CatalogConnection, action: string): SinkError {
  const cause = connection.warehouse === null ? 'WAREHOUSE is missing.' : CAUSE.warehouseMissing;
  const said = parseCatalogError(response.body)?.message ?? '';
  const message = `${action}: ${cause} (HTTP ${response.status}: ${said})`;
  return new SinkError('warehouse-missing', message, detailOf(response, cause));
}

/** Static keys of USING AWS CONNECTION stand where a client's own properties stand: over defaults, under overrides. */
function clientProperties(connection: CatalogConnection): Record<string, string> {
  const aws = connection.awsConnection;
  const properties: Record<string, string> = {};
  if (aws === null) return properties;
  const set = (key: string, value: string | null | undefined): void => {
    if (value !== null && value !== undefined) properties[key] = value;
  };
  set('s3.endpoint', aws.endpoint);
  set('client.region', aws.region);
  set('s3.access-key-id', aws.accessKeyId?.reveal());
  set('s3.secret-access-key', aws.secretAccessKey?.reveal());
  set('s3.session-token', aws.sessionToken?.reveal());
  return properties;
}
