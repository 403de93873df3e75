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

/** `allocate` gives empty buffers of one size, which is that of the parts. */
export function collectParts(allocate: () => Uint8Array): FileParts {
  const full: Uint8Array[] = [];
  let current: Uint8Array | null = null;
  let used = 0;
  let length = 0;
  return {
    append(bytes) {
      length += bytes.length;
      for (let at = 0; at < bytes.length;) {
        if (current !== null && used === current.length) {
          full.push(current);
          current = null;
        }
        if (current === null) {
          current = allocate();
          used = 0;
        }
        const taken = Math.min(bytes.length - at, current.length - used);
        current.set(bytes.subarray(at, at + taken), used);
        used += taken;
        at += taken;
      }
    },
    takeFull: () => full.splice(0),
    takeRest() {
      invariant(full.length === 0, 'full parts are taken before the rest');
      const rest = current?.slice(0, used) ?? new Uint8Array();
      current = null;
      return rest;
    },
    length: () => length,
  };
}
