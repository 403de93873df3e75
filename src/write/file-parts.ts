/**
 * The bytes of one file on their way out: collected into parts of one size, so that a file of any size takes the memory
 * of a few parts. Nothing is handed out of a file that fits into its first part, which then goes up in one request.
 */
import { invariant } from '../errors.ts';

/** Stores want 5 MiB at least of every part but the last, and take 10,000 of them. */
export const UPLOAD_PART_BYTES = 8 * 1024 * 1024;

export interface FileParts {
  /** Copies the bytes. */
  append(bytes: Uint8Array): void;
  /** Parts that are full and followed by something, in order; they are the caller's from then on. */
  takeFull(): readonly Uint8Array[];
  /** What is left, in a buffer of its own. Ends the file. */
  takeRest(): Uint8Array;
  /** Bytes appended so far. */
  length(): number;
}

/** A small file never sees a buffer of the size of a part: one of those costs more than a commit of few rows. */
const FIRST_BYTES = 64 * 1024;

export interface PartBuffers {
  /** An empty buffer of the size of a part. */
  allocatePart(): Uint8Array<ArrayBuffer>;
  /** Takes one back. */
  reusePart(part: Uint8Array<ArrayBuffer>): void;
}

export function collectParts({ allocatePart, reusePart }: PartBuffers): FileParts {
  const full: Uint8Array[] = [];
  let current: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  let isPart = false;
  let used = 0;
  let length = 0;

  /** Room for at least one more byte; for all of them as long as they stay below a part. */
  function makeRoom(more: number): void {
    if (isPart) {
      full.push(current);
      current = allocatePart();
      used = 0;
      return;
    }
    const wanted = Math.max(FIRST_BYTES, current.length * 4, used + more);
    const grown = wanted > UPLOAD_PART_BYTES / 4 ? allocatePart() : new Uint8Array(wanted);
    isPart = wanted > UPLOAD_PART_BYTES / 4;
    grown.set(current.subarray(0, used));
    current = grown;
  }

  return {
    append(bytes) {
      length += bytes.length;
      for (let at = 0; at < bytes.length;) {
        const more = bytes.length - at;
        if (used === current.length || (!isPart && used + more > current.length)) makeRoom(more);
        const taken = Math.min(more, current.length - used);
        current.set(bytes.subarray(at, at + taken), used);
        used += taken;
        at += taken;
      }
    },
    takeFull: () => full.splice(0),
    takeRest() {
      invariant(full.length === 0, 'full parts are taken before the rest');
      const rest = current.slice(0, used);
      if (isPart) reusePart(current);
      current = new Uint8Array(0);
      isPart = false;
      used = 0;
      return rest;
    },
    length: () => length,
  };
}
