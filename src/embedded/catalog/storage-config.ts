/**
 * `storageConfigInfo` of a catalog: JSON in, checked `StorageConfig` out and back, and whether a location lies
 * inside of what the catalog may touch.
 */
import type { JsonObject } from '../../iceberg/json.ts';
import type { StorageConfig } from './access-state.ts';
import { badRequest } from './answer.ts';
import { optionalString, optionalStrings } from './request.ts';

export function parseStorageConfig(json: JsonObject, defaultBaseLocation: string): StorageConfig {
  const storageType = json['storageType'];
  if (storageType !== 'S3' && storageType !== 'FILE') {
    throw badRequest('Unsupported storage type: the embedded catalog serves S3 and FILE');
  }
  const scheme = storageType === 'S3' ? 's3://' : 'file:///';
  // Polaris adds the base location to the allowed ones when it is missing from them.
  const allowed = new Set([defaultBaseLocation, ...optionalStrings(json, 'allowedLocations')]);
  for (const location of allowed) {
    if (!location.startsWith(scheme)) {
      throw badRequest(`Location prefix not allowed: '${location}', expected prefixes: [${scheme}]`);
    }
  }
  return {
    storageType,
    allowedLocations: [...allowed],
    endpoint: optionalString(json, 'endpoint'),
    endpointInternal: optionalString(json, 'endpointInternal'),
    stsEndpoint: optionalString(json, 'stsEndpoint'),
    stsUnavailable: json['stsUnavailable'] === true,
    pathStyleAccess: json['pathStyleAccess'] === true,
    region: optionalString(json, 'region'),
    roleArn: optionalString(json, 'roleArn'),
    externalId: optionalString(json, 'externalId'),
  };
}

export function storageConfigJson(config: StorageConfig): JsonObject {
  const json: Record<string, string | boolean | string[]> = {
    storageType: config.storageType, allowedLocations: [...config.allowedLocations],
  };
  if (config.storageType === 'FILE') return json;
  for (const key of ['endpoint', 'endpointInternal', 'stsEndpoint', 'region', 'roleArn', 'externalId'] as const) {
    const value = config[key];
    if (value !== null) json[key] = value;
  }
  return { ...json, pathStyleAccess: config.pathStyleAccess, stsUnavailable: config.stsUnavailable };
}

/**
 * True when `location` is `root` or below it. Compared by whole path segments, and a location that climbs is
 * never inside: `file:///lake/../etc` must not pass for being below `file:///lake`.
 */
export function isInside(location: string, root: string): boolean {
  if (location.split('/').some((segment) => segment === '..' || segment === '.')) return false;
  const base = withoutTrailingSlashes(root);
  const path = withoutTrailingSlashes(location);
  return path === base || path.startsWith(`${base}/`);
}

export function withoutTrailingSlashes(location: string): string {
  let end = location.length;
  while (end > 0 && location[end - 1] === '/') end -= 1;
  return location.slice(0, end);
}
