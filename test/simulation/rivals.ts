/**
 * Others who change the table: compaction, snapshot expiry, rollback, changes of schema, spec and properties, forged
 * progress, foreign writers, dropped and replaced tables. Each tells the checker what its snapshot holds, and leaves a
 * cause where a sink may halt for it.
 */
import { type Snapshot, type TableMetadata } from '../../src/iceberg/metadata.ts';
import type { NestedField } from '../../src/iceberg/types.ts';
import type { DataFile } from '../../src/iceberg/data-file.ts';
import { type ManifestFile, writeManifestList } from '../../src/snapshot/manifest-list.ts';
import { type ManifestEntry, writeManifest } from '../../src/snapshot/manifest.ts';
import type { Author, CatalogWorld } from './catalog-double.ts';
import type { Known, TableChecker } from './checkers/table.ts';
import type { RivalEventKind } from './scenario.ts';
import { type SourceWorld } from './source-double.ts';
import type { ObjectWorld } from './store-double.ts';
import { type LiveFile, liveFiles, readManifests } from './table-reader.ts';
import { type World } from './world.ts';

export interface RivalOptions {
  readonly world: World;
  readonly catalog: CatalogWorld;
  readonly store: ObjectWorld;
  readonly source: SourceWorld;
  readonly checker: TableChecker;
}

type Progress = NonNullable<Known['progress']>;

const RIVAL: Author = { kind: 'rival', process: null };
const encoder = new TextEncoder();
const SYNC_MARKER = new Uint8Array(16);

export class Rivals {
  readonly #options: RivalOptions;
  #names = 0;

  constructor(options: RivalOptions) {
    this.#options = options;
  }

  /** Does nothing where the table gives no occasion for it. */
  act(kind: RivalEventKind, amount: number): void {
    const { metadata } = this.#options.catalog;
    if (metadata !== null) this.#actions[kind](metadata, amount);
  }

  readonly #actions: Readonly<Record<RivalEventKind, (metadata: TableMetadata, amount: number) => void>> = {
    'compaction': (metadata, amount) => this.#compact(metadata, amount),
    'expiry': (metadata, amount) => this.#expire(metadata, 1 + (amount % 3)),
    'rollback': (metadata, amount) => {
      if (amount % 2 === 0) this.#rollBack(metadata, 1 + (amount % 3));
      else this.#rollBackNext();
    },
    'property-change': (metadata) => this.#change(
      { ...metadata, properties: { ...metadata.properties, 'write.parquet.compression-codec': 'snappy' } },
    ),
    'branch-write': (metadata) => this.#writeBranch(metadata),
    'schema-change': (metadata, amount) => this.#changeSchema(metadata, amount),
    'spec-change': (metadata) => this.#changeSpec(metadata),
    'forged-version': (metadata) => this.#forge(
      metadata, 'forged-version', (known) => ({ ...known, version: known.version + 10n }),
    ),
    'forged-below': (metadata, amount) => this.#forgeFrontier(metadata, 'forged-below', -BigInt(1 + amount)),
    'forged-inside': (metadata, amount) => this.#forgeFrontier(metadata, 'forged-inside', BigInt(1 + (amount % 100))),
    'forged-beyond': (metadata, amount) => this.#forgeFrontier(metadata, 'forged-beyond', BigInt(3_000 + amount)),
    'forged-partial': (metadata) => this.#append(metadata, 'forged-partial', { 'mz-frontier': '[1]' }, null, []),
    'foreign-append': (metadata) => this.#append(metadata, 'foreign-append', {}, null, [['99999\tzqforeign', 1]]),
    'foreign-sink': (metadata) => this.#forge(metadata, 'foreign-sink', (known) => ({ ...known, sinkId: 'somebody' })),
    'table-dropped': () => {
      this.#options.world.causes.add('table-dropped');
      this.#options.catalog.replace(null, RIVAL);
    },
    'table-replaced': (metadata) => {
      const [schema] = metadata.schemas;
      if (schema === undefined) return;
      this.#options.world.causes.add('table-replaced');
      this.#options.catalog.replace(null, RIVAL);
      this.#options.catalog.create({ name: 't', schema, properties: metadata.properties });
    },
  };

  #change(after: TableMetadata): void {
    this.#options.catalog.replace({ ...after, lastUpdatedMs: this.#nowMs(after) }, RIVAL);
  }

  #nowMs(metadata: TableMetadata): bigint {
    const now = this.#options.catalog.nowMs();
    return now > metadata.lastUpdatedMs ? now : metadata.lastUpdatedMs;
  }

  /**
   * Rewrites what it saw at one moment and commits at a later one, as compaction does: the rows keep the sequence
   * number of what was seen, so that deletes that came in between still apply to them.
   */
  #compact(metadata: TableMetadata, amount: number): void {
    const { world, store, checker, catalog } = this.#options;
    const seen = headOf(metadata);
    if (seen === null) return;
    const files = liveFiles(readManifests(store.objects, seen, new Map()));
    const rows = checker.rowsOf(seen);
    world.scheduler.at(amount % 3 === 0 ? 0 : amount, 'compaction commits', () => {
      const now = catalog.metadata;
      if (now === null || now.tableUuid !== metadata.tableUuid) return;
      const head = headOf(now);
      const known = checker.known(now, head?.snapshotId ?? null);
      if (head === null || known === null) return;
      const live = liveFiles(readManifests(store.objects, head, new Map()));
      const paths = new Set(live.map((file) => file.path));
      // Somebody else rewrote them, or main was rolled back: Iceberg refuses such a commit.
      if (!files.every((file) => paths.has(file.path))) return;
      this.#replace(now, head, known, live, files, rows, seen.sequenceNumber);
    });
  }

  #replace(
    now: TableMetadata, head: Snapshot, known: Known, live: readonly LiveFile[], old: readonly LiveFile[],
    rows: ReadonlyMap<string, number>, rowsNumber: bigint,
  ): void {
    const rewritten = new Set(old.map((file) => file.path));
    const snapshotId = this.#snapshotId();
    const carried = live.filter((file) => !rewritten.has(file.path));
    const existing = carried.map((file) => entryOf('existing', head.snapshotId, file.sequenceNumber, file));
    const content = this.#options.world.scenario.mode === 'append'
      ? [...rows].flatMap(([text, count]) => Array.from({ length: count }, () => appendRow(text)))
      : [...rows];
    const merged = content.length === 0 ? [] : [entryOf('added', snapshotId, rowsNumber, this.#dataFile(now, content))];
    const manifests = [
      ...this.#manifest(
        now, snapshotId, 'data', [...existing.filter(({ file }) => file.content === 'data'), ...merged],
      ),
      ...this.#manifest(now, snapshotId, 'deletes', existing.filter(({ file }) => file.content !== 'data')),
    ];
    this.#commit(now, head, snapshotId, { operation: 'replace' }, manifests, known);
  }

  /**
   * Removes main's snapshots but for the newest, and the files that only those had. Snapshots that a rollback put out
   * of sight stay: real expiry keeps everything for days, and only a batch whose commit landed, was rolled back and
   * expired while it is still being retried could miss their files (RESULTS.md, "Known limits").
   */
  #expire(metadata: TableMetadata, keep: number): void {
    const { store, world } = this.#options;
    const referred = new Set<bigint>(Object.values(metadata.refs).map((ref) => ref.snapshotId));
    const expired = mainAncestry(metadata).slice(keep).filter((snapshot) => !referred.has(snapshot.snapshotId));
    if (expired.length === 0) return;
    world.causes.add('expiry');
    const snapshots = metadata.snapshots.filter((snapshot) => !expired.includes(snapshot));
    const needed = new Set(snapshots.flatMap((snapshot) => this.#objectsOf(snapshot)));
    for (const path of expired.flatMap((snapshot) => this.#objectsOf(snapshot))) {
      if (!needed.has(path)) store.objects.delete(path);
    }
    this.#change({ ...metadata, snapshots });
  }

  #objectsOf(snapshot: Snapshot): readonly string[] {
    const { store } = this.#options;
    if (!store.objects.has(snapshot.manifestList)) return [];
    const manifests = readManifests(store.objects, snapshot, new Map());
    const paths = [...manifests, ...liveFiles(manifests)].map(({ path }) => path);
    return [snapshot.manifestList, ...paths];
  }

  #rollBack(metadata: TableMetadata, depth: number): void {
    let target = headOf(metadata);
    for (let left = depth; target !== null && left > 0; left--) {
      const { parentSnapshotId } = target;
      target = metadata.snapshots.find((snapshot) => snapshot.snapshotId === parentSnapshotId) ?? null;
    }
    if (target === null) return;
    this.#options.world.causes.add('rollback');
    this.#change(withMain(metadata, target.snapshotId));
  }

  /** Takes the next commit of a sink back, before the sink may know of it. */
  #rollBackNext(): void {
    const { catalog, world } = this.#options;
    let isArmed = true;
    catalog.observers.push({
      onCommitRequest: () => undefined,
      onConfirmed: () => undefined,
      onLoad: () => undefined,
      onChange: (_before, _after, author) => {
        if (!isArmed || author.kind !== 'sink') return;
        isArmed = false;
        world.scheduler.at(0, 'rollback of the commit', () => {
          if (catalog.metadata !== null) this.#rollBack(catalog.metadata, 1);
        });
      },
    });
  }

  /** A snapshot on another branch: raises the sequence number and is none of the sink's business. */
  #writeBranch(metadata: TableMetadata): void {
    const head = headOf(metadata);
    if (head === null) return;
    const snapshotId = this.#snapshotId();
    const snapshot: Snapshot = {
      ...head, snapshotId, parentSnapshotId: head.snapshotId, sequenceNumber: metadata.lastSequenceNumber + 1n,
      timestampMs: this.#nowMs(metadata),
      summary: { ...head.summary, 'mz-frontier': '[99999999999999]', 'mz-sink-version': '99' },
    };
    this.#change({
      ...metadata,
      lastSequenceNumber: snapshot.sequenceNumber,
      snapshots: [...metadata.snapshots, snapshot],
      refs: { ...metadata.refs, [`branch-${snapshotId}`]: { snapshotId, type: 'branch' } },
    });
  }

  #changeSchema(metadata: TableMetadata, amount: number): void {
    const current = metadata.schemas.find((schema) => schema.schemaId === metadata.currentSchemaId);
    if (current === undefined) return;
    this.#options.world.causes.add('schema-change');
    const schemaId = Math.max(...metadata.schemas.map((schema) => schema.schemaId)) + 1;
    const added: NestedField = {
      id: metadata.lastColumnId + 1, name: `extra${schemaId}`, required: amount % 2 === 0, type: { kind: 'string' },
    };
    this.#change({
      ...metadata,
      lastColumnId: metadata.lastColumnId + 1,
      schemas: [...metadata.schemas, { ...current, schemaId, fields: [...current.fields, added] }],
      currentSchemaId: schemaId,
    });
  }

  #changeSpec(metadata: TableMetadata): void {
    this.#options.world.causes.add('spec-change');
    const specId = metadata.partitionSpecs.length;
    const field = { sourceId: 1, fieldId: 1000, name: 'id_bucket', transform: 'bucket[4]' };
    this.#change(
      { ...metadata, partitionSpecs: [...metadata.partitionSpecs, { specId, fields: [field] }], defaultSpecId: specId },
    );
  }

  #forgeFrontier(metadata: TableMetadata, cause: RivalEventKind, by: bigint): void {
    this.#forge(metadata, cause, (known) => (known.upper === null ? known : { ...known, upper: known.upper + by }));
  }

  #forge(metadata: TableMetadata, cause: RivalEventKind, change: (progress: Progress) => Progress): void {
    const progress = this.#options.checker.known(metadata, headOf(metadata)?.snapshotId ?? null)?.progress ?? null;
    if (progress === null) return;
    const forged = change(progress);
    if (forged === progress) return;
    this.#append(metadata, cause, {
      'mz-frontier': forged.upper === null ? '[]' : `[${forged.upper}]`,
      'mz-sink-id': forged.sinkId,
      'mz-sink-version': String(forged.version),
    }, forged, []);
  }

  /** A snapshot on top of main that carries everything and adds some rows. */
  #append(
    metadata: TableMetadata, cause: RivalEventKind, summary: Snapshot['summary'], progress: Known['progress'],
    added: readonly (readonly [string, number])[],
  ): void {
    const { world, checker, store } = this.#options;
    const head = headOf(metadata);
    const known = checker.known(metadata, head?.snapshotId ?? null);
    if (head === null || known === null) return;
    world.causes.add(cause);
    const snapshotId = this.#snapshotId();
    const live = liveFiles(readManifests(store.objects, head, new Map()));
    const existing = live.map((file) => entryOf('existing', head.snapshotId, file.sequenceNumber, file));
    const content = world.scenario.mode === 'append' ? added.map(([row, count]) => [row, count, '0']) : added;
    const files = added.length === 0 ? [] : [entryOf('added', snapshotId, null, this.#dataFile(metadata, content))];
    const manifests = [
      ...this.#manifest(
        metadata, snapshotId, 'data', [...existing.filter(({ file }) => file.content === 'data'), ...files],
      ),
      ...this.#manifest(metadata, snapshotId, 'deletes', existing.filter(({ file }) => file.content !== 'data')),
    ];
    const forged = { ...known, progress, isTainted: true };
    this.#commit(metadata, head, snapshotId, { operation: 'append', ...summary }, manifests, forged);
  }

  #commit(
    metadata: TableMetadata, parent: Snapshot, snapshotId: bigint, summary: Snapshot['summary'],
    manifests: readonly ManifestFile[], known: Known,
  ): void {
    const { store, checker } = this.#options;
    const sequenceNumber = metadata.lastSequenceNumber + 1n;
    const manifestList = `${metadata.location}/metadata/rival-snap-${snapshotId}.avro`;
    store.store(manifestList, writeManifestList(manifests, {
      snapshotId, parentSnapshotId: parent.snapshotId, sequenceNumber, syncMarker: SYNC_MARKER,
    }));
    const timestampMs = this.#nowMs(metadata);
    const snapshot: Snapshot = {
      snapshotId, sequenceNumber, timestampMs, summary, manifestList,
      parentSnapshotId: parent.snapshotId,
      schemaId: metadata.currentSchemaId,
    };
    checker.declare(metadata, snapshotId, known);
    const added = { ...metadata, snapshots: [...metadata.snapshots, snapshot], lastSequenceNumber: sequenceNumber };
    this.#change(withMain(added, snapshotId));
  }

  #manifest(
    metadata: TableMetadata, snapshotId: bigint, content: 'data' | 'deletes', entries: readonly ManifestEntry[],
  ): readonly ManifestFile[] {
    const schema = metadata.schemas.find((candidate) => candidate.schemaId === metadata.currentSchemaId);
    if (entries.length === 0 || schema === undefined) return [];
    const path = `${metadata.location}/metadata/rival-${this.#names++}.avro`;
    const { bytes, manifest } = writeManifest(entries, {
      path, content, schema, partitionSpecId: metadata.defaultSpecId, snapshotId, syncMarker: SYNC_MARKER,
    });
    this.#options.store.store(path, bytes);
    return [manifest];
  }

  #dataFile(metadata: TableMetadata, content: readonly unknown[]): LiveFile {
    const path = `${metadata.location}/data/rival-${this.#names++}.parquet`;
    const bytes = encoder.encode(JSON.stringify(content));
    this.#options.store.store(path, bytes);
    return {
      path, content: 'data', sequenceNumber: 0n, recordCount: BigInt(content.length), sizeBytes: BigInt(bytes.length),
    };
  }

  #snapshotId(): bigint {
    return 900_000_000_000n + BigInt(this.#names++);
  }
}

export function headOf(metadata: TableMetadata): Snapshot | null {
  const id = metadata.refs['main']?.snapshotId;
  return metadata.snapshots.find((snapshot) => snapshot.snapshotId === id) ?? null;
}

function mainAncestry(metadata: TableMetadata): readonly Snapshot[] {
  const ancestry: Snapshot[] = [];
  for (let next = headOf(metadata); next !== null;) {
    ancestry.push(next);
    const { parentSnapshotId } = next;
    next = metadata.snapshots.find((snapshot) => snapshot.snapshotId === parentSnapshotId) ?? null;
  }
  return ancestry;
}

function withMain(metadata: TableMetadata, snapshotId: bigint): TableMetadata {
  return {
    ...metadata,
    refs: { ...metadata.refs, main: { snapshotId, type: 'branch' } },
    currentSnapshotId: snapshotId,
    snapshotLogLength: metadata.snapshotLogLength + 1,
  };
}

/** `diff@time row` as the file has it. */
function appendRow(text: string): readonly unknown[] {
  const [, diff, time, row] = /^(-?\d+)@(\d+) ([^]*)$/.exec(text) ?? [];
  return [row ?? '', Number(diff), time ?? ''];
}

function entryOf(
  status: 'existing' | 'added', snapshotId: bigint, sequenceNumber: bigint | null, file: LiveFile,
): ManifestEntry {
  const dataFile: DataFile = {
    content: file.content,
    path: file.path,
    recordCount: file.recordCount,
    fileSizeBytes: file.sizeBytes,
    splitOffsets: [],
    equalityFieldIds: file.content === 'equality-deletes' ? [1] : [],
    metrics: {
      columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(),
      lowerBounds: new Map(), upperBounds: new Map(),
    },
  };
  const fileSequenceNumber = status === 'existing' ? sequenceNumber : null;
  return { status, snapshotId, sequenceNumber, fileSequenceNumber, file: dataFile };
}
