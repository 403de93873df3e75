/**
 * A buffer that grows, for everything that is laid out byte by byte: page bodies, headers, the footer. It is kept
 * and reused, so what it hands out is a view that the next `clear` makes stale.
 */
export class ByteWriter {
  /** Written up to `length`; hot loops write here themselves after `reserve`. */
  bytes: Uint8Array<ArrayBuffer>;
  length = 0;
  #dataView: DataView<ArrayBuffer>;

  constructor(capacity = 1024) {
    this.bytes = new Uint8Array(capacity);
    this.#dataView = new DataView(this.bytes.buffer);
  }

  /** Makes room for that many bytes behind `length`. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    this.#dataView = new DataView(grown.buffer);
  }

  clear(): void {
    this.length = 0;
  }

  view(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }

  /** On all of `bytes`, until it grows. */
  dataView(): DataView<ArrayBuffer> {
    return this.#dataView;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  append(source: Uint8Array): void {
    this.reserve(source.length);
    this.bytes.set(source, this.length);
    this.length += source.length;
  }

  uint32(value: number): void {
    this.reserve(4);
    this.setUint32(this.length, value);
    this.length += 4;
  }

  /** Little-endian, at a place already written or reserved. */
  setUint32(at: number, value: number): void {
    this.bytes[at] = value;
    this.bytes[at + 1] = value >> 8;
    this.bytes[at + 2] = value >> 16;
    this.bytes[at + 3] = value >> 24;
  }

  /** Unsigned LEB128 of an integer below 2^53. */
  varint(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.length++] = rest;
  }
}
