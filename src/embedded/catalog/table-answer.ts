/** The answer of load, create and register: metadata, its location and, where asked for, access to the files. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../iceberg/json.ts';
import type { Answer } from './answer.ts';
import { jsonAnswer } from './answer.ts';
import type { IcebergContext, TableIdentifier } from './iceberg-context.ts';
import { extraLocations } from './metadata-file.ts';
import { stringField } from './request.ts';
import type { SessionKeys } from './session-keys.ts';
import { plainConfig, vendedFields } from './vending.ts';

/** Changes with every commit and with nothing else: the metadata location names one immutable file. */
export function tableEtag(metadataLocation: string): string {
  return `W/"${createHash('sha256').update(metadataLocation).digest('hex')}"`;
}

/** `metadataLocation` null: a staged table. `keys` null: none asked for, or nothing to vend. */
export function tableAnswer(
  context: IcebergContext,
  table: TableIdentifier,
  metadata: JsonObject,
  metadataLocation: string | null,
  keys: SessionKeys | null,
): Answer {
  return jsonAnswer(200, {
    ...(metadataLocation === null ? {} : { 'metadata-location': metadataLocation }),
    metadata,
    ...accessFields(context, table, metadata, keys),
  }, metadataLocation === null ? {} : { etag: tableEtag(metadataLocation) });
}

function accessFields(
  context: IcebergContext, table: TableIdentifier, metadata: JsonObject, keys: SessionKeys | null,
): JsonObject {
  if (keys !== null) {
    const location = stringField(metadata, 'location');
    const extra = extraLocations(metadata);
    return vendedFields({ ...table, catalog: context.catalog, location, extraLocations: extra }, keys);
  }
  const config = plainConfig(context.catalog);
  return Object.keys(config).length === 0 ? {} : { config };
}
