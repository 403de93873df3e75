/**
 * The manifests of one incarnation: put into storage, and read from there or from what is still remembered of them.
 *
 * A merge reads as many manifests as it joins, and the commit waits for it. Nearly always those are the ones that this incarnation
 * wrote in the commits before; an object is never written twice under a name, so what was put is what would be read. In:
 * manifests of commits and of merges. Out: the same bytes. Invariant: what is remembered is at most REMEMBERED_BYTES_MAX.
 */
import type { Uploads } from './uploads.ts';

/** Of some 130 manifests of one file, twice as many as two merges join. */
const REMEMBERED_BYTES_MAX = 512 * 1024;
/** A larger one is that of a snapshot, and not due for merging before long. */
const REMEMBERED_MANIFEST_BYTES_MAX = 64 * 1024;

export class ManifestObjects {
  readonly #uploads: Pick<Uploads, 'put' | 'get'>;
  /** The oldest first. */
  readonly #remembered = new Map<string, Uint8Array>();
  #rememberedBytes = 0;

  constructor(uploads: Pick<Uploads, 'put' | 'get'>) {
    this.#uploads = uploads;
  }

  /** Resolves when storage has it. Rejects as `Uploads.put` does. */
  put(path: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length <= REMEMBERED_MANIFEST_BYTES_MAX) {
      this.#remembered.set(path, bytes);
      this.#rememberedBytes += bytes.length;
      this.#forgetOldest();
    }
    return this.#uploads.put(path, bytes);
  }

  async get(path: string): Promise<Uint8Array> {
    return this.#remembered.get(path) ?? await this.#uploads.get(path);
  }

  #forgetOldest(): void {
    for (const [path, { length }] of this.#remembered) {
      if (this.#rememberedBytes <= REMEMBERED_BYTES_MAX) return;
      this.#remembered.delete(path);
      this.#rememberedBytes -= length;
    }
  }
}
