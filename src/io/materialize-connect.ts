/**
 * A logged-in `pg` client for Materialize out of a connection string. `pg` does login (password, SCRAM), TLS and
 * simple queries; every value stays text, so that no number loses digits.
 *
 * sslmode means what it means to libpq: prefer takes TLS where the server offers it, require encrypts without
 * knowing the peer (with a CA file it verifies it), verify-ca checks the chain, verify-full the host name too.
 * Errors never hold the connection string: it has the password.
 */
import { readFile } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { Client, type ClientConfig, type QueryArrayResult } from 'pg';

import type { Secret } from '../definition/secret.ts';
import { SinkError } from '../errors.ts';
import { type SourcePhase, classifyServerError } from '../subscribe/source-errors.ts';
import { type ReusedSocket, openReusedSocket } from './reused-socket.ts';

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export interface MaterializeAddress {
  /** `postgres://user:password@host:6875/materialize?sslmode=verify-full&sslrootcert=ca.pem`. */
  readonly connectionString: Secret;
  /** Wins over the sslmode of the connection string; `prefer` when neither says. */
  readonly sslMode?: SslMode;
  /** CA file in PEM form; wins over sslrootcert. `system` or none: the roots that Node trusts. */
  readonly sslRootCert?: string;
  readonly applicationName: string;
}

/** What is wrong with a connection string, without a word of it: it holds the password. null when it can be used. */
export function addressProblem(connectionString: Secret): string | null {
  try {
    resolveAddress({ connectionString, applicationName: '' });
    return null;
  } catch (thrown) {
    return thrown instanceof SinkError ? thrown.message : String(thrown);
  }
}

interface ResolvedAddress {
  readonly client: ClientConfig;
  readonly sslMode: SslMode;
  readonly sslRootCert: string | null;
}

/** A client that is ready for queries, with what the server said about the session. */
export interface Session {
  readonly client: Client;
  /** Below the client, and below TLS where that is on. */
  readonly reused: ReusedSocket;
  /** ParameterStatus by name, kept up to date: `database`, `search_path`, `mz_version`. */
  readonly parameters: ReadonlyMap<string, string>;
}

const DEFAULT_PORT = 6875;
const CONNECT_TIMEOUT_MS = 20_000;
/** For look-ups and SET only: a SUBSCRIBE never passes through pg. */
const QUERY_TIMEOUT_MS = 60_000;
const KEEP_ALIVE_DELAY_MS = 15_000;

/**
 * Connects and logs in. `onClient` sees each client before it connects, so that a caller who gives up can destroy
 * its socket. Rejects with source-unreachable, source-login-refused, source-tls-refused and the like.
 */
export async function connect(address: MaterializeAddress, onClient: (client: Client) => void): Promise<Session> {
  const resolved = resolveAddress(address);
  const ssl = await tlsOptions(resolved);
  try {
    return await login({ ...resolved.client, ssl }, onClient);
  } catch (thrown) {
    if (resolved.sslMode !== 'prefer' || !isTlsDeclined(thrown)) throw withPlace(connectError(thrown), resolved);
  }
  try {
    return await login({ ...resolved.client, ssl: false }, onClient);
  } catch (thrown) {
    throw withPlace(connectError(thrown), resolved);
  }
}

/** A refused login names who asked and where: with several places to set them, that is what one has to compare. */
function withPlace(error: SinkError, { client }: ResolvedAddress): SinkError {
  if (error.code !== 'source-login-refused') return error;
  return new SinkError(error.code, `${error.message} (user "${client.user}" at ${client.host}:${client.port})`, error.detail);
}

async function login(config: ClientConfig, onClient: (client: Client) => void): Promise<Session> {
  const reused = openReusedSocket();
  const client = new Client({ ...config, stream: () => reused.socket });
  const parameters = new Map<string, string>();
  // Without a listener a connection that breaks between two queries would end the process; the next use of the
  // client reports it.
  client.on('error', () => {});
  protocolOf(client).on('parameterStatus', (message: { parameterName: string; parameterValue: string }) => {
    parameters.set(message.parameterName, message.parameterValue);
  });
  onClient(client);
  try {
    await client.connect();
  } catch (thrown) {
    socketOf(client).destroy();
    throw thrown;
  }
  return { client, reused, parameters };
}

/** Runs one simple query; every value is the server's text or null. Rejects with a classified SinkError. */
export async function queryText(
  session: Session,
  sql: string,
  phase: SourcePhase = 'query',
): Promise<readonly (readonly (string | null)[])[]> {
  try {
    const result: QueryArrayResult<(string | null)[]> = await session.client.query({ text: sql, rowMode: 'array' });
    return result.rows;
  } catch (thrown) {
    throw queryError(thrown, phase);
  }
}

/** Ends the session without waiting for the server's consent. Idempotent. */
export function destroyClient(client: Client): void {
  socketOf(client).destroy();
}

/** The part of pg's Connection that is used here; pg-copy-streams builds on the same members. */
interface PgConnection {
  readonly stream: Duplex & { setNoDelay(on: boolean): void };
  on(event: 'parameterStatus', listener: (message: { parameterName: string; parameterValue: string }) => void): void;
}

function protocolOf(client: Client): PgConnection {
  return (client as unknown as { readonly connection: PgConnection }).connection;
}

/** The socket under the client; after the login it is the TLS socket where TLS is on. */
export function socketOf(client: Client): PgConnection['stream'] {
  return protocolOf(client).stream;
}

function resolveAddress(address: MaterializeAddress): ResolvedAddress {
  const url = parseUrl(address.connectionString.reveal());
  const mode = address.sslMode ?? url.searchParams.get('sslmode') ?? 'prefer';
  const sslMode = SSL_MODES.find((known) => known === mode);
  if (sslMode === undefined) {
    throw new SinkError('definition-invalid', `sslmode ${JSON.stringify(mode)} is none of ${SSL_MODES.join(', ')}.`);
  }
  const ownOptions = url.searchParams.get('options');
  const password = decoded(url.password);
  const client: ClientConfig = {
    host: decoded(url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    user: url.username === '' ? 'materialize' : decoded(url.username),
    ...(password === '' ? {} : { password }),
    database: decoded(url.pathname.slice(1)) || 'materialize',
    application_name: address.applicationName,
    // Only Materialize knows the setting; it answers an unknown one with a notice.
    options: ownOptions === null ? '--welcome_message=off' : `--welcome_message=off ${ownOptions}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    types: { getTypeParser: () => (value: string) => value },
  };
  const rootCert = address.sslRootCert ?? url.searchParams.get('sslrootcert');
  return { client, sslMode, sslRootCert: rootCert === 'system' ? null : rootCert };
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    // The text itself must not be shown: it holds the password.
    throw new SinkError('definition-invalid', 'The Materialize connection string is not a postgres:// URL.');
  }
  return url;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new SinkError('definition-invalid', 'The Materialize connection string has a malformed percent escape.');
  }
}

async function tlsOptions(address: ResolvedAddress): Promise<ConnectionOptions | false> {
  const { sslMode } = address;
  if (sslMode === 'disable') return false;
  const ca = address.sslRootCert === null ? {} : { ca: await readRootCert(address.sslRootCert) };
  if (sslMode === 'verify-full') return { ...ca, rejectUnauthorized: true };
  // libpq: a CA file turns require into verify-ca, for whoever names one wants it used.
  if (sslMode === 'verify-ca' || (sslMode === 'require' && address.sslRootCert !== null)) {
    return { ...ca, rejectUnauthorized: true, checkServerIdentity: () => undefined };
  }
  return { rejectUnauthorized: false };
}

async function readRootCert(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const { code = 'unknown error' } = thrown as NodeJS.ErrnoException;
    throw new SinkError('source-tls-refused', `The CA file ${path} of the connection can't be read: ${code}.`);
  }
}

function isTlsDeclined(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.includes('does not support SSL connections');
}

/** What OpenSSL and Node call their refusals of a certificate. */
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO)/;

function connectError(thrown: unknown): SinkError {
  if (thrown instanceof SinkError) return thrown;
  const { code, message, isServer } = describe(thrown);
  if (isServer) return classifyServerError({ sqlState: code, message }, 'login');
  if (TLS_CODES.test(code) || isTlsDeclined(thrown)) {
    const detail = code === '' ? { cause: message } : { cause: message, status: code };
    return new SinkError('source-tls-refused', `TLS with Materialize failed: ${message}`, detail);
  }
  const why = message === '' ? code : message;
  // What pg itself says when the server asks for a password and there is none, or its proof is wrong.
  const isLogin = /password must be a string|SASL|SCRAM/i.test(message);
  const errorCode = isLogin ? 'source-login-refused' : 'source-unreachable';
  return new SinkError(errorCode, `Connecting to Materialize failed: ${why}`, { cause: why });
}

/** The error of a query, or of the connection under it. */
export function queryError(thrown: unknown, phase: SourcePhase): SinkError {
  if (thrown instanceof SinkError) return thrown;
  const { code, message, isServer } = describe(thrown);
  if (isServer) return classifyServerError({ sqlState: code, message }, phase);
  return new SinkError('source-disconnected', `The connection to Materialize ended: ${message}`, { cause: message });
}

/** A server's error has a severity beside its code; an error of the socket or of TLS has none. */
function describe(thrown: unknown): { readonly code: string; readonly message: string; readonly isServer: boolean } {
  if (thrown instanceof AggregateError) {
    // One attempt per address of the host: the first tells as much as any.
    const first: unknown = thrown.errors[0];
    return describe(first);
  }
  if (!(thrown instanceof Error)) return { code: '', message: String(thrown), isServer: false };
  const { code, severity } = thrown as { code?: unknown; severity?: unknown };
  return {
    code: typeof code === 'string' ? code : '',
    message: thrown.message,
    isServer: typeof severity === 'string' && typeof code === 'string',
  };
}
