/**
 * The encoded pages of the row group being filled, of all columns, in the order in which they came. One buffer for
 * the whole file: it grows in place (a resizable buffer reserves addresses, not memory) and is reused by the next row
 * group and the next file, so the memory of a file is that of one row group of compressed bytes.
 */
import { invariant } from '../errors.ts';

/** Addresses reserved; what a row group holds is far less, save for single values of hundreds of megabytes. */
const STORE_BYTES_MAX = 4 * 1024 ** 3;
const GROWTH_BYTES = 1024 * 1024;

/** Stores of files that are finished, with the memory they have grown to: the next file starts with it. */
const spare: PageStore[] = [];
const SPARE_MAX = 2;
/** A row group holds less; one with a value of hundreds of megabytes gives its memory back. */
const SPARE_BYTES_MAX = 64 * 1024 * 1024;

export function takePageStore(): PageStore {
  return spare.pop() ?? new PageStore();
}

/** The store must not be used by whoever gives it back. */
export function giveBackPageStore(store: PageStore): void {
  store.clear();
  if (spare.length < SPARE_MAX && store.capacity <= SPARE_BYTES_MAX) spare.push(store);
}

export class PageStore {
  length = 0;
  readonly #buffer = new ArrayBuffer(0, { maxByteLength: STORE_BYTES_MAX });

  /** Bytes of memory, used or not. */
  get capacity(): number {
    return this.#buffer.byteLength;
  }

  /** Returns where the bytes lie. */
  append(bytes: Uint8Array): number {
    const start = this.length;
    const end = start + bytes.length;
    invariant(end <= STORE_BYTES_MAX, 'a row group stays below 4 GiB');
    if (end > this.#buffer.byteLength) {
      this.#buffer.resize(Math.min(STORE_BYTES_MAX, Math.ceil(end / GROWTH_BYTES) * GROWTH_BYTES));
    }
    new Uint8Array(this.#buffer, start, bytes.length).set(bytes);
    this.length = end;
    return start;
  }

  /** A view, good until `clear`. */
  read(start: number, length: number): Uint8Array {
    return new Uint8Array(this.#buffer, start, length);
  }

  clear(): void {
    this.length = 0;
  }
}
