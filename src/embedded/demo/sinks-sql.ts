/** The definitions that the demo runs: the guide's statements, filled in. They stay on disk for the reader. */
import { CATALOG_NAME, NAMESPACE } from './set-up-catalog.ts';

/** What the demo writes, and how it is judged afterwards. */
export interface DemoSink {
  readonly name: string;
  readonly relation: 'auctions' | 'accounts';
  readonly table: string;
  readonly mode: 'upsert' | 'append';
}

/** Both relations are tables with updates; auctions also disappear when they close. */
export const DEMO_SINKS: readonly DemoSink[] = [
  { name: 'auctions_sink', relation: 'auctions', table: 'auctions', mode: 'upsert' },
  { name: 'account_changes_sink', relation: 'accounts', table: 'account_changes', mode: 'append' },
];

export interface SinksSqlValues {
  readonly catalogUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export function sinksSql({ catalogUrl, clientId, clientSecret }: SinksSqlValues): string {
  return `-- The credential is that of the principal which the demo made through the catalog's management API.
CREATE SECRET polaris_credential AS '${clientId}:${clientSecret}';

CREATE CONNECTION iceberg_catalog_connection TO ICEBERG CATALOG (
    CATALOG TYPE = 'rest',
    URL = '${catalogUrl}',
    WAREHOUSE = '${CATALOG_NAME}',
    CREDENTIAL = SECRET polaris_credential,
    SCOPE = 'PRINCIPAL_ROLE:ALL',
    ACCESS DELEGATION = 'vended-credentials'
);

${DEMO_SINKS.map(createSink).join('\n')}`;
}

function createSink({ name, relation, table, mode }: DemoSink): string {
  const how = mode === 'upsert' ? 'KEY (id)\n  MODE UPSERT' : 'MODE APPEND';
  return `CREATE SINK ${name}
  IN CLUSTER quickstart
  FROM ${relation}
  INTO ICEBERG CATALOG CONNECTION iceberg_catalog_connection (
    NAMESPACE = '${NAMESPACE}',
    TABLE = '${table}'
  )
  ${how}
  WITH (COMMIT INTERVAL = '2s');
`;
}
