/**
 * Reads Avro object container files (Avro 1.12: "Object Container Files", "Binary Encoding") by the file's own schema.
 *
 * Record fields come out under the names that the caller gives to their Iceberg field ids, because that is how a strict
 * Iceberg reader finds them: a field without an id, or under another id, is not there. Longs and ints are bigints.
 * Maps keyed by integers, which Iceberg writes as arrays of {key, value}, stay arrays of records.
 */
import { inflateRawSync, zstdDecompressSync } from 'node:zlib';

export type AvroValue = null | boolean | bigint | number | string | Uint8Array | readonly AvroValue[] | AvroRecord;
export interface AvroRecord { readonly [name: string]: AvroValue }

export interface AvroFile {
  readonly metadata: ReadonlyMap<string, string>;
  readonly records: readonly AvroRecord[];
}

interface RecordField { readonly name: string; readonly type: AvroSchema; readonly 'field-id'?: number }
type AvroSchema = string | readonly AvroSchema[] | {
  readonly type: AvroSchema; readonly name?: string; readonly fields?: readonly RecordField[];
  readonly items?: AvroSchema; readonly values?: AvroSchema; readonly size?: number; readonly symbols?: readonly string[];
};

type Names = Readonly<Record<number, string>>;

const MAGIC = Buffer.from([0x4f, 0x62, 0x6a, 0x01]);

/** `names`: field id → the name under which its value comes out. Throws an Error where the file is not sound. */
export function readAvroContainer(bytes: Uint8Array, names: Names): AvroFile {
  const input = new AvroInput(bytes);
  if (!MAGIC.equals(input.take(4))) throw new Error('not an Avro object container: the magic is missing');
  const metadata = readMetadata(input);
  const schema = JSON.parse(metadata.get('avro.schema') ?? 'null') as AvroSchema;
  const codec = metadata.get('avro.codec') ?? 'null';
  const sync = Buffer.from(input.take(16));
  const records: AvroRecord[] = [];
  while (!input.atEnd()) {
    const count = input.long();
    const block = new AvroInput(decompress(codec, input.take(Number(input.long()))));
    for (let index = 0n; index < count; index += 1n) records.push(decode(block, schema, names) as AvroRecord);
    if (!block.atEnd()) throw new Error('an Avro block holds more bytes than its records');
    if (!sync.equals(input.take(16))) throw new Error('an Avro block does not end with the sync marker');
  }
  return { metadata, records };
}

function readMetadata(input: AvroInput): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  for (let count = input.blockCount(); count > 0n; count = input.blockCount()) {
    for (let index = 0n; index < count; index += 1n) {
      const key = input.text();
      metadata.set(key, input.text());
    }
  }
  return metadata;
}

function decompress(codec: string, bytes: Uint8Array): Uint8Array {
  switch (codec) {
    case 'null': return bytes;
    case 'deflate': return inflateRawSync(bytes);
    case 'zstandard': return zstdDecompressSync(bytes);
    default: throw new Error(`the Avro codec ${codec} is not known here`);
  }
}

function decode(input: AvroInput, schema: AvroSchema, names: Names): AvroValue {
  if (typeof schema === 'string') return decodePrimitive(input, schema);
  if (Array.isArray(schema)) {
    const branch = (schema as readonly AvroSchema[])[Number(input.long())];
    if (branch === undefined) throw new Error('an Avro union names a branch that it does not have');
    return decode(input, branch, names);
  }
  const complex = schema as Exclude<AvroSchema, string | readonly AvroSchema[]>;
  switch (complex.type) {
    case 'record': return decodeRecord(input, complex.fields ?? [], names);
    case 'array': return decodeItems(input, complex.items ?? 'null', names);
    case 'fixed': return Uint8Array.from(input.take(complex.size ?? 0));
    case 'enum': return complex.symbols?.[Number(input.long())] ?? null;
    case 'map': throw new Error('Iceberg writes its maps as arrays; a plain Avro map is not expected');
    default: return decode(input, complex.type, names);
  }
}

function decodeRecord(input: AvroInput, fields: readonly RecordField[], names: Names): AvroRecord {
  const record: Record<string, AvroValue> = {};
  for (const field of fields) {
    const value = decode(input, field.type, names);
    const id = field['field-id'];
    if (id !== undefined) record[names[id] ?? `#${id}`] = value;
  }
  return record;
}

function decodeItems(input: AvroInput, items: AvroSchema, names: Names): readonly AvroValue[] {
  const values: AvroValue[] = [];
  for (let count = input.blockCount(); count > 0n; count = input.blockCount()) {
    for (let index = 0n; index < count; index += 1n) values.push(decode(input, items, names));
  }
  return values;
}

function decodePrimitive(input: AvroInput, type: string): AvroValue {
  switch (type) {
    case 'null': return null;
    case 'boolean': return input.take(1)[0] === 1;
    case 'int':
    case 'long': return input.long();
    case 'float': return input.take(4).readFloatLE();
    case 'double': return input.take(8).readDoubleLE();
    case 'bytes': return input.bytes();
    case 'string': return input.text();
    default: throw new Error(`the Avro type ${type} is referred to but not known here`);
  }
}

class AvroInput {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (length < 0 || this.#at + length > this.#bytes.length) throw new Error('the Avro file is cut short');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** Zigzag varint. */
  long(): bigint {
    let raw = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.take(1)[0] ?? 0;
      raw |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
      if (shift > 63n) throw new Error('an Avro long has more than ten bytes');
    }
    return BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n));
  }

  /** Items in the next block of an array or map; a negative count is followed by the block's size in bytes. */
  blockCount(): bigint {
    const count = this.long();
    if (count >= 0n) return count;
    this.long();
    return -count;
  }

  bytes(): Uint8Array {
    return Uint8Array.from(this.take(Number(this.long())));
  }

  text(): string {
    return this.take(Number(this.long())).toString('utf8');
  }
}
