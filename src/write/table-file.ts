/**
 * Rows in, finished files of one kind out: a batch fills, becomes a row group, and the file is closed when it has
 * its size. Columns and their buffers live as long as the span and are reused by every batch and file.
 */
import { type Data, makeData } from 'apache-arrow/data';
import { Struct } from 'apache-arrow/type';

import { asSinkError, invariant } from '../errors.ts';
import type { DataFile, FileContent } from '../iceberg/data-file.ts';
import type { NestedField, Schema } from '../iceberg/types.ts';
import { NO_MEMORY } from '../parquet/encoding-memory.ts';
import { arrowSchema } from './arrow-types.ts';
import { BytesColumn } from './columns/bytes.ts';
import { type LeafColumn, type Slot, ValueFault } from './columns/column.ts';
import { rowError } from './copy-row.ts';
import type { EncodingMemories } from './encoding-memories.ts';
import { type FileParts, type PartBuffers, collectParts } from './file-parts.ts';
import { collectMetrics } from './metrics.ts';
import { BATCH_ROWS, type ParquetWriter, openParquet } from './parquet.ts';
import type { WritePlan } from './plan.ts';

/** The next part of a file that is not finished; the same shape as the encoder port hands on. */
export interface WrittenPart {
  readonly fileId: number;
  readonly content: FileContent;
  readonly bytes: Uint8Array;
}

/** A finished file without its place; the bytes are all of it, or what follows the parts of that id. */
export interface WrittenFile {
  readonly file: Omit<DataFile, 'path'>;
  readonly bytes: Uint8Array;
  readonly fileId: number | null;
}

/** Where a span's files go. Encoding waits for both. */
export interface FileOutput extends PartBuffers {
  /** Without it, each file finds out for itself how its columns are encoded best. */
  readonly memories?: EncodingMemories;
  takePart(part: WrittenPart): Promise<void>;
  takeFile(file: WrittenFile): Promise<void>;
}

export interface FileSpec {
  readonly plan: WritePlan;
  readonly content: FileContent;
  readonly fields: readonly NestedField[];
  /** One for each field, in their order. */
  readonly slots: readonly Slot[];
  readonly equalityFieldIds: readonly number[];
  /** A number that no other file of the span has. */
  readonly nextFileId: () => number;
  readonly output: FileOutput;
}

/** A file in the making. */
interface OpenFile {
  readonly id: number;
  readonly writer: ParquetWriter;
  readonly parts: FileParts;
  partsOut: number;
}

/** Text of a batch's rows at most; the columns it makes are of about the same size. */
const BATCH_TEXT_BYTES = 16 * 1024 * 1024;
/** Encoded bytes per byte of text, until the file has shown its own. */
const ASSUMED_RATIO = 0.4;

export interface TableFile {
  /** How many of that many rows the batch has room for: not fewer than one, of more than none. */
  clipRun(rows: number): number;
  /** Counts rows that were appended to the slots; true when `flush` must come before the next. */
  countRows(rows: number, textBytes: number): boolean;
  /** Makes a row group of the batch, and closes the file if it is large enough. */
  flush(): Promise<void>;
  /** Writes out what is left, and gives the columns up. */
  finish(): Promise<void>;
  abort(): void;
  /** Rows since the span began. */
  rowCount(): number;
}

export function openTableFile(spec: FileSpec): TableFile {
  const { plan, slots } = spec;
  const schema: Schema = { ...plan.schema, fields: spec.fields };
  const leaves = slots.flatMap((slot) => slot.column.leaves());
  const batchTextBytes = Math.min(BATCH_TEXT_BYTES, plan.targetFileSizeBytes);
  let open: OpenFile | null = null;
  let batchRows = 0;
  let batchText = 0;
  let fileRows = 0;
  let fileText = 0;
  let totalRows = 0;

  async function writeBatch(): Promise<void> {
    if (batchRows === 0) return;
    const batch = takeBatch(spec, schema, leaves, batchRows);
    open ??= openFile(spec, schema);
    await open.writer.write(batch);
    for (const slot of slots) slot.column.reset();
    fileRows += batchRows;
    fileText += batchText;
    batchRows = 0;
    batchText = 0;
    await putOut(spec, open);
  }

  async function closeFile(): Promise<void> {
    if (open === null) return;
    const closing = open;
    const footer = await closing.writer.finish();
    open = null;
    await putOut(spec, closing);
    const file: Omit<DataFile, 'path'> = {
      content: spec.content,
      recordCount: BigInt(fileRows),
      fileSizeBytes: BigInt(closing.parts.length()),
      metrics: collectMetrics(leaves, footer),
      splitOffsets: footer.splitOffsets,
      equalityFieldIds: spec.equalityFieldIds,
    };
    fileRows = 0;
    fileText = 0;
    await spec.output.takeFile({ file, bytes: closing.parts.takeRest(), fileId: closing.partsOut > 0 ? closing.id : null });
  }

  return {
    clipRun: (rows) => Math.min(rows, BATCH_ROWS - batchRows),
    countRows(rows, textBytes) {
      batchRows += rows;
      batchText += textBytes;
      totalRows += rows;
      return batchRows >= BATCH_ROWS || batchText >= batchTextBytes;
    },
    async flush() {
      await writeBatch();
      // The encoder holds back a row group that is not full, so what it has put out is not all there is.
      const size = Math.max(open?.writer.encodedBytes() ?? 0, fileText * ASSUMED_RATIO);
      if (size >= plan.targetFileSizeBytes) await closeFile();
    },
    async finish() {
      await writeBatch();
      await closeFile();
      // Not after an abort, which may come while rows are still on their way into the columns.
      for (const slot of slots) slot.column.free();
    },
    abort() {
      open?.writer.abort();
      open = null;
    },
    rowCount: () => totalRows,
  };
}

function openFile(spec: FileSpec, schema: Schema): OpenFile {
  const parts = collectParts(spec.output);
  const { codec, codecLevel } = spec.plan;
  const memory = spec.output.memories?.of(spec.plan, spec.content) ?? NO_MEMORY;
  const options = { schema, codec, level: codecLevel, memory, dictionaryColumns: () => dictionaryColumns(spec) };
  const writer = openParquet(options, parts.append);
  return { id: spec.nextFileId(), writer, parts, partsOut: 0 };
}

/** Hands on what is ready, so that a file takes no more memory than its parts on the way. */
async function putOut(spec: FileSpec, open: OpenFile): Promise<void> {
  for (const bytes of open.parts.takeFull()) {
    open.partsOut += 1;
    await spec.output.takePart({ fileId: open.id, content: spec.content, bytes });
  }
}

function takeBatch(spec: FileSpec, schema: Schema, leaves: readonly LeafColumn[], length: number): Data<Struct> {
  const children = spec.slots.map((slot, index) => {
    invariant(slot.column.length === length, 'all columns of a batch have its length');
    try {
      return slot.column.toArrow(slot.required);
    } catch (thrown) {
      throw batchError(spec, index, thrown);
    }
  });
  for (const leaf of leaves) leaf.observe();
  return makeData({ type: new Struct(arrowSchema(schema).fields), length, nullCount: 0, nullBitmap: null, children });
}

/** A fault found in a whole batch can name the column, not the row. */
function batchError(spec: FileSpec, index: number, thrown: unknown): unknown {
  if (!(thrown instanceof ValueFault)) return asSinkError(thrown, 'encode-failed', 'a batch could not be handed over');
  const id = spec.fields[index]?.id;
  return rowError(spec.plan, spec.plan.columns.findIndex((column) => column.field.id === id), thrown, null);
}

function dictionaryColumns(spec: FileSpec): readonly string[] {
  return spec.fields.flatMap((field, index) => {
    const column = spec.slots[index]?.column;
    return column instanceof BytesColumn && column.hasFewDistinct() ? [field.name] : [];
  });
}
