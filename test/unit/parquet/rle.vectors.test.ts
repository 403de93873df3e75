import { describe, expect, test } from 'vitest';

import { ByteWriter } from '../../../src/parquet/byte-writer.ts';
import { bitWidth, encodeHybrid } from '../../../src/parquet/rle.ts';

function hybrid(values: readonly number[], width: number): string {
  const out = new ByteWriter(1);
  encodeHybrid(out, Int32Array.from(values), 0, values.length, width);
  return Buffer.from(out.view()).toString('hex');
}

/** By the grammar of Encodings.md, bit by bit. */
function decode(bytes: Uint8Array, count: number, width: number): number[] {
  const values: number[] = [];
  let at = 0;
  while (values.length < count) {
    let header = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      header += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    if (header % 2 === 0) {
      let value = 0;
      for (let byte = 0; byte < Math.ceil(width / 8); byte++) value += bytes[at++]! * 256 ** byte;
      for (let index = 0; index < header / 2; index++) values.push(value);
      continue;
    }
    const groups = (header - 1) / 2;
    for (let index = 0; index < groups * 8; index++) {
      let value = 0;
      for (let bit = 0; bit < width; bit++) {
        const place = index * width + bit;
        value += (bytes[at + (place >> 3)]! >> (place & 7) & 1) * 2 ** bit;
      }
      values.push(value);
    }
    at += groups * width;
  }
  expect(at).toBe(bytes.length);
  return values.slice(0, count);
}

describe('GIVEN the vectors of Encodings.md', () => {
  test('WHEN 0 to 7 are packed in 3 bits THEN the bytes are 88 c6 fa, low bit first', () => {
    expect(hybrid([0, 1, 2, 3, 4, 5, 6, 7], 3)).toBe('0388c6fa');
  });

  test('WHEN a value repeats THEN it is a run: twice the count, and the value in whole bytes', () => {
    expect(hybrid(Array.from({ length: 100 }, () => 5), 3)).toBe('c80105');
    expect(hybrid(Array.from({ length: 50 }, () => 0x1_2345), 17)).toBe('64452301');
  });

  test('WHEN the last group is short THEN it is filled with zeros', () => {
    expect(hybrid([1, 2, 3], 2)).toBe('033900');
  });
});

test.each([[0, 1], [1, 1], [2, 2], [3, 2], [4, 3], [255, 8], [256, 9]])('the width of levels up to %i is %i', (max, width) => {
  expect(bitWidth(max)).toBe(width);
});

test('GIVEN runs of every length around the bounds, in every width, WHEN encoded THEN the grammar gives them back', () => {
  for (const width of [1, 2, 3, 7, 8, 9, 13, 17, 20, 24]) {
    const largest = 2 ** width - 1;
    const values: number[] = [];
    for (let run = 1; run < 70; run++) for (let at = 0; at < run; at++) values.push(run % 2 === 0 ? largest : run % (largest + 1));
    for (let at = 0; at < 1000; at++) values.push((at * 2_654_435_761) % (largest + 1));
    const bytes = Uint8Array.from(Buffer.from(hybrid(values, width), 'hex'));
    expect(decode(bytes, values.length, width)).toEqual(values);
  }
});

test('GIVEN levels with a null now and then WHEN encoded THEN they are not broken into runs that cost more than bits', () => {
  const levels = Array.from({ length: 8000 }, (_, index) => (index % 20 === 0 ? 0 : 1));
  expect(hybrid(levels, 1).length / 2).toBeLessThan(1010);
});
