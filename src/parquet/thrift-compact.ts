/**
 * Thrift's compact protocol, writing only, and only what Parquet's metadata is made of. A field is one byte of
 * (difference to the last field id, type), then its value; a struct ends with a zero byte. Fields must therefore
 * come in ascending order of their ids, which `#field` insists on.
 */
import { invariant } from '../errors.ts';
import type { ByteWriter } from './byte-writer.ts';

/** Types of the compact protocol. */
export const THRIFT = {
  true: 1, false: 2, byte: 3, int16: 4, int32: 5, int64: 6, double: 7, binary: 8, list: 9, set: 10, struct: 12,
} as const;

const textEncoder = new TextEncoder();

/** Writes one struct, whose fields `fields` puts down. */
export function writeStruct(out: ByteWriter, fields: (struct: StructWriter) => void): void {
  fields(new StructWriter(out));
  out.byte(0);
}

export class StructWriter {
  readonly #out: ByteWriter;
  #lastId = 0;

  constructor(out: ByteWriter) {
    this.#out = out;
  }

  bool(id: number, value: boolean): void {
    this.#field(id, value ? THRIFT.true : THRIFT.false);
  }

  int16(id: number, value: number): void {
    this.#field(id, THRIFT.int16);
    this.#zigzag(value);
  }

  int32(id: number, value: number): void {
    this.#field(id, THRIFT.int32);
    this.#zigzag(value);
  }

  /** Sizes, offsets and counts, which stay below 2^53. */
  int64(id: number, value: number): void {
    this.#field(id, THRIFT.int64);
    this.#zigzag(value);
  }

  binary(id: number, value: Uint8Array): void {
    this.#field(id, THRIFT.binary);
    this.#binary(value);
  }

  text(id: number, value: string): void {
    this.binary(id, textEncoder.encode(value));
  }

  struct(id: number, fields: (struct: StructWriter) => void): void {
    this.#field(id, THRIFT.struct);
    writeStruct(this.#out, fields);
  }

  structs<Item>(id: number, items: readonly Item[], fields: (struct: StructWriter, item: Item) => void): void {
    this.#list(id, THRIFT.struct, items.length);
    for (const item of items) writeStruct(this.#out, (struct) => fields(struct, item));
  }

  int32s(id: number, values: readonly number[]): void {
    this.#list(id, THRIFT.int32, values.length);
    for (const value of values) this.#zigzag(value);
  }

  int64s(id: number, values: readonly number[]): void {
    this.#list(id, THRIFT.int64, values.length);
    for (const value of values) this.#zigzag(value);
  }

  /** Inside of lists a boolean has a byte of its own, and its type is written as THRIFT.true. */
  bools(id: number, values: readonly boolean[]): void {
    this.#list(id, THRIFT.true, values.length);
    for (const value of values) this.#out.byte(value ? THRIFT.true : THRIFT.false);
  }

  binaries(id: number, values: readonly Uint8Array[]): void {
    this.#list(id, THRIFT.binary, values.length);
    for (const value of values) this.#binary(value);
  }

  texts(id: number, values: readonly string[]): void {
    this.binaries(id, values.map((value) => textEncoder.encode(value)));
  }

  /** Ids of parquet.thrift are small, so the long form of a field header is never needed. */
  #field(id: number, type: number): void {
    const step = id - this.#lastId;
    invariant(step >= 1 && step <= 15, 'fields of a Thrift struct come in the order of their ids');
    this.#out.byte((step << 4) | type);
    this.#lastId = id;
  }

  #list(id: number, type: number, length: number): void {
    this.#field(id, THRIFT.list);
    if (length < 15) {
      this.#out.byte((length << 4) | type);
      return;
    }
    this.#out.byte(0xf0 | type);
    this.#out.varint(length);
  }

  #binary(value: Uint8Array): void {
    this.#out.varint(value.length);
    this.#out.append(value);
  }

  /** Arithmetic instead of shifts, which would cut at 32 bits. */
  #zigzag(value: number): void {
    this.#out.varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }
}
