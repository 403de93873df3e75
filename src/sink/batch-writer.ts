/**
 * One batch becomes files and manifests (③ and the part of ④ that does not depend on the table's head).
 *
 * In: groups of rows. Out: data and delete files in storage and one manifest for each kind, written once and reused by
 * every attempt to commit. Invariant: what `finish` returns refers only to objects that storage has confirmed.
 */
import type { TableFacts } from '../commit/decide.ts';
import type { DataFile } from '../iceberg/data-file.ts';
import type { ManifestContent, ManifestFile } from '../snapshot/manifest-list.ts';
import { type ManifestEntry, writeManifest } from '../snapshot/manifest.ts';
import type { ObjectNames } from '../snapshot/object-names.ts';
import { countAdded } from '../snapshot/summary.ts';
import type { WritePlan } from '../write/plan.ts';
import type { Batch, WrittenBatch } from './effects.ts';
import type { EncodeSession, EncodedFile, Encoder, Entropy, Log, RowGroup } from './ports.ts';
import { syncMarkerOf } from './sync-marker.ts';
import type { Uploads } from './uploads.ts';

export interface BatchWriterOptions {
  readonly encoder: Encoder;
  readonly uploads: Uploads;
  readonly names: ObjectNames;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly plan: WritePlan;
  readonly ordinal: number;
  readonly snapshotId: bigint;
}

export class BatchWriter {
  readonly #options: BatchWriterOptions;
  readonly #files: DataFile[] = [];
  #session: EncodeSession | null = null;
  #named = 0;
  #aborted = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  async write(group: RowGroup): Promise<void> {
    if (this.#aborted) return;
    // Opened with the first rows: a heartbeat needs no encoder.
    this.#session ??= this.#options.encoder.open(this.#options.plan, (file) => this.#upload(file));
    await this.#session.write(group);
  }

  async finish(batch: Batch, facts: TableFacts): Promise<WrittenBatch> {
    const summary = await this.#session?.finish();
    if (summary !== undefined && summary.nulledValues > 0) {
      // Whoever chose NULL over a halt has to be able to see how often it was needed.
      const { log, snapshotId } = this.#options;
      log.write('warn', 'values-nulled', { snapshotId, nulledValues: summary.nulledValues });
    }
    const manifests = [
      await this.#writeManifest('data', this.#files.filter((file) => file.content === 'data'), facts, 0),
      await this.#writeManifest('deletes', this.#files.filter((file) => file.content !== 'data'), facts, 1),
    ];
    return { batch, manifests: manifests.filter((manifest) => manifest !== null), added: countAdded(this.#files) };
  }

  abort(): void {
    this.#aborted = true;
    this.#session?.abort();
  }

  async #upload({ file, bytes }: EncodedFile): Promise<void> {
    const { names, ordinal, uploads } = this.#options;
    const number = this.#named++;
    const path = file.content === 'data' ? names.dataFile(ordinal, number) : names.deleteFile(ordinal, number);
    await uploads.put(path, bytes);
    this.#files.push({ ...file, path });
  }

  async #writeManifest(
    content: ManifestContent, files: readonly DataFile[], facts: TableFacts, number: number,
  ): Promise<ManifestFile | null> {
    if (files.length === 0) return null;
    const { names, ordinal, uploads, plan, snapshotId, entropy } = this.#options;
    const path = names.manifest(ordinal, number);
    const entries = files.map((file): ManifestEntry => ({
      status: 'added', snapshotId, sequenceNumber: null, fileSequenceNumber: null, file,
    }));
    const { bytes, manifest } = writeManifest(entries, {
      path,
      content,
      schema: plan.schema,
      partitionSpecId: facts.specId,
      snapshotId,
      syncMarker: syncMarkerOf(entropy.uuid()),
    });
    await uploads.put(path, bytes);
    return manifest;
  }
}
