/**
 * The JSON key file of a GCP service account, as far as its text tells. The key itself says where tokens are
 * fetched; any other place than Google's would get the signed assertion, so only that one passes.
 */
import type { Secret } from './secret.ts';

export type ServiceAccountKey =
  | { readonly kind: 'valid' }
  /** `message` names fields, never values. */
  | { readonly kind: 'invalid'; readonly message: string };

const TOKEN_URI = 'https://oauth2.googleapis.com/token';
const HINT = 'the secret must hold the JSON key file that `gcloud iam service-accounts keys create` writes';

export function parseServiceAccountKey(secret: Secret): ServiceAccountKey {
  const key = parseObject(secret.reveal());
  if (key === null) return invalid('not a JSON object');
  for (const field of ['client_email', 'private_key', 'token_uri']) {
    const value = key[field];
    if (typeof value !== 'string' || value === '') return invalid(`${field} is missing`);
  }
  if (key['token_uri'] !== TOKEN_URI) return invalid(`token_uri must be ${TOKEN_URI}`);
  return { kind: 'valid' };
}

function invalid(reason: string): ServiceAccountKey {
  return { kind: 'invalid', message: `failed to parse service-account key: ${reason}; ${HINT}` };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // The parser's message quotes the text, which is the secret.
    return null;
  }
}
