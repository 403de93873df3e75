/**
 * Memory of columns that goes round within a thread. Every span has columns of its own, which grow by doubling; made anew each
 * time, a commit of 200,000 changes costs some 60 MB of zeroed pages and two collections of everything.
 *
 * Why reuse is safe: a column never reads beyond what it has written, and gives its arrays back only when its span has finished.
 */
import { createSpareBuffers } from '../../batch/spare-buffers.ts';

/** Of two files of a span with full batches. */
const SPARE_BYTES_MAX = 24 * 1024 * 1024;
/** Smaller ones cost nothing worth keeping. */
const KEPT_BYTES_MIN = 16 * 1024;

const spare = createSpareBuffers(SPARE_BYTES_MAX);

type Values = Uint8Array | Int32Array | Float32Array | Float64Array;

/** Nothing may use the buffer of the array afterwards. */
export function giveBack({ buffer }: Values): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= KEPT_BYTES_MIN) spare.keep(buffer);
}

/** The values in an array of that length; the one they were in is given back. */
export function grownInt32(values: Int32Array, length: number): Int32Array<ArrayBuffer> {
  return moved(values, new Int32Array(spare.take(length * 4)));
}

export function grownBytes(values: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  return moved(values, new Uint8Array(spare.take(length)));
}

export function grownFloats(values: Float32Array | Float64Array, length: number): Float32Array | Float64Array {
  const buffer = spare.take(length * values.BYTES_PER_ELEMENT);
  return moved(values, values instanceof Float32Array ? new Float32Array(buffer) : new Float64Array(buffer));
}

function moved<T extends Values>(values: Values, grown: T): T {
  grown.set(values);
  giveBack(values);
  return grown;
}
