/**
 * What the sink asks of a catalog: all four assertions in every commit, one snapshot a commit, and between two posts of one
 * process a look at the table or a plain yes to the first. Judged on the requests themselves, since a breach does no harm
 * in most runs.
 */
import type { Requirement, TableMetadata, Update } from '../../../src/iceberg/metadata.ts';
import type { CatalogObserver } from '../catalog-double.ts';
import type { SinkProcess } from '../sink-process.ts';
import { type World, violate } from '../world.ts';

/** From this age on the table may be loaded anew without a cause. */
const KNOWN_FOR_MS = 300_000;

export class ProtocolChecker implements CatalogObserver {
  readonly #world: World;
  /** Processes that have posted, and have neither looked since nor heard that it is done. */
  readonly #blind = new Set<SinkProcess>();
  /** Processes whose last post was answered with yes, and nothing came in between. */
  readonly #knowing = new Set<SinkProcess>();
  readonly #loadedAtMs = new Map<SinkProcess, number>();

  constructor(world: World) {
    this.#world = world;
  }

  onLoad(process: SinkProcess, metadata: TableMetadata | null): void {
    this.#judgeLoad(process);
    this.#blind.delete(process);
    this.#knowing.delete(process);
    this.#loadedAtMs.set(process, this.#world.scheduler.nowMs);
    process.seen = metadata;
  }

  /** Does no harm to the table, but to what a commit costs: after a plain yes the next batch is sent without a look. */
  #judgeLoad(process: SinkProcess): void {
    const { scheduler, scenario } = this.#world;
    const state = process.sink?.state();
    if (!process.alive || !this.#knowing.has(process) || state?.committing?.step !== 'loading') return;
    if (state.committing.attempt > 1 || scenario.events.some(({ kind }) => kind === 'clock-jump')) return;
    if (scheduler.nowMs - (this.#loadedAtMs.get(process) ?? 0) >= KNOWN_FOR_MS) return;
    violate(this.#world, 'protocol', `p${process.id}: the table is loaded again although the last commit was answered with yes`);
  }

  /** The table as it was seen, with main at the snapshot that the catalog has said yes to. */
  onConfirmed(process: SinkProcess, updates: readonly Update[]): void {
    this.#blind.delete(process);
    this.#knowing.add(process);
    const added = updates.find((update) => update.action === 'add-snapshot');
    if (process.seen === null || added === undefined) return;
    const { snapshotId, sequenceNumber } = added.snapshot;
    process.seen = {
      ...process.seen, refs: { ...process.seen.refs, main: { snapshotId, type: 'branch' } }, currentSnapshotId: snapshotId,
      lastSequenceNumber: sequenceNumber,
    };
  }

  onChange(): void {
    // The table checker looks at the table.
  }

  /** A table of some columns is not written from a relation of others. */
  #judgeColumns(process: SinkProcess, wrong: (what: string) => void): void {
    const { plannedFor, relation } = process;
    const schema = plannedFor?.schemas.find((candidate) => candidate.schemaId === plannedFor.currentSchemaId);
    if (schema === undefined || relation === null) return wrong('a commit is sent before relation and table were seen');
    const fields = schema.fields.filter((field) => !field.name.startsWith('_mz_'));
    const namesOf = (list: readonly { readonly name: string }[]): string => list.map(({ name }) => name).sort().join();
    if (namesOf(fields) !== namesOf(relation.columns)) wrong('the table has other columns than the relation');
    const [key] = relation.columns;
    const wanted = key?.type.kind === 'scalar' && key.type.name === 'integer' ? 'int' : 'long';
    if (fields.find((field) => field.name === 'id')?.type.kind !== wanted) wrong('the table has another type of id');
    return undefined;
  }

  onCommitRequest(process: SinkProcess, requirements: readonly Requirement[], updates: readonly Update[]): void {
    const wrong = (what: string): void => violate(this.#world, 'protocol', `p${process.id}: ${what}`);
    if (this.#blind.has(process)) wrong('a commit is sent without a look at the table since the last one, which was not answered with yes');
    this.#blind.add(process);
    this.#knowing.delete(process);
    for (const type of ['assert-table-uuid', 'assert-current-schema-id', 'assert-default-spec-id'] as const) {
      if (!requirements.some((requirement) => requirement.type === type)) wrong(`a commit goes out without ${type}`);
    }
    const ref = requirements.find(
      (requirement) => requirement.type === 'assert-ref-snapshot-id' && requirement.ref === 'main',
    );
    const added = updates.filter((update) => update.action === 'add-snapshot');
    const moved = updates.filter((update) => update.action === 'set-snapshot-ref');
    if (added.length !== 1 || moved.length !== 1 || updates.length !== 2) {
      return wrong('a commit adds one snapshot and moves main to it');
    }
    this.#judgeColumns(process, wrong);
    this.#judgeAgainstSeen(process, requirements, added[0]?.snapshot.schemaId ?? null, wrong);
    // Not every catalog checks it, and with a number that came before, deletes would miss rows.
    if ((added[0]?.snapshot.sequenceNumber ?? 0n) <= (process.seen?.lastSequenceNumber ?? 0n)) {
      wrong('a sequence number is used that is known to be taken');
    }
    if (ref?.type !== 'assert-ref-snapshot-id') return wrong('the head is not asserted');
    if (added[0]?.snapshot.parentSnapshotId !== ref.snapshotId) wrong('the head asserted is not the parent');
    if (moved[0]?.snapshotId !== added[0]?.snapshot.snapshotId || moved[0]?.ref !== 'main') {
      wrong('main is moved elsewhere');
    }
    return undefined;
  }

  /** A table may change between the look and the commit; but what the sink saw must allow what it sends. */
  #judgeAgainstSeen(
    process: SinkProcess, requirements: readonly Requirement[], schemaId: number | null, wrong: (what: string) => void,
  ): void {
    const { seen, plannedFor } = process;
    if (seen === null || plannedFor === null) return wrong('a commit is sent to a table that was not there');
    const spec = seen.partitionSpecs.find((candidate) => candidate.specId === seen.defaultSpecId);
    if (spec === undefined || spec.fields.length > 0) {
      wrong('a commit is sent to a table that was seen to be partitioned');
    }
    if (schemaId !== seen.currentSchemaId) wrong('a snapshot says another schema than the table had');
    if (schemaId !== plannedFor.currentSchemaId) wrong('files of one schema are sent to a table with another');
    if (seen.tableUuid !== plannedFor.tableUuid) wrong('files of one table are sent to another');
    for (const requirement of requirements) {
      if (requirement.type === 'assert-table-uuid' && requirement.uuid !== seen.tableUuid) {
        wrong('another uuid than the one seen is asserted');
      }
      if (requirement.type === 'assert-current-schema-id' && requirement.currentSchemaId !== plannedFor.currentSchemaId) {
        wrong('another schema is asserted than the files have');
      }
      if (requirement.type === 'assert-default-spec-id' && requirement.defaultSpecId !== plannedFor.defaultSpecId) {
        wrong('another spec is asserted than the files have');
      }
      if (requirement.type !== 'assert-ref-snapshot-id') continue;
      if (requirement.snapshotId !== (seen.refs['main']?.snapshotId ?? null)) {
        wrong('another head than the one seen is asserted');
      }
    }
    return undefined;
  }
}
