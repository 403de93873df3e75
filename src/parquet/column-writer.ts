/**
 * One column of a file: batches of slots and values in, a column chunk per row group out. Pages are encoded and
 * compressed as they come, so only compressed bytes wait for the end of the row group; the dictionary may grow until
 * then, since a data page only needs the width of the numbers it uses itself.
 */
import type { ByteWriter } from './byte-writer.ts';
import { type Compress, letGo } from './compression.ts';
import { Dictionary } from './dictionary.ts';
import type { EncodingMemory, PageEncoding } from './encoding-memory.ts';
import type { Slots } from './levels.ts';
import {
  type PageRange, encodeLevels, nextPage, rowsIn, writeDataPageHeader, writeDictionaryPageHeader,
} from './page.ts';
import type { PageStore } from './page-store.ts';
import { encodePlain } from './plain.ts';
import { bitWidth, encodeHybrid } from './rle.ts';
import type { ParquetColumn } from './schema.ts';
import { type Bounds, type Order, boundsOf, cutBounds, mergeBounds, orderOf } from './statistics.ts';
import { type Values, plainSize } from './values.ts';

export interface ChunkPage {
  readonly encoding: PageEncoding;
  /** Within the chunk, header included. */
  readonly offset: number;
  readonly size: number;
  /** Within the row group. */
  readonly firstRow: number;
  readonly slotCount: number;
  readonly nullCount: number;
  readonly bounds: Bounds | null;
}

export interface ColumnChunk {
  readonly column: ParquetColumn;
  /** Bytes of the dictionary page at its beginning; 0 without one. */
  readonly dictionarySize: number;
  readonly pages: readonly ChunkPage[];
  /** Both with page headers, as parquet.thrift wants it. */
  readonly compressedSize: number;
  readonly uncompressedSize: number;
  readonly bounds: Bounds | null;
}

/** Buffers that all columns of a file take turns with. */
export interface Scratch {
  readonly body: ByteWriter;
  readonly header: ByteWriter;
  indices: Int32Array;
}

export interface ColumnOptions {
  /** From `compressors`. */
  readonly compressors: readonly Compress[];
  readonly dictionaryBytesMax: number;
  readonly store: PageStore;
  readonly scratch: Scratch;
  readonly memory: EncodingMemory;
}

/** Values looked at before the dictionary is tried on the whole batch. */
const SAMPLE_VALUES = 16_384;
/** With more distinct values in the sample than this, few repeat in the whole chunk. */
const SAMPLE_DISTINCT_MAX = 0.9;
/** Fewer in a chunk say nothing about the next file. */
const TELLING_VALUES = 1_000;
/** Bodies below this say nothing about the pages to come. */
const CONTEST_BYTES_MIN = 16 * 1024;
/** What a smaller page must gain over a cheaper one. */
const CONTEST_GAIN = 1.005;

interface StoredPage extends Omit<ChunkPage, 'offset'> {
  /** In the store. */
  readonly start: number;
}

export class ColumnWriter {
  readonly column: ParquetColumn;
  readonly #options: ColumnOptions;
  readonly #order: Order;
  readonly #dictionary: Dictionary;
  #pages: StoredPage[] = [];
  #rows = 0;
  #uncompressedSize = 0;
  #bounds: Bounds | null = null;
  /** Some page has values and no bounds, so the chunk has none. */
  #unbounded = false;
  #encoding: PageEncoding | null = null;
  /** Which of the compressors. */
  #compressor = new Map<PageEncoding, number>();
  /** Whether the encoding was remembered rather than tried. */
  #isRecalled = false;

  constructor(column: ParquetColumn, options: ColumnOptions) {
    this.column = column;
    this.#options = options;
    this.#order = orderOf(column.type);
    this.#dictionary = new Dictionary(options.dictionaryBytesMax);
  }

  /** Encodes a batch. */
  write(slots: Slots, values: Values): void {
    const numbered = this.#number(values);
    for (let slot = 0, value = 0; slot < slots.length;) {
      const page = nextPage(this.column, slots, values, slot, value);
      this.#writePage(slots, values, page, page.valueTo <= numbered ? 'dictionary' : 'plain');
      slot = page.slotTo;
      value = page.valueTo;
    }
  }

  /** Ends the row group: puts the chunk out, of which only the description is left. */
  takeChunk(emit: (bytes: Uint8Array) => void): ColumnChunk {
    this.#remember();
    const dictionary = this.#dictionaryPage();
    if (dictionary.length > 0) emit(dictionary);
    let offset = dictionary.length;
    const pages = this.#pages.map(({ start, ...page }): ChunkPage => {
      const placed = { ...page, offset };
      emit(this.#options.store.read(start, page.size));
      offset += page.size;
      return placed;
    });
    const chunk: ColumnChunk = {
      column: this.column, dictionarySize: dictionary.length, pages, compressedSize: offset,
      uncompressedSize: this.#uncompressedSize, bounds: this.#unbounded ? null : this.#bounds,
    };
    this.#pages = [];
    this.#rows = 0;
    this.#uncompressedSize = 0;
    this.#bounds = null;
    this.#unbounded = false;
    this.#encoding = null;
    this.#compressor.clear();
    this.#dictionary.clear();
    return chunk;
  }

  /**
   * Numbers the values by the dictionary as far as that goes, and returns how far; -1 without one, or with one that has no value yet: a page
   * of NULLs alone is plain.
   */
  #number(values: Values): number {
    const { scratch } = this.#options;
    if (scratch.indices.length < values.count) scratch.indices = new Int32Array(values.count);
    if (this.#encoding === null && values.count > 0) this.#encoding = this.#choose(values, scratch.indices);
    if (this.#encoding !== 'dictionary') return -1;
    const numbered = this.#dictionary.add(values, 0, values.count, scratch.indices);
    if (numbered < values.count) this.#encoding = 'plain';
    return this.#dictionary.size === 0 ? -1 : numbered;
  }

  #choose(values: Values, indices: Int32Array): PageEncoding {
    // The format has no dictionary of booleans.
    if (values.form === 'bits') return 'plain';
    const known = this.#options.memory.recall(this.column.fieldId);
    this.#isRecalled = known !== null;
    if (known === null) return this.#isWorthNumbering(values, indices) ? 'dictionary' : 'plain';
    for (const [encoding, index] of known.compressors) this.#compressor.set(encoding, index);
    return known.encoding;
  }

  /** At the end of a chunk: what was found, unless there was too little to find it by; and that what was believed is so no more. */
  #remember(): void {
    const encoding = this.#encoding;
    if (encoding === null) return;
    const { memory } = this.#options;
    const { fieldId } = this.column;
    const values = this.#pages.reduce((sum, page) => sum + page.slotCount - page.nullCount, 0);
    if (!this.#isRecalled) {
      if (values >= TELLING_VALUES) memory.learn(fieldId, { encoding, compressors: new Map(this.#compressor) });
    } else if (this.#dictionary.size > values * SAMPLE_DISTINCT_MAX || this.#pages.some((page) => page.encoding !== encoding)) {
      memory.forget(fieldId);
    }
  }

  /** By the first batch of the chunk, whether numbers and their dictionary take less room than the values. */
  #isWorthNumbering(values: Values, indices: Int32Array): boolean {
    const dictionary = this.#dictionary;
    const sample = Math.min(values.count, SAMPLE_VALUES);
    if (dictionary.add(values, 0, sample, indices) < sample) return false;
    if (dictionary.size > sample * SAMPLE_DISTINCT_MAX) return false;
    if (dictionary.add(values, sample, values.count, indices) < values.count) return false;
    const plain = plainSize(values, 0, values.count);
    const numbers = values.count * bitWidth(dictionary.size - 1) / 8;
    // The numbers of a random column hardly compress, its values may: only a wide margin needs no try.
    if (dictionary.pageBytes() + numbers < plain / 8) return true;
    const compress = this.#options.compressors[0] ?? ((page: Uint8Array) => page);
    const { body } = this.#options.scratch;
    const share = values.count / sample;
    body.clear();
    encodePlain(body, values, 0, sample);
    const plainCost = compress(body.view()).length * share;
    body.clear();
    encodeHybrid(body, indices, 0, sample, bitWidth(dictionary.size - 1));
    const numbersCost = compress(body.view()).length * share;
    return numbersCost + compress(dictionary.page()).length < plainCost;
  }

  #writePage(slots: Slots, values: Values, page: PageRange, encoding: PageEncoding): void {
    const { body, header, indices } = this.#options.scratch;
    body.clear();
    encodeLevels(body, this.column, slots, page);
    if (encoding === 'plain') {
      encodePlain(body, values, page.valueFrom, page.valueTo);
    } else {
      const width = bitWidth(this.#dictionary.size - 1);
      body.byte(width);
      encodeHybrid(body, indices, page.valueFrom, page.valueTo, width);
    }
    const compressed = this.#compressBody(body.view(), encoding);
    const slotCount = page.slotTo - page.slotFrom;
    header.clear();
    writeDataPageHeader(header, slotCount, encoding, { uncompressed: body.length, compressed: compressed.length });
    const start = this.#options.store.append(header.view());
    this.#options.store.append(compressed);
    const size = header.length + compressed.length;
    // Uncompressed, the page is the body itself.
    if (compressed.buffer !== body.bytes.buffer) letGo(compressed);
    this.#pages.push({
      encoding, start, size, firstRow: this.#rows, slotCount,
      nullCount: slotCount - (page.valueTo - page.valueFrom), bounds: this.#pageBounds(values, page, encoding),
    });
    this.#rows += rowsIn(slots, page.slotFrom, page.slotTo);
    this.#uncompressedSize += header.length + body.length;
  }

  #pageBounds(values: Values, page: PageRange, encoding: PageEncoding): Bounds | null {
    const numbers = encoding === 'dictionary' ? this.#options.scratch.indices : null;
    if (page.valueFrom === page.valueTo) return null;
    const exact = boundsOf(values, this.#order, page.valueFrom, page.valueTo, numbers);
    const bounds = exact === null ? null : cutBounds(exact, this.column.type);
    if (bounds === null) this.#unbounded = true;
    this.#bounds = mergeBounds(this.#order, this.#bounds, bounds);
    return bounds;
  }

  /** The first page of some size decides how those after it are compressed. */
  #compressBody(body: Uint8Array, encoding: PageEncoding): Uint8Array {
    const { compressors } = this.#options;
    const chosen = compressors[this.#compressor.get(encoding) ?? -1];
    if (chosen !== undefined) return chosen(body);
    const [thorough, cheap] = compressors;
    if (thorough === undefined) return body;
    const small = thorough(body);
    if (body.length < CONTEST_BYTES_MIN) return small;
    const other = cheap?.(body);
    const cheapWins = other !== undefined && other.length <= small.length * CONTEST_GAIN;
    this.#compressor.set(encoding, cheapWins ? 1 : 0);
    if (other === undefined) return small;
    letGo(cheapWins ? small : other);
    return cheapWins ? other : small;
  }

  #dictionaryPage(): Uint8Array {
    const { header } = this.#options.scratch;
    header.clear();
    if (!this.#pages.some((page) => page.encoding === 'dictionary')) return header.view();
    const page = this.#dictionary.page();
    const compressed = (this.#options.compressors[0] ?? ((bytes: Uint8Array) => bytes))(page);
    writeDictionaryPageHeader(header, this.#dictionary.size, { uncompressed: page.length, compressed: compressed.length });
    this.#uncompressedSize += header.length + page.length;
    header.append(compressed);
    return header.view();
  }
}
