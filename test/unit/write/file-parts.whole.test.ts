/** The bytes of a file in parts: nothing lost or moved, parts of one size, and a small file without a large buffer. */
import { expect, test } from 'vitest';
import { UPLOAD_PART_BYTES, collectParts } from '../../../src/write/file-parts.ts';

const MIB = 1024 * 1024;

function collecting() {
  let allocated = 0;
  let reused = 0;
  const parts = collectParts({
    allocatePart: () => {
      allocated += 1;
      return new Uint8Array(UPLOAD_PART_BYTES);
    },
    reusePart: () => { reused += 1; },
  });
  return { parts, allocated: () => allocated, reused: () => reused };
}

const bytesOf = (length: number, seed: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 7 + (at >> 8) + seed) & 0xff;
  return bytes;
};

test.each([
  ['nothing', []], ['a byte', [1]], ['pieces below the first buffer', [10, 0, 20_000, 30_000]], ['a piece that passes it', [65_536, 1]],
  ['pieces up to a quarter of a part', [1 * MIB, 1 * MIB, 1]], ['exactly one part', [UPLOAD_PART_BYTES]], ['one part and a byte', [UPLOAD_PART_BYTES, 1]],
  ['a piece of several parts', [100, 3 * UPLOAD_PART_BYTES, 100]], ['many pieces', Array.from({ length: 40 }, (_, index) => index * 30_011)],
])('GIVEN %s WHEN parts and rest are joined THEN they are the bytes, and every part but the rest has its size', (_name, sizes) => {
  const { parts } = collecting();
  const pieces = sizes.map(bytesOf);
  const out: Uint8Array[] = [];
  for (const piece of pieces) {
    parts.append(piece);
    out.push(...parts.takeFull());
  }
  expect(out.every((part) => part.length === UPLOAD_PART_BYTES)).toBe(true);
  const rest = parts.takeRest();
  expect(rest.buffer.byteLength).toBe(rest.length);
  expect(Buffer.compare(Buffer.concat([...out, rest]), Buffer.concat(pieces))).toBe(0);
  expect(parts.length()).toBe(pieces.reduce((sum, piece) => sum + piece.length, 0));
});

test('GIVEN a small file WHEN it is collected THEN no part is allocated; GIVEN a large one its last buffer goes back', () => {
  const small = collecting();
  small.parts.append(bytesOf(500_000, 1));
  small.parts.takeRest();
  expect(small.allocated()).toBe(0);
  const large = collecting();
  large.parts.append(bytesOf(5 * MIB, 1));
  large.parts.takeRest();
  expect([large.allocated(), large.reused()]).toEqual([1, 1]);
});
