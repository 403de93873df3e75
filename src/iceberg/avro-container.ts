/**
 * Avro object container files (Avro specification, "Object Container Files"), written and read whole, in memory.
 *
 * The container is our own and the records are avsc's, because avsc's own container writer drops `field-id`,
 * `element-id` and `logicalType` from the schema in the header, without which Iceberg can't read the file, or else
 * can't write longs beyond 2^53. Here the header has the schema exactly as given, and every long is a bigint.
 */
import { deflateRawSync, inflateRawSync, zstdDecompressSync } from 'node:zlib';
// avsc is CommonJS whose exports Node can't see by name.
import avro, { type Type } from 'avsc';
import { SinkError, invariant } from '../errors.ts';
import { boundsCheckerFor } from './avro-bounds.ts';
import { type JsonValue, formatJson, parseJson } from './json.ts';

/** Longs are bigints, ints and floats numbers, bytes Buffers; a union of null and one type is the value or null. */
export type AvroValue = null | boolean | number | bigint | string | Uint8Array | readonly AvroValue[] | AvroRecord;

export interface AvroRecord {
  readonly [field: string]: AvroValue;
}

export interface AvroContainer {
  readonly schema: JsonValue;
  readonly records: readonly AvroRecord[];
  /** Header members other than `avro.schema` and `avro.codec`. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly codec: 'null' | 'deflate';
  /** 16 random bytes. */
  readonly syncMarker: Uint8Array;
}

export interface AvroContents {
  readonly schema: JsonValue;
  readonly records: readonly AvroRecord[];
  readonly metadata: ReadonlyMap<string, string>;
}

const MAGIC = Buffer.from('Obj\u0001', 'latin1');
const SYNC_BYTES = 16;
const BLOCK_BYTES = 256 * 1024;

/** What all blocks together may grow to when unpacked: a manifest of 100,000 files takes 33 MB. */
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;

/** Manifest schemas take 10 kB; a decoder is compiled out of each, which takes time for every field. */
const MAX_SCHEMA_BYTES = 1024 * 1024;

/** The table's schema is a member of the header too. */
const MAX_HEADER_MEMBER_BYTES = 64 * 1024 * 1024;

const HEADER_SCHEMA = { type: 'map', values: 'bytes' } as const;
const headerType = avro.Type.forSchema(HEADER_SCHEMA);

/** avsc's long as an exact 64-bit bigint. */
const bigintLong = avro.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(value);
    return buffer;
  },
  fromJSON: BigInt,
  toJSON: Number,
  isValid: (value: unknown) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
});

/** Compiling a schema takes about a millisecond; those we write with are constants, so each is compiled once. */
const compiled = new WeakMap<object, Type>();

function typeFor(schema: JsonValue): Type {
  const known = typeof schema === 'object' && schema !== null ? compiled.get(schema) : undefined;
  if (known !== undefined) return known;
  const type = avro.Type.forSchema(schema as unknown as Parameters<typeof avro.Type.forSchema>[0], {
    registry: { long: bigintLong },
    omitRecordMethods: true,
  });
  if (typeof schema === 'object' && schema !== null) compiled.set(schema, type);
  return type;
}

/** avsc takes Buffers only; this is a view, no copy. */
export function avroBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The bytes of a container file. Throws `encode-failed` when a record does not have the schema. */
export function writeAvroContainer(container: AvroContainer): Uint8Array {
  invariant(container.syncMarker.length === SYNC_BYTES, 'a sync marker has 16 bytes');
  const header: Record<string, Buffer> = {
    'avro.schema': Buffer.from(formatJson(container.schema)),
    'avro.codec': Buffer.from(container.codec),
  };
  for (const [key, value] of Object.entries(container.metadata)) header[key] = Buffer.from(value);
  const parts: Uint8Array[] = [MAGIC, headerType.toBuffer(header), container.syncMarker];
  const type = typeFor(container.schema);
  let block: Buffer[] = [];
  let blockBytes = 0;
  const flush = (): void => {
    if (block.length === 0) return;
    const raw = Buffer.concat(block);
    const stored = container.codec === 'deflate' ? deflateRawSync(raw) : raw;
    parts.push(longBytes(block.length), longBytes(stored.length), stored, container.syncMarker);
    block = [];
    blockBytes = 0;
  };
  for (const record of container.records) {
    const encoded = encode(type, record);
    block.push(encoded);
    blockBytes += encoded.length;
    if (blockBytes >= BLOCK_BYTES) flush();
  }
  flush();
  return Uint8Array.from(Buffer.concat(parts));
}

function encode(type: Type, record: AvroRecord): Buffer {
  try {
    return type.toBuffer(record);
  } catch {
    // avsc's message prints the value, which may be a bound, that is a value of a row.
    throw new SinkError('encode-failed', `a record does not fit the Avro schema of ${type.name ?? 'its file'}`);
  }
}

/** A count or length, zigzag and variable length; small enough for number arithmetic. */
function longBytes(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value * 2;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/**
 * Reads a whole container. Throws `catalog-protocol` for anything that is none, damaged, cut short or packed in a way
 * we can't unpack; the time and memory it takes are bounded by the size of the bytes.
 */
export function readAvroContainer(bytes: Uint8Array): AvroContents {
  const input = avroBytes(bytes);
  if (input.length < MAGIC.length || !input.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw damaged('it is not an Avro container');
  }
  const reader: Reader = { input, at: MAGIC.length };
  const metadata = readHeader(reader);
  const sync = take(reader, SYNC_BYTES);
  const codec = metadata.get('avro.codec') ?? 'null';
  const schemaText = metadata.get('avro.schema');
  if (schemaText === undefined) throw damaged('its header has no schema');
  if (schemaText.length > MAX_SCHEMA_BYTES) throw damaged(`its schema exceeds ${MAX_SCHEMA_BYTES} bytes`);
  const schema = parseJson(schemaText) as JsonValue;
  const check = boundsCheckerFor(schema);
  const type = readableType(schema);
  // All blocks are checked before the first is decoded: a bomb may begin with honest ones.
  const blocks: { readonly block: Buffer; readonly count: number }[] = [];
  let room = MAX_UNPACKED_BYTES;
  while (reader.at < input.length) {
    const count = readLength(reader);
    const block = unpack(take(reader, readLength(reader)), codec, room);
    room -= block.length;
    if (!take(reader, SYNC_BYTES).equals(sync)) throw damaged('a block does not end with the sync marker');
    check(block, count);
    if (count > 0) blocks.push({ block, count });
  }
  const records: AvroRecord[] = [];
  for (const { block, count } of blocks) decodeBlock(type, block, count, records);
  return { schema, records, metadata };
}

function readableType(schema: JsonValue): Type {
  try {
    return typeFor(schema);
  } catch {
    throw damaged('its schema is not an Avro schema');
  }
}

function decodeBlock(type: Type, block: Buffer, count: number, records: AvroRecord[]): void {
  let at = 0;
  for (let done = 0; done < count; done++) {
    const { value, offset } = decodeRecord(type, block, at);
    if (offset < 0) throw damaged('a record is cut short');
    records.push(value);
    at = offset;
  }
}

function decodeRecord(type: Type, block: Buffer, at: number): { readonly value: AvroRecord; readonly offset: number } {
  try {
    return type.decode(block, at) as { readonly value: AvroRecord; readonly offset: number };
  } catch {
    // avsc's message may print the value.
    throw damaged('a record does not have the schema of its file');
  }
}

interface Reader {
  readonly input: Buffer;
  at: number;
}

function readHeader(reader: Reader): ReadonlyMap<string, string> {
  const entries = new Map<string, string>();
  for (;;) {
    let count = readLong(reader);
    if (count === 0) return entries;
    if (count < 0) {
      count = -count;
      readLong(reader);
    }
    if (count > reader.input.length - reader.at) throw damaged('its header claims more members than there are bytes');
    for (let done = 0; done < count; done++) {
      const key = readHeaderText(reader);
      entries.set(key, readHeaderText(reader));
    }
  }
}

function readHeaderText(reader: Reader): string {
  const length = readLength(reader);
  if (length > MAX_HEADER_MEMBER_BYTES) throw damaged('a member of its header is too large');
  return take(reader, length).toString('utf8');
}

function take(reader: Reader, length: number): Buffer {
  if (length > reader.input.length - reader.at) throw damaged('it is cut short');
  reader.at += length;
  return reader.input.subarray(reader.at - length, reader.at);
}

function readLength(reader: Reader): number {
  const length = readLong(reader);
  if (length < 0) throw damaged('a length is negative');
  return length;
}

/** A zigzag integer up to 2^53; the counts and lengths around blocks are never larger. */
function readLong(reader: Reader): number {
  let value = 0;
  for (let scale = 1; scale <= 2 ** 49; scale *= 0x80) {
    const byte = reader.input[reader.at++];
    if (byte === undefined) throw damaged('it is cut short');
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  throw damaged('a length is too large');
}

function unpack(stored: Buffer, codec: string, room: number): Buffer {
  if (room <= 0) throw damaged(`its blocks unpack to more than ${MAX_UNPACKED_BYTES} bytes`);
  const limits = { maxOutputLength: room };
  try {
    switch (codec) {
      case 'null': return stored;
      case 'deflate': return inflateRawSync(stored, limits);
      case 'zstandard': return zstdDecompressSync(stored, limits);
      default: break;
    }
  } catch {
    throw damaged(`a block can't be unpacked as ${codec}`);
  }
  throw damaged(`it is packed with '${codec.slice(0, 40)}', which this sink can't unpack`);
}

function damaged(why: string): SinkError {
  return new SinkError('catalog-protocol', `unreadable Avro file: ${why}`);
}
