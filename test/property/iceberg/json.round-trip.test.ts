import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonValue, formatJson, parseJson, sameJson } from '../../../src/iceberg/json.ts';
import { parseSchema, schemaToJson } from '../../../src/iceberg/schema-json.ts';
import { decodeSingleValue, encodeSingleValue, type SingleValue } from '../../../src/iceberg/single-value.ts';
import type { IcebergType, NestedField, PrimitiveType } from '../../../src/iceberg/types.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** As parseJson gives integers: numbers where a double is exact, else bigints. */
function natural(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, false),
    fc.string({ unit: 'binary' }),
    int64.map(natural),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.string().filter((key) => key !== '__proto__'), tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

describe('GIVEN any JSON value with 64-bit integers', () => {
  it('WHEN formatted and parsed THEN it is the same value', () => {
    fc.assert(fc.property(json, (value) => {
      const back = parseJson(formatJson(value));
      expect(back).toEqual(value);
      expect(sameJson(back as JsonValue, value)).toBe(true);
    }));
  });

  it('WHEN any integer text is parsed and formatted THEN its digits are the same', () => {
    fc.assert(fc.property(int64, (value) => {
      expect(formatJson(parseJson(`[${value}]`))).toBe(`[${value}]`);
    }));
  });
});

const plain = fc.constantFrom<PrimitiveType>(
  ...(['boolean', 'int', 'long', 'float', 'double', 'date', 'time', 'timestamp', 'timestamptz', 'string', 'uuid', 'binary'] as const)
    .map((kind) => ({ kind })),
);
const primitive: fc.Arbitrary<PrimitiveType> = fc.oneof(
  plain,
  fc.record({ kind: fc.constant('decimal' as const), precision: fc.integer({ min: 1, max: 38 }), scale: fc.integer({ min: 0, max: 38 }) }),
  fc.record({ kind: fc.constant('fixed' as const), length: fc.integer({ min: 1, max: 40 }) }),
);
const id = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const { type, field } = fc.letrec<{ type: IcebergType; field: NestedField }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small' },
    primitive,
    fc.constantFrom<IcebergType>({ kind: 'unknown', text: 'variant' }, { kind: 'unknown', text: '{"type":"mystery","depth":[1,2]}' }),
    fc.record({ kind: fc.constant('struct' as const), fields: fc.array(tie('field'), { maxLength: 3 }) }),
    fc.record({ kind: fc.constant('list' as const), elementId: id, element: tie('type'), elementRequired: fc.boolean() }),
    fc.record({ kind: fc.constant('map' as const), keyId: id, key: tie('type'), valueId: id, value: tie('type'), valueRequired: fc.boolean() }),
  ),
  field: fc.record({ id, name: fc.string(), required: fc.boolean(), type: tie('type'), doc: fc.string() }, { requiredKeys: ['id', 'name', 'required', 'type'], noNullPrototype: true }),
}));

describe('GIVEN any schema', () => {
  it('WHEN written as JSON text and read THEN it is the same, unknown types included', () => {
    fc.assert(fc.property(id, fc.array(field, { maxLength: 5 }), fc.array(id, { maxLength: 3 }), fc.nat(), (_id, fields, identifierFieldIds, schemaId) => {
      const schema = { schemaId: schemaId | 0, fields, identifierFieldIds };
      expect(parseSchema(parseJson(formatJson(schemaToJson(schema))) as never)).toEqual(schema);
    }));
    expect(type).toBeDefined();
  });
});

function valueOf(kind: PrimitiveType): fc.Arbitrary<SingleValue> {
  switch (kind.kind) {
    case 'boolean': return fc.boolean();
    case 'int': case 'date': return fc.integer();
    case 'long': case 'time': case 'timestamp': case 'timestamptz': return int64;
    case 'float': return fc.float({ noNaN: true });
    case 'double': return fc.double({ noNaN: true });
    case 'decimal': return fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n });
    case 'string': return fc.string({ unit: 'grapheme' });
    case 'uuid': return fc.uuid();
    case 'fixed': return fc.uint8Array({ minLength: kind.length, maxLength: kind.length });
    case 'binary': return fc.uint8Array();
  }
}

describe('GIVEN any value of any primitive type', () => {
  it('WHEN encoded and decoded THEN it is the same value', () => {
    const pairs = primitive.chain((kind) => valueOf(kind).map((value) => [kind, value] as const));
    fc.assert(fc.property(pairs, ([kind, value]) => {
      const bytes = encodeSingleValue(kind, value);
      expect(decodeSingleValue(kind, bytes)).toEqual(value);
    }), { numRuns: 500 });
  });

  it('WHEN it is a decimal THEN no shorter two\'s complement holds it', () => {
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }), (value) => {
      const bits = (encodeSingleValue({ kind: 'decimal', precision: 38, scale: 0 }, value).length - 1) * 8;
      expect(bits === 0 || BigInt.asIntN(bits, value) !== value).toBe(true);
    }));
  });
});
