/**
 * What the catalog says of a table, read from the JSON of load, create and credentials answers: pure.
 */
import { SinkError } from '../errors.ts';
import { parseJson } from '../iceberg/json.ts';
import { parseTableMetadata } from '../iceberg/metadata-json.ts';
import type { LoadedTable } from '../sink/ports.ts';
import { stringProperties } from './catalog-config.ts';
import { isRecord } from './catalog-errors.ts';
import type { StorageCredential, TableStorageProperties } from './storage-properties.ts';

export interface TableResponse {
  readonly table: LoadedTable;
  readonly storage: TableStorageProperties;
}

/** Rejects with catalog-protocol when the body is not a LoadTableResult; unsupported tables keep their own code. */
export function parseTableResponse(body: string, action: string): TableResponse {
  const answer = readObject(body, action);
  const location = answer['metadata-location'];
  try {
    const metadata = parseTableMetadata(answer['metadata'] as Parameters<typeof parseTableMetadata>[0]);
    return {
      table: { metadata, metadataLocation: typeof location === 'string' ? location : null },
      storage: {
        config: stringProperties(answer['config']),
        credentials: parseCredentials(answer['storage-credentials']),
      },
    };
  } catch (thrown) {
    if (thrown instanceof SinkError) throw thrown;
    throw protocolError(action, thrown);
  }
}

/** The list of a `/credentials` answer. */
export function parseCredentialsResponse(body: string, action: string): readonly StorageCredential[] {
  return parseCredentials(readObject(body, action)['storage-credentials']);
}

function parseCredentials(value: unknown): readonly StorageCredential[] {
  if (!Array.isArray(value)) return [];
  const credentials: StorageCredential[] = [];
  for (const entry of value as readonly unknown[]) {
    if (isRecord(entry) && typeof entry['prefix'] === 'string') {
      credentials.push({ prefix: entry['prefix'], config: stringProperties(entry['config']) });
    }
  }
  return credentials;
}

function readObject(body: string, action: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(body);
  } catch (thrown) {
    throw protocolError(action, thrown);
  }
  if (!isRecord(value)) throw protocolError(action, 'the answer is not a JSON object');
  return value;
}

function protocolError(action: string, thrown: unknown): SinkError {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new SinkError('catalog-protocol', `${action}: ${why}`, { cause: why });
}
