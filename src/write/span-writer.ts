/**
 * The rows of one span become files of one snapshot. Upsert: data files with all columns, and equality-delete
 * files with the key columns only. Append: data files that hold every change with its diff and time.
 *
 * Why one snapshot may hold both: an equality delete applies to data of smaller sequence numbers only (spec,
 * "Scan Planning"), so the deletes of this snapshot remove what earlier ones held and never its own rows.
 */
import { type NetChange, type RowList, consolidate, diffNumber, diffWords } from '../batch/consolidate.ts';
import type { RowChunk } from '../batch/row-chunk.ts';
import { SinkError, invariant } from '../errors.ts';
import type { NestedField } from '../iceberg/types.ts';
import { type NullingPolicy, type Slot } from './columns/column.ts';
import { Int32Column, Int64Column } from './columns/integers.ts';
import { makeSlot } from './columns/make-column.ts';
import { BLOCK_ROWS, RowDecoder } from './copy-row.ts';
import type { WritePlan } from './plan.ts';
import { type FileOutput, type FileSpec, type TableFile, openTableFile } from './table-file.ts';
import { DIFF_COLUMN, TIMESTAMP_COLUMN } from './table-plan.ts';

export interface SpanSummary {
  readonly dataRows: number;
  readonly deletedKeys: number;
  readonly nulledValues: number;
}

export interface SpanWriter {
  /** Resolves when the chunks' bytes are no longer needed. With `consolidate` the chunks hold every row of their keys in the span. Not to be called while one runs. */
  write(chunks: readonly RowChunk[], consolidate: boolean): Promise<void>;
  finish(): Promise<SpanSummary>;
  abort(): void;
}

interface Output {
  readonly file: TableFile;
  readonly decoder: RowDecoder;
}

/** Where the files of a span go, and how they are told apart. */
type SpanFiles = Pick<FileSpec, 'output' | 'nextFileId'>;

/**
 * Files go to `output` as they fill and during `finish`; none without a row.
 * Rejects with row-not-representable, row-malformed, snapshot-not-insert-only or encode-failed.
 */
export function openSpanWriter(plan: WritePlan, output: FileOutput): SpanWriter {
  const policy: NullingPolicy = { enabled: plan.rowErrorPolicy === 'null', count: 0 };
  let lastFileId = 0;
  const files: SpanFiles = { output, nextFileId: () => (lastFileId += 1) };
  return plan.mode === 'append' ? appendWriter(plan, policy, files) : upsertWriter(plan, policy, files);
}

function upsertWriter(plan: WritePlan, policy: NullingPolicy, files: SpanFiles): SpanWriter {
  const data = openOutput(plan, policy, plan.columns.map((_, index) => index), 'data', files);
  const deletes = openOutput(plan, policy, plan.keyColumns, 'equality-deletes', files);
  return {
    async write(chunks, whole) {
      if (!whole) {
        await writeInserts(plan, data, chunks);
        return;
      }
      const change: NetChange = consolidate(chunks, plan.keyColumns);
      await writeRows(deletes, chunks, change.deletes, null);
      await writeRows(data, chunks, change.inserts, change.copies);
    },
    async finish() {
      await data.file.finish();
      await deletes.file.finish();
      return { dataRows: data.file.rowCount(), deletedKeys: deletes.file.rowCount(), nulledValues: policy.count };
    },
    abort() {
      data.file.abort();
      deletes.file.abort();
    },
  };
}

/** Two keys that both became NULL would be one key in the table, and a delete of one would take the other with it. */
function keepKeys(): NullingPolicy {
  return { enabled: false, count: 0 };
}

/** A file with some of the relation's columns, its fields in the order of the table. */
function openOutput(
  plan: WritePlan, policy: NullingPolicy, columns: readonly number[], content: 'data' | 'equality-deletes',
  files: SpanFiles,
): Output {
  const slots: (Slot | null)[] = plan.columns.map(() => null);
  const byId = new Map<number, Slot>();
  for (const index of columns) {
    const column = plan.columns[index];
    invariant(column !== undefined, 'a write plan has every column it names');
    const slot = makeSlot(column.sqlType, column.field, plan.keyColumns.includes(index) ? keepKeys() : policy);
    slots[index] = slot;
    byId.set(column.field.id, slot);
  }
  const fields = plan.schema.fields.filter((field) => byId.has(field.id));
  const equalityFieldIds = content === 'data' ? [] : columns.map((index) => plan.columns[index]?.field.id ?? 0);
  const file = openTableFile({ plan, content, fields, slots: slotsOf(fields, byId), equalityFieldIds, ...files });
  return { file, decoder: new RowDecoder(plan, slots) };
}

function slotsOf(fields: readonly NestedField[], byId: ReadonlyMap<number, Slot>): readonly Slot[] {
  return fields.map((field) => {
    const slot = byId.get(field.id);
    invariant(slot !== undefined, `a column is written into field ${field.id}`);
    return slot;
  });
}

async function flush(output: Output): Promise<void> {
  output.decoder.settle();
  await output.file.flush();
}

async function writeRows(
  output: Output, chunks: readonly RowChunk[], rows: RowList, copies: Float64Array | null,
): Promise<void> {
  for (let index = 0; index < rows.length;) {
    const chunk = chunks[rows.chunks[index] ?? 0];
    invariant(chunk !== undefined, 'a surviving row lies in one of the chunks');
    const single = output.file.clipRun(singleRows(rows, copies, index));
    if (single > 0) {
      const textBytes = output.decoder.takeListedRows(chunk, rows.rows, index, index + single);
      if (output.file.countRows(single, textBytes)) await flush(output);
      index += single;
      continue;
    }
    const row = rows.rows[index] ?? 0;
    const start = chunk.starts[row] ?? 0;
    const end = chunk.ends[row] ?? 0;
    for (let copy = copies?.[index] ?? 0; copy > 0; copy--) {
      output.decoder.append(chunk.bytes, start, end);
      if (output.file.countRows(1, end - start)) await flush(output);
    }
    index += 1;
  }
  output.decoder.settle();
}

/** Rows from `from` on, at most a block, that lie in one chunk and are wanted once. */
function singleRows(rows: RowList, copies: Float64Array | null, from: number): number {
  const to = Math.min(from + BLOCK_ROWS, rows.length);
  const chunk = rows.chunks[from];
  let index = from;
  while (index < to && rows.chunks[index] === chunk && (copies === null || copies[index] === 1)) index += 1;
  return index - from;
}

/**
 * The streamed snapshot: rows go out as they come, nothing is held. That is only right while nothing is
 * retracted, so a diff that is not positive stops the span before anything of it can be committed.
 */
async function writeInserts(plan: WritePlan, output: Output, chunks: readonly RowChunk[]): Promise<void> {
  for (const chunk of chunks) {
    const words = diffWords(chunk);
    for (let row = 0; row < chunk.rowCount;) {
      const single = output.file.clipRun(singleInserts(words, row, chunk.rowCount));
      if (single > 0) {
        const textBytes = output.decoder.takeRows(chunk, row, row + single);
        if (output.file.countRows(single, textBytes)) await flush(output);
        row += single;
        continue;
      }
      const start = chunk.starts[row] ?? 0;
      const end = chunk.ends[row] ?? 0;
      const copies = diffNumber(words[row * 2] ?? 0, words[row * 2 + 1] ?? 0);
      if (copies <= 0) {
        throw new SinkError('snapshot-not-insert-only', `relation ${plan.relationName}: the snapshot retracts a row`);
      }
      for (let copy = 0; copy < copies; copy++) {
        output.decoder.append(chunk.bytes, start, end);
        if (output.file.countRows(1, end - start)) await flush(output);
      }
      row += 1;
    }
  }
  output.decoder.settle();
}

/** Rows from `from` on, at most a block, that are inserted once each. */
function singleInserts(words: Int32Array, from: number, rowCount: number): number {
  const to = Math.min(from + BLOCK_ROWS, rowCount);
  let row = from;
  while (row < to && words[row * 2] === 1 && words[row * 2 + 1] === 0) row += 1;
  return row - from;
}

function appendWriter(plan: WritePlan, policy: NullingPolicy, files: SpanFiles): SpanWriter {
  const slots = plan.columns.map((column) => makeSlot(column.sqlType, column.field, policy));
  const byId = new Map(plan.columns.flatMap((column, index) => {
    const slot = slots[index];
    return slot === undefined ? [] : [[column.field.id, slot] as const];
  }));
  const diffField = systemField(plan, DIFF_COLUMN);
  const timeField = systemField(plan, TIMESTAMP_COLUMN);
  const diff = new Int32Column({ fieldId: diffField.id, type: { kind: 'int' }, bounded: true }, NOT_FROM_TEXT);
  const time = new Int64Column({ fieldId: timeField.id, type: { kind: 'long' }, bounded: true }, NOT_FROM_TEXT);
  byId.set(diffField.id, { column: diff, required: true, policy });
  byId.set(timeField.id, { column: time, required: true, policy });
  const { fields } = plan.schema;
  const file = openTableFile({
    plan, content: 'data', fields, slots: slotsOf(fields, byId), equalityFieldIds: [], ...files,
  });
  const output: Output = { file, decoder: new RowDecoder(plan, slots) };
  return {
    write: (chunks) => writeChanges(output, diff, time, chunks),
    async finish() {
      await output.file.finish();
      return { dataRows: file.rowCount(), deletedKeys: 0, nulledValues: policy.count };
    },
    abort: () => file.abort(),
  };
}

function notFromText(): never {
  invariant(false, 'the system columns of append mode are not part of the row');
}

const NOT_FROM_TEXT = { parse: notFromText, plain: notFromText };

function systemField(plan: WritePlan, name: string): NestedField {
  const field = plan.schema.fields.find((candidate) => candidate.name === name);
  invariant(field !== undefined, `the table of an append sink has ${name}`);
  return field;
}

const INT64_MAX_HIGH = 0x7fff_ffff;

/** Bytes that diff and time add to a row. */
const SYSTEM_BYTES = 12;

/** Each change as it came: a diff of n is n rows of diff 1, a negative one of diff -1, as Materialize writes them. */
async function writeChanges(
  output: Output, diff: Int32Column, time: Int64Column, chunks: readonly RowChunk[],
): Promise<void> {
  for (const chunk of chunks) {
    const diffs = diffWords(chunk);
    const times = new Int32Array(chunk.times.buffer, chunk.times.byteOffset, chunk.rowCount * 2);
    for (let row = 0; row < chunk.rowCount;) {
      const single = output.file.clipRun(singleChanges(diffs, times, row, chunk.rowCount));
      if (single > 0) {
        const textBytes = output.decoder.takeRows(chunk, row, row + single);
        diff.appendLowWords(diffs, row, row + single);
        time.appendAllWords(times, row, row + single);
        if (output.file.countRows(single, textBytes + single * SYSTEM_BYTES)) await flush(output);
        row += single;
        continue;
      }
      const start = chunk.starts[row] ?? 0;
      const end = chunk.ends[row] ?? 0;
      const change = diffNumber(diffs[row * 2] ?? 0, diffs[row * 2 + 1] ?? 0);
      // A constant relation is stamped with the last unsigned timestamp; the long column shows its own last one.
      const fitsLong = (times[row * 2 + 1] ?? 0) >= 0;
      const timeLow = fitsLong ? times[row * 2] ?? 0 : -1;
      const timeHigh = fitsLong ? times[row * 2 + 1] ?? 0 : INT64_MAX_HIGH;
      for (let copy = Math.abs(change); copy > 0; copy--) {
        output.decoder.append(chunk.bytes, start, end);
        diff.appendNumber(change > 0 ? 1 : -1);
        time.appendWords(timeLow, timeHigh);
        if (output.file.countRows(1, end - start + SYSTEM_BYTES)) await flush(output);
      }
      row += 1;
    }
  }
  output.decoder.settle();
}

/** Rows from `from` on, at most a block, whose diff is 1 or -1 and whose time the long column can show. */
function singleChanges(diffs: Int32Array, times: Int32Array, from: number, rowCount: number): number {
  const to = Math.min(from + BLOCK_ROWS, rowCount);
  let row = from;
  for (; row < to; row++) {
    const low = diffs[row * 2];
    const isSingle = (low === 1 && diffs[row * 2 + 1] === 0) || (low === -1 && diffs[row * 2 + 1] === -1);
    if (!isSingle || (times[row * 2 + 1] ?? 0) < 0) break;
  }
  return row - from;
}
