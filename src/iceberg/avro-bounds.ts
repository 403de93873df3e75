/**
 * Walks Avro-encoded records by their schema without decoding them, and refuses bytes that lie about their size.
 *
 * The decoder of avsc trusts what it reads: a count of 2^50 array items makes it loop for hours, a length beyond the
 * end gives garbage. Manifests come from object storage and other writers, so nothing is decoded before this walk has
 * shown that every count, length and branch fits the bytes at hand.
 */
import { SinkError } from '../errors.ts';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from './json.ts';

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  depth: number;
  /** Fields and items visited, those that take no bytes too. */
  steps: number;
}

type Walk = (cursor: Cursor) => void;

/** Records may refer to themselves; manifests nest four deep. */
const MAX_DEPTH = 64;

/**
 * Visits for each byte of a block. Nearly every field and item of a manifest takes a byte or more; a schema whose fields
 * take none (nulls, records of nothing, each mentioned twice in the next) makes 2^64 visits out of a few bytes.
 */
const STEPS_PER_BYTE = 4;
const FREE_STEPS = 1000;

/**
 * Visits in a whole file. A manifest of 50,000 files with metrics of 20 columns has 20 million, which decode to about a
 * gigabyte; the sink reads manifests up to 4 MB, in which 20,000 such files fit, and lists.
 */
const MAX_VISITS = 20_000_000;

/**
 * Returns a function that checks that `bytes` hold exactly `count` records of the schema, or throws `catalog-protocol`;
 * to be called for each block of one file, in order.
 */
export function boundsCheckerFor(schema: JsonValue): (bytes: Uint8Array, count: number) => void {
  const walk = compile(schema, new Map());
  let visits = 0;
  return (bytes, count) => {
    const cursor: Cursor = { bytes, at: 0, depth: 0, steps: 0 };
    // Every record of a manifest takes at least a byte, so this also ends a block that claims 2^60 empty records.
    if (count > bytes.length) throw damaged('a block holds fewer bytes than it has records');
    for (let done = 0; done < count; done++) walk(cursor);
    if (cursor.at !== bytes.length) throw damaged('a block is longer than its records');
    visits += cursor.steps;
    if (visits > MAX_VISITS) throw damaged(`it holds more than ${MAX_VISITS} values`);
  };
}

function compile(schema: JsonValue, named: Map<string, Walk>): Walk {
  if (typeof schema === 'string') return compileName(schema, named);
  if (isJsonArray(schema)) {
    const branches = schema.map((branch) => compile(branch, named));
    return (cursor) => {
      const branch = branches[readCount(cursor)];
      if (branch === undefined) throw damaged('a union has no such branch');
      branch(cursor);
    };
  }
  if (!isJsonObject(schema)) throw unusable('a schema is neither a name, a list nor an object');
  const type = schema['type'];
  if (type === 'record' || type === 'error') return compileRecord(schema, named);
  if (type === 'array') return blocksOf(compile(schema['items'] ?? null, named));
  if (type === 'map') return compileMap(schema, named);
  if (type === 'enum') return compileEnum(schema, named);
  if (type !== 'fixed') return compile(type ?? null, named);
  const size = schema['size'];
  if (typeof size !== 'number' || !(size >= 0)) throw unusable('a fixed type has no size');
  return remember(schema, named, (cursor) => skip(cursor, size));
}

function compileMap(schema: JsonObject, named: Map<string, Walk>): Walk {
  const value = compile(schema['values'] ?? null, named);
  return blocksOf((cursor) => {
    skip(cursor, readCount(cursor));
    value(cursor);
  });
}

function compileEnum(schema: JsonObject, named: Map<string, Walk>): Walk {
  const symbols = schema['symbols'];
  const count = isJsonArray(symbols) ? symbols.length : 0;
  return remember(schema, named, (cursor) => {
    if (readCount(cursor) >= count) throw damaged('an enum has no such symbol');
  });
}

function compileName(name: string, named: Map<string, Walk>): Walk {
  switch (name) {
    case 'null': return () => {};
    case 'boolean': return (cursor) => {
      skip(cursor, 1);
      if ((cursor.bytes[cursor.at - 1] ?? 0) > 1) throw damaged('a boolean is neither true nor false');
    };
    case 'int': return (cursor) => {
      const value = readVarint(cursor);
      if (BigInt.asIntN(32, value) !== value) throw damaged('an int is longer than 32 bits');
    };
    case 'long': return skipVarint;
    case 'float': return (cursor) => skip(cursor, 4);
    case 'double': return (cursor) => skip(cursor, 8);
    case 'bytes': case 'string': return (cursor) => skip(cursor, readCount(cursor));
    default: {
      // Looked up late, because a record may mention itself.
      if (!named.has(shortName(name))) throw unusable('a schema mentions a name that it does not define');
      return (cursor) => named.get(shortName(name))?.(cursor);
    }
  }
}

function compileRecord(schema: JsonObject, named: Map<string, Walk>): Walk {
  const fields: Walk[] = [];
  const walk: Walk = (cursor) => {
    cursor.depth++;
    if (cursor.depth > MAX_DEPTH) throw damaged(`records nest deeper than ${MAX_DEPTH}`);
    step(cursor, fields.length);
    for (const field of fields) field(cursor);
    cursor.depth--;
  };
  remember(schema, named, walk);
  const list = schema['fields'];
  if (!isJsonArray(list)) throw unusable('a record has no fields');
  for (const field of list) {
    if (!isJsonObject(field)) throw unusable('a field is not an object');
    fields.push(compile(field['type'] ?? null, named));
  }
  return walk;
}

function step(cursor: Cursor, steps: number): void {
  cursor.steps += steps;
  if (cursor.steps > cursor.bytes.length * STEPS_PER_BYTE + FREE_STEPS) {
    throw damaged('a block holds fewer bytes than it has values');
  }
}

/**
 * The decoder tells names apart by their namespaces, and this walk doesn't: two types of one short name would be walked
 * as one and decoded as the other.
 */
function remember(schema: JsonObject, named: Map<string, Walk>, walk: Walk): Walk {
  const name = schema['name'];
  if (typeof name !== 'string') return walk;
  const short = shortName(name);
  if (named.has(short) || PRIMITIVES.has(short)) throw unusable('two types have one name');
  named.set(short, walk);
  return walk;
}

const PRIMITIVES: ReadonlySet<string> = new Set([
  'null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string', 'record', 'error', 'array', 'map', 'enum', 'fixed',
]);

function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Arrays and maps: blocks of items until an empty one; a negative count is followed by the block's size in bytes. */
function blocksOf(item: Walk): Walk {
  return (cursor) => {
    for (;;) {
      let count = readVarint(cursor);
      if (count === 0n) return;
      if (count < 0n) {
        count = -count;
        skipVarint(cursor);
      }
      if (count > BigInt(cursor.bytes.length - cursor.at)) {
        throw damaged('an array claims more items than there are bytes');
      }
      step(cursor, Number(count));
      for (let done = 0; done < Number(count); done++) item(cursor);
    }
  };
}

function skip(cursor: Cursor, length: number): void {
  if (length > cursor.bytes.length - cursor.at) throw damaged('a value reaches beyond the end of its block');
  cursor.at += length;
}

function skipVarint(cursor: Cursor): void {
  readVarint(cursor);
}

/** A length, count or branch: not negative, and no larger than any block. */
function readCount(cursor: Cursor): number {
  const value = readVarint(cursor);
  if (value < 0n || value > 0x7fff_ffffn) throw damaged('a length is negative or too large');
  return Number(value);
}

/** A zigzag integer. Most take one or two bytes, so bigint arithmetic only begins where a number would lose bits. */
function readVarint(cursor: Cursor): bigint {
  const { bytes } = cursor;
  let low = 0;
  let shift = 0;
  for (; shift < 28; shift += 7) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw damaged('an integer reaches beyond the end of its block');
    low |= (byte & 0x7f) << shift;
    if (byte < 0x80) return BigInt((low >>> 1) ^ -(low & 1));
  }
  let value = BigInt(low);
  for (; shift < 70; shift += 7) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw damaged('an integer reaches beyond the end of its block');
    value |= BigInt(byte & 0x7f) << BigInt(shift);
    if (byte < 0x80) return (value >> 1n) ^ -(value & 1n);
  }
  throw damaged('an integer is longer than 64 bits');
}

function damaged(why: string): SinkError {
  return new SinkError('catalog-protocol', `damaged Avro file: ${why}`);
}

function unusable(why: string): SinkError {
  return new SinkError('catalog-protocol', `unusable Avro schema: ${why}`);
}
