/**
 * A catalog with one table: checks requirements and applies updates as the specification says, written apart from
 * `iceberg/requirements.ts` and `apply-update.ts`. Answers get lost before and after the request is applied, and some
 * requests are applied long after their sender gave up on them.
 */
import type { Requirement, Snapshot, TableMetadata, Update } from '../../src/iceberg/metadata.ts';
import { SinkError } from '../../src/errors.ts';
import type { Catalog, CommitOutcome, CreateTableRequest, LoadedTable } from '../../src/sink/ports.ts';
import { planned } from './faults.ts';
import type { SinkProcess } from './sink-process.ts';
import { EPOCH_MS, type World, latencyMs } from './world.ts';

/** Iceberg takes a snapshot that seems this much older than its table. */
const CLOCK_TOLERANCE_MS = 60_000n;

export interface Author {
  readonly kind: 'sink' | 'rival';
  readonly process: SinkProcess | null;
}

export interface CatalogObserver {
  onCommitRequest(process: SinkProcess, requirements: readonly Requirement[], updates: readonly Update[]): void;
  /** A plain yes has reached the process. */
  onConfirmed(process: SinkProcess, updates: readonly Update[]): void;
  /** `metadata`: what the process is going to see. */
  onLoad(process: SinkProcess, metadata: TableMetadata | null): void;
  /** After main moved, or after the table came, went or was replaced. */
  onChange(before: TableMetadata | null, after: TableMetadata | null, author: Author): void;
}

export class CatalogWorld {
  readonly #world: World;
  readonly observers: CatalogObserver[] = [];
  metadata: TableMetadata | null = null;
  tablesMade = 0;
  /** Snapshots that a commit of a sink put into the table, whatever became of them. */
  readonly applied = new Set<bigint>();
  /** What the table was, and until when. */
  readonly #past: { readonly metadata: TableMetadata; readonly untilMs: number }[] = [];
  /** A cache in front of the catalog that has not heard of the latest changes. */
  #cached: { readonly metadata: TableMetadata; readonly untilMs: number } | null = null;

  constructor(world: World) {
    this.#world = world;
  }

  create(request: CreateTableRequest): LoadedTable | null {
    if (this.metadata !== null) return null;
    const ordinal = this.tablesMade++;
    this.replace({
      formatVersion: 2,
      tableUuid: `00000000-0000-4000-8000-${String(ordinal).padStart(12, '0')}`,
      location: `mem://t${ordinal}`,
      lastSequenceNumber: 0n,
      lastUpdatedMs: this.nowMs(),
      lastColumnId: request.schema.fields.length,
      schemas: [request.schema],
      currentSchemaId: request.schema.schemaId,
      partitionSpecs: [{ specId: 0, fields: [] }],
      defaultSpecId: 0,
      defaultSortOrderId: 0,
      properties: request.properties,
      currentSnapshotId: null,
      snapshots: [],
      refs: {},
      snapshotLogLength: 0,
    }, { kind: 'rival', process: null });
    return this.#loaded();
  }

  replace(after: TableMetadata | null, author: Author): void {
    const before = this.metadata;
    if (before !== null) this.#past.push({ metadata: before, untilMs: this.#world.scheduler.nowMs });
    this.metadata = after;
    for (const observer of this.observers) observer.onChange(before, after, author);
  }

  nowMs(): bigint {
    return BigInt(EPOCH_MS + this.#world.scheduler.nowMs);
  }

  apply(requirements: readonly Requirement[], updates: readonly Update[], author: Author): CommitOutcome {
    const { metadata } = this;
    const failed = requirements.map((requirement) => unmet(metadata, requirement)).find((reason) => reason !== null);
    if (failed !== undefined) return { kind: 'conflict', message: failed };
    if (metadata === null) {
      return { kind: 'refused', error: new SinkError('table-missing', 'the table does not exist') };
    }
    let next: TableMetadata = metadata;
    for (const update of updates) {
      const applied = applyUpdate(next, update);
      if (typeof applied === 'string') return { kind: 'refused', error: new SinkError('commit-refused', applied) };
      next = applied;
    }
    for (const update of updates) if (update.action === 'add-snapshot') this.applied.add(update.snapshot.snapshotId);
    this.replace(next, author);
    return { kind: 'committed' };
  }

  /** The table as a load shows it: for a while, now and then, as it was before. */
  #shown(isOutdated: boolean): TableMetadata | null {
    const { scheduler, random, faults } = this.#world;
    if (this.metadata === null || !faults.active) return this.metadata;
    if (isOutdated && this.#past.length > 0) {
      const sinceMs = scheduler.nowMs - random.pick([50, 1_000, 5_000]);
      const metadata = this.#past.find(({ untilMs }) => untilMs > sinceMs)?.metadata ?? this.metadata;
      this.#cached = { metadata, untilMs: scheduler.nowMs + random.pick([0, 200, 4_000]) };
    }
    if (this.#cached !== null && this.#cached.untilMs >= scheduler.nowMs) return this.#cached.metadata;
    return this.metadata;
  }

  #loaded(): LoadedTable {
    if (this.metadata === null) throw new Error('there is no table');
    return { metadata: this.metadata, metadataLocation: null };
  }

  portFor(process: SinkProcess): Catalog {
    const { faults, random } = this.#world;
    const delay = (): number => latencyMs(random);
    return {
      listNamespaces: async () => [['ns']],
      loadTable: () => {
        const slowMs = faults.strikes('load-slow') ? random.between(500, 15_000) : 0;
        if (faults.strikes('load-fails')) {
          const code = random.pick(['catalog-unreachable', 'catalog-unavailable', 'catalog-protocol'] as const);
          return process.ask('load lost', delay(), () => fail(code));
        }
        if (faults.strikes('load-unauthorized')) {
          this.#world.causes.add('load-unauthorized');
          return process.ask('load unauthorized', delay(), () => fail('catalog-unauthorized'));
        }
        // Seen when it arrives, delivered later: the answer is as old as its way back.
        const isOutdated = faults.strikes('load-outdated');
        return process.request('load', delay(), 1 + slowMs, () => {
          const metadata = this.#shown(isOutdated);
          for (const observer of this.observers) observer.onLoad(process, metadata);
          return metadata === null ? { kind: 'missing' } : { kind: 'loaded', table: { metadata, metadataLocation: null } };
        });
      },
      createTable: (_namespace, request) => {
        if (faults.strikes('create-fails-before')) {
          return process.ask('create lost', delay(), () => fail('catalog-unavailable'));
        }
        const failsAfter = faults.strikes('create-fails-after');
        return process.request('create', delay(), 1, () => {
          const table = this.create(request);
          if (failsAfter) return fail('catalog-unavailable');
          if (table !== null) for (const observer of this.observers) observer.onLoad(process, table.metadata);
          return table === null ? { kind: 'exists' } : { kind: 'created', table };
        });
      },
      commit: async (_table, requirements, updates) => {
        const generation = process.spillGeneration;
        const outcome = await this.#commit(process, requirements, updates);
        // The answer to an incarnation that was given up is heard by nobody.
        const isHeard = process.spillGeneration === generation;
        if (isHeard && outcome.kind === 'committed') for (const observer of this.observers) observer.onConfirmed(process, updates);
        return outcome;
      },
    };
  }

  #commit(
    process: SinkProcess, requirements: readonly Requirement[], updates: readonly Update[],
  ): Promise<CommitOutcome> {
    const { faults, random, scheduler, causes } = this.#world;
    const author: Author = { kind: 'sink', process };
    if (process.alive) for (const observer of this.observers) observer.onCommitRequest(process, requirements, updates);
    const arriveMs = latencyMs(random) + (faults.strikes('commit-slow') ? random.between(500, 15_000) : 0);
    const apply = (): CommitOutcome => this.apply(requirements, updates, author);
    const unknown: CommitOutcome = { kind: 'unknown', message: 'a planned fault' };
    if (faults.strikes('commit-lost-before')) return process.ask('commit lost before', arriveMs, () => unknown);
    if (faults.strikes('commit-conflict')) {
      return process.ask('commit refused with 409', arriveMs, () => ({ kind: 'conflict', message: 'planned' }));
    }
    if (faults.strikes('commit-throttled')) {
      return process.ask(
        'commit throttled', arriveMs, () => ({ kind: 'refused', error: planned('catalog-unavailable') }),
      );
    }
    if (faults.strikes('commit-forbidden')) {
      causes.add('commit-forbidden');
      return process.ask(
        'commit forbidden', arriveMs, () => ({ kind: 'refused', error: planned('catalog-forbidden') }),
      );
    }
    if (faults.strikes('commit-late')) {
      const lateMs = random.pick([50, 500, 5_000, 30_000]);
      return process.request('commit delayed', arriveMs, 1, () => {
        scheduler.at(
          random.between(1, lateMs), `p${process.id} commit lands late`, () => scheduler.note(`late: ${apply().kind}`),
        );
        return unknown;
      });
    }
    if (faults.strikes('commit-lost-after')) {
      return process.request('commit, answer lost', arriveMs, 1, () => {
        scheduler.note(apply().kind);
        return unknown;
      });
    }
    if (faults.strikes('commit-twice')) {
      // A gateway that sends again on its own: the sink sees the answer to the second transmission.
      return process.request('commit twice', arriveMs, 1, () => {
        apply();
        return apply();
      });
    }
    return process.request('commit', arriveMs, random.between(1, 20), () => {
      const outcome = apply();
      scheduler.note(`commit: ${outcome.kind}`);
      return outcome;
    });
  }
}

function unmet(metadata: TableMetadata | null, requirement: Requirement): string | null {
  if (requirement.type === 'assert-create') return metadata === null ? null : 'the table exists';
  if (metadata === null) return 'the table does not exist';
  switch (requirement.type) {
    case 'assert-table-uuid':
      return requirement.uuid === metadata.tableUuid ? null : 'the uuid is another';
    case 'assert-ref-snapshot-id': {
      const ref = metadata.refs[requirement.ref]?.snapshotId ?? null;
      if (ref === requirement.snapshotId) return null;
      return `${requirement.ref} is at ${ref}, not at ${requirement.snapshotId}`;
    }
    case 'assert-current-schema-id':
      return requirement.currentSchemaId === metadata.currentSchemaId ? null : 'the schema is another';
    case 'assert-default-spec-id':
      return requirement.defaultSpecId === metadata.defaultSpecId ? null : 'the spec is another';
  }
}

/** The new metadata, or why not. */
function applyUpdate(metadata: TableMetadata, update: Update): TableMetadata | string {
  switch (update.action) {
    case 'set-properties':
      return { ...metadata, properties: { ...metadata.properties, ...update.updates } };
    case 'add-snapshot':
      return addSnapshot(metadata, update.snapshot);
    case 'set-snapshot-ref': {
      const snapshot = metadata.snapshots.find((candidate) => candidate.snapshotId === update.snapshotId);
      if (snapshot === undefined) return `there is no snapshot ${update.snapshotId}`;
      const refs = { ...metadata.refs, [update.ref]: { snapshotId: update.snapshotId, type: update.type } };
      if (update.ref !== 'main') return { ...metadata, refs };
      return {
        ...metadata, refs, currentSnapshotId: update.snapshotId, snapshotLogLength: metadata.snapshotLogLength + 1,
      };
    }
  }
}

function addSnapshot(metadata: TableMetadata, snapshot: Snapshot): TableMetadata | string {
  if (metadata.snapshots.some((other) => other.snapshotId === snapshot.snapshotId)) {
    return `snapshot ${snapshot.snapshotId} exists`;
  }
  if (snapshot.parentSnapshotId !== null && snapshot.sequenceNumber <= metadata.lastSequenceNumber) {
    return `sequence number ${snapshot.sequenceNumber} is not above ${metadata.lastSequenceNumber}`;
  }
  if (snapshot.timestampMs < metadata.lastUpdatedMs - CLOCK_TOLERANCE_MS) return 'the snapshot is older than its table';
  const lastSequenceNumber =
    snapshot.sequenceNumber > metadata.lastSequenceNumber ? snapshot.sequenceNumber : metadata.lastSequenceNumber;
  return {
    ...metadata, snapshots: [...metadata.snapshots, snapshot], lastSequenceNumber, lastUpdatedMs: snapshot.timestampMs,
  };
}

function fail(code: Parameters<typeof planned>[0]): never {
  throw planned(code);
}
