/**
 * Pages (parquet-format, README "Data Pages"; parquet.thrift `PageHeader`): version 1, which every reader has. The
 * body is repetition levels, definition levels and values, compressed as a whole.
 */
import type { ByteWriter } from './byte-writer.ts';
import type { Slots } from './levels.ts';
import { bitWidth, encodeHybrid, encodeRun } from './rle.ts';
import type { ParquetColumn } from './schema.ts';
import { writeStruct } from './thrift-compact.ts';
import { type Values, plainSize } from './values.ts';

/** Numbers of parquet.thrift. */
export const ENCODING = { plain: 0, rle: 3, dictionary: 8 } as const;
export const PAGE_TYPE = { data: 0, dictionary: 2 } as const;

/**
 * A page ends at this many slots or bytes: what a reader must decode to get at one row. A multiple of 8, so that
 * booleans are cut between bytes.
 */
const PAGE_SLOTS = 32_768;
const PAGE_BYTES = 1024 * 1024;

/** A part of a batch's slots, and of its present values. */
export interface PageRange {
  readonly slotFrom: number;
  readonly slotTo: number;
  readonly valueFrom: number;
  readonly valueTo: number;
}

/** The page that begins there: whole rows, at least one (the page index counts rows, so none may be split). */
export function nextPage(
  column: ParquetColumn, slots: Slots, values: Values, slotFrom: number, valueFrom: number,
): PageRange {
  let wanted = PAGE_SLOTS;
  for (;;) {
    const slotTo = rowEnd(slots, slotFrom, wanted);
    const valueTo = valueFrom + presentIn(column, slots, slotFrom, slotTo);
    const isOneRow = wanted === 1 || slotTo - slotFrom > wanted;
    if (isOneRow || plainSize(values, valueFrom, valueTo) <= PAGE_BYTES) return { slotFrom, slotTo, valueFrom, valueTo };
    wanted = Math.max(1, (slotTo - slotFrom) >> 1);
  }
}

/** The last end of a row within `wanted` slots, or the first behind them when a row is longer. */
function rowEnd(slots: Slots, from: number, wanted: number): number {
  const end = Math.min(from + wanted, slots.length);
  const { repetition } = slots;
  if (repetition === null || end === slots.length) return end;
  let at = end;
  while (at > from && repetition[at] !== 0) at -= 1;
  if (at > from) return at;
  at = end;
  while (at < slots.length && repetition[at] !== 0) at += 1;
  return at;
}

function presentIn(column: ParquetColumn, slots: Slots, from: number, to: number): number {
  const { definition } = slots;
  if (definition === null) return to - from;
  let count = 0;
  for (let slot = from; slot < to; slot++) if (definition[slot] === column.maxDefinition) count += 1;
  return count;
}

export function rowsIn(slots: Slots, from: number, to: number): number {
  const { repetition } = slots;
  if (repetition === null) return to - from;
  let count = 0;
  for (let slot = from; slot < to; slot++) if (repetition[slot] === 0) count += 1;
  return count;
}

/** Levels that can only be 0 are not written at all. */
export function encodeLevels(out: ByteWriter, column: ParquetColumn, slots: Slots, page: PageRange): void {
  if (column.maxRepetition > 0) encodeLevel(out, slots.repetition, 0, column.maxRepetition, page);
  if (column.maxDefinition > 0) encodeLevel(out, slots.definition, column.maxDefinition, column.maxDefinition, page);
}

/** `levels` null: all are `constant`. */
function encodeLevel(
  out: ByteWriter, levels: Uint8Array | null, constant: number, max: number, page: PageRange,
): void {
  const start = out.length;
  out.uint32(0);
  const width = bitWidth(max);
  if (levels === null) encodeRun(out, page.slotTo - page.slotFrom, constant, width);
  else encodeHybrid(out, levels, page.slotFrom, page.slotTo, width);
  out.setUint32(start, out.length - start - 4);
}

export interface PageSizes {
  readonly uncompressed: number;
  readonly compressed: number;
}

export function writeDataPageHeader(
  out: ByteWriter, slotCount: number, encoding: 'plain' | 'dictionary', sizes: PageSizes,
): void {
  writeStruct(out, (header) => {
    header.int32(1, PAGE_TYPE.data);
    header.int32(2, sizes.uncompressed);
    header.int32(3, sizes.compressed);
    header.struct(5, (data) => {
      data.int32(1, slotCount);
      data.int32(2, ENCODING[encoding]);
      data.int32(3, ENCODING.rle);
      data.int32(4, ENCODING.rle);
    });
  });
}

export function writeDictionaryPageHeader(out: ByteWriter, entries: number, sizes: PageSizes): void {
  writeStruct(out, (header) => {
    header.int32(1, PAGE_TYPE.dictionary);
    header.int32(2, sizes.uncompressed);
    header.int32(3, sizes.compressed);
    header.struct(7, (dictionary) => {
      dictionary.int32(1, entries);
      dictionary.int32(2, ENCODING.plain);
    });
  });
}
