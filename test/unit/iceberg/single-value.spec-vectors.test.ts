import { describe, expect, it } from 'vitest';
import { decodeSingleValue, encodeSingleValue, type SingleValue } from '../../../src/iceberg/single-value.ts';
import type { PrimitiveType } from '../../../src/iceberg/types.ts';

// From Iceberg's own TestConversions (Java) and the specification's Appendix D.
const VECTORS: readonly (readonly [PrimitiveType, SingleValue, string])[] = [
  [{ kind: 'boolean' }, false, '00'],
  [{ kind: 'boolean' }, true, '01'],
  [{ kind: 'int' }, 84202, 'ea480100'],
  [{ kind: 'int' }, -2147483648, '00000080'],
  [{ kind: 'long' }, 200n, 'c800000000000000'],
  [{ kind: 'long' }, -9223372036854775808n, '0000000000000080'],
  [{ kind: 'float' }, -4.5, '000090c0'],
  [{ kind: 'double' }, 6, '0000000000001840'],
  [{ kind: 'date' }, 1000, 'e8030000'],
  [{ kind: 'time' }, 10000000000n, '00e40b5402000000'],
  [{ kind: 'timestamp' }, 400000n, '801a060000000000'],
  [{ kind: 'timestamptz' }, 400000n, '801a060000000000'],
  [{ kind: 'string' }, 'ABC', '414243'],
  [{ kind: 'string' }, 'é€😀', 'c3a9e282acf09f9880'],
  [{ kind: 'uuid' }, 'f79c3e09-677c-4bbd-a479-3f349cb785e7', 'f79c3e09677c4bbda4793f349cb785e7'],
  [{ kind: 'fixed', length: 2 }, Uint8Array.of(0x61, 0x62), '6162'],
  [{ kind: 'binary' }, Uint8Array.of(0x5a), '5a'],
  [{ kind: 'decimal', precision: 9, scale: 2 }, 345n, '0159'],
  [{ kind: 'decimal', precision: 9, scale: 7 }, 1234567890n, '499602d2'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, 0n, '00'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, 127n, '7f'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, 128n, '0080'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, -1n, 'ff'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, -128n, '80'],
  [{ kind: 'decimal', precision: 9, scale: 0 }, -129n, 'ff7f'],
];

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

describe('GIVEN a published single value', () => {
  it.each(VECTORS)('WHEN %o %s is encoded THEN its bytes are %s, and they decode to it', (type, value, expected) => {
    const bytes = encodeSingleValue(type, value);
    expect(hex(bytes)).toBe(expected);
    expect(decodeSingleValue(type, bytes)).toEqual(value);
  });

  it('WHEN the type was promoted since THEN the shorter bytes of before still decode', () => {
    expect(decodeSingleValue({ kind: 'long' }, encodeSingleValue({ kind: 'int' }, -5))).toBe(-5n);
    expect(decodeSingleValue({ kind: 'double' }, encodeSingleValue({ kind: 'float' }, 1.5))).toBe(1.5);
  });

  it('WHEN the value does not fit THEN an invariant breaks instead of a bound that wrapped around', () => {
    expect(() => encodeSingleValue({ kind: 'int' }, 2147483648)).toThrow(/does not fit/);
    expect(() => encodeSingleValue({ kind: 'long' }, 9223372036854775808n)).toThrow(/does not fit/);
    expect(() => encodeSingleValue({ kind: 'fixed', length: 3 }, Uint8Array.of(1))).toThrow(/3 bytes/);
  });

  it('WHEN bytes have a wrong length THEN decoding is refused by name', () => {
    expect(() => decodeSingleValue({ kind: 'timestamp' }, Uint8Array.of(1, 2, 3, 4))).toThrow(/4 bytes is not a timestamp/);
    expect(() => decodeSingleValue({ kind: 'decimal', precision: 5, scale: 1 }, new Uint8Array(0))).toThrow(/decimal\(5,1\)/);
  });
});
