/**
 * A Parquet file as a stream: Arrow batches of an Iceberg schema in, the file's bytes out, row group by row group, in
 * the order of the file. Nothing of what went out is kept but the metadata for the footer.
 *
 * What `emit` gets is a view of a buffer that is used again: it must copy. Pages come one by one, so a copy into the
 * caller's larger part is the only one.
 */
import type { Data } from 'apache-arrow/data';

import { invariant } from '../errors.ts';
import type { Schema } from '../iceberg/types.ts';
import { ByteWriter } from './byte-writer.ts';
import { ColumnWriter, type Scratch } from './column-writer.ts';
import { type Codec, compressors } from './compression.ts';
import { type EncodingMemory, NO_MEMORY } from './encoding-memory.ts';
import {
  type IndexedChunk, type ParquetFooter, type Placement, type PlacedChunk, type RowGroup, writeFileMetadata,
} from './footer.ts';
import { shred } from './levels.ts';
import { writeColumnIndex, writeOffsetIndex } from './page-index.ts';
import { giveBackPageStore, type PageStore, takePageStore } from './page-store.ts';
import { fileBounds } from './statistics.ts';
import { parquetColumns, parquetTree } from './schema.ts';
import { presentValues } from './values.ts';

export interface ParquetFileOptions {
  readonly schema: Schema;
  readonly codec: Codec;
  /** Of zstd and gzip. */
  readonly level: number;
  /** A row group ends with the batch that takes it past either of these. */
  readonly rowGroupBytes?: number;
  readonly rowGroupRows?: number;
  /** Of earlier files with the same columns. */
  readonly memory?: EncodingMemory;
}

export interface ParquetFile {
  /** Encodes all of the batch before it returns: its buffers may be reused. */
  writeBatch(batch: Data): void;
  /** Bytes of the file so far, those of the open row group included. */
  encodedBytes(): number;
  /** Emits what is left. Nothing may follow. */
  finish(): { readonly footer: ParquetFooter; readonly fileBytes: number };
}

/**
 * Of compressed bytes, which is the memory of an open file. Larger ones make no smaller files (16, 32 and 64 MiB differ
 * by 0.02 %: a page is compressed by itself, and a dictionary repeated per row group is small), smaller ones make the
 * ranges short that a reader of few columns fetches from an object store.
 */
const ROW_GROUP_BYTES = 16 * 1024 * 1024;
const ROW_GROUP_ROWS = 1024 * 1024;
/** Of one column, and of all together: a table of a thousand columns must not hold a thousand megabytes. */
const DICTIONARY_BYTES = 1024 * 1024;
const DICTIONARIES_BYTES = 16 * 1024 * 1024;

const MAGIC = Uint8Array.of(0x50, 0x41, 0x52, 0x31);

/** Throws invariant-broken if a batch isn't of the schema. */
export function openParquetFile(
  options: ParquetFileOptions, emit: (bytes: Uint8Array) => void,
): ParquetFile {
  const rowGroupBytes = options.rowGroupBytes ?? ROW_GROUP_BYTES;
  const rowGroupRows = options.rowGroupRows ?? ROW_GROUP_ROWS;
  const tree = parquetTree(options.schema);
  const store = takePageStore();
  const columns = columnWriters(options, store);
  const rowGroups: RowGroup[] = [];
  let fileBytes = 0;
  let rows = 0;
  let isFinished = false;

  function put(bytes: Uint8Array): void {
    fileBytes += bytes.length;
    emit(bytes);
  }

  function endRowGroup(): void {
    if (rows === 0) return;
    const chunks = columns.map((column): PlacedChunk => {
      const fileOffset = fileBytes;
      return { ...column.takeChunk(put), fileOffset };
    });
    rowGroups.push({ rowCount: rows, chunks });
    rows = 0;
    store.clear();
  }

  put(MAGIC);
  return {
    writeBatch(batch) {
      invariant(!isFinished, 'a finished file takes no batch: its page store is another file\'s');
      let leaf = 0;
      shred(tree, batch, (slots, data) => {
        const column = columns[leaf++];
        invariant(column !== undefined, 'a batch has the columns of its schema');
        column.write(slots, presentValues(column.column.type, data, slots));
      });
      rows += batch.length;
      if (rows >= rowGroupRows || store.length >= rowGroupBytes) endRowGroup();
    },
    encodedBytes: () => fileBytes + store.length,
    finish() {
      invariant(!isFinished, 'a file is finished once');
      isFinished = true;
      endRowGroup();
      const tail = new ByteWriter();
      const indexed = indexRowGroups(tail, rowGroups, fileBytes);
      const start = tail.length;
      writeFileMetadata(tail, tree, indexed, options.codec);
      tail.uint32(tail.length - start);
      tail.append(MAGIC);
      put(tail.view());
      giveBackPageStore(store);
      return { footer: summary(rowGroups), fileBytes };
    },
  };
}

function columnWriters(options: ParquetFileOptions, store: PageStore): readonly ColumnWriter[] {
  const columns = parquetColumns(parquetTree(options.schema));
  const scratch: Scratch = {
    body: new ByteWriter(256 * 1024), header: new ByteWriter(256), indices: new Int32Array(0),
  };
  const dictionaryBytesMax = Math.min(DICTIONARY_BYTES, Math.floor(DICTIONARIES_BYTES / columns.length));
  const codecs = compressors(options.codec, options.level);
  const memory = options.memory ?? NO_MEMORY;
  return columns.map((column) => new ColumnWriter(column, { compressors: codecs, dictionaryBytesMax, store, scratch, memory }));
}

/** Writes the page index of all chunks: first the bounds, then the places, as readers fetch them. */
function indexRowGroups(
  tail: ByteWriter, rowGroups: readonly RowGroup[], tailOffset: number,
): readonly RowGroup<IndexedChunk>[] {
  const place = (write: () => boolean): Placement | null => {
    const start = tail.length;
    return write() ? { offset: tailOffset + start, length: tail.length - start } : null;
  };
  const columnIndexes = rowGroups.map(({ chunks }) =>
    chunks.map((chunk) => place(() => writeColumnIndex(tail, chunk))));
  return rowGroups.map(({ rowCount, chunks }, group) => ({
    rowCount,
    chunks: chunks.map((chunk, index): IndexedChunk => {
      const start = tail.length;
      writeOffsetIndex(tail, chunk.pages, chunk.fileOffset);
      const offsetIndex = { offset: tailOffset + start, length: tail.length - start };
      return { ...chunk, columnIndex: columnIndexes[group]?.[index] ?? null, offsetIndex };
    }),
  }));
}

function summary(rowGroups: readonly RowGroup[]): ParquetFooter {
  const columnSizes = new Map<number, bigint>();
  for (const { column, compressedSize } of rowGroups.flatMap((group) => group.chunks)) {
    columnSizes.set(column.fieldId, (columnSizes.get(column.fieldId) ?? 0n) + BigInt(compressedSize));
  }
  return {
    rowCount: rowGroups.reduce((sum, group) => sum + group.rowCount, 0),
    splitOffsets: rowGroups.map((group) => BigInt(group.chunks[0]?.fileOffset ?? 0)),
    columnSizes,
    bounds: fileBounds(rowGroups.flatMap((group) => group.chunks).map(({ column, bounds, pages }) => ({
      fieldId: column.fieldId, type: column.type, bounds, hasValues: pages.some((page) => page.slotCount > page.nullCount),
    }))),
  };
}
