/** AWS Signature Version 4 for one kind of request: a form posted to `/` of an STS endpoint. */
import { createHash, createHmac } from 'node:crypto';
import type { StorageKeys } from './metadata-storage.ts';

export interface SignedForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Headers (all that are signed, `host` left to the HTTP client) and the body to send. */
export function signForm(
  form: Readonly<Record<string, string>>, endpoint: URL, region: string, keys: StorageKeys, nowMs: number,
): SignedForm {
  const body = new URLSearchParams(form).toString();
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const contentType = 'application/x-www-form-urlencoded';
  const signedHeaders = 'content-type;host;x-amz-date';
  const path = endpoint.pathname === '' ? '/' : endpoint.pathname;
  const canonicalHeaders = [`content-type:${contentType}`, `host:${endpoint.host}`, `x-amz-date:${time}`, ''];
  const canonical = ['POST', path, '', ...canonicalHeaders, signedHeaders, sha256(body)].join('\n');
  const scope = `${day}/${region}/sts/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, 'sts', 'aws4_request'].reduce<string | Buffer>(
    (previous, step) => createHmac('sha256', previous).update(step).digest(), `AWS4${keys.secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(toSign).digest('hex');
  return {
    headers: {
      'content-type': contentType,
      'x-amz-date': time,
      authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, `
        + `SignedHeaders=${signedHeaders}, Signature=${signature}`,
    },
    body,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
