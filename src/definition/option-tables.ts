/**
 * Every option that a definition may carry, its default and what it is for: the one table that the parser, the
 * checks, the config echo and the documentation share.
 */
import type { ConnectionTarget } from './statements.ts';

export interface OptionEntry {
  readonly name: string;
  /** As SQL; null where the option must be given or where leaving it out means something of its own. */
  readonly default: string | null;
  readonly about: string;
}

export const CATALOG_OPTIONS = [
  { name: 'CATALOG TYPE', default: null, about: "'rest' or 's3tablesrest'; required." },
  { name: 'URL', default: null, about: 'Base URL of the catalog, in front of /v1; required.' },
  { name: 'WAREHOUSE', default: null, about: 'Sent with /v1/config; for s3tablesrest the ARN of the table bucket.' },
  { name: 'CREDENTIAL', default: null, about: "SECRET name or 'id:secret'; NONE for a catalog without login." },
  { name: 'SCOPE', default: null, about: 'OAuth2 scope; without it `catalog` is asked for.' },
  { name: 'OAUTH2 SERVER URL', default: null, about: 'Token endpoint; without it <URL>/v1/oauth/tokens.' },
  { name: 'ACCESS DELEGATION', default: null, about: "'vended-credentials': write with what the catalog vends." },
  { name: 'STORAGE PROVIDER', default: "'s3'", about: "'s3', 'gcs' or 'adls'." },
  { name: 'AWS CONNECTION', default: null, about: 's3tablesrest only: signs the requests.' },
  { name: 'GCP CONNECTION', default: null, about: 'BigLake only: instead of CREDENTIAL.' },
] as const satisfies readonly OptionEntry[];

export const AWS_OPTIONS = [
  { name: 'REGION', default: null, about: 'Region of the service; us-east-1 where none is given.' },
  { name: 'ENDPOINT', default: null, about: 'Another endpoint than that of AWS.' },
  { name: 'ACCESS KEY ID', default: null, about: 'SECRET name or text; together with SECRET ACCESS KEY.' },
  { name: 'SECRET ACCESS KEY', default: null, about: 'SECRET name; together with ACCESS KEY ID.' },
  { name: 'SESSION TOKEN', default: null, about: 'SECRET name or text; for temporary keys.' },
  { name: 'ASSUME ROLE ARN', default: null, about: 'The role to assume.' },
  { name: 'ASSUME ROLE SESSION NAME', default: null, about: 'Name of the session of the assumed role.' },
] as const satisfies readonly OptionEntry[];

export const GCP_OPTIONS = [
  { name: 'SERVICE ACCOUNT KEY', default: null, about: 'SECRET name: JSON key of a service account; required.' },
] as const satisfies readonly OptionEntry[];

/** WITH (…) of CREATE CONNECTION. */
export const CONNECTION_WITH_OPTIONS = [
  { name: 'VALIDATE', default: 'true', about: 'Contact the catalog when the definitions are checked.' },
] as const satisfies readonly OptionEntry[];

/** (…) behind the connection of CREATE SINK. */
export const TABLE_OPTIONS = [
  { name: 'NAMESPACE', default: null, about: 'The namespace, one level; must exist. Required.' },
  { name: 'TABLE', default: null, about: 'The table; created when it is missing. Required.' },
] as const satisfies readonly OptionEntry[];

/** WITH (…) of CREATE SINK. The ones behind VERSION are this sink's own. */
export const SINK_OPTIONS = [
  { name: 'COMMIT INTERVAL', default: null, about: 'Materialize time that a snapshot covers, from 1s; required.' },
  { name: 'SNAPSHOT', default: 'true', about: 'false: skip the rows that exist when the sink first starts.' },
  { name: 'VERSION', default: '0', about: 'mz-sink-version; a higher one fences off a lower one.' },
  { name: 'SINK ID', default: null, about: "mz-sink-id in the table; without it the sink's name." },
  { name: 'UUID AS', default: "'fixed'", about: "Type of uuid columns in a new table: 'fixed', 'string' or 'uuid'." },
  { name: 'ON ROW ERROR', default: "'halt'", about: "What the table can't hold: 'halt', or 'null' to write NULL." },
  { name: 'HEARTBEAT INTERVAL', default: "'5m'", about: 'An idle sink commits an empty snapshot at most this often.' },
  { name: 'TARGET FILE SIZE', default: "'128MB'", about: 'Size of a data file, in powers of 1024.' },
  { name: 'SNAPSHOT SLICES', default: '1', about: 'SUBSCRIBEs that read the snapshot side by side at first, 1 to 64.' },
  { name: 'TAKE OVER', default: 'false', about: 'Take over a table that another sink id wrote.' },
] as const satisfies readonly OptionEntry[];

export const DEFAULT_HEARTBEAT_INTERVAL_MS = 5 * 60_000;
export const DEFAULT_TARGET_FILE_SIZE_BYTES = 128 * 1024 * 1024;

export function optionNames(entries: readonly OptionEntry[]): readonly string[] {
  return entries.map((entry) => entry.name);
}

export const CONNECTION_OPTION_NAMES: Readonly<Record<ConnectionTarget, readonly string[]>> = {
  'iceberg-catalog': optionNames(CATALOG_OPTIONS),
  aws: optionNames(AWS_OPTIONS),
  gcp: optionNames(GCP_OPTIONS),
};

/** How error texts call the connection types. */
export const CONNECTION_TYPE_LABEL: Readonly<Record<ConnectionTarget, string>> = {
  'iceberg-catalog': 'ICEBERG',
  aws: 'AWS',
  gcp: 'GCP',
};
