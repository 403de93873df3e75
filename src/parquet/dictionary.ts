/**
 * The distinct values of a column chunk, numbered in the order of their first appearance: the dictionary page holds
 * them in PLAIN, data pages the numbers (parquet-format, Encodings.md "RLE_DICTIONARY").
 *
 * Lookup is open addressing in one typed array: a slot holds number + 1, 0 is free, at most half are taken. The values
 * themselves live once, in the bytes of the page to be.
 */
import { ByteWriter } from './byte-writer.ts';
import { encodePlain } from './plain.ts';
import type { DecimalValues, Values, WordValues } from './values.ts';

const FIRST_SLOTS = 1024;
/**
 * With a table half full a value needs one or two. Far more means values that were chosen to meet in one place, and looking each of them up
 * would take the square of their number; then the rest of the chunk does without a dictionary.
 */
const PROBES_PER_VALUE = 8;
const PROBES_MIN = 1024;

/** Byte strings: between offsets, or of one width, the first being that of index `origin`. */
interface ByteSource {
  readonly data: Uint8Array;
  readonly offsets: Int32Array | null;
  readonly width: number;
  readonly origin: number;
}

export class Dictionary {
  /** Distinct values. */
  size = 0;
  readonly #page = new ByteWriter(4096);
  readonly #maxBytes: number;
  #slots = new Int32Array(FIRST_SLOTS);
  /** Of each value, to skip most comparisons and to move it when the table grows. */
  #hashes = new Int32Array(FIRST_SLOTS / 2);
  /** Where each value begins in the page, behind its length; not for words, whose place is their number. */
  #starts = new Int32Array(FIRST_SLOTS / 2);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** All distinct values in PLAIN. */
  page(): Uint8Array {
    return this.#page.view();
  }

  pageBytes(): number {
    return this.#page.length;
  }

  clear(): void {
    this.size = 0;
    this.#page.clear();
    this.#slots.fill(0);
  }

  /**
   * Puts the numbers of `values[from..to)` into `indices`, at the values' places. Returns where it stopped: `to`, or
   * the first value that the dictionary has no room for, or takes too long to find.
   */
  add(values: Values, from: number, to: number, indices: Int32Array): number {
    switch (values.form) {
      case 'words': return values.width === 1
        ? this.#addWords(values, from, to, indices)
        : this.#addDoubleWords(values, from, to, indices);
      case 'decimal': return this.#addDecimals(values, from, to, indices);
      case 'fixed': return this.#addBytes({ data: values.data, offsets: null, width: values.width, origin: 0 }, from, to, indices);
      case 'bytes': return this.#addBytes({ data: values.data, offsets: values.offsets, width: 0, origin: 0 }, from, to, indices);
      case 'bits': return from;
    }
  }

  #addWords({ words }: WordValues, from: number, to: number, indices: Int32Array): number {
    let entries = this.#entryWords();
    let probes = probesFor(to - from);
    for (let index = from; index < to; index++) {
      const word = words[index] ?? 0;
      const hash = mix(word);
      let slot = hash & (this.#slots.length - 1);
      let entry = this.#slots[slot] ?? 0;
      while (entry !== 0 && entries[entry - 1] !== word) {
        slot = (slot + 1) & (this.#slots.length - 1);
        entry = this.#slots[slot] ?? 0;
        probes -= 1;
      }
      if (probes < 0) return index;
      if (entry === 0) {
        if (!this.#hasRoom(4)) return index;
        this.#page.uint32(word);
        entry = this.#enter(slot, hash);
        entries = this.#entryWords();
      }
      indices[index] = entry - 1;
    }
    return to;
  }

  #addDoubleWords({ words }: WordValues, from: number, to: number, indices: Int32Array): number {
    let entries = this.#entryWords();
    let probes = probesFor(to - from);
    for (let index = from; index < to; index++) {
      const low = words[index * 2] ?? 0;
      const high = words[index * 2 + 1] ?? 0;
      const hash = mix(Math.imul(low, 0x2c1b_3c6d) ^ high);
      let slot = hash & (this.#slots.length - 1);
      let entry = this.#slots[slot] ?? 0;
      while (entry !== 0 && !(entries[entry * 2 - 2] === low && entries[entry * 2 - 1] === high)) {
        slot = (slot + 1) & (this.#slots.length - 1);
        entry = this.#slots[slot] ?? 0;
        probes -= 1;
      }
      if (probes < 0) return index;
      if (entry === 0) {
        if (!this.#hasRoom(8)) return index;
        this.#page.uint32(low);
        this.#page.uint32(high);
        entry = this.#enter(slot, hash);
        entries = this.#entryWords();
      }
      indices[index] = entry - 1;
    }
    return to;
  }

  /** Decimals are looked up as the bytes that they are in the file. */
  #addDecimals(values: DecimalValues, from: number, to: number, indices: Int32Array): number {
    const encoded = new ByteWriter((to - from) * values.width);
    encodePlain(encoded, values, from, to);
    return this.#addBytes({ data: encoded.bytes, offsets: null, width: values.width, origin: from }, from, to, indices);
  }

  #addBytes(source: ByteSource, from: number, to: number, indices: Int32Array): number {
    const { data, offsets, width, origin } = source;
    const prefix = offsets === null ? 0 : 4;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    let slots = this.#slots;
    let hashes = this.#hashes;
    let probes = probesFor(to - from);
    for (let index = from; index < to; index++) {
      const start = offsets === null ? (index - origin) * width : offsets[index] ?? 0;
      const length = offsets === null ? width : (offsets[index + 1] ?? 0) - start;
      const hash = hashBytes(view, start, length);
      let slot = hash & (slots.length - 1);
      let entry = slots[slot] ?? 0;
      while (entry !== 0 && !(hashes[entry - 1] === hash && this.#isEntry(entry, view, start, length, prefix))) {
        slot = (slot + 1) & (slots.length - 1);
        entry = slots[slot] ?? 0;
        probes -= 1;
      }
      if (probes < 0) return index;
      if (entry === 0) {
        if (!this.#hasRoom(length + prefix)) return index;
        if (prefix > 0) this.#page.uint32(length);
        this.#starts[this.size] = this.#page.length;
        this.#page.append(data.subarray(start, start + length));
        entry = this.#enter(slot, hash);
        slots = this.#slots;
        hashes = this.#hashes;
      }
      indices[index] = entry - 1;
    }
    return to;
  }

  #isEntry(entry: number, data: DataView, start: number, length: number, prefix: number): boolean {
    const at = this.#starts[entry - 1] ?? 0;
    const end = entry === this.size ? this.#page.length : (this.#starts[entry] ?? 0) - prefix;
    if (end - at !== length) return false;
    const page = this.#page.dataView();
    let byte = 0;
    for (; byte + 4 <= length; byte += 4) {
      if (page.getInt32(at + byte, true) !== data.getInt32(start + byte, true)) return false;
    }
    for (; byte < length; byte++) if (page.getUint8(at + byte) !== data.getUint8(start + byte)) return false;
    return true;
  }

  #hasRoom(bytes: number): boolean {
    return this.#page.length + bytes <= this.#maxBytes;
  }

  #entryWords(): Int32Array {
    return new Int32Array(this.#page.bytes.buffer, 0, this.#page.bytes.length >> 2);
  }

  /** Gives the value just put into the page the free slot and the next number. Returns the number + 1. */
  #enter(slot: number, hash: number): number {
    this.#hashes[this.size] = hash;
    this.size += 1;
    this.#slots[slot] = this.size;
    if (this.size === this.#hashes.length) this.#grow();
    return this.size;
  }

  #grow(): void {
    const length = this.#slots.length * 2;
    const hashes = new Int32Array(length / 2);
    hashes.set(this.#hashes);
    const starts = new Int32Array(length / 2);
    starts.set(this.#starts);
    const slots = new Int32Array(length);
    for (let entry = 1; entry <= this.size; entry++) {
      let slot = (hashes[entry - 1] ?? 0) & (length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (length - 1);
      slots[slot] = entry;
    }
    this.#hashes = hashes;
    this.#starts = starts;
    this.#slots = slots;
  }
}

function probesFor(values: number): number {
  return PROBES_PER_VALUE * values + PROBES_MIN;
}

/** Finalizer of MurmurHash3: each bit of the word reaches the low ones, which choose the slot. */
function mix(word: number): number {
  let hash = word ^ (word >>> 16);
  hash = Math.imul(hash, 0x85eb_ca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2_ae35);
  return hash ^ (hash >>> 16);
}

/** Four bytes a step. */
function hashBytes(data: DataView, start: number, length: number): number {
  const end = start + length;
  let hash = length;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ data.getInt32(at, true), 0x9e37_79b1);
    hash ^= hash >>> 15;
  }
  for (; at < end; at++) hash = Math.imul(hash ^ data.getUint8(at), 0x0100_0193);
  return mix(hash);
}
