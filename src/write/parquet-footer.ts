/**
 * What the sink needs to know of a finished Parquet file, read back from its footer: rows, row group offsets and
 * bytes per column. It is also the check on the encoder: a stream that broke off still leaves a valid, shorter
 * file behind, and only the row count tells.
 *
 * The footer is Thrift's compact protocol; structs are read into maps by field id, unknown fields included, so a
 * newer writer doesn't break it (parquet-format: `parquet.thrift`).
 */
import { invariant } from '../errors.ts';
import type { PrimitiveType } from '../iceberg/types.ts';
import type { ParquetFooter } from '../parquet/footer.ts';
import { type ChunkBounds, fileBounds } from '../parquet/statistics.ts';
import { THRIFT } from '../parquet/thrift-compact.ts';

type ThriftValue = number | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct;
type ThriftStruct = ReadonlyMap<number, ThriftValue>;

/** `types`: the leaves by field id. Throws invariant-broken if the bytes are not a whole Parquet file. */
export function readFooter(file: Uint8Array, types: ReadonlyMap<number, PrimitiveType>): ParquetFooter {
  const tail = new DataView(file.buffer, file.byteOffset, file.byteLength);
  invariant(file.length > 12 && tail.getUint32(file.length - 4, false) === 0x50415231, 'a Parquet file ends with PAR1');
  const length = tail.getUint32(file.length - 8, true);
  invariant(length <= file.length - 12, 'the footer lies within the file');
  const metadata = new ThriftReader(file.subarray(file.length - 8 - length, file.length - 8)).struct();
  const leafIds = leafFieldIds(list(metadata, 2));
  const columnSizes = new Map<number, bigint>();
  const chunks: ChunkBounds[] = [];
  const splitOffsets = list(metadata, 4).map((rowGroup) => {
    const columns = list(asStruct(rowGroup), 1).map((column) => asStruct(asStruct(column).get(3)));
    columns.forEach((column, index) => {
      const id = leafIds[index];
      if (id === undefined) return;
      columnSizes.set(id, (columnSizes.get(id) ?? 0n) + BigInt(number(column, 7)));
      const type = types.get(id);
      if (type !== undefined) chunks.push({ fieldId: id, type, ...chunkBounds(column) });
    });
    const first = columns[0];
    invariant(first !== undefined, 'a row group has a column');
    const dictionary = first.get(11);
    return BigInt(typeof dictionary === 'number' ? dictionary : number(first, 9));
  });
  return { rowCount: number(metadata, 3), splitOffsets, columnSizes, bounds: fileBounds(chunks) };
}

/** parquet.thrift: `ColumnMetaData.num_values` counts nulls too; `Statistics`: null_count 3, max_value 5, min_value 6. */
function chunkBounds(column: ThriftStruct): Pick<ChunkBounds, 'bounds' | 'hasValues'> {
  const found = column.get(12);
  if (!(found instanceof Map)) return { bounds: null, hasValues: true };
  const statistics = asStruct(found);
  const nulls = statistics.get(3);
  const upper = statistics.get(5);
  const lower = statistics.get(6);
  return {
    bounds: lower instanceof Uint8Array && upper instanceof Uint8Array ? { lower, upper } : null,
    hasValues: typeof nulls !== 'number' || number(column, 5) > nulls,
  };
}

/** Column chunks stand in the order of the schema's leaves, which are the elements without children. */
function leafFieldIds(elements: readonly ThriftValue[]): readonly (number | undefined)[] {
  return elements.map(asStruct).filter((element) => !element.has(5)).map((element) => {
    const id = element.get(9);
    return typeof id === 'number' ? id : undefined;
  });
}

function asStruct(value: ThriftValue | undefined): ThriftStruct {
  invariant(value instanceof Map, 'a struct in the footer');
  return value;
}

function list(struct: ThriftStruct, id: number): readonly ThriftValue[] {
  const value = struct.get(id);
  invariant(Array.isArray(value), 'a list in the footer');
  return value as readonly ThriftValue[];
}

function number(struct: ThriftStruct, id: number): number {
  const value = struct.get(id);
  invariant(typeof value === 'number', 'a number in the footer');
  return value;
}

class ThriftReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  struct(): ThriftStruct {
    const fields = new Map<number, ThriftValue>();
    let id = 0;
    for (;;) {
      const header = this.#byte();
      if (header === 0) return fields;
      const delta = header >> 4;
      id = delta === 0 ? this.#zigzag() : id + delta;
      fields.set(id, this.#value(header & 0x0f));
    }
  }

  #value(type: number): ThriftValue {
    switch (type) {
      case THRIFT.true: return true;
      case THRIFT.false: return false;
      case THRIFT.byte: return this.#byte();
      case THRIFT.double: return this.#take(8);
      case THRIFT.binary: return this.#take(this.#varint());
      case THRIFT.list:
      case THRIFT.set:
        return this.#list();
      case THRIFT.struct: return this.struct();
      case THRIFT.int16:
      case THRIFT.int32:
      case THRIFT.int64:
        return this.#zigzag();
      default:
        invariant(false, 'the footer has only types of the compact protocol');
    }
  }

  #list(): readonly ThriftValue[] {
    const header = this.#byte();
    const size = header >> 4 === 15 ? this.#varint() : header >> 4;
    const type = header & 0x0f;
    // Inside of lists a boolean has a byte of its own.
    const booleans = type === THRIFT.true || type === THRIFT.false;
    return Array.from({ length: size }, () => (booleans ? this.#byte() === THRIFT.true : this.#value(type)));
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    invariant(byte !== undefined, 'the footer is complete');
    this.#at += 1;
    return byte;
  }

  #take(length: number): Uint8Array {
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    invariant(taken.length === length, 'the footer is complete');
    this.#at += length;
    return taken;
  }

  /** Sizes and offsets stay below 2^53. */
  #varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  #zigzag(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
