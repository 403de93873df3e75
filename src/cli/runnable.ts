/**
 * What can be defined but not yet be run. Asked before anything is started, so that no sink of a file runs while
 * another one of it never will. Pure.
 */
import type { CatalogConnection, Definitions } from '../definition/definitions.ts';
import { SinkError } from '../errors.ts';

/** Why this connection can't be used by `run`; null when it can. */
export function connectionRefusal(connection: CatalogConnection): SinkError | null {
  const refuse = (what: string): SinkError => new SinkError(
    'definition-invalid',
    `catalog connection "${connection.name}": ${what} is checked but can't be run yet; CATALOG TYPE = 'rest' with a CREDENTIAL `
    + 'on S3 or an S3-compatible storage can',
  );
  if (connection.catalogType !== 'rest') return refuse(`CATALOG TYPE = '${connection.catalogType}'`);
  if (connection.gcpConnection !== null) return refuse('GCP CONNECTION');
  if (connection.storageProvider !== 's3') return refuse(`STORAGE PROVIDER = '${connection.storageProvider}'`);
  return null;
}

/** Everything that keeps `run` from starting; empty when it may. */
export function refusals(definitions: Definitions): readonly SinkError[] {
  if (definitions.sinks.length === 0) {
    return [new SinkError('definition-invalid', 'the file defines no sink, so there is nothing to run')];
  }
  const used = new Set(definitions.sinks.map((sink) => sink.catalog));
  return [...used].flatMap((connection) => {
    const refusal = connectionRefusal(connection);
    return refusal === null ? [] : [refusal];
  });
}
