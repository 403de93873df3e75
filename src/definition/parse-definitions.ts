/**
 * SQL text to checked definitions. In: the text, and how to get at environment and files. Out: definitions, or
 * every problem of the text at once, in its order. Total: any text gives one or the other, nothing is thrown,
 * and no problem carries a secret.
 */
import { checkAws, checkCatalog, checkGcp } from './check-connection.ts';
import { checkSink } from './check-sink.ts';
import type { CatalogConnection, Definitions, Position, Problem, SinkDefinition } from './definitions.ts';
import { displayName, nameKey } from './object-name.ts';
import { readStatements } from './read-statement.ts';
import { type CollectedReport, type Report, collectReport, inTextOrder } from './report.ts';
import { type Entry, type Scope, claimName, define } from './scope.ts';
import { Secret } from './secret.ts';
import { type SourceText, positionOf, readSourceText } from './source-text.ts';
import type { ConnectionStatement, SecretStatement, SinkStatement, Statement } from './statements.ts';

/** The world as far as definitions refer to it. */
export interface DefinitionResolver {
  /** The value of an environment variable; undefined when it is not set. */
  env(name: string): string | undefined;
  /** The text of a file. May throw; of the error only its `code` is ever shown. */
  readFile(path: string): string;
}

export interface DefinitionOptions {
  /**
   * Let OAUTH2 SERVER URL name loopback and private addresses. True where the operator writes the file himself;
   * false where others hand it in, since the sink would post a secret to any address they name.
   */
  readonly allowInternalOauth2: boolean;
}

export type ParsedDefinitions =
  | { readonly kind: 'definitions'; readonly definitions: Definitions; readonly warnings: readonly Problem[] }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

interface Work {
  readonly source: SourceText;
  readonly report: CollectedReport;
  readonly scope: Scope;
  readonly resolve: DefinitionResolver;
  readonly options: DefinitionOptions;
  readonly sinks: SinkDefinition[];
  readonly catalogs: CatalogConnection[];
  /** Target tables with the name of the sink that writes them. */
  readonly targets: Map<string, string>;
}

/** Parses and checks a whole file. Without `options` the rules are those of an operator's own file. */
export function parseDefinitions(
  text: string,
  resolve: DefinitionResolver,
  options: DefinitionOptions = { allowInternalOauth2: true },
): ParsedDefinitions {
  const { source, faults } = readSourceText(text);
  // With a quote missing somewhere nothing that follows means what it seems to.
  if (faults.length > 0) return { kind: 'problems', problems: faults };
  const report = collectReport(source);
  const statements = readStatements({ source, report, at: 0 });
  const scope: Scope = { entries: new Map(), lines: linesOf(statements, source) };
  const work: Work = { source, report, scope, resolve, options, sinks: [], catalogs: [], targets: new Map() };
  for (const statement of statements) take(work, statement);
  if (report.problems.length > 0) return { kind: 'problems', problems: inTextOrder(report.problems) };
  const definitions = { sinks: work.sinks, catalogs: work.catalogs };
  return { kind: 'definitions', definitions, warnings: inTextOrder(report.warnings) };
}

function linesOf(statements: readonly Statement[], source: SourceText): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  for (const { name } of statements) {
    if (name === null || lines.has(nameKey(name))) continue;
    lines.set(nameKey(name), positionOf(source, name.range.start).line);
  }
  return lines;
}

function take(work: Work, statement: Statement): void {
  const { scope, report, source } = work;
  const { name } = statement;
  const position = positionOf(source, statement.kind === 'sink' ? statement.range.start : (name?.range.start ?? 0));
  if (statement.kind !== 'broken' && name !== null && !claimName(scope, name, statement.ifNotExists, report)) return;
  const entry = checkStatement(work, statement, position);
  if (name !== null && !scope.entries.has(nameKey(name))) define(scope, name, position, entry);
}

function checkStatement(work: Work, statement: Statement, position: Position): Entry {
  switch (statement.kind) {
    case 'broken':
      return { kind: 'broken', value: null };
    case 'secret':
      return { kind: 'secret', value: secretValue(statement, work.resolve, work.report) };
    case 'connection':
      return checkConnection(work, statement);
    case 'sink':
      takeSink(work, statement, position);
      return { kind: 'sink', value: null };
  }
}

function checkConnection({ scope, options, report, catalogs }: Work, statement: ConnectionStatement): Entry {
  switch (statement.target) {
    case 'aws':
      return { kind: 'aws', value: checkAws(statement, scope, options, report) };
    case 'gcp':
      return { kind: 'gcp', value: checkGcp(statement, scope, options, report) };
    case 'iceberg-catalog': {
      const value = checkCatalog(statement, scope, options, report);
      if (value !== null) catalogs.push(value);
      return { kind: 'iceberg-catalog', value };
    }
  }
}

function takeSink(work: Work, statement: SinkStatement, position: Position): void {
  const { scope, report, sinks, targets } = work;
  const sink = checkSink(statement, scope, position, report);
  if (sink === null) return;
  const target = JSON.stringify([sink.catalog.url, sink.catalog.warehouse, sink.namespace, sink.table]);
  const other = targets.get(target);
  if (other !== undefined) {
    const table = `${sink.namespace}.${sink.table}`;
    report.problem(statement.range, `sink "${other}" already writes table ${table} of this catalog`);
    return;
  }
  targets.set(target, sink.name);
  sinks.push(sink);
}

/** null: not to be had, which was reported. Editors end a file with a line break that is no part of the value. */
function secretValue(statement: SecretStatement, resolve: DefinitionResolver, report: Report): Secret | null {
  const { source, name } = statement;
  if (source.kind === 'text') return checkedSecret(source.secret.reveal(), statement, report);
  if (source.kind === 'env') {
    const value = resolve.env(source.from);
    if (value !== undefined) return checkedSecret(withoutLineBreak(value), statement, report);
    report.problem(source.range, `secret "${displayName(name)}": environment variable ${source.from} is not set`);
    return null;
  }
  try {
    return checkedSecret(withoutLineBreak(resolve.readFile(source.from)), statement, report);
  } catch (thrown) {
    const message = `secret "${displayName(name)}": cannot read file ${source.from}${codeOf(thrown)}`;
    report.problem(source.range, message);
    return null;
  }
}

function checkedSecret(value: string, { name }: SecretStatement, report: Report): Secret | null {
  if (value !== '') return new Secret(value, displayName(name));
  report.problem(name.range, `secret "${displayName(name)}" is empty`);
  return null;
}

function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, '');
}

function codeOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return '';
  return typeof thrown.code === 'string' ? ` (${thrown.code})` : '';
}
