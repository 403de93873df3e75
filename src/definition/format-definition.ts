/**
 * Definitions as SQL again, for the config echo. Secrets stand as references: by the name that CREATE SECRET gave
 * them, or, when the value was given in place, by a name made from the connection. Parsing the text again, with
 * those secrets defined, gives the same definition; so every option that differs from its default is written.
 */
import type { AwsConnection, CatalogConnection, GcpConnection, QualifiedName, SinkDefinition } from './definitions.ts';
import { nameParts, quoteName } from './object-name.ts';
import { DEFAULT_HEARTBEAT_INTERVAL_MS, DEFAULT_TARGET_FILE_SIZE_BYTES } from './option-tables.ts';
import { formatByteSize, formatIntervalMs } from './quantity.ts';
import type { Secret } from './secret.ts';

export type Definition = AwsConnection | GcpConnection | CatalogConnection | SinkDefinition;

/** One statement, with its `;`. */
export function formatDefinition(definition: Definition): string {
  if (!('kind' in definition)) return formatSink(definition);
  switch (definition.kind) {
    case 'aws':
      return formatAws(definition);
    case 'gcp':
      return formatGcp(definition);
    case 'iceberg-catalog':
      return formatCatalog(definition);
  }
}

type OptionText = readonly [name: string, value: string | null];

function formatCatalog(connection: CatalogConnection): string {
  const { credential, awsConnection, gcpConnection } = connection;
  const isWithoutLogin = connection.catalogType === 'rest' && credential === null && gcpConnection === null;
  const storageProvider = connection.storageProvider === 's3' ? null : quoteText(connection.storageProvider);
  const options: OptionText[] = [
    ['CATALOG TYPE', quoteText(connection.catalogType)],
    ['URL', quoteText(connection.url)],
    ['WAREHOUSE', quoteOptional(connection.warehouse)],
    ['CREDENTIAL', isWithoutLogin ? 'NONE' : secretOf(credential?.clientSecret ?? null, connection.name, 'credential')],
    ['SCOPE', quoteOptional(connection.scope)],
    ['OAUTH2 SERVER URL', quoteOptional(connection.oauth2ServerUrl)],
    ['ACCESS DELEGATION', quoteOptional(connection.accessDelegation)],
    ['STORAGE PROVIDER', storageProvider],
    ['AWS CONNECTION', awsConnection === null ? null : quoteDotted(awsConnection.name)],
    ['GCP CONNECTION', gcpConnection === null ? null : quoteDotted(gcpConnection.name)],
  ];
  const suffix = connection.validate === false ? ' WITH (VALIDATE = false)' : '';
  return `CREATE CONNECTION ${quoteDotted(connection.name)} TO ICEBERG CATALOG (${formatOptions(options)})${suffix};`;
}

function formatAws(connection: AwsConnection): string {
  const { name } = connection;
  const options: OptionText[] = [
    ['REGION', quoteOptional(connection.region)],
    ['ENDPOINT', quoteOptional(connection.endpoint)],
    ['ACCESS KEY ID', secretOf(connection.accessKeyId, name, 'access_key_id')],
    ['SECRET ACCESS KEY', secretOf(connection.secretAccessKey, name, 'secret_access_key')],
    ['SESSION TOKEN', secretOf(connection.sessionToken, name, 'session_token')],
    ['ASSUME ROLE ARN', quoteOptional(connection.assumeRoleArn)],
    ['ASSUME ROLE SESSION NAME', quoteOptional(connection.assumeRoleSessionName ?? null)],
  ];
  return `CREATE CONNECTION ${quoteDotted(name)} TO AWS (${formatOptions(options)});`;
}

function formatGcp({ name, serviceAccountKey }: GcpConnection): string {
  const options: OptionText[] = [['SERVICE ACCOUNT KEY', secretOf(serviceAccountKey, name, 'service_account_key')]];
  return `CREATE CONNECTION ${quoteDotted(name)} TO GCP (${formatOptions(options)});`;
}

function formatSink(sink: SinkDefinition): string {
  const cluster = sink.cluster === null ? '' : ` IN CLUSTER ${quoteName(sink.cluster)}`;
  const table: OptionText[] = [
    ['NAMESPACE', quoteText(sink.namespace)],
    ['TABLE', quoteText(sink.table)],
  ];
  const enforced = sink.keyEnforced ? '' : ' NOT ENFORCED';
  const key = sink.keyColumns.length === 0 ? '' : ` KEY (${sink.keyColumns.map(quoteName).join(', ')})${enforced}`;
  const lines = [
    `CREATE SINK ${quoteDotted(sink.name)}${cluster} FROM ${formatQualified(sink.from)}`,
    `INTO ICEBERG CATALOG CONNECTION ${quoteDotted(sink.catalog.name)} (${formatOptions(table)})`,
    `${key} MODE ${sink.mode.toUpperCase()}`.trim(),
    `WITH (${formatOptions(sinkOptions(sink))});`,
  ];
  return lines.join(' ');
}

function sinkOptions(sink: SinkDefinition): readonly OptionText[] {
  const hasDefaultHeartbeat = sink.heartbeatIntervalMs === DEFAULT_HEARTBEAT_INTERVAL_MS;
  const hasDefaultSize = sink.targetFileSizeBytes === DEFAULT_TARGET_FILE_SIZE_BYTES;
  return [
    ['COMMIT INTERVAL', quoteText(formatIntervalMs(sink.commitIntervalMs))],
    ['SNAPSHOT', sink.snapshot ? null : 'false'],
    ['VERSION', sink.version === 0n ? null : String(sink.version)],
    ['SINK ID', sink.sinkId === sink.name ? null : quoteText(sink.sinkId)],
    ['UUID AS', sink.uuidMapping === 'fixed' ? null : quoteText(sink.uuidMapping)],
    ['ON ROW ERROR', sink.rowErrorPolicy === 'halt' ? null : quoteText(sink.rowErrorPolicy)],
    ['HEARTBEAT INTERVAL', hasDefaultHeartbeat ? null : quoteText(formatIntervalMs(sink.heartbeatIntervalMs))],
    ['TARGET FILE SIZE', hasDefaultSize ? null : quoteText(formatByteSize(sink.targetFileSizeBytes))],
    ['SNAPSHOT SLICES', sink.snapshotSlices === 1 ? null : String(sink.snapshotSlices)],
    ['TAKE OVER', sink.takeOver ? 'true' : null],
  ];
}

function formatOptions(options: readonly OptionText[]): string {
  return options.flatMap(([name, value]) => (value === null ? [] : [`${name} = ${value}`])).join(', ');
}

function formatQualified({ database, schema, name }: QualifiedName): string {
  return [database, schema, name].flatMap((part) => (part === null ? [] : [quoteName(part)])).join('.');
}

/** The name under which a secret is echoed; null without a secret. */
function secretOf(secret: Secret | null, connection: string, suffix: string): string | null {
  if (secret === null) return null;
  return `SECRET ${secret.reference === null ? quoteName(`${connection}_${suffix}`) : quoteDotted(secret.reference)}`;
}

function quoteOptional(text: string | null): string | null {
  return text === null ? null : quoteText(text);
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A name of several parts, each in quotes. */
function quoteDotted(display: string): string {
  return nameParts(display).map(quoteName).join('.');
}
