/**
 * Rows of a SUBSCRIBE as messages on the wire: one row, one CopyData or one DataRow. In: batches. Out: blocks of
 * whole messages, made only when they are about to be sent, so that a big snapshot never exists twice.
 */
import type { Timestamp } from '../../time/timestamp.ts';
import { type RowLine, csvRecord, splitRowLine } from './copy-text.ts';
import type { RowFormat } from './subscribe-syntax.ts';
import type { SubscriptionBatch } from './subscription-batches.ts';

export interface RowShape {
  readonly format: RowFormat;
  readonly progress: boolean;
  /** Columns of the relation, without time, progress flag and diff. */
  readonly columns: number;
}

const BLOCK_CHARACTERS = 64 * 1024;

/** Lengths as the four characters of a big-endian int32, for the sizes that ordinary rows have. */
const LENGTHS: readonly string[] = Array.from({ length: 4096 }, (_, length) => lengthCharacters(length));

function lengthCharacters(length: number): string {
  return String.fromCharCode((length >>> 24) & 255, (length >>> 16) & 255, (length >>> 8) & 255, length & 255);
}

/** A message around a body given as a binary string. */
function framed(tag: string, body: string): string {
  const length = body.length + 4;
  return tag + (LENGTHS[length] ?? lengthCharacters(length)) + body;
}

function dataRowFrame(values: readonly (string | null)[]): string {
  let body = String.fromCharCode(values.length >> 8, values.length & 255);
  for (const value of values) {
    body += value === null ? '\xff\xff\xff\xff' : lengthCharacters(value.length) + value;
  }
  return framed('D', body);
}

/** The message of a progress row. */
export function progressFrame(shape: RowShape, time: Timestamp): Buffer {
  const nulls = Array.from({ length: shape.columns + 1 }, () => null);
  if (shape.format === 'data-row') return Buffer.from(dataRowFrame([String(time), 't', ...nulls]), 'latin1');
  const csv = shape.format === 'copy-csv';
  const line = csv ? csvRecord([String(time), 't', ...nulls]) : `${time}\tt${'\t\\N'.repeat(nulls.length)}`;
  return Buffer.from(framed('d', `${line}\n`), 'latin1');
}

/** Blocks of messages for the rows of a batch and its progress row. */
export function* batchBlocks(shape: RowShape, batch: SubscriptionBatch): Generator<Buffer> {
  let block = '';
  for (const { time, rows } of batch.times) {
    const frame = frameOf(shape, time);
    for (const [row, diff] of rows) {
      block += frame(row, diff);
      if (block.length >= BLOCK_CHARACTERS) {
        yield Buffer.from(block, 'latin1');
        block = '';
      }
    }
  }
  if (block !== '') yield Buffer.from(block, 'latin1');
  if (shape.progress && batch.progress !== null) yield progressFrame(shape, batch.progress);
}

function frameOf(shape: RowShape, time: Timestamp): (row: RowLine, diff: number) => string {
  const separator = shape.format === 'copy-csv' ? ',' : '\t';
  const head = shape.progress ? `${time}${separator}f${separator}` : `${time}${separator}`;
  switch (shape.format) {
    case 'copy-text':
      return (row, diff) => framed('d', `${head}${diff}\t${row}\n`);
    case 'copy-csv':
      return (row, diff) => framed('d', `${head}${diff},${csvRecord(splitRowLine(row))}\n`);
    case 'data-row': {
      const fixed = shape.progress ? [String(time), 'f'] : [String(time)];
      return (row, diff) => dataRowFrame([...fixed, String(diff), ...splitRowLine(row)]);
    }
  }
}

export interface BatchSize {
  /** Rows that go out, the progress row included: what the command tag counts. */
  readonly rows: number;
  /** Bytes of the relation's columns. */
  readonly bytes: number;
}

export function sizeOfBatch(shape: RowShape, batch: SubscriptionBatch): BatchSize {
  let rows = shape.progress && batch.progress !== null ? 1 : 0;
  let bytes = 0;
  for (const ofTime of batch.times) {
    rows += ofTime.rows.length;
    for (const [row] of ofTime.rows) bytes += row.length;
  }
  return { rows, bytes };
}
