/**
 * Random Iceberg schemas and values for them, and those values as Arrow data like the sink's columns make it: what lies
 * under a null is arbitrary, a required field below a null struct is a placeholder.
 */
import {
  Binary, Bool, type Data, DateDay, Decimal, FixedSizeBinary, Float32, Float64, Int32, Int64, type List, type Map_, Struct, TimeMicrosecond,
  TimestampMicrosecond, Utf8, makeData,
} from 'apache-arrow';
import fc from 'fast-check';

import type { IcebergType, NestedField, PrimitiveType, Schema } from '../../../src/iceberg/types.ts';
import { arrowField, arrowType } from '../../../src/write/arrow-types.ts';

/** dates as days, times and timestamps as microseconds, decimals unscaled, uuid, fixed and binary as bytes, maps as entries. */
export type Value = null | boolean | number | bigint | string | Uint8Array | readonly Value[] | { readonly [name: string]: Value };

const primitives: fc.Arbitrary<PrimitiveType> = fc.oneof(
  fc.constantFrom<PrimitiveType>(
    { kind: 'boolean' }, { kind: 'int' }, { kind: 'long' }, { kind: 'float' }, { kind: 'double' }, { kind: 'date' }, { kind: 'time' },
    { kind: 'timestamp' }, { kind: 'timestamptz' }, { kind: 'string' }, { kind: 'binary' }, { kind: 'uuid' },
  ),
  fc.integer({ min: 1, max: 38 }).chain((precision) => fc.integer({ min: 0, max: precision }).map((scale): PrimitiveType =>
    ({ kind: 'decimal', precision, scale }))),
  fc.integer({ min: 1, max: 20 }).map((length): PrimitiveType => ({ kind: 'fixed', length })),
);

/** Ids are given afterwards: they must differ within a schema. */
const types: fc.Arbitrary<IcebergType> = fc.letrec<{ type: IcebergType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'type' },
    { arbitrary: primitives, weight: 3 },
    {
      arbitrary: fc.tuple(tie('type'), fc.boolean()).map(([element, elementRequired]): IcebergType =>
        ({ kind: 'list', elementId: 0, element, elementRequired })),
      weight: 1,
    },
    {
      arbitrary: fc.tuple(tie('type'), fc.boolean()).map(([value, valueRequired]): IcebergType =>
        ({ kind: 'map', keyId: 0, key: { kind: 'string' }, valueId: 0, value, valueRequired })),
      weight: 1,
    },
    {
      arbitrary: fc.array(fc.tuple(tie('type'), fc.boolean()), { minLength: 1, maxLength: 3 }).map((fields): IcebergType => ({
        kind: 'struct', fields: fields.map(([type, required], index) => ({ id: 0, name: `f${index}`, required, type })),
      })),
      weight: 1,
    },
  ),
})).type;

function numbered(type: IcebergType, next: () => number): IcebergType {
  if (type.kind === 'list') return { ...type, elementId: next(), element: numbered(type.element, next) };
  if (type.kind === 'map') return { ...type, keyId: next(), valueId: next(), value: numbered(type.value, next) };
  if (type.kind === 'struct') {
    return { ...type, fields: type.fields.map((field) => ({ ...field, id: next(), type: numbered(field.type, next) })) };
  }
  return type;
}

export function schemaOf(fields: readonly (readonly [IcebergType, boolean])[]): Schema {
  let last = 0;
  const next = (): number => { last += 1; return last; };
  const nested = fields.map(([type, required], index): NestedField =>
    ({ id: next(), name: `c${index}`, required, type: numbered(type, next) }));
  return { schemaId: 0, fields: nested, identifierFieldIds: [] };
}

export const schemas: fc.Arbitrary<Schema> = fc.array(fc.tuple(types, fc.boolean()), { minLength: 1, maxLength: 3 }).map(schemaOf);

const longs = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -3n, max: 3n }));
const DAY_MICROS = 86_400_000_000n;

function someValue(type: IcebergType): fc.Arbitrary<Value> {
  switch (type.kind) {
    case 'boolean': return fc.boolean();
    case 'int': return fc.oneof(fc.integer(), fc.integer({ min: -2, max: 2 }));
    // The years 1 to 9999, as far as every reader goes.
    case 'date': return fc.integer({ min: -719_162, max: 2_932_896 });
    case 'long': return longs;
    case 'time': return fc.bigInt({ min: 0n, max: DAY_MICROS - 1n });
    case 'timestamp': case 'timestamptz': return fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });
    case 'float': return fc.oneof(fc.float(), fc.constantFrom(0, -0, NaN));
    case 'double': return fc.oneof(fc.double(), fc.constantFrom(0, -0, NaN));
    case 'decimal': {
      const max = 10n ** BigInt(type.precision) - 1n;
      return fc.oneof(fc.bigInt({ min: -max, max }), fc.constantFrom(0n, -1n, max, -max));
    }
    case 'string': return fc.oneof(fc.string({ maxLength: 6, unit: 'binary' }), fc.string({ minLength: 60, maxLength: 80, unit: 'binary' }), fc.constantFrom('', 'a', 'b'));
    case 'binary': return fc.oneof(fc.uint8Array({ maxLength: 6 }), fc.constant(new Uint8Array(70).fill(0xff)));
    case 'uuid': return fc.uint8Array({ minLength: 16, maxLength: 16 });
    case 'fixed': return fc.uint8Array({ minLength: type.length, maxLength: type.length });
    case 'list': return fc.array(valueOf(type.element, type.elementRequired), { maxLength: 4 });
    case 'map': return fc.uniqueArray(fc.tuple(fc.string({ maxLength: 3 }), valueOf(type.value, type.valueRequired)), { maxLength: 3, selector: ([key]) => key });
    case 'struct': return fc.record(Object.fromEntries(type.fields.map((field) => [field.name, valueOf(field.type, field.required)])));
    case 'unknown': throw new Error('not generated');
  }
}

export function valueOf(type: IcebergType, required: boolean): fc.Arbitrary<Value> {
  return required ? someValue(type) : fc.option(someValue(type), { freq: 3, nil: null });
}

export type Row = Readonly<Record<string, Value>>;

export function rowsOf(schema: Schema, maxLength = 12): fc.Arbitrary<readonly Row[]> {
  const row = fc.record(Object.fromEntries(schema.fields.map((field) => [field.name, valueOf(field.type, field.required)])));
  return fc.array(row, { minLength: 1, maxLength });
}

export function toBatch(schema: Schema, rows: readonly Row[]): Data<Struct> {
  const children = schema.fields.map((field) => toData(field.type, field.required, rows.map((row) => row[field.name] ?? null)));
  return makeData({ type: new Struct(schema.fields.map(arrowField)), length: rows.length, nullCount: 0, nullBitmap: null, children });
}

function presence(values: readonly Value[], required: boolean): { length: number; nullCount: number; nullBitmap: Uint8Array | null } {
  const nullCount = values.filter((value) => value === null).length;
  if (required || nullCount === 0) return { length: values.length, nullCount: 0, nullBitmap: null };
  const nullBitmap = new Uint8Array((values.length + 7) >> 3);
  values.forEach((value, index) => { if (value !== null) nullBitmap[index >> 3]! |= 1 << (index & 7); });
  return { length: values.length, nullCount, nullBitmap };
}

function toData(type: IcebergType, required: boolean, values: readonly Value[]): Data {
  const common = presence(values, required);
  const numbers = (): number[] => values.map((value) => (value ?? 77) as number);
  const bigints = (): BigInt64Array => BigInt64Array.from(values, (value) => (value ?? 77n) as bigint);
  switch (type.kind) {
    case 'boolean': {
      const data = new Uint8Array((values.length + 7) >> 3);
      values.forEach((value, index) => { if (value !== false) data[index >> 3]! |= 1 << (index & 7); });
      return makeData({ type: new Bool(), data, ...common });
    }
    case 'int': return makeData({ type: new Int32(), data: Int32Array.from(numbers()), ...common });
    case 'date': return makeData({ type: new DateDay(), data: Int32Array.from(numbers()), ...common });
    case 'float': return makeData({ type: new Float32(), data: Float32Array.from(numbers()), ...common });
    case 'double': return makeData({ type: new Float64(), data: Float64Array.from(numbers()), ...common });
    case 'long': return makeData({ type: new Int64(), data: bigints(), ...common });
    case 'time': return makeData({ type: new TimeMicrosecond(), data: bigints(), ...common });
    case 'timestamp': return makeData({ type: new TimestampMicrosecond(null), data: bigints(), ...common });
    case 'timestamptz': return makeData({ type: new TimestampMicrosecond('UTC'), data: bigints(), ...common });
    case 'decimal': {
      const words = new BigInt64Array(values.length * 2);
      values.forEach((value, index) => {
        const unscaled = (value ?? 77n) as bigint;
        words[index * 2] = BigInt.asIntN(64, unscaled);
        words[index * 2 + 1] = unscaled >> 64n;
      });
      return makeData({ type: new Decimal(type.scale, type.precision, 128), data: new Uint32Array(words.buffer), ...common });
    }
    case 'string': return bytesData(new Utf8(), values.map((value) => Buffer.from(value as string ?? 'under a null')), common);
    case 'binary': return bytesData(new Binary(), values.map((value) => value as Uint8Array ?? new Uint8Array(0)), common);
    case 'uuid': case 'fixed': {
      const length = type.kind === 'fixed' ? type.length : 16;
      const data = new Uint8Array(Buffer.concat(values.map((value) => value as Uint8Array ?? new Uint8Array(length).fill(7))));
      return makeData({ type: new FixedSizeBinary(length), data, ...common });
    }
    case 'list': {
      const { items, valueOffsets } = flattened(values as readonly (readonly Value[] | null)[]);
      return makeData({ type: arrowType(type) as List, child: toData(type.element, type.elementRequired, items), valueOffsets, ...common });
    }
    case 'map': {
      const { items, valueOffsets } = flattened(values as readonly (readonly Value[] | null)[]);
      const entries = items as readonly (readonly [Value, Value])[];
      const key = toData(type.key, true, entries.map((entry) => entry[0]));
      const value = toData(type.value, type.valueRequired, entries.map((entry) => entry[1]));
      const map = arrowType(type) as Map_;
      const child = makeData({ type: map.children[0]!.type as Struct, length: entries.length, nullCount: 0, nullBitmap: null, children: [key, value] });
      return makeData({ type: map, child, valueOffsets, ...common });
    }
    case 'struct': {
      const structs = values as readonly (Record<string, Value> | null)[];
      const children = type.fields.map((field) => toData(field.type, field.required, structs.map((value) => value?.[field.name] ?? null)));
      return makeData({ type: arrowType(type) as Struct, children, ...common });
    }
    case 'unknown': throw new Error('not generated');
  }
}

function bytesData(type: Utf8 | Binary, values: readonly Uint8Array[], common: ReturnType<typeof presence>): Data {
  const valueOffsets = new Int32Array(values.length + 1);
  values.forEach((value, index) => { valueOffsets[index + 1] = valueOffsets[index]! + value.length; });
  return makeData({ type, data: new Uint8Array(Buffer.concat(values)), valueOffsets, ...common } as never);
}

function flattened(values: readonly (readonly Value[] | null)[]): { items: readonly Value[]; valueOffsets: Int32Array } {
  const valueOffsets = new Int32Array(values.length + 1);
  // Items under a null, which no reader may see.
  const lists = values.map((value) => value ?? []);
  lists.forEach((value, index) => { valueOffsets[index + 1] = valueOffsets[index]! + value.length; });
  return { items: lists.flat(1), valueOffsets };
}
