/**
 * Single values as bytes, as the bounds of manifests hold them (spec: "Appendix D: Single-value serialization",
 * binary form). In: a type and a value of it; out: its bytes, and back.
 *
 * Invariant: `decodeSingleValue(t, encodeSingleValue(t, v))` is v. Anything out of range breaks an invariant here,
 * because a bound that wrapped around would make readers skip rows.
 */
import { SinkError, invariant } from '../errors.ts';
import { type PrimitiveType, formatType } from './types.ts';

/**
 * - boolean: boolean. int, date (days), float, double: number. long, time, timestamp, timestamptz (micros): bigint.
 * - decimal: the unscaled value as a bigint. string: string. uuid: its lower-case text. fixed, binary: bytes.
 *
 * Encoding also takes a bigint or an integral number for every integer type, and bytes for string (UTF-8) and uuid.
 */
export type SingleValue = boolean | number | bigint | string | Uint8Array;

const UUID_BYTES = 16;

export function encodeSingleValue(type: PrimitiveType, value: SingleValue): Uint8Array {
  switch (type.kind) {
    case 'boolean':
      invariant(typeof value === 'boolean', 'a boolean bound must be true or false');
      return Uint8Array.of(value ? 1 : 0);
    case 'int': case 'date':
      return integerBytes(toBigInt(value, type), 4);
    case 'long': case 'time': case 'timestamp': case 'timestamptz':
      return integerBytes(toBigInt(value, type), 8);
    case 'float': case 'double':
      invariant(typeof value === 'number', `a ${type.kind} bound must be a number`);
      return floatBytes(value, type.kind);
    case 'decimal':
      return minimalBytes(toBigInt(value, type));
    case 'string':
      if (value instanceof Uint8Array) return value;
      invariant(typeof value === 'string', 'a string bound must be text');
      return new TextEncoder().encode(value);
    case 'uuid':
      return typeof value === 'string' ? uuidBytes(value) : exactBytes(value, UUID_BYTES, type);
    case 'fixed':
      return exactBytes(value, type.length, type);
    case 'binary':
      invariant(value instanceof Uint8Array, 'a binary bound must be bytes');
      return value;
  }
}

/** Throws `catalog-protocol` when the bytes are not a value of the type. */
export function decodeSingleValue(type: PrimitiveType, bytes: Uint8Array): SingleValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (type.kind) {
    case 'boolean':
      checkLength(type, bytes, 1);
      return bytes[0] !== 0;
    case 'int': case 'date':
      checkLength(type, bytes, 4);
      return view.getInt32(0, true);
    case 'long': case 'time': case 'timestamp': case 'timestamptz':
      // Files written before an int column became long keep 4-byte bounds (spec: "Schema Evolution").
      if (type.kind === 'long' && bytes.length === 4) return BigInt(view.getInt32(0, true));
      checkLength(type, bytes, 8);
      return view.getBigInt64(0, true);
    case 'float':
      checkLength(type, bytes, 4);
      return view.getFloat32(0, true);
    case 'double':
      if (bytes.length === 4) return view.getFloat32(0, true);
      checkLength(type, bytes, 8);
      return view.getFloat64(0, true);
    case 'decimal':
      return decimalFromBytes(type, bytes);
    case 'string':
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    case 'uuid':
      checkLength(type, bytes, UUID_BYTES);
      return uuidText(bytes);
    case 'fixed':
      checkLength(type, bytes, type.length);
      return bytes;
    case 'binary':
      return bytes;
  }
}

function toBigInt(value: SingleValue, type: PrimitiveType): bigint {
  if (typeof value === 'bigint') return value;
  invariant(typeof value === 'number' && Number.isSafeInteger(value), `a ${type.kind} bound must be an integer`);
  return BigInt(value);
}

function integerBytes(value: bigint, length: 4 | 8): Uint8Array {
  invariant(BigInt.asIntN(length * 8, value) === value, `a bound does not fit ${length} bytes`);
  const out = new DataView(new ArrayBuffer(length));
  if (length === 4) out.setInt32(0, Number(value), true);
  else out.setBigInt64(0, value, true);
  return new Uint8Array(out.buffer);
}

function floatBytes(value: number, kind: 'float' | 'double'): Uint8Array {
  const out = new DataView(new ArrayBuffer(kind === 'float' ? 4 : 8));
  if (kind === 'float') out.setFloat32(0, value, true);
  else out.setFloat64(0, value, true);
  return new Uint8Array(out.buffer);
}

/** Two's complement, big-endian, as few bytes as hold the sign: the spec's form of decimals in bounds. */
function minimalBytes(value: bigint): Uint8Array {
  const reversed: number[] = [];
  for (let rest = value; ; rest >>= 8n) {
    const byte = Number(BigInt.asUintN(8, rest));
    reversed.push(byte);
    const sign = byte < 0x80 ? 0n : -1n;
    if (rest >> 8n === sign) return Uint8Array.from(reversed.reverse());
  }
}

function decimalFromBytes(type: PrimitiveType, bytes: Uint8Array): bigint {
  if (bytes.length < 1 || bytes.length > 16) throw unreadable(type, bytes);
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return BigInt.asIntN(bytes.length * 8, value);
}

function uuidBytes(text: string): Uint8Array {
  const hex = text.replaceAll('-', '');
  invariant(/^[0-9a-fA-F]{32}$/.test(hex), 'a uuid bound must have 32 hex digits');
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

function uuidText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function exactBytes(value: SingleValue, length: number, type: PrimitiveType): Uint8Array {
  const fits = value instanceof Uint8Array && value.length === length;
  invariant(fits, `a ${formatType(type)} bound must be ${length} bytes`);
  return value;
}

function checkLength(type: PrimitiveType, bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw unreadable(type, bytes);
}

function unreadable(type: PrimitiveType, bytes: Uint8Array): SinkError {
  return new SinkError('catalog-protocol', `a bound of ${bytes.length} bytes is not a ${formatType(type)}`);
}
