/** The footer (parquet.thrift `FileMetaData`): schema, row groups, column chunks with their statistics. */
import type { ByteWriter } from './byte-writer.ts';
import type { ColumnChunk } from './column-writer.ts';
import { CODEC, type Codec } from './compression.ts';
import { ENCODING, PAGE_TYPE } from './page.ts';
import { PHYSICAL, type ParquetNode, type Repetition, fixedLength, physicalType } from './schema.ts';
import type { Bounds } from './statistics.ts';
import { type StructWriter, writeStruct } from './thrift-compact.ts';

/** What the sink needs to know of a finished file. */
export interface ParquetFooter {
  readonly rowCount: number;
  /** Where each row group starts, ascending. */
  readonly splitOffsets: readonly bigint[];
  /** Compressed bytes per leaf, by field id. */
  readonly columnSizes: ReadonlyMap<number, bigint>;
  /** Of the leaves that have bounds in every row group in which they have values, in Parquet's PLAIN form, by field id. */
  readonly bounds: ReadonlyMap<number, Bounds>;
}

export interface PlacedChunk extends ColumnChunk {
  readonly fileOffset: number;
}

export interface Placement {
  readonly offset: number;
  readonly length: number;
}

export interface IndexedChunk extends PlacedChunk {
  readonly columnIndex: Placement | null;
  readonly offsetIndex: Placement;
}

export interface RowGroup<Chunk extends PlacedChunk = PlacedChunk> {
  readonly rowCount: number;
  readonly chunks: readonly Chunk[];
}

/** Readers look here for the faults of known writers; the number goes up when the encoding changes. */
const CREATED_BY = 'mz-iceberg-sink version 1';
const FORMAT_VERSION = 2;

export function writeFileMetadata(
  out: ByteWriter, tree: readonly ParquetNode[], rowGroups: readonly RowGroup<IndexedChunk>[], codec: Codec,
): void {
  const columnCount = rowGroups[0]?.chunks.length ?? 0;
  writeStruct(out, (file) => {
    file.int32(1, FORMAT_VERSION);
    file.structs(2, [null, ...flatten(tree)], (element, node) => {
      if (node === null) writeRoot(element, tree.length);
      else writeSchemaElement(element, node);
    });
    file.int64(3, rowGroups.reduce((sum, group) => sum + group.rowCount, 0));
    file.structs(4, rowGroups.map((group, ordinal) => ({ group, ordinal })), (struct, { group, ordinal }) => {
      writeRowGroup(struct, group, ordinal, codec);
    });
    file.text(6, CREATED_BY);
    // Without an order for each column readers ignore the bounds. TYPE_DEFINED_ORDER is a member without fields.
    file.structs(7, Array.from({ length: columnCount }), (order) => order.struct(1, () => {}));
  });
}

function flatten(nodes: readonly ParquetNode[]): readonly ParquetNode[] {
  return nodes.flatMap((node) => [node, ...flatten(node.children)]);
}

function writeRoot(element: StructWriter, children: number): void {
  element.text(4, 'table');
  element.int32(5, children);
}

const REPETITION: Readonly<Record<Repetition, number>> = { required: 0, optional: 1, repeated: 2 };

function writeSchemaElement(element: StructWriter, node: ParquetNode): void {
  const { type } = node;
  const physical = type === null ? null : physicalType(type);
  if (physical !== null) element.int32(1, PHYSICAL[physical]);
  if (type !== null && physical === 'fixed') element.int32(2, fixedLength(type));
  element.int32(3, REPETITION[node.repetition]);
  element.text(4, node.name);
  if (type === null) element.int32(5, node.children.length);
  const converted = convertedType(node);
  if (converted !== null) element.int32(6, converted);
  if (type?.kind === 'decimal') {
    element.int32(7, type.scale);
    element.int32(8, type.precision);
  }
  if (node.fieldId !== null) element.int32(9, node.fieldId);
  const logical = logicalType(node);
  if (logical !== null) element.struct(10, logical);
}

/** `ConvertedType`, which older readers go by. Local timestamps have it too, as in the files of parquet-mr. */
function convertedType(node: ParquetNode): number | null {
  if (node.shape === 'map') return 1;
  if (node.shape === 'list') return 3;
  switch (node.type?.kind) {
    case 'string': return 0;
    case 'decimal': return 5;
    case 'date': return 6;
    case 'time': return 8;
    case 'timestamp': case 'timestamptz': return 10;
    default: return null;
  }
}

/** Writes a member of the union `LogicalType`. */
function logicalType(node: ParquetNode): ((union: StructWriter) => void) | null {
  if (node.shape === 'map') return (union) => union.struct(2, () => {});
  if (node.shape === 'list') return (union) => union.struct(3, () => {});
  const { type } = node;
  switch (type?.kind) {
    case 'string': return (union) => union.struct(1, () => {});
    case 'decimal': return (union) => union.struct(5, (decimal) => {
      decimal.int32(1, type.scale);
      decimal.int32(2, type.precision);
    });
    case 'date': return (union) => union.struct(6, () => {});
    case 'time': return (union) => union.struct(7, (time) => writeMicros(time, false));
    case 'timestamp': case 'timestamptz':
      return (union) => union.struct(8, (timestamp) => writeMicros(timestamp, type.kind === 'timestamptz'));
    case 'uuid': return (union) => union.struct(14, () => {});
    default: return null;
  }
}

function writeMicros(struct: StructWriter, isAdjustedToUtc: boolean): void {
  struct.bool(1, isAdjustedToUtc);
  struct.struct(2, (unit) => unit.struct(2, () => {}));
}

function writeRowGroup(struct: StructWriter, group: RowGroup<IndexedChunk>, ordinal: number, codec: Codec): void {
  const { chunks } = group;
  struct.structs(1, chunks, (column, chunk) => writeColumnChunk(column, chunk, codec));
  struct.int64(2, chunks.reduce((sum, chunk) => sum + chunk.uncompressedSize, 0));
  struct.int64(3, group.rowCount);
  struct.int64(5, chunks[0]?.fileOffset ?? 0);
  struct.int64(6, chunks.reduce((sum, chunk) => sum + chunk.compressedSize, 0));
  // A 16-bit field: beyond that it is left out, as the format allows.
  if (ordinal < 0x8000) struct.int16(7, ordinal);
}

function writeColumnChunk(struct: StructWriter, chunk: IndexedChunk, codec: Codec): void {
  struct.int64(2, chunk.fileOffset);
  struct.struct(3, (metadata) => writeColumnMetadata(metadata, chunk, codec));
  struct.int64(4, chunk.offsetIndex.offset);
  struct.int32(5, chunk.offsetIndex.length);
  if (chunk.columnIndex === null) return;
  struct.int64(6, chunk.columnIndex.offset);
  struct.int32(7, chunk.columnIndex.length);
}

function writeColumnMetadata(struct: StructWriter, chunk: PlacedChunk, codec: Codec): void {
  const { column, pages, bounds } = chunk;
  const used = (['plain', 'dictionary'] as const).map((encoding) =>
    ({ encoding, count: pages.filter((page) => page.encoding === encoding).length })).filter(({ count }) => count > 0);
  const encodings = new Set<number>(used.map(({ encoding }) => ENCODING[encoding]));
  // The dictionary page itself is PLAIN, levels are RLE.
  if (chunk.dictionarySize > 0) encodings.add(ENCODING.plain);
  encodings.add(ENCODING.rle);
  struct.int32(1, PHYSICAL[physicalType(column.type)]);
  struct.int32s(2, [...encodings]);
  struct.texts(3, column.path);
  struct.int32(4, CODEC[codec]);
  struct.int64(5, pages.reduce((sum, page) => sum + page.slotCount, 0));
  struct.int64(6, chunk.uncompressedSize);
  struct.int64(7, chunk.compressedSize);
  struct.int64(9, chunk.fileOffset + chunk.dictionarySize);
  if (chunk.dictionarySize > 0) struct.int64(11, chunk.fileOffset);
  struct.struct(12, (statistics) => {
    statistics.int64(3, pages.reduce((sum, page) => sum + page.nullCount, 0));
    if (bounds === null) return;
    statistics.binary(5, bounds.upper);
    statistics.binary(6, bounds.lower);
  });
  const pageCounts = [
    ...(chunk.dictionarySize > 0 ? [{ type: PAGE_TYPE.dictionary, encoding: ENCODING.plain, count: 1 }] : []),
    ...used.map(({ encoding, count }) => ({ type: PAGE_TYPE.data, encoding: ENCODING[encoding], count })),
  ];
  struct.structs(13, pageCounts, (item, pageCount) => {
    item.int32(1, pageCount.type);
    item.int32(2, pageCount.encoding);
    item.int32(3, pageCount.count);
  });
}
