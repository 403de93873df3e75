/** Checked definitions: what `definition/` makes of SQL text, and all that the rest of the sink knows of it. */
import type { RowErrorPolicy, SinkMode } from '../write/plan.ts';
import type { Secret } from './secret.ts';

/** Where a statement or word stands in the SQL text; line and column count from 1, column in characters. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A name of one to three parts, as written: `[database.][schema.]name`. */
export interface QualifiedName {
  readonly database: string | null;
  readonly schema: string | null;
  readonly name: string;
}

export type StorageProvider = 's3' | 'gcs' | 'adls';

export interface AwsConnection {
  readonly kind: 'aws';
  readonly name: string;
  readonly region: string | null;
  readonly endpoint: string | null;
  readonly accessKeyId: Secret | null;
  readonly secretAccessKey: Secret | null;
  readonly sessionToken: Secret | null;
  readonly assumeRoleArn: string | null;
  /** Absent or null: a name chosen by whoever assumes the role. */
  readonly assumeRoleSessionName?: string | null;
}

export interface GcpConnection {
  readonly kind: 'gcp';
  readonly name: string;
  readonly serviceAccountKey: Secret;
}

export interface CatalogConnection {
  readonly kind: 'iceberg-catalog';
  readonly name: string;
  readonly catalogType: 'rest' | 's3tablesrest';
  /** Absolute URL, without trailing slashes. */
  readonly url: string;
  readonly warehouse: string | null;
  /** `id:secret` split at the first colon; without a colon clientId is null. null: no OAuth2. */
  readonly credential: { readonly clientId: string | null; readonly clientSecret: Secret } | null;
  readonly scope: string | null;
  readonly oauth2ServerUrl: string | null;
  readonly accessDelegation: 'vended-credentials' | null;
  readonly storageProvider: StorageProvider;
  readonly awsConnection: AwsConnection | null;
  readonly gcpConnection: GcpConnection | null;
  /** false: WITH (VALIDATE = false), don't contact the catalog before the sink starts. Absent: true. */
  readonly validate?: boolean;
}

/** How uuid columns of a table that the sink creates are typed. */
export type UuidMapping = 'fixed' | 'string' | 'uuid';

export interface SinkDefinition {
  readonly name: string;
  /** `mz-sink-id`: SINK ID, else the sink's name. */
  readonly sinkId: string;
  /** `mz-sink-version`: VERSION, else 0. A higher one fences off a lower one. */
  readonly version: bigint;
  readonly cluster: string | null;
  readonly from: QualifiedName;
  readonly catalog: CatalogConnection;
  readonly namespace: string;
  readonly table: string;
  readonly mode: SinkMode;
  /** Key column names in the order given; empty in append mode. */
  readonly keyColumns: readonly string[];
  readonly keyEnforced: boolean;
  readonly commitIntervalMs: number;
  readonly heartbeatIntervalMs: number;
  /** false: skip the rows that exist when the sink first starts. */
  readonly snapshot: boolean;
  /** How many SUBSCRIBEs read the snapshot side by side at first, 1 to 64. */
  readonly snapshotSlices: number;
  readonly uuidMapping: UuidMapping;
  readonly rowErrorPolicy: RowErrorPolicy;
  readonly targetFileSizeBytes: number;
  /** Take a table over that another sink id wrote. */
  readonly takeOver: boolean;
  readonly position: Position;
}

export interface Definitions {
  readonly sinks: readonly SinkDefinition[];
  /** Every catalog connection of the file, also those that no sink uses (validate checks them too). */
  readonly catalogs: readonly CatalogConnection[];
}

/** One thing wrong with the SQL text. */
export interface Problem {
  readonly message: string;
  readonly position: Position;
  /** The offending text, at most one line; secrets are never in it. */
  readonly text: string;
  /** The line around it; absent or null where the quoting of the file is in doubt. */
  readonly excerpt?: Excerpt | null;
}

/** A line of the SQL text without comments and secrets. `caret` counts characters of `line` from 0. */
export interface Excerpt {
  readonly line: string;
  readonly caret: number;
}
