/**
 * `mz-iceberg-sink validate`: looks at everything a run would use and says what it would do. Nothing in the catalog
 * changes. Where a table exists and its credentials allow it, a probe object is written and removed, since listing
 * namespaces proves nothing about storage.
 */
import { decideResume } from '../commit/decide.ts';
import type { CatalogConnection, Definitions, SinkDefinition } from '../definition/definitions.ts';
import { SinkError, asSinkError } from '../errors.ts';
import type { TableMetadata } from '../iceberg/metadata.ts';
import { formatType } from '../iceberg/types.ts';
import type { Relation } from '../relation/relation.ts';
import { checkRelation } from '../sink/check-relation.ts';
import { planExisting, planNew } from '../sink/table-planning.ts';
import { dataLocation } from '../snapshot/object-names.ts';
import { formatFrontier } from '../time/frontier.ts';
import { type World, settingsOf, sourceOf, tableOf } from './assemble.ts';

export interface ValidationReport {
  readonly ok: boolean;
  readonly text: string;
}

interface Findings {
  good(text: string): void;
  bad(error: SinkError): void;
}

export async function validateDefinitions(definitions: Definitions, world: World): Promise<ValidationReport> {
  const lines: string[] = [];
  let ok = true;
  const findings: Findings = {
    good: (text) => lines.push(`  ok    ${text}`),
    bad: (error) => {
      ok = false;
      lines.push(`  FAIL  [${error.code}] ${error.message}`, `        ${error.remedy}`);
    },
  };
  const namespaces = new Map<CatalogConnection, readonly string[][] | null>();
  for (const connection of definitions.catalogs) {
    lines.push(`connection "${connection.name}"`);
    namespaces.set(connection, await checkCatalog(connection, world, findings));
  }
  for (const definition of definitions.sinks) {
    lines.push(`sink "${definition.name}"`);
    const known = namespaces.get(definition.catalog) ?? null;
    await checkSink(definition, known, world, findings);
  }
  return { ok, text: `${lines.join('\n')}\n` };
}

async function checkCatalog(connection: CatalogConnection, world: World, findings: Findings): Promise<readonly string[][] | null> {
  return attempt(findings, `connecting to ${connection.url}`, async () => {
    const namespaces = await world.catalogFor(connection).listNamespaces();
    findings.good(`the catalog lists ${namespaces.length} namespaces: ${namespaces.map((levels) => levels.join('.')).join(', ')}`);
    return namespaces;
  });
}

async function checkSink(
  definition: SinkDefinition, namespaces: readonly string[][] | null, world: World, findings: Findings,
): Promise<void> {
  const relation = await checkSource(definition, world, findings);
  if (namespaces === null) return;
  if (!namespaces.some((levels) => levels.length === 1 && levels[0] === definition.namespace)) {
    findings.bad(new SinkError(
      'namespace-missing',
      `The namespace named by NAMESPACE does not exist, or the principal cannot see it. (${definition.namespace})`,
    ));
    return;
  }
  findings.good(`namespace ${definition.namespace} exists`);
  await attempt(findings, `loading table ${definition.namespace}.${definition.table}`, async () => {
    const outcome = await world.catalogFor(definition.catalog).loadTable(tableOf(definition));
    if (outcome.kind === 'missing') {
      if (relation !== null) sayWhatWouldBeCreated(definition, relation, findings);
      return;
    }
    const { metadata } = outcome.table;
    if (relation !== null) checkTable(definition, relation, metadata, findings);
    await probeStorage(definition, metadata, world, findings);
  });
}

async function checkSource(definition: SinkDefinition, world: World, findings: Findings): Promise<Relation | null> {
  const source = sourceOf(definition, world.options);
  try {
    return await attempt(findings, 'reading the relation', async () => {
      const relation = await source.discover();
      findings.good(`${relation.database}.${relation.schema}.${relation.name} is a ${relation.kind} with ${relation.columns.length} columns`);
      const error = checkRelation(relation, settingsOf(definition));
      if (error !== null) {
        findings.bad(error);
        return null;
      }
      if (definition.mode === 'upsert') findings.good(`key (${definition.keyColumns.join(', ')})${definition.keyEnforced ? ' is unique' : ' NOT ENFORCED'}`);
      return relation;
    });
  } finally {
    await source.close();
  }
}

function sayWhatWouldBeCreated(definition: SinkDefinition, relation: Relation, findings: Findings): void {
  const planned = planNew(relation, settingsOf(definition));
  if (planned instanceof SinkError) {
    findings.bad(planned);
    return;
  }
  const columns = planned.schema.fields.map((field) => `${field.name} ${formatType(field.type)}${field.required ? ' required' : ''}`);
  findings.good(`table ${definition.namespace}.${definition.table} would be created: ${columns.join(', ')}`);
  findings.good('storage is not probed: its credentials come with the table');
}

function checkTable(definition: SinkDefinition, relation: Relation, metadata: TableMetadata, findings: Findings): void {
  const settings = settingsOf(definition);
  const plan = planExisting(relation, metadata, settings);
  if (plan instanceof SinkError) findings.bad(plan);
  else findings.good(`table ${definition.namespace}.${definition.table} fits the relation`);
  const resume = decideResume(metadata, settings.identity);
  switch (resume.kind) {
    case 'stop': findings.bad(resume.error); return;
    case 'fresh': findings.good('the table is empty: the sink would begin with a snapshot of the relation'); return;
    case 'resume': findings.good(`the sink would resume from frontier ${formatFrontier(resume.frontier)}`); return;
  }
}

/** An object in the table's data folder that no snapshot refers to: harmless even if removing it fails. */
async function probeStorage(definition: SinkDefinition, metadata: TableMetadata, world: World, findings: Findings): Promise<void> {
  const { store } = world.catalogFor(definition.catalog).storageFor(tableOf(definition));
  const location = `${dataLocation(metadata)}/mz-sink-probe-${world.entropy.uuid()}`;
  await attempt(findings, 'writing a probe object', async () => {
    await store.put(location, new TextEncoder().encode('mz-iceberg-sink validate'));
    findings.good('the storage takes a probe object');
    // Some services (S3 Tables) refuse deletes for good; that is no reason to refuse the sink.
    await store.delete(location).catch(() => findings.good('the probe object could not be removed again'));
  });
}

async function attempt<T>(findings: Findings, what: string, run: () => Promise<T>): Promise<T | null> {
  try {
    return await run();
  } catch (thrown) {
    findings.bad(asSinkError(thrown, 'invariant-broken', what));
    return null;
  }
}
