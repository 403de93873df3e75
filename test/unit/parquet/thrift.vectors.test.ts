import { describe, expect, test } from 'vitest';

import { ByteWriter } from '../../../src/parquet/byte-writer.ts';
import { type StructWriter, writeStruct } from '../../../src/parquet/thrift-compact.ts';

function hex(fields: (struct: StructWriter) => void): string {
  const out = new ByteWriter(1);
  writeStruct(out, fields);
  return Buffer.from(out.view()).toString('hex');
}

describe('GIVEN the compact protocol of Thrift', () => {
  test.each([
    [0, '00'], [-1, '01'], [1, '02'], [-2, '03'], [63, '7e'], [64, '8001'], [2_147_483_647, 'feffffff0f'], [-2_147_483_648, 'ffffffff0f'],
  ])('WHEN the int32 %i is written THEN it is a zigzag varint', (value, bytes) => {
    expect(hex((struct) => struct.int32(1, value))).toBe(`15${bytes}00`);
  });

  test('WHEN an int64 exceeds 32 bits THEN none are lost', () => {
    expect(hex((struct) => struct.int64(1, 2 ** 40))).toBe('168080808080' + '4000');
    expect(hex((struct) => struct.int64(1, 2 ** 52))).toBe('16808080808080801000');
  });

  test('WHEN fields follow each other THEN each header is the step to its id and its type; booleans are in the type', () => {
    expect(hex((struct) => {
      struct.bool(1, true);
      struct.bool(2, false);
      struct.int16(5, 3);
      struct.text(6, 'é');
      struct.struct(8, (inner) => inner.int32(3, 1));
      struct.binary(9, Uint8Array.of(0xff));
    })).toBe('11' + '12' + '3406' + '1802c3a9' + '2c350200' + '1801ff' + '00');
  });

  test('WHEN lists are written THEN the size is in the header up to 14 and behind it from 15 on', () => {
    expect(hex((struct) => struct.int32s(1, [1, 2]))).toBe('1925020400');
    expect(hex((struct) => struct.int64s(1, Array.from({ length: 15 }, () => 0)))).toBe(`19f60f${'00'.repeat(15)}00`);
    expect(hex((struct) => struct.bools(1, [true, false]))).toBe('1921010200');
    expect(hex((struct) => struct.texts(1, ['a']))).toBe('1918016100');
    expect(hex((struct) => struct.structs(1, [7], (inner, item) => inner.int32(1, item)))).toBe('191c150e0000');
  });

  test('WHEN fields come out of order THEN nothing is written that a reader would misunderstand', () => {
    expect(() => hex((struct) => { struct.int32(2, 0); struct.int32(1, 0); })).toThrow(/order/);
  });
});
