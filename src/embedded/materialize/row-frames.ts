/**
 * Rows of a SUBSCRIBE as messages on the wire: one row, one CopyData or one DataRow. In: batches. Out: blocks of
 * whole messages, made only when they are about to be sent, so that a big snapshot never exists twice.
 */
import type { Timestamp } from '../../time/timestamp.ts';
import { type SqlType, scalar } from '../../relation/sql-type.ts';
import { binaryValue } from './binary-values.ts';
import { type RowLine, csvRecord, splitRowLine } from './copy-text.ts';
import type { RowFormat } from './subscribe-syntax.ts';
import type { SubscriptionBatch } from './subscription-batches.ts';

export interface RowShape {
  readonly format: RowFormat;
  readonly progress: boolean;
  /** Columns of the relation, without time, progress flag and diff. */
  readonly columns: readonly SqlType[];
  /** Which of all output columns go in binary format; nothing for all of them in text. */
  readonly binary?: readonly boolean[];
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

/** A row of binary COPY: the number of columns, then each behind its length. */
function copyBinaryFrame(values: readonly (string | null)[]): string {
  return `d${dataRowFrame(values).slice(1)}`;
}

/** Values of an output row in the formats asked for. */
function encoderOf(shape: RowShape): (values: readonly (string | null)[]) => (string | null)[] {
  const { binary, columns, progress } = shape;
  const all = shape.format === 'copy-binary';
  const types = [NUMERIC, ...(progress ? [BOOLEAN] : []), BIGINT, ...columns];
  if (!all && binary?.includes(true) !== true) return (values) => [...values];
  return (values) => {
    return values.map((value, i) => {
      const type = types[i];
      if (value === null || type === undefined || (!all && binary?.[i] !== true)) return value;
      return binaryValue(type, Buffer.from(value, 'latin1')).toString('latin1');
    });
  };
}

const NUMERIC = scalar('numeric', 0);
const BOOLEAN = scalar('boolean');
const BIGINT = scalar('bigint');

/** The message of a progress row. */
export function progressFrame(shape: RowShape, time: Timestamp): Buffer {
  const nulls = Array.from({ length: shape.columns.length + 1 }, () => null);
  const values = [String(time), 't', ...nulls];
  switch (shape.format) {
    case 'copy-text':
      return Buffer.from(framed('d', `${time}\tt${'\t\\N'.repeat(nulls.length)}\n`), 'latin1');
    case 'copy-csv':
      return Buffer.from(framed('d', `${csvRecord(values)}\n`), 'latin1');
    case 'copy-binary':
      return Buffer.from(copyBinaryFrame(encoderOf(shape)(values)), 'latin1');
    case 'data-row':
      return Buffer.from(dataRowFrame(encoderOf(shape)(values)), 'latin1');
  }
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
    case 'copy-binary':
    case 'data-row': {
      const fixed = shape.progress ? [String(time), 'f'] : [String(time)];
      const encode = encoderOf(shape);
      const frame = shape.format === 'data-row' ? dataRowFrame : copyBinaryFrame;
      return (row, diff) => frame(encode([...fixed, String(diff), ...splitRowLine(row)]));
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
