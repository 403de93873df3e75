/**
 * Memory of columns that goes round within a thread. Every span has columns of its own, which grow by doubling; made anew each
 * time, a commit of 200,000 changes costs some 60 MB of zeroed pages and two collections of everything.
 *
 * What a buffer holds when it is taken is arbitrary: a column never reads beyond what it has written.
 */
const spare = new Map<number, ArrayBuffer[]>();
let spareBytes = 0;

/** Of two files of a span with full batches. */
const SPARE_BYTES_MAX = 24 * 1024 * 1024;
/** Smaller ones cost nothing worth keeping. */
const KEPT_BYTES_MIN = 16 * 1024;

export function takeBuffer(byteLength: number): ArrayBuffer {
  const buffer = spare.get(byteLength)?.pop();
  if (buffer === undefined) return new ArrayBuffer(byteLength);
  spareBytes -= byteLength;
  return buffer;
}

/** Nothing may use the buffer of the array afterwards. */
export function giveBack(array: Uint8Array | Int32Array | Float32Array | Float64Array): void {
  const { buffer } = array;
  const { byteLength } = buffer;
  if (!(buffer instanceof ArrayBuffer) || byteLength < KEPT_BYTES_MIN || spareBytes + byteLength > SPARE_BYTES_MAX) return;
  spareBytes += byteLength;
  const same = spare.get(byteLength);
  if (same === undefined) spare.set(byteLength, [buffer]);
  else same.push(buffer);
}

/** The values in an array of that length; the one they were in is given back. */
export function grownInt32(values: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(takeBuffer(length * 4));
  grown.set(values);
  giveBack(values);
  return grown;
}

export function grownBytes(values: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(takeBuffer(length));
  grown.set(values);
  giveBack(values);
  return grown;
}

export function grownFloats(values: Float32Array | Float64Array, length: number): Float32Array | Float64Array {
  const buffer = takeBuffer(length * values.BYTES_PER_ELEMENT);
  const grown = values instanceof Float32Array ? new Float32Array(buffer) : new Float64Array(buffer);
  grown.set(values);
  giveBack(values);
  return grown;
}
