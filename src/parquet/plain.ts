/** The PLAIN encoding (parquet-format, Encodings.md): values back to back, byte arrays with their length in front. */
import type { ByteWriter } from './byte-writer.ts';
import { type BitValues, type BytesValues, type DecimalValues, type Values, plainSize } from './values.ts';

/** Below this a loop beats the call of `set`. */
const SHORT_COPY = 32;

/** Appends `values[from..to)`. */
export function encodePlain(out: ByteWriter, values: Values, from: number, to: number): void {
  out.reserve(plainSize(values, from, to));
  switch (values.form) {
    case 'bits':
      encodeBits(out, values, from, to);
      return;
    case 'words': {
      const { buffer, byteOffset } = values.words;
      const size = values.width * 4;
      out.append(new Uint8Array(buffer, byteOffset + from * size, (to - from) * size));
      return;
    }
    case 'decimal':
      encodeDecimals(out, values, from, to);
      return;
    case 'fixed':
      out.append(values.data.subarray(from * values.width, to * values.width));
      return;
    case 'bytes':
      encodeByteArrays(out, values, from, to);
      return;
  }
}

/** Big-endian two's complement, in as many bytes as the precision needs: from the last byte to the first. */
function encodeDecimals(out: ByteWriter, values: DecimalValues, from: number, to: number): void {
  const { words, width } = values;
  const bytes = out.bytes;
  let start = out.length;
  for (let index = from; index < to; index++, start += width) {
    let place = start + width;
    for (let at = index * 4; place - start >= 4; at++) {
      const word = words[at] ?? 0;
      bytes[place - 1] = word;
      bytes[place - 2] = word >> 8;
      bytes[place - 3] = word >> 16;
      bytes[place - 4] = word >> 24;
      place -= 4;
    }
    if (place === start) continue;
    let rest = words[index * 4 + (width >> 2)] ?? 0;
    while (place > start) {
      bytes[--place] = rest;
      rest >>= 8;
    }
  }
  out.length = start;
}

/** Lengths and short values go four bytes at a time through views, which don't ask for alignment. */
function encodeByteArrays(out: ByteWriter, values: BytesValues, from: number, to: number): void {
  const { data, offsets } = values;
  const source = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const bytes = out.bytes;
  const target = out.dataView();
  let place = out.length;
  let at = offsets[from] ?? 0;
  for (let index = from; index < to; index++) {
    const end = offsets[index + 1] ?? 0;
    target.setInt32(place, end - at, true);
    place += 4;
    if (end - at > SHORT_COPY) {
      bytes.set(data.subarray(at, end), place);
      place += end - at;
      at = end;
      continue;
    }
    for (; at + 4 <= end; at += 4, place += 4) target.setInt32(place, source.getInt32(at, true), true);
    while (at < end) bytes[place++] = data[at++] ?? 0;
  }
  out.length = place;
}

/** Unused bits of the last byte are whatever Arrow had there, so they are cleared: equal values, equal bytes. */
function encodeBits(out: ByteWriter, values: BitValues, from: number, to: number): void {
  const size = (to - from + 7) >> 3;
  const start = out.length;
  const { bits } = values;
  const shift = from & 7;
  for (let index = 0, at = from >> 3; index < size; index++, at++) {
    const byte = bits[at] ?? 0;
    out.bytes[start + index] = shift === 0 ? byte : (byte >> shift) | ((bits[at + 1] ?? 0) << (8 - shift));
  }
  out.length = start + size;
  const used = (to - from) & 7;
  if (used !== 0) out.bytes[out.length - 1] = (out.bytes[out.length - 1] ?? 0) & ((1 << used) - 1);
}
