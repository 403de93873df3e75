/**
 * Locations as Iceberg writes them: taken apart, put together, and compared by whole segments.
 *
 * Text is taken as it stands: nothing is percent-decoded or normalised, because every reader of the table will
 * look for exactly the name that the manifest holds. A location that climbs (`..`) is therefore never inside
 * anything, rather than resolved.
 */
import { SinkError } from '../errors.ts';

/** Paths end at 4,096 bytes, S3 keys at 1,024. */
const MAX_LOCATION_LENGTH = 8192;

export type Location =
  | { readonly kind: 's3'; readonly bucket: string; readonly key: string }
  | { readonly kind: 'file'; readonly path: string };

/** Rejects with table-location-unsupported for every scheme that can't be written. */
export function parseLocation(location: string): Location {
  if (location.length > MAX_LOCATION_LENGTH) throw unsupported(location, 'it is too long');
  if (/\p{Cc}/u.test(location)) throw unsupported(location, 'it holds control characters');
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(location);
  if (match === null) {
    if (location.startsWith('/')) return { kind: 'file', path: location };
    throw unsupported(location, 'it is neither a URL nor an absolute path');
  }
  const scheme = (match[1] ?? '').toLowerCase();
  const rest = match[2] ?? '';
  switch (scheme) {
    case 's3': case 's3a': case 's3n': return parseS3(location, rest);
    case 'file': return parseFile(location, rest);
    case 'gs': case 'abfss': case 'abfs': case 'wasb': case 'wasbs':
      throw unsupported(location, `${scheme}:// storage is not yet built`);
    default: throw unsupported(location, `${scheme}:// is not a storage that the sink writes`);
  }
}

function parseS3(location: string, rest: string): Location {
  const match = /^\/\/([^/]+)(?:\/(.*))?$/s.exec(rest);
  if (match === null) throw unsupported(location, 'it has no bucket');
  return { kind: 's3', bucket: match[1] ?? '', key: match[2] ?? '' };
}

/** `file:/a`, `file:///a` and `file://localhost/a` are one path; another host is not ours to write to. */
function parseFile(location: string, rest: string): Location {
  const path = rest.replace(/^\/\/(localhost)?(?=\/)/, '');
  if (!path.startsWith('/') || path.startsWith('//')) throw unsupported(location, 'it names no local absolute path');
  return { kind: 'file', path };
}

function unsupported(location: string, why: string): SinkError {
  return new SinkError('table-location-unsupported', `location '${shown(location)}' can't be used: ${why}`);
}

/** For messages: a location comes from the catalog and may be of any length. */
export function shown(location: string): string {
  const oneLine = location.slice(0, 500).replaceAll(/\p{Cc}/gu, '\ufffd');
  return location.length > 500 ? `${oneLine}…` : oneLine;
}

export function withoutTrailingSlashes(location: string): string {
  let end = location.length;
  while (end > 0 && location[end - 1] === '/') end -= 1;
  return location.slice(0, end);
}

/** One spelling per place, for comparing only: `s3a` and `s3n` are `s3`, a local path is `file:` and its path. */
export function comparable(location: string): string {
  const parsed = parseLocation(location);
  return parsed.kind === 's3' ? `s3://${parsed.bucket}/${parsed.key}` : `file:${parsed.path}`;
}

/** True when `location` lies at or below `root`, whole segments compared. A climbing location never does. */
export function isInside(location: string, root: string): boolean {
  if (location.split('/').some((segment) => segment === '..' || segment === '.')) return false;
  const base = withoutTrailingSlashes(comparable(root));
  const candidate = comparable(location);
  return candidate === base || candidate.startsWith(`${base}/`);
}
