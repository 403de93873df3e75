/**
 * The OAuth2 token endpoint (client credentials) and the check of bearer tokens.
 *
 * A token is signed with a key of this process, so that every start refuses the tokens of the one before, as
 * a real Polaris with an in-memory store does. It names the principal and the roles asked for; whether they
 * are assigned is looked up at each request, so revoking a role takes effect at once.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccessModel, Principal } from './access-state.ts';
import { secretMatches } from './access-state.ts';
import type { Answer } from './answer.ts';
import { jsonAnswer } from './answer.ts';
import type { CatalogRequest } from './request.ts';

export interface TokenIssuer {
  /** `POST /v1/oauth/tokens`. */
  issue(request: CatalogRequest, model: AccessModel): Answer;
  /** The authenticated caller, or null for 401. */
  authenticate(request: CatalogRequest, model: AccessModel): Caller | null;
}

export interface Caller {
  readonly principal: Principal;
  /** Names of the activated principal roles. */
  readonly roles: readonly string[];
}

interface TokenClaims {
  readonly principal: string;
  readonly clientId: string;
  readonly scope: string;
  readonly expiresMs: number;
}

const ROLE_SCOPE = 'PRINCIPAL_ROLE:';
const ALL_ROLES = 'PRINCIPAL_ROLE:ALL';

export function createTokenIssuer(
  options: { readonly nowMs: () => number; readonly tokenLifetimeS: number },
): TokenIssuer {
  const key = randomBytes(32);
  const sign = (payload: string): string => createHmac('sha256', key).update(payload).digest('base64url');

  const issue: TokenIssuer['issue'] = (request, model) => {
    const form = new URLSearchParams(request.bodyText);
    if (form.get('grant_type') !== 'client_credentials') {
      return oauthError(400, 'unsupported_grant_type', 'The grant type is invalid');
    }
    const { clientId, clientSecret } = clientOf(request, form);
    const scope = form.get('scope') ?? '';
    const scopes = scope.split(' ').filter((part) => part !== '');
    const namesRole = (part: string): boolean => part.startsWith(ROLE_SCOPE) && part.length > ROLE_SCOPE.length;
    if (scopes.length === 0 || !scopes.every(namesRole)) {
      return oauthError(400, 'invalid_scope', 'The scope is invalid');
    }
    const principal = model.principals.find((candidate) => candidate.clientId === clientId);
    if (principal === undefined || !secretMatches(principal, clientSecret)) {
      return oauthError(401, 'unauthorized_client', 'The client is not authorized');
    }
    const claims: TokenClaims = {
      principal: principal.name, clientId, scope, expiresMs: options.nowMs() + options.tokenLifetimeS * 1000,
    };
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return jsonAnswer(200, {
      access_token: `${payload}.${sign(payload)}`,
      token_type: 'bearer',
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      expires_in: options.tokenLifetimeS,
    }, { 'cache-control': 'no-store' });
  };

  const authenticate: TokenIssuer['authenticate'] = (request, model) => {
    const [scheme, token = ''] = (request.headers['authorization'] ?? '').split(' ');
    const [payload = '', signature = ''] = token.split('.');
    if (scheme?.toLowerCase() !== 'bearer' || !sameText(sign(payload), signature)) return null;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as TokenClaims;
    if (claims.expiresMs <= options.nowMs()) return null;
    const principal = model.principals.find((candidate) => candidate.name === claims.principal);
    if (principal === undefined || principal.clientId !== claims.clientId) return null;
    const roles = activatedRoles(principal, claims.scope);
    return roles === null ? null : { principal, roles };
  };
  return { issue, authenticate };
}

/** null when the scope names a role that the principal doesn't have: Polaris answers that with 401, not 403. */
function activatedRoles(principal: Principal, scope: string): readonly string[] | null {
  const asked = scope.split(' ').filter((part) => part !== '');
  if (asked.includes(ALL_ROLES)) return principal.roles;
  const roles = asked.map((part) => part.slice(ROLE_SCOPE.length));
  return roles.every((role) => principal.roles.includes(role)) ? roles : null;
}

/** Client id and secret from the form, or from HTTP Basic, as RFC 6749 section 2.3.1 allows both. */
function clientOf(request: CatalogRequest, form: URLSearchParams): { clientId: string; clientSecret: string } {
  const [scheme, encoded = ''] = (request.headers['authorization'] ?? '').split(' ');
  if (!form.has('client_id') && scheme?.toLowerCase() === 'basic') {
    const text = Buffer.from(encoded, 'base64').toString('utf8');
    const at = text.indexOf(':');
    return { clientId: text.slice(0, at), clientSecret: text.slice(at + 1) };
  }
  return { clientId: form.get('client_id') ?? '', clientSecret: form.get('client_secret') ?? '' };
}

function sameText(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}

function oauthError(status: number, error: string, description: string): Answer {
  return jsonAnswer(status, { error, error_description: description, error_uri: null });
}
