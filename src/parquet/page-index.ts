/**
 * The page index (parquet-format, PageIndex.md): per column chunk the bounds of its pages and where they lie, so
 * that a reader looking for few rows skips pages as it skips row groups.
 */
import type { ByteWriter } from './byte-writer.ts';
import type { ChunkPage, ColumnChunk } from './column-writer.ts';
import { type Bounds, type Order, compareBounds, orderOf } from './statistics.ts';
import { writeStruct } from './thrift-compact.ts';

const NOTHING = new Uint8Array(0);

/** False, and nothing written, when a page has values but no bounds: the index has no way to say so. */
export function writeColumnIndex(out: ByteWriter, chunk: ColumnChunk): boolean {
  const { pages } = chunk;
  const isNull = (page: ChunkPage): boolean => page.nullCount === page.slotCount;
  if (pages.some((page) => page.bounds === null && !isNull(page))) return false;
  const bounds = pages.flatMap((page) => page.bounds ?? []);
  writeStruct(out, (index) => {
    index.bools(1, pages.map(isNull));
    index.binaries(2, pages.map((page) => page.bounds?.lower ?? NOTHING));
    index.binaries(3, pages.map((page) => page.bounds?.upper ?? NOTHING));
    index.int32(4, boundaryOrder(orderOf(chunk.column.type), bounds));
    index.int64s(5, pages.map((page) => page.nullCount));
  });
  return true;
}

/** `fileOffset`: where the chunk begins. */
export function writeOffsetIndex(out: ByteWriter, pages: readonly ChunkPage[], fileOffset: number): void {
  writeStruct(out, (index) => {
    index.structs(1, pages, (location, page) => {
      location.int64(1, fileOffset + page.offset);
      location.int32(2, page.size);
      location.int64(3, page.firstRow);
    });
  });
}

const UNORDERED = 0;
const ASCENDING = 1;
const DESCENDING = 2;

/** Both bounds of the pages that have any must move the same way. */
function boundaryOrder(order: Order, bounds: readonly Bounds[]): number {
  const moves = bounds.slice(1).flatMap((next, index) => {
    const last = bounds[index];
    return last === undefined ? [] : [compareBounds(order, next.lower, last.lower), compareBounds(order, next.upper, last.upper)];
  });
  if (moves.every((move) => move >= 0)) return ASCENDING;
  return moves.every((move) => move <= 0) ? DESCENDING : UNORDERED;
}
