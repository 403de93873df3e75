/**
 * CREATE SINK, checked as far as its text tells. In: the statement and what is defined above it. Out: the sink,
 * or null after everything wrong with it was reported. What depends on the relation (its kind, its columns,
 * whether KEY is unique) is checked when Materialize has told.
 */
import type { CatalogConnection, Position, QualifiedName, SinkDefinition, UuidMapping } from './definitions.ts';
import { displayName } from './object-name.ts';
import { DEFAULT_HEARTBEAT_INTERVAL_MS, DEFAULT_TARGET_FILE_SIZE_BYTES } from './option-tables.ts';
import { parseByteSize, parseIntervalMs } from './quantity.ts';
import {
  type OptionMap,
  type TextValue,
  type TrackedReport,
  booleanOption,
  choiceOption,
  mapOptions,
  textOption,
  trackReport,
  unsignedOption,
} from './read-values.ts';
import type { Report } from './report.ts';
import { type Scope, connectionNamed } from './scope.ts';
import type { ObjectName, SinkStatement } from './statements.ts';
import type { Range } from './tokens.ts';

const MIN_INTERVAL_MS = 1000;
/** A timer of Node holds 2^31 - 1 ms; a longer interval would fire at once. */
const MAX_INTERVAL_MS = 24 * 86_400_000;

const MIN_FILE_SIZE_BYTES = 1024 ** 2;
/** A file stands in memory while it is encoded. */
const MAX_FILE_SIZE_BYTES = 1024 ** 3;

const SYSTEM_SCHEMAS = new Set([
  'mz_catalog',
  'mz_internal',
  'mz_introspection',
  'mz_unsafe',
  'pg_catalog',
  'information_schema',
]);

const UUID_MAPPINGS: readonly UuidMapping[] = ['fixed', 'string', 'uuid'];

export function checkSink(
  statement: SinkStatement,
  scope: Scope,
  position: Position,
  outer: Report,
): SinkDefinition | null {
  const report = trackReport(outer);
  const table = mapOptions(statement.tableOptions, report, (names) => `Iceberg sinks do not support ${names} values`);
  const options = mapOptions(statement.withOptions, report, (names) =>
    `CREATE SINK … WITH does not support ${names}`);
  if (statement.name === null) report.problem(statement.range, 'CREATE SINK must specify a name');
  checkFrom(statement.from, report);
  const catalog = checkConnections(statement, scope, report);
  const tableName = requiredName(table, 'TABLE', statement.range, report);
  const namespace = requiredName(table, 'NAMESPACE', statement.range, report);
  const mode = checkMode(statement, report);
  if (!options.has('COMMIT INTERVAL')) report.problem(statement.range, 'Iceberg sink must specify COMMIT INTERVAL');
  const commitIntervalMs = intervalOption(options, 'COMMIT INTERVAL', MIN_INTERVAL_MS, report);
  const heartbeatIntervalMs = intervalOption(options, 'HEARTBEAT INTERVAL', DEFAULT_HEARTBEAT_INTERVAL_MS, report);
  const sinkId = nameValue(textOption(options, report, 'SINK ID'), 'SINK ID', report);
  const definition = {
    version: unsignedOption(options, report, 'VERSION', 0n),
    cluster: statement.cluster,
    from: qualifiedName(statement.from),
    keyColumns: statement.key?.columns.map((column) => column.name) ?? [],
    keyEnforced: statement.key?.isEnforced ?? true,
    commitIntervalMs,
    heartbeatIntervalMs,
    snapshot: booleanOption(options, report, 'SNAPSHOT', true),
    snapshotSlices: slicesOption(options, report),
    uuidMapping: choiceOption(options, report, 'UUID AS', UUID_MAPPINGS, (shown) =>
      `invalid UUID AS ${shown}, expected 'fixed', 'string' or 'uuid'`) ?? 'fixed',
    rowErrorPolicy: choiceOption(options, report, 'ON ROW ERROR', ['halt', 'null'], (shown) =>
      `invalid ON ROW ERROR ${shown}, expected 'halt' or 'null'`) ?? 'halt',
    targetFileSizeBytes: fileSizeOption(options, report),
    takeOver: booleanOption(options, report, 'TAKE OVER', false),
    position,
  };
  if (report.failed || catalog === null || mode === null || tableName === null || namespace === null) return null;
  if (statement.name === null) return null;
  const name = displayName(statement.name);
  return { ...definition, name, sinkId: sinkId ?? name, catalog, namespace, table: tableName, mode };
}

function qualifiedName(name: ObjectName): QualifiedName {
  const [last = '', schema = null, database = null] = name.parts.toReversed();
  return { database, schema, name: last };
}

function checkFrom(from: ObjectName, report: Report): void {
  const { schema } = qualifiedName(from);
  if (schema === null || !SYSTEM_SCHEMAS.has(schema)) return;
  const what = displayName(from);
  const message = `${what} is a system catalog object, which no sink can read; wrap it in a materialized view`;
  report.problem(from.range, message);
}

function checkConnections(statement: SinkStatement, scope: Scope, report: Report): CatalogConnection | null {
  if (statement.usingAws !== null) {
    connectionNamed(scope, statement.usingAws, 'aws', report, (shown) => `${shown} is not an AWS connection`);
    report.warning(statement.usingAws.range, 'USING AWS CONNECTION has no effect: the catalog supplies storage access');
  }
  return connectionNamed(scope, statement.connection, 'iceberg-catalog', report, (shown) =>
    `"${shown}" is not an iceberg catalog connection`);
}

function checkMode({ mode, key, envelope, range }: SinkStatement, report: Report): SinkDefinition['mode'] | null {
  if (envelope !== null) {
    report.problem(envelope, 'ENVELOPE is not supported for Iceberg sinks, use MODE instead');
  } else if (mode === null) {
    report.problem(range, 'MODE clause is required');
  }
  checkKeyColumns(key, report);
  if (mode === null) return null;
  if (mode.name !== 'upsert' && mode.name !== 'append') {
    report.problem(mode.range, `invalid MODE ${report.shown(mode.range)}, expected UPSERT or APPEND`);
    return null;
  }
  if (mode.name === 'upsert' && key === null) report.problem(mode.range, 'upsert sinks must specify a key');
  if (mode.name === 'append' && key !== null) {
    report.problem(key.range, 'KEY is not supported for MODE APPEND Iceberg sinks');
  }
  if (mode.name === 'upsert' && key?.isEnforced === false) {
    report.warning(key.range, 'NOT ENFORCED: nobody notices when rows share a key and the table differs');
  }
  return mode.name;
}

function checkKeyColumns(key: SinkStatement['key'], report: Report): void {
  const seen = new Set<string>();
  for (const column of key?.columns ?? []) {
    if (seen.has(column.name)) report.problem(column.range, `duplicate column referenced in KEY: ${column.name}`);
    seen.add(column.name);
  }
}

function requiredName(options: OptionMap, name: string, place: Range, report: Report): string | null {
  if (!options.has(name)) report.problem(place, `Iceberg sink must specify ${name}`);
  return nameValue(textOption(options, report, name), name, report);
}

/** Control characters separate the levels of a namespace on the wire; `*` stands for "all" in grants. */
function nameValue(value: TextValue | null, name: string, report: Report): string | null {
  if (value === null) return null;
  if (/[\p{Cc}*]/u.test(value.text)) {
    report.problem(value.range, `${name} must not contain "*" or control characters`);
    return null;
  }
  if (/^<.*>$/.test(value.text)) report.problem(value.range, `${name} is a <placeholder> still to be filled in`);
  return value.text;
}

function intervalOption(options: OptionMap, name: string, fallbackMs: number, report: TrackedReport): number {
  const value = textOption(options, report, name);
  if (value === null) return fallbackMs;
  const ms = parseIntervalMs(value.text);
  if (ms === null) {
    report.problem(value.range, `${name} must be an interval such as '30s', '1m' or '00:01:30'`);
  } else if (ms < MIN_INTERVAL_MS) {
    report.problem(value.range, `${name} must be at least 1 second`);
  } else if (ms > MAX_INTERVAL_MS) {
    report.problem(value.range, `${name} must be at most 24 days`);
  }
  return ms ?? fallbackMs;
}

/** As many as the sink itself would come to (sink/slicing). */
const MAX_SNAPSHOT_SLICES = 64n;

function slicesOption(options: OptionMap, report: TrackedReport): number {
  const slices = unsignedOption(options, report, 'SNAPSHOT SLICES', 1n);
  if (slices >= 1n && slices <= MAX_SNAPSHOT_SLICES) return Number(slices);
  const option = options.get('SNAPSHOT SLICES');
  if (option !== undefined) report.problem(option.value?.range ?? option.range, 'SNAPSHOT SLICES must be from 1 to 64');
  return 1;
}

function fileSizeOption(options: OptionMap, report: Report): number {
  const value = textOption(options, report, 'TARGET FILE SIZE');
  if (value === null) return DEFAULT_TARGET_FILE_SIZE_BYTES;
  const bytes = parseByteSize(value.text);
  if (bytes === null || bytes < MIN_FILE_SIZE_BYTES || bytes > MAX_FILE_SIZE_BYTES) {
    report.problem(value.range, "TARGET FILE SIZE must be a size from '1MB' to '1GB'");
  }
  return bytes ?? DEFAULT_TARGET_FILE_SIZE_BYTES;
}
