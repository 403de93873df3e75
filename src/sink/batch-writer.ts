/**
 * One batch becomes files and manifests (③ and the part of ④ that does not depend on the table's head).
 *
 * In: groups of rows, by section. Out: of each section data and delete files and one manifest for each kind, written once and
 * reused by every attempt to commit. In append mode a section ends no file: no row needs to be told from those after it. A manifest
 * needs the sizes of its files and not their being there, so all of them go into storage side by side, and what `finish` returns may
 * refer to objects on their way. Invariant: `stored` resolves only when storage has confirmed every one of them, and no snapshot is
 * posted before.
 */
import type { TableFacts } from '../commit/decide.ts';
import type { DataFile, FileContent } from '../iceberg/data-file.ts';
import type { ManifestContent, ManifestFile } from '../snapshot/manifest-list.ts';
import { type ManifestEntry, writeManifest } from '../snapshot/manifest.ts';
import type { ObjectNames } from '../snapshot/object-names.ts';
import { countAdded } from '../snapshot/summary.ts';
import type { WritePlan } from '../write/plan.ts';
import type { Batch, WrittenBatch } from './effects.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import type { EncodeSession, EncodedFile, EncodedPart, Encoder, Entropy, Log, RowGroup } from './ports.ts';
import { syncMarkerOf } from './sync-marker.ts';
import type { StreamedUpload, Uploads } from './uploads.ts';

export interface BatchWriterOptions {
  readonly encoder: Encoder;
  readonly uploads: Uploads;
  readonly manifests: ManifestObjects;
  readonly names: ObjectNames;
  readonly entropy: Entropy;
  readonly log: Log;
  readonly plan: WritePlan;
  readonly ordinal: number;
  readonly snapshotId: bigint;
}

/** A file that goes into storage part by part. */
interface GrowingFile {
  readonly path: string;
  /** Resolves when storage has the bytes. */
  add(bytes: Uint8Array): Promise<void>;
  /** The last bytes: resolves when the whole file is there. */
  finish(bytes: Uint8Array): Promise<void>;
}

function growingFile(path: string, upload: StreamedUpload): GrowingFile {
  const parts: Promise<void>[] = [];
  let length = 0;
  const add = async (bytes: Uint8Array): Promise<void> => {
    const part = upload.put({ index: parts.length, offset: length, bytes });
    parts.push(part);
    length += bytes.length;
    await part;
  };
  return {
    path,
    add,
    async finish(bytes) {
      await Promise.all([...parts, bytes.length > 0 ? add(bytes) : null]);
      await upload.finish();
    },
  };
}

/** A batch whose objects have their names and sizes. */
export interface FinishedBatch {
  readonly written: WrittenBatch;
  /** Resolves when all its objects are in storage; rejects when one can't get there. */
  readonly stored: Promise<void>;
}

export class BatchWriter {
  readonly #options: BatchWriterOptions;
  /** Of the sections that have ended. */
  readonly #sections: (readonly DataFile[])[] = [];
  /** Of the section that is being written. */
  #files: DataFile[] = [];
  #nulledValues = 0;
  readonly #uploading: Promise<void>[] = [];
  /** Files that storage has the first parts of, by their id in the session. */
  readonly #growing = new Map<number, GrowingFile>();
  #session: EncodeSession | null = null;
  #named = 0;
  #aborted = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  async write(group: RowGroup): Promise<void> {
    if (this.#aborted) return;
    // Opened with the first rows: a heartbeat needs no encoder.
    this.#session ??= this.#options.encoder.open(this.#options.plan, {
      takePart: (part) => this.#uploadPart(part), takeFile: (file) => this.#upload(file),
    });
    await this.#session.write(group);
  }

  async finish(batch: Batch, facts: TableFacts): Promise<FinishedBatch> {
    await this.#endFiles();
    if (this.#nulledValues > 0) {
      // Whoever chose NULL over a halt has to be able to see how often it was needed.
      const { log, snapshotId } = this.#options;
      log.write('warn', 'values-nulled', { snapshotId, nulledValues: this.#nulledValues });
    }
    const sections = this.#sections.map((files, section) => [
      this.#writeManifest('data', files.filter((file) => file.content === 'data'), facts, 2 * section),
      this.#writeManifest('deletes', files.filter((file) => file.content !== 'data'), facts, 2 * section + 1),
    ].filter((manifest) => manifest !== null));
    const stored = Promise.all(this.#uploading).then(() => undefined);
    return { written: { batch, sections, added: countAdded(this.#sections.flat()) }, stored };
  }

  /** What is written from here on comes after what was. Resolves when the encoder has given out the files of the section. */
  async endSection(): Promise<void> {
    if (this.#options.plan.mode === 'upsert') await this.#endFiles();
  }

  async #endFiles(): Promise<void> {
    const summary = await this.#session?.finish();
    this.#session = null;
    this.#nulledValues += summary?.nulledValues ?? 0;
    this.#growing.clear();
    if (this.#files.length > 0) this.#sections.push(this.#files);
    this.#files = [];
  }

  abort(): void {
    this.#aborted = true;
    this.#session?.abort();
  }

  async #uploadPart({ fileId, content, bytes }: EncodedPart): Promise<void> {
    let growing = this.#growing.get(fileId);
    if (growing === undefined) {
      const path = this.#nextPath(content);
      growing = growingFile(path, this.#options.uploads.open(path));
      this.#growing.set(fileId, growing);
    }
    await growing.add(bytes);
  }

  #upload({ file, bytes, fileId }: EncodedFile): Promise<void> {
    const growing = fileId === null ? undefined : this.#growing.get(fileId);
    const path = growing?.path ?? this.#nextPath(file.content);
    this.#files.push({ ...file, path });
    return this.#track(growing === undefined ? this.#options.uploads.put(path, bytes) : growing.finish(bytes));
  }

  /** A failure is told by `stored`, and before that by the session; whoever asks neither has given the batch up. */
  #track(upload: Promise<void>): Promise<void> {
    upload.catch(() => undefined);
    this.#uploading.push(upload);
    return upload;
  }

  #nextPath(content: FileContent): string {
    const { names, ordinal } = this.#options;
    const number = this.#named++;
    return content === 'data' ? names.dataFile(ordinal, number) : names.deleteFile(ordinal, number);
  }

  #writeManifest(
    content: ManifestContent, files: readonly DataFile[], facts: TableFacts, number: number,
  ): ManifestFile | null {
    if (files.length === 0) return null;
    const { names, ordinal, manifests, plan, snapshotId, entropy } = this.#options;
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
    void this.#track(manifests.put(path, bytes));
    return manifest;
  }
}
