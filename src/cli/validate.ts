/**
 * `mz-iceberg-sink validate`: looks at everything a run would use, says what it would do, and reports all that is
 * wrong rather than the first. Nothing in the catalog changes. Where a table exists, a probe object is written below
 * its location and removed, since listing namespaces proves nothing about storage.
 */
import { decideResume } from '../commit/decide.ts';
import type { CatalogConnection, Definitions, SinkDefinition } from '../definition/definitions.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import { relationProblems } from '../sink/check-relation.ts';
import { planExisting, planNew } from '../sink/table-planning.ts';
import { dataLocation } from '../snapshot/object-names.ts';
import { type Frontier, formatFrontier } from '../time/frontier.ts';
import type { Relation } from '../relation/relation.ts';
import { checkMappable } from '../write/type-mapping.ts';
import { type World, settingsOf, tableOf } from './assemble.ts';
import { describeNewTable } from './describe-table.ts';
import { type Findings, collectFindings, counted } from './findings.ts';
import { connectionRefusal } from './runnable.ts';
import { checkReading, describeSource } from './validate-source.ts';

export interface ValidationReport {
  readonly ok: boolean;
  readonly text: string;
}

/** What is known of a catalog before its tables are looked at. */
type CatalogLook =
  | { readonly kind: 'listed'; readonly namespaces: readonly string[][] }
  /** The principal may not list; its tables may be open to it all the same. */
  | { readonly kind: 'unlisted' }
  | { readonly kind: 'closed'; readonly why: string };

export async function validateDefinitions(definitions: Definitions, world: World): Promise<ValidationReport> {
  const findings = collectFindings();
  findings.section('this machine');
  const unusable = await world.spill.probe();
  if (unusable === null) findings.good('spill', `${world.options.spillDir} takes files`);
  else findings.bad('spill', unusable);
  const looks = new Map<CatalogConnection, CatalogLook>();
  for (const connection of definitions.catalogs) {
    findings.section(`connection "${connection.name}"`);
    looks.set(connection, await checkCatalog(connection, world, findings));
  }
  if (definitions.sinks.length === 0) {
    findings.section('sinks');
    findings.bad('sinks', new SinkError('definition-invalid', 'the file defines no sink: there is nothing to run'));
  }
  for (const definition of definitions.sinks) {
    findings.section(`sink "${definition.name}"`);
    await checkSink(definition, looks.get(definition.catalog) ?? { kind: 'unlisted' }, world, findings);
  }
  return { ok: findings.ok(), text: findings.text() };
}

async function checkCatalog(connection: CatalogConnection, world: World, findings: Findings): Promise<CatalogLook> {
  const refusal = connectionRefusal(connection);
  if (refusal !== null) {
    findings.bad('catalog', refusal);
    return { kind: 'closed', why: 'this kind of catalog connection can\'t be run yet' };
  }
  if (connection.validate === false) {
    findings.note('catalog', `${connection.url} was not contacted: WITH (VALIDATE = false)`);
    return { kind: 'closed', why: 'WITH (VALIDATE = false)' };
  }
  try {
    const namespaces = await world.catalogFor(connection).listNamespaces();
    const names = namespaces.map((levels) => levels.join('.')).join(', ');
    findings.good('catalog', `${connection.url} lists ${counted(namespaces.length, 'namespace')}${names === '' ? '' : `: ${names}`}`);
    return { kind: 'listed', namespaces };
  } catch (thrown) {
    const error = asSinkError(thrown, 'invariant-broken', `connecting to ${connection.url}`);
    findings.bad('catalog', error);
    return error.code === 'catalog-forbidden' ? { kind: 'unlisted' } : { kind: 'closed', why: 'the catalog could not be asked' };
  }
}

async function checkSink(definition: SinkDefinition, look: CatalogLook, world: World, findings: Findings): Promise<void> {
  const relation = await describeSource(definition, world, findings);
  const fits = relation !== null && checkRelationFits(definition, relation, findings);
  if (look.kind === 'closed') {
    findings.note('table', `not checked: ${look.why}`);
    if (relation !== null) sayWhatWouldBeCreated(definition, relation, 'would be created if it does not exist', findings);
    if (fits) await checkReading(definition, relation, null, world, findings);
    return;
  }
  const resumeAt = await checkTableSide(definition, relation, look, world, findings);
  if (fits && resumeAt.kind !== 'stop') await checkReading(definition, relation, resumeAt.frontier, world, findings);
}

/** Everything that is wrong with the relation, in one go. */
function checkRelationFits(definition: SinkDefinition, relation: Relation, findings: Findings): boolean {
  const problems = [...relationProblems(relation, settingsOf(definition))];
  const mappable = checkMappable(relation.columns);
  if (mappable.kind === 'unmappable') problems.push(new SinkError('columns-unmappable', mappable.message));
  for (const problem of problems) findings.bad(problem.code === 'key-invalid' ? 'key' : 'relation', problem);
  if (definition.mode === 'upsert' && !problems.some((problem) => problem.code === 'key-invalid')) {
    const columns = definition.keyColumns.join(', ');
    findings.good('key', `(${columns}) ${definition.keyEnforced ? 'is unique' : 'is taken as unique on your word: NOT ENFORCED'}`);
  }
  return problems.length === 0;
}

type ResumePoint = { readonly kind: 'begin'; readonly frontier: Frontier | null } | { readonly kind: 'stop' };

async function checkTableSide(
  definition: SinkDefinition, relation: Relation | null, look: CatalogLook, world: World, findings: Findings,
): Promise<ResumePoint> {
  const { namespace, table } = definition;
  if (look.kind === 'listed') {
    if (!look.namespaces.some((levels) => levels.length === 1 && levels[0] === namespace)) {
      const message = `The namespace named by NAMESPACE does not exist, or the principal cannot see it. (${namespace})`;
      findings.bad('namespace', new SinkError('namespace-missing', message));
      return { kind: 'stop' };
    }
    findings.good('namespace', `${namespace} exists`);
  }
  try {
    const outcome = await world.catalogFor(definition.catalog).loadTable(tableOf(definition));
    if (outcome.kind === 'missing') {
      if (relation !== null) sayWhatWouldBeCreated(definition, relation, 'would be created', findings);
      findings.note('storage', 'not checked: the right to create the table and the keys to write it are known only once it exists');
      return { kind: 'begin', frontier: null };
    }
    const { metadata } = outcome.table;
    const resume = checkTable(definition, relation, metadata, findings);
    await probeStorage(definition, metadata, world, findings);
    return resume;
  } catch (thrown) {
    findings.bad('table', asSinkError(thrown, 'invariant-broken', `loading table ${namespace}.${table}`));
    return { kind: 'stop' };
  }
}

function sayWhatWouldBeCreated(definition: SinkDefinition, relation: Relation, how: string, findings: Findings): void {
  const settings = settingsOf(definition);
  // Said already where they are wrong; the rest of the table can be shown all the same.
  if (checkMappable(relation.columns).kind === 'unmappable') return;
  const present = settings.keyColumns.filter((name) => relation.columns.some((column) => column.name === name));
  const planned = planNew(relation, { ...settings, keyColumns: present });
  if (planned instanceof SinkError) {
    findings.bad('table', planned);
    return;
  }
  findings.good('table', `${definition.namespace}.${definition.table} ${how}:`, describeNewTable(planned));
}

function checkTable(
  definition: SinkDefinition, relation: Relation | null, metadata: TableMetadata, findings: Findings,
): ResumePoint {
  const settings = settingsOf(definition);
  const name = `${definition.namespace}.${definition.table}`;
  // Without its key columns the relation can't be laid beside the table; that they are missing was said.
  const comparable = relation !== null && checkMappable(relation.columns).kind === 'mappable'
    && settings.keyColumns.every((key) => relation.columns.some((column) => column.name === key));
  if (comparable) {
    const plan = planExisting(relation, metadata, settings);
    if (plan instanceof SinkError) findings.bad('table', plan);
    else findings.good('table', `${name} exists and fits the relation`);
  }
  const resume = decideResume(metadata, settings.identity);
  switch (resume.kind) {
    case 'stop':
      findings.bad('progress', resume.error);
      return { kind: 'stop' };
    case 'fresh':
      findings.good('progress', `${name} has no snapshot: the sink would begin with a snapshot of the relation`);
      return { kind: 'begin', frontier: null };
    case 'resume':
      findings.good('progress', `the sink would resume ${name} from frontier ${formatFrontier(resume.frontier)}`);
      return { kind: 'begin', frontier: resume.frontier };
  }
}

/** An object in the table's data folder that no snapshot refers to: harmless even if removing it fails. */
async function probeStorage(definition: SinkDefinition, metadata: TableMetadata, world: World, findings: Findings): Promise<void> {
  const storage = world.catalogFor(definition.catalog).storageFor(tableOf(definition));
  const location = `${dataLocation(metadata)}/mz-sink-probe-${world.entropy.uuid()}`;
  try {
    await storage.store.put(location, new TextEncoder().encode('mz-iceberg-sink validate'));
    findings.good('storage', `takes a probe object below ${metadata.location}`);
    // Some services (S3 Tables) refuse deletes for good; that is no reason to refuse the sink.
    await storage.store.delete(location).catch(() => findings.note('storage', `the probe object could not be removed again: ${location}`));
  } catch (thrown) {
    findings.bad('storage', asSinkError(thrown, 'storage-unavailable', 'writing a probe object'));
  } finally {
    storage.close();
  }
}
