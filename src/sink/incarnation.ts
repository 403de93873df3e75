/**
 * What one epoch of a sink holds in the world: the open table, the subscription, rows in memory and on disk, the files
 * of the batch being written. It is given up as a whole, at any moment; what remains are objects that no snapshot refers
 * to, and those are left for orphan clean-up.
 */
import type { Snapshot } from '../iceberg/metadata.ts';
import { splitChunk } from '../batch/stash.ts';
import { SinkError } from '../errors.ts';
import { type ObjectNames, objectNames, tableLocations } from '../snapshot/object-names.ts';
import { FRONTIER_EMPTY, frontierAfter } from '../time/frontier.ts';
import type { RowChunk } from '../batch/row-chunk.ts';
import type { WritePlan } from '../write/plan.ts';
import { BatchWriter, type FinishedBatch } from './batch-writer.ts';
import { keyColumnIndices } from './check-relation.ts';
import type { MemoryLimits, SinkPorts } from './driver.ts';
import type { Effect, Event, SinkSettings, WrittenBatch } from './effects.ts';
import { ManifestLists } from './manifest-lists.ts';
import { ManifestObjects } from './manifest-objects.ts';
import type { LoadedTable, SourceEvent, SpillStore, Subscription } from './ports.ts';
import { RowIntake, type SealedSpan } from './row-intake.ts';
import { SnapshotPace } from './snapshot-pace.ts';
import { StreamPump } from './stream-pump.ts';
import { Uploads } from './uploads.ts';

export interface IncarnationOptions {
  readonly epoch: number;
  readonly settings: SinkSettings;
  readonly ports: SinkPorts;
  readonly limits: MemoryLimits;
  readonly table: LoadedTable;
  readonly dispatch: (event: Event) => void;
}

/** The snapshot being written while it arrives. */
interface StreamedBatch {
  readonly writer: BatchWriter;
  readonly pump: StreamPump;
  readonly pace: SnapshotPace;
}

type EffectOf<K extends Effect['kind']> = Extract<Effect, { kind: K }>;

export class Incarnation {
  readonly #options: IncarnationOptions;
  readonly #spill: SpillStore;
  readonly #intake: RowIntake;
  readonly #uploads: Uploads;
  readonly #manifests: ManifestObjects;
  readonly #names: ObjectNames;
  readonly #lists: ManifestLists;
  #plan: WritePlan | null = null;
  #subscription: Subscription | null = null;
  #sourceClosed = false;
  #abandoned = false;
  #paused = false;
  #endPatience: (() => void) | null = null;
  #streamed: StreamedBatch | null = null;
  /** Of the batch whose span is still open, with the sections that it has so far. */
  #open: BatchWriter | null = null;
  #writing: BatchWriter | null = null;
  /** Rows up to here belong to the snapshot; null until the first progress has told the as of. */
  #asOf: bigint | null = null;
  /** What batches still have on its way into storage, by their ordinals. */
  readonly #stored = new Map<number, Promise<void>>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: IncarnationOptions) {
    const { epoch, settings, ports, limits, table } = options;
    this.#options = options;
    this.#spill = ports.openSpill(`epoch-${epoch}`);
    this.#uploads = new Uploads(ports, (error) => this.#dispatch({ kind: 'storage-retry', epoch, error }));
    this.#names = objectNames(tableLocations(table.metadata), settings.identity.sinkId, ports.entropy.uuid());
    this.#manifests = new ManifestObjects(this.#uploads);
    this.#lists = new ManifestLists({
      uploads: this.#uploads, manifests: this.#manifests, names: this.#names, entropy: ports.entropy, identity: settings.identity,
    });
    this.#intake = new RowIntake({
      mode: settings.mode,
      spill: this.#spill,
      stashBytesMax: limits.stashBytesMax,
      groupBytesMax: limits.groupBytesMax,
      onFacts: (facts) => this.#dispatch({ kind: 'stash', epoch, facts }),
      onRelief: () => this.#balance(),
      onFailure: (thrown) => this.#fail('write', thrown),
    });
  }

  async subscribe(effect: EffectOf<'subscribe'>): Promise<void> {
    const { ports, settings, limits } = this.#options;
    this.#plan = effect.plan;
    if (effect.streamed !== null) {
      const writer = this.#openWriter(effect.plan, effect.streamed.ordinal, effect.streamed.snapshotId);
      const pump = new StreamPump(this.#spill, limits.streamBytesMax, (group) => writer.write(group), () => this.#balance());
      pump.failed.catch((thrown: unknown) => this.#fail('write', thrown));
      this.#streamed = { writer, pump, pace: new SnapshotPace(limits.streamBytesMax, effect.streamed.patienceMs) };
    }
    const subscription = await ports.source.subscribe(
      {
        relation: effect.relation,
        cluster: settings.cluster,
        asOf: effect.asOf,
        snapshot: effect.snapshot,
        slices: effect.slices,
        keyColumns: keyColumnIndices(effect.relation, settings.keyColumns),
      },
      (event) => this.#onSourceEvent(event),
    );
    this.#subscription = subscription;
    this.#balance();
    if (this.#sourceClosed || this.#abandoned) await subscription.close();
  }

  /** Takes the batch's rows out of the intake, at once; null when they are the snapshot that was streamed. */
  seal(effect: EffectOf<'write'>): SealedSpan | null {
    return effect.streamed ? null : this.#intake.seal(effect.batch.span.upper);
  }

  /** The same for a section of a batch. */
  sealSection(effect: EffectOf<'write-section'>): SealedSpan {
    return this.#intake.seal(effect.upper);
  }

  /** Writes the files of a section; they go into storage while the span goes on. */
  async writeSection({ ordinal, snapshotId }: EffectOf<'write-section'>, span: SealedSpan): Promise<void> {
    const writer = this.#open ?? this.#openWriter(this.#planned(), ordinal, snapshotId);
    this.#open = writer;
    this.#writing = writer;
    await this.#track(this.#writeGroups(writer, span).then(() => writer.endSection()));
  }

  /** Writes the files and manifests of a batch: of the sealed rows, or with null of those streamed already. */
  async write(effect: EffectOf<'write'>, span: SealedSpan | null): Promise<WrittenBatch> {
    const { batch } = effect;
    if (span === null) {
      const streamed = this.#streamed;
      if (streamed === null) throw new SinkError('invariant-broken', 'a streamed batch was not begun');
      this.#streamed = null;
      this.#writing = streamed.writer;
      await this.#track(streamed.pump.finish());
      return this.#finished(await this.#track(streamed.writer.finish(batch, effect.facts)));
    }
    const writer = this.#open ?? this.#openWriter(this.#planned(), batch.ordinal, batch.snapshotId);
    this.#open = null;
    this.#writing = writer;
    return this.#finished(await this.#track(this.#writeGroups(writer, span).then(() => writer.finish(batch, effect.facts))));
  }

  #planned(): WritePlan {
    if (this.#plan === null) throw new SinkError('invariant-broken', 'a batch is written only after the subscription has begun');
    return this.#plan;
  }

  /** From here on the batch may be committed, once its objects are there. */
  #finished({ written, stored }: FinishedBatch): WrittenBatch {
    const { ordinal } = written.batch;
    const confirmed = this.#track(stored);
    this.#stored.set(ordinal, confirmed);
    // Heard before whoever waits for the same: a failure belongs to the writing, not to the commit that waits for it.
    confirmed.then(() => this.#stored.delete(ordinal), (thrown: unknown) => this.#fail('write', thrown));
    return written;
  }

  async #writeGroups(writer: BatchWriter, span: SealedSpan): Promise<void> {
    for await (const group of this.#intake.groups(span)) {
      if (this.#abandoned) break;
      await writer.write(group);
    }
  }

  /** Puts the manifest list into storage, beside what is still on its way there; afterwards everything is there that it leads to. */
  async writeList(effect: EffectOf<'write-list'>): Promise<Snapshot> {
    const { ordinal } = effect.written.batch;
    const [snapshot] = await Promise.all([this.#track(this.#lists.write(effect)), this.#stored.get(ordinal)]);
    return snapshot;
  }

  closeSource(): void {
    this.#sourceClosed = true;
    this.#endPatience?.();
    this.#intake.clear();
    this.#subscription?.close().catch((thrown: unknown) => this.#logClose(thrown));
  }

  /** Resolves when nothing of this incarnation runs any more and its spill files are gone. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    const uploadsLeft = this.#uploads.abandon();
    this.#streamed?.pump.abandon();
    this.#streamed?.writer.abort();
    this.#writing?.abort();
    this.closeSource();
    await Promise.allSettled([uploadsLeft, ...this.#running, this.#intake.settled(), this.#streamed?.pump.finish()]);
    await this.#spill.removeAll().catch((thrown: unknown) => this.#logClose(thrown));
  }

  #openWriter(plan: WritePlan, ordinal: number, snapshotId: bigint): BatchWriter {
    const { encoder, entropy, log } = this.#options.ports;
    return new BatchWriter({
      encoder, entropy, log, uploads: this.#uploads, manifests: this.#manifests, names: this.#names, plan, ordinal, snapshotId,
    });
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
    return tracked;
  }

  #onSourceEvent(event: SourceEvent): void {
    if (this.#abandoned || this.#sourceClosed) return;
    const { epoch, ports } = this.#options;
    switch (event.kind) {
      case 'rows':
        this.#onRows(event.chunk);
        this.#balance();
        return;
      case 'progress':
        this.#asOf ??= event.frontier[0] ?? null;
        this.#dispatch({ kind: 'progress', epoch, frontier: event.frontier });
        return;
      case 'notice':
        ports.log.write('info', 'source-notice', { severity: event.severity, code: event.code, message: event.message });
        return;
      case 'closed':
        this.#dispatch({ kind: 'source-closed', epoch });
        return;
      case 'failed':
        this.#dispatch({ kind: 'source-failed', epoch, error: event.error });
        return;
    }
  }

  /** Rows at the as of are the snapshot and go straight on; later ones belong to later spans. */
  #onRows(chunk: RowChunk): void {
    if (this.#streamed === null) {
      this.#intake.append(chunk);
      return;
    }
    const snapshotEnd = this.#asOf === null ? FRONTIER_EMPTY : frontierAfter(this.#asOf);
    const { below, above } = splitChunk(chunk, snapshotEnd);
    if (below !== null) this.#streamed.pump.push(below);
    if (above !== null) this.#intake.append(above);
  }

  /**
   * Rows on their way to disk are still in memory, and the socket can bring them faster than the disk takes them. So past
   * the bound reading waits for the disk. The pauses are short: disks are faster than what Materialize sends. While the
   * snapshot is streamed, reading waits for the encoder too, as long as its pace allows.
   */
  #balance(): void {
    if (this.#subscription === null) return;
    const { limits, ports } = this.#options;
    const heldBytes = this.#intake.heldBytes + (this.#streamed?.pump.heldBytes ?? 0);
    // What the stash and the snapshot's queue may hold never goes to disk, so waiting for less than that would be waiting for ever.
    const residentBytesMax = limits.stashBytesMax + (this.#streamed === null ? 0 : limits.streamBytesMax);
    const enoughBytes = Math.max(residentBytesMax, limits.rowBytesMax / 2);
    const waitsForDisk = heldBytes > (this.#paused ? enoughBytes : limits.rowBytesMax);
    const waitsForEncoder = this.#streamed?.pace.waits(this.#streamed.pump.heldBytes, ports.clock.nowMs()) ?? false;
    if (waitsForEncoder) this.#lookAgainWhenPatienceEnds();
    if (waitsForDisk || waitsForEncoder) this.#pause();
    else this.#resume();
  }

  /** An encoder that does not go on brings no relief, so only the clock ends that pause. */
  #lookAgainWhenPatienceEnds(): void {
    this.#endPatience ??= this.#options.ports.clock.after(this.#streamed?.pace.leftMs ?? 0, () => {
      this.#endPatience = null;
      this.#balance();
    });
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#subscription?.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#endPatience?.();
    this.#endPatience = null;
    this.#subscription?.resume();
  }

  #dispatch(event: Event): void {
    if (!this.#abandoned) this.#options.dispatch(event);
  }

  #fail(effect: Effect['kind'], thrown: unknown): void {
    const error = thrown instanceof SinkError ? thrown : new SinkError('encode-failed', String(thrown));
    this.#dispatch({ kind: 'effect-failed', epoch: this.#options.epoch, effect, error });
  }

  #logClose(thrown: unknown): void {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    this.#options.ports.log.write('warn', 'clean-up-failed', { message });
  }
}
