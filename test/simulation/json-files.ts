/**
 * The fast fidelity of files: JSON. Upsert data files hold `[row, copies]`, delete files keys, append files
 * `[row, diff, time]`. Consolidation is the production code's.
 */
import { consolidate } from '../../src/batch/consolidate.ts';
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import { SinkError } from '../../src/errors.ts';
import type { FileContent } from '../../src/iceberg/data-file.ts';
import type { EncodedFile } from '../../src/sink/ports.ts';
import type { WritePlan } from '../../src/write/plan.ts';
import type { FileMaker } from './encoder-double.ts';
import { isNotRepresentable, keyOf, rowWithNull } from './history.ts';
import { rowText } from './row-chunks.ts';

const NO_METRICS: EncodedFile['file']['metrics'] = {
  columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(),
  lowerBounds: new Map(), upperBounds: new Map(),
};
const encoder = new TextEncoder();

export function jsonFiles(plan: WritePlan, rowsPerFile: number): FileMaker {
  const data: unknown[] = [];
  const deletes: string[] = [];
  const counts = { dataRows: 0, deletedKeys: 0, nulledValues: 0 };
  const stored = (text: string, copies: number): string => {
    const row = plan.columns.length > 2 ? text.slice(0, text.lastIndexOf('\t')) : text;
    if (!isNotRepresentable(row)) return row;
    if (plan.rowErrorPolicy === 'halt') throw new SinkError('row-not-representable', 'NaN has no place in a decimal');
    counts.nulledValues += copies;
    return rowWithNull(row);
  };
  const filesOf = (atLeast: number): readonly EncodedFile[] => {
    const files: EncodedFile[] = [];
    if (data.length >= atLeast) files.push(fileOf('data', data.splice(0)));
    if (deletes.length >= atLeast) files.push(fileOf('equality-deletes', deletes.splice(0)));
    return files;
  };
  return {
    take(chunks, isWhole) {
      const dataBefore = data.length;
      const deletesBefore = deletes.length;
      if (plan.mode === 'append') takeChanges(chunks, data, stored);
      else if (isWhole) takeNet(chunks, plan.keyColumns, data, deletes, stored);
      else takeInserts(chunks, data, stored);
      counts.dataRows += data.length - dataBefore;
      counts.deletedKeys += deletes.length - deletesBefore;
    },
    full: () => filesOf(rowsPerFile),
    rest: () => filesOf(1),
    summary: () => counts,
  };
}

/** What the table holds of a row that is there so many times. */
type Stored = (text: string, copies: number) => string;

function takeChanges(chunks: readonly RowChunk[], data: unknown[], stored: Stored): void {
  each(chunks, (chunk, row) => {
    const diff = Number(chunk.diffs[row]);
    data.push([stored(rowText(chunk, row), Math.abs(diff)), diff, String(chunk.times[row])]);
  });
}

function takeInserts(chunks: readonly RowChunk[], data: unknown[], stored: Stored): void {
  each(chunks, (chunk, row) => {
    const diff = Number(chunk.diffs[row]);
    if (diff <= 0) throw new SinkError('snapshot-not-insert-only', 'a retraction in a snapshot');
    data.push([stored(rowText(chunk, row), diff), diff]);
  });
}

function takeNet(
  chunks: readonly RowChunk[], keyColumns: readonly number[], data: unknown[], deletes: string[], stored: Stored,
): void {
  const net = consolidate(chunks, keyColumns);
  const textAt = (list: typeof net.inserts, index: number): string =>
    rowText(chunks[list.chunks[index] ?? 0] as RowChunk, list.rows[index] ?? 0);
  for (let index = 0; index < net.inserts.length; index++) {
    const copies = net.copies[index] ?? 0;
    data.push([stored(textAt(net.inserts, index), copies), copies]);
  }
  for (let index = 0; index < net.deletes.length; index++) deletes.push(keyOf(textAt(net.deletes, index)));
}

function each(chunks: readonly RowChunk[], take: (chunk: RowChunk, row: number) => void): void {
  for (const chunk of chunks) for (let row = 0; row < chunk.rowCount; row++) take(chunk, row);
}

function fileOf(content: FileContent, rows: readonly unknown[]): EncodedFile {
  const bytes = encoder.encode(JSON.stringify(rows));
  return {
    bytes,
    fileId: null,
    file: {
      content,
      recordCount: BigInt(rows.length),
      fileSizeBytes: BigInt(bytes.length),
      metrics: NO_METRICS,
      splitOffsets: [],
      equalityFieldIds: content === 'data' ? [] : [1],
    },
  };
}
