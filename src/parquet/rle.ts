/**
 * The hybrid of run lengths and bit packing (parquet-format, Encodings.md "RLE"), for levels and dictionary
 * indices: runs of `(count << 1, value)` and of `(groups << 1 | 1, 8 values a group packed low bit first)`.
 */
import type { ByteWriter } from './byte-writer.ts';

/** Bits of a level or index up to `max`; at least one, since readers differ on what no bits are. */
export function bitWidth(max: number): number {
  return Math.max(1, 32 - Math.clz32(max));
}

/** Encodes `values[from..to)`, each below 2^width, width <= 24. */
export function encodeHybrid(
  out: ByteWriter, values: Uint8Array | Int32Array, from: number, to: number, width: number,
): void {
  const shortest = shortestRun(width);
  let at = from;
  while (at < to) {
    const run = runLength(values, at, to);
    if (run >= shortest || run === to - at) {
      encodeRun(out, run, values[at] ?? 0, width);
      at += run;
      continue;
    }
    // Groups are packed until one begins a run that pays for breaking off; only the last may be short.
    let end = at + 8;
    while (end < to && !startsRun(values, end, to, shortest)) end += 8;
    packGroups(out, values, at, Math.min(end, to), width);
    at = end;
  }
}

/** `count` times the same value. */
export function encodeRun(out: ByteWriter, count: number, value: number, width: number): void {
  out.varint(count * 2);
  for (let bits = 0; bits < width; bits += 8) out.byte(value >> bits);
}

/** A run costs about two bytes, its value, and the header of the packed groups behind it. */
function shortestRun(width: number): number {
  const bytes = 3 + Math.ceil(width / 8);
  return Math.max(8, Math.ceil(bytes / width) * 8);
}

function runLength(values: Uint8Array | Int32Array, from: number, to: number): number {
  const first = values[from];
  let at = from + 1;
  while (at < to && values[at] === first) at += 1;
  return at - from;
}

function startsRun(values: Uint8Array | Int32Array, from: number, to: number, shortest: number): boolean {
  const first = values[from];
  const end = Math.min(to, from + shortest);
  for (let at = from + 1; at < end; at++) if (values[at] !== first) return false;
  return end - from === shortest;
}

function packGroups(
  out: ByteWriter, values: Uint8Array | Int32Array, from: number, to: number, width: number,
): void {
  const groups = (to - from + 7) >> 3;
  out.varint(groups * 2 + 1);
  out.reserve(groups * width);
  const bytes = out.bytes;
  let place = out.length;
  const end = place + groups * width;
  // Below 8 bits wait here, so 24 more fit.
  let waiting = 0;
  let bits = 0;
  for (let at = from; at < to; at++) {
    waiting |= (values[at] ?? 0) << bits;
    bits += width;
    while (bits >= 8) {
      bytes[place++] = waiting;
      waiting >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) bytes[place++] = waiting;
  bytes.fill(0, place, end);
  out.length = end;
}
