/**
 * Change lines in bulk: blocks of framed lines are built once, and each block that goes out is a copy with times and ids
 * written over. Making rows must not cost what is to be measured. A block is as long as a row group, so no encoder sees the
 * other columns repeat within one.
 */
import { copyDataLine } from './frames.ts';
import { createRandom } from '../src/embedded/auction/seeded-random.ts';
import type { Shape } from './shapes.ts';

export const FIRST_ID = 1_000_000_000;
export const ID_DIGITS = 10;
/** Milliseconds since 1970, from 2001 to 2286. */
export const TIME_DIGITS = 13;
const BLOCK_LINES = 131_072;
/** Lines of a piece that goes to the socket at once. */
const PIECE_LINES = 1_024;
const MESSAGE_HEADER_BYTES = 5;

/** What a pair of lines does to a key: `insert` and `delete` are one line each, `update` two. */
export type Mix = 'insert' | 'update' | 'mixed';

interface Piece {
  readonly bytes: Buffer;
  readonly lines: number;
  /** Where the id of each line stands; its time stands at the beginning of the payload. */
  readonly idPlaces: Int32Array;
  readonly timePlaces: Int32Array;
  readonly ends: Int32Array;
  /** For each line what it does; 0: the row before it is retracted and this one takes its place, so the id is the same. */
  readonly steps: Uint8Array;
}

export interface LineBlocks {
  readonly pieces: readonly Piece[];
}

/** Lines of `mix`: half of `mixed` are updates (two lines each), a quarter inserts, a quarter deletes. */
export function buildLineBlocks(shape: Shape, mix: Mix, lines: number, seed: number): LineBlocks {
  const random = createRandom(seed).fraction;
  const made: { diff: 1 | -1; step: 0 | 1 }[] = [];
  while (made.length < Math.min(lines, BLOCK_LINES)) {
    const kind = mix === 'insert' ? 0 : mix === 'update' ? 0.6 : random();
    if (kind < 0.25) made.push({ diff: 1, step: 1 });
    else if (kind < 0.5) made.push({ diff: -1, step: 1 });
    else made.push({ diff: -1, step: 1 }, { diff: 1, step: 0 });
  }
  const pieces: Piece[] = [];
  for (let first = 0; first < made.length; first += PIECE_LINES) pieces.push(buildPiece(shape, made.slice(first, first + PIECE_LINES), random));
  return { pieces };
}

function buildPiece(shape: Shape, lines: readonly { diff: 1 | -1; step: 0 | 1 }[], random: () => number): Piece {
  const parts: Buffer[] = [];
  const idPlaces = new Int32Array(lines.length);
  const timePlaces = new Int32Array(lines.length);
  const ends = new Int32Array(lines.length);
  let length = 0;
  lines.forEach(({ diff }, index) => {
    const head = `${'0'.repeat(TIME_DIGITS)}\tf\t${diff}\t`;
    const part = copyDataLine(`${head}${'0'.repeat(ID_DIGITS)}\t${shape.otherColumns(random)}`);
    timePlaces[index] = length + MESSAGE_HEADER_BYTES;
    idPlaces[index] = length + MESSAGE_HEADER_BYTES + head.length;
    length += part.length;
    ends[index] = length;
    parts.push(part);
  });
  const steps = Uint8Array.from(lines, ({ step }) => step);
  return { bytes: Buffer.concat(parts), lines: lines.length, idPlaces, timePlaces, ends, steps };
}

/** How the lines of a span are dated and named; both are asked with the ordinal of the key within the span. */
export interface LineNames {
  readonly idOf: (key: number) => number;
  readonly timeOf: (key: number) => number;
}

/** Exactly `lines` lines, in pieces that may be sent as they are. The last update may lose its second line. */
export function* fillLineBlocks(blocks: LineBlocks, lines: number, names: LineNames): Generator<Buffer> {
  let key = -1;
  let sent = 0;
  while (sent < lines) {
    for (const piece of blocks.pieces) {
      const count = Math.min(piece.lines, lines - sent);
      if (count === 0) break;
      const bytes = Buffer.from(piece.bytes.subarray(0, piece.ends[count - 1]));
      for (let line = 0; line < count; line++) {
        // The first line of a span may be the second half of an update; it is then an insert of its own key.
        key += key < 0 ? 1 : piece.steps[line] ?? 1;
        writeDigits(bytes, piece.timePlaces[line] ?? 0, TIME_DIGITS, names.timeOf(key));
        writeDigits(bytes, piece.idPlaces[line] ?? 0, ID_DIGITS, names.idOf(key));
      }
      sent += count;
      yield bytes;
    }
  }
}

/** The decimal digits of a non-negative integer, with zeros before them. */
export function writeDigits(bytes: Buffer, at: number, width: number, value: number): void {
  let rest = value;
  for (let place = at + width - 1; place >= at; place--) {
    const next = Math.floor(rest / 10);
    bytes[place] = 48 + rest - next * 10;
    rest = next;
  }
}
