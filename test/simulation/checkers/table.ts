/**
 * Safety of the table, judged whenever main moves: contents, progress, files.
 *
 * - Each snapshot holds what `expected-rows.ts` says; as long as nobody forged anything that is the relation itself.
 * - The sink commits only on top of its own progress or of a compaction of it, on a version not above its own, on the
 *   schema that its files were written for, and every time further than before.
 * - No file is live twice, every live file exists, manifests are counted as they are.
 */
import type { Snapshot, TableMetadata } from '../../../src/iceberg/metadata.ts';
import type { Author, CatalogObserver, CatalogWorld } from '../catalog-double.ts';
import type { SourceWorld } from '../source-double.ts';
import type { ObjectWorld } from '../store-double.ts';
import { type ManifestRow, liveFiles, readManifests, readRows } from '../table-reader.ts';
import type { SinkProcess } from '../sink-process.ts';
import { type World, violate } from '../world.ts';
import {
  type Expected, type Rows, type Upper, applySections, applySpan, difference, firstRows, ofUniqueKeys,
} from './expected-rows.ts';

export interface Known {
  readonly rows: Rows;
  /** The progress that a sink finds here; null: none that it may build on. */
  readonly progress: { readonly upper: Upper; readonly version: bigint; readonly sinkId: string } | null;
  /** Somebody forged progress or rows below: the contents are no longer the relation. */
  readonly isTainted: boolean;
  /** As ofs at which the table may have begun (append only). */
  readonly asOfs: readonly bigint[];
}

export interface TableCheckerOptions {
  readonly world: World;
  readonly catalog: CatalogWorld;
  readonly source: SourceWorld;
  readonly store: ObjectWorld;
}

export class TableChecker implements CatalogObserver {
  readonly #options: TableCheckerOptions;
  /** By table and snapshot. */
  readonly #known = new Map<string, Known>();
  readonly #entries = new Map<string, ManifestRow['entries']>();
  readonly #parsed = new Map<string, unknown>();
  snapshotsChecked = 0;
  /** Of several sections. */
  sectionedSnapshots = 0;

  constructor(options: TableCheckerOptions) {
    this.#options = options;
  }

  known(metadata: TableMetadata, snapshotId: bigint | null): Known | null {
    return snapshotId === null ? null : this.#known.get(`${metadata.tableUuid} ${snapshotId}`) ?? null;
  }

  /** Rivals say what their snapshots hold before they commit them. */
  declare(metadata: TableMetadata, snapshotId: bigint, known: Known): void {
    this.#known.set(`${metadata.tableUuid} ${snapshotId}`, known);
  }

  rowsOf(snapshot: Snapshot): Rows {
    const { store } = this.#options;
    return readRows(store.objects, liveFiles(readManifests(store.objects, snapshot, this.#entries)), this.#parsed);
  }

  onCommitRequest(): void {
    // The protocol checker looks at requests.
  }

  onConfirmed(): void {
    // What was committed counts, whoever hears of it.
  }

  onLoad(): void {
    // Loading changes nothing.
  }

  onChange(before: TableMetadata | null, after: TableMetadata | null, author: Author): void {
    if (after === null) return;
    const head = after.refs['main']?.snapshotId ?? null;
    const previous =
      before !== null && before.tableUuid === after.tableUuid ? before.refs['main']?.snapshotId ?? null : null;
    if (head === null || head === previous) return;
    const snapshot = after.snapshots.find((candidate) => candidate.snapshotId === head);
    if (snapshot === undefined) {
      return violate(this.#options.world, 'table', `main is at ${head}, which does not exist`);
    }
    if (author.kind === 'sink') this.#judgeCommit(before, after, snapshot, previous, author);
    try {
      this.#judgeFiles(after, snapshot);
    } catch (thrown) {
      violate(this.#options.world, 'files', thrown instanceof Error ? thrown.message : String(thrown));
    }
    return undefined;
  }

  /** At the end: everything that any retained snapshot refers to is still there. */
  judgeRetained(): void {
    const { catalog, store, world } = this.#options;
    for (const snapshot of catalog.metadata?.snapshots ?? []) {
      try {
        const manifests = readManifests(store.objects, snapshot, this.#entries);
        for (const file of liveFiles(manifests)) {
          if (!store.objects.has(file.path)) {
            violate(world, 'files', `${file.path} of snapshot ${snapshot.snapshotId} is gone`);
          }
        }
      } catch (thrown) {
        const message = thrown instanceof Error ? thrown.message : String(thrown);
        violate(world, 'files', `snapshot ${snapshot.snapshotId}: ${message}`);
      }
    }
  }

  #judgeCommit(
    before: TableMetadata | null, after: TableMetadata, snapshot: Snapshot, previous: bigint | null, author: Author,
  ): void {
    const { world } = this.#options;
    const { process } = author;
    if (process === null) return undefined;
    const { sinkId, version, takeOver } = process.identity;
    const wrong = (what: string): void => violate(world, 'progress', `snapshot ${snapshot.snapshotId}: ${what}`);
    const upper = frontierOf(snapshot);
    if (upper === 'none') return wrong('it says no frontier');
    if (snapshot.summary['mz-sink-id'] !== sinkId) wrong('it says another sink id');
    if (snapshot.summary['mz-sink-version'] !== String(version)) wrong('it says another version');
    if (snapshot.parentSnapshotId !== previous) {
      wrong(`its parent is ${snapshot.parentSnapshotId}, main was at ${previous}`);
    }
    const parent = this.known(after, previous);
    if (previous !== null && parent === null) return wrong('its parent is not known');
    if (parent !== null) {
      const { progress } = parent;
      if (progress === null) wrong('it is committed on top of a foreign snapshot');
      else {
        if (progress.sinkId !== sinkId && !takeOver) wrong('it is committed on top of another sink');
        if (progress.version > version) wrong(`version ${version} commits on top of version ${progress.version}`);
        // A newer version, or another sink, takes over with an empty snapshot that leaves the frontier where it is; two copies of
        // it may both do so.
        const takesOver = progress.upper === upper && snapshot.summary['changed-partition-count'] === undefined;
        if (!takesOver && !isBelow(progress.upper, upper)) wrong(`progress goes from ${progress.upper} to ${upper}`);
      }
    } else if (before !== null && before.snapshotLogLength > 0) wrong('it begins a table anew that had a history');
    return this.#judgeRows(after, snapshot, parent, upper, process);
  }

  /** Of how many sections a snapshot is: each has a number, which its manifests are listed with, and they follow each other. */
  #sectionsOf(after: TableMetadata, snapshot: Snapshot): number {
    const { store, world } = this.#options;
    const wrong = (what: string): void => violate(world, 'progress', `snapshot ${snapshot.snapshotId}: ${what}`);
    const parent = after.snapshots.find(({ snapshotId }) => snapshotId === snapshot.parentSnapshotId);
    const numbers = new Set(readManifests(store.objects, snapshot, this.#entries).map((manifest) => manifest.sequenceNumber)
      .filter((number) => number > (parent?.sequenceNumber ?? 0n)));
    const first = snapshot.sequenceNumber - BigInt(numbers.size);
    if (numbers.values().some((number) => number <= first)) wrong('the numbers of its sections do not follow each other');
    if (numbers.size > 1) this.sectionedSnapshots++;
    if (numbers.size > 1 && world.scenario.mode === 'append') wrong('an append sink has no need of sections');
    return Math.max(1, numbers.size);
  }

  #judgeRows(after: TableMetadata, snapshot: Snapshot, parent: Known | null, upper: Upper, process: SinkProcess): void {
    const { world, source } = this.#options;
    const { history, scenario } = world;
    const { sinkId, version } = process.identity;
    let actual: Rows;
    let sections: number;
    try {
      actual = this.rowsOf(snapshot);
      sections = this.#sectionsOf(after, snapshot);
    } catch (thrown) {
      violate(world, 'files', thrown instanceof Error ? thrown.message : String(thrown));
      return;
    }
    this.snapshotsChecked++;
    let candidates: readonly (Expected & { readonly asOf: bigint })[];
    if (parent === null) {
      const isConstant = scenario.input === 'constant';
      candidates = [...source.grantedAsOfs].map((asOf) => ({
        asOf, ...firstRows(history, { mode: scenario.mode, snapshot: scenario.snapshot, asOf, upper, isConstant }),
      }));
    } else {
      const from = parent.progress?.upper ?? null;
      const isConstant = scenario.input === 'constant';
      const expected = isConstant ? [{ rows: parent.rows, nulled: 0 }]
        : scenario.mode === 'append' ? [applySpan(history, 'append', parent.rows, from, upper)]
        : applySections(history, parent.rows, from, upper, sections);
      candidates = expected.map((one) => ({ asOf: parent.asOfs[0] ?? 0n, ...one }));
    }
    const fitting = candidates.filter(({ rows }) => difference(actual, rows) === null);
    if (fitting.length === 0) {
      const [first] = candidates;
      const what = first === undefined ? 'no subscription began' : difference(actual, first.rows);
      violate(world, 'rows', `snapshot ${snapshot.snapshotId} at ${upper}: ${what}`);
    }
    const told = process.nulledValues.get(snapshot.snapshotId) ?? 0;
    if (fitting.length > 0 && !fitting.some(({ nulled }) => nulled === told)) {
      const what = `${fitting[0]?.nulled} values are written as NULL, and the sink says ${told}`;
      violate(world, 'nulls', `snapshot ${snapshot.snapshotId}: ${what}`);
    }
    const isTainted = parent?.isTainted ?? false;
    if (!isTainted && scenario.mode === 'upsert' && scenario.snapshot) {
      const differs = this.#differenceToRelation(actual, scenario.input === 'constant' ? null : upper);
      if (differs !== null) {
        violate(world, 'rows', `snapshot ${snapshot.snapshotId} is not the relation at ${upper}: ${differs}`);
      }
    }
    this.declare(after, snapshot.snapshotId, {
      rows: actual, isTainted, asOfs: fitting.map(({ asOf }) => asOf), progress: { upper, version, sinkId },
    });
  }

  #differenceToRelation(actual: Rows, upper: Upper): string | null {
    const { history, scenario } = this.#options.world;
    const { rows: wanted } = firstRows(
      history, { mode: 'upsert', snapshot: true, asOf: 0n, upper, isConstant: false },
    );
    if (scenario.uniqueKeys) return difference(actual, wanted);
    return difference(ofUniqueKeys(history, upper, actual), ofUniqueKeys(history, upper, wanted));
  }

  #judgeFiles(after: TableMetadata, snapshot: Snapshot): void {
    const { world, store } = this.#options;
    const wrong = (what: string): void => violate(world, 'files', `snapshot ${snapshot.snapshotId}: ${what}`);
    const manifests = readManifests(store.objects, snapshot, this.#entries);
    store.referred.add(snapshot.manifestList);
    const seen = new Set<string>();
    for (const manifest of manifests) {
      store.referred.add(manifest.path);
      if (seen.has(manifest.path)) wrong(`${manifest.path} is listed twice`);
      seen.add(manifest.path);
      const count = (status: string): bigint => BigInt(
        manifest.entries.filter((entry) => entry.status === status).length,
      );
      const counted = [count('added'), count('existing'), count('deleted')].join();
      if (counted !== [manifest.addedFiles, manifest.existingFiles, manifest.deletedFiles].join()) {
        wrong(`${manifest.path} is counted wrongly`);
      }
      if (manifest.sequenceNumber > snapshot.sequenceNumber) wrong(`${manifest.path} is later than its snapshot`);
      for (const entry of manifest.entries) {
        if (entry.status === 'deleted') continue;
        store.referred.add(entry.path);
        if (seen.has(entry.path)) wrong(`${entry.path} is live twice`);
        seen.add(entry.path);
        if (!store.objects.has(entry.path)) wrong(`${entry.path} does not exist`);
        if (entry.sequenceNumber < manifest.minSequenceNumber) {
          wrong(`${entry.path} is below the least number of its manifest`);
        }
        if ((entry.content === 'data') !== (manifest.content === 'data')) {
          wrong(`${entry.path} is in a manifest of the other kind`);
        }
        if (!entry.path.startsWith(after.location)) wrong(`${entry.path} is outside the table`);
      }
    }
  }
}

/** `none`: no frontier. Read apart from the sink's own parser. */
export function frontierOf(snapshot: Snapshot): Upper | 'none' {
  const text = snapshot.summary['mz-frontier'];
  if (text === undefined) return 'none';
  const digits = /^\[(\d*)\]$/.exec(text)?.[1];
  if (digits === undefined) return 'none';
  return digits === '' ? null : BigInt(digits);
}

export function isBelow(left: Upper, right: Upper): boolean {
  if (left === null) return false;
  return right === null || left < right;
}
