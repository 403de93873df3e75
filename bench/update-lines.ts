/**
 * Updates of the same keys over and over, each retracting exactly the row that the one before it inserted. So what happens to
 * a key within one span adds up, as it does in Materialize, and only its last row is left.
 *
 * Update number u meets key u * stride mod keys, and is its version u / keys; a row's text is a function of key and version.
 */
import { FIRST_ID, ID_DIGITS, TIME_DIGITS, writeDigits } from './line-blocks.ts';
import { createRandom } from '../src/embedded/auction/seeded-random.ts';
import type { Shape } from './shapes.ts';

const ROW_TEXTS = 65_536;
/** Odd, so that every version of a key has another text than the one before it. */
const VERSION_STEP = 40_503;
const PIECE_BYTES = 256 * 1024;
const TAB = 0x09;

export interface RowTexts {
  readonly bytes: Buffer;
  readonly starts: Int32Array;
  readonly longest: number;
}

/** The texts of all columns but the key, each with its tab before and its newline behind. */
export function buildRowTexts(shape: Shape, seed: number): RowTexts {
  const random = createRandom(seed).fraction;
  const parts = Array.from({ length: ROW_TEXTS }, () => Buffer.from(`\t${shape.otherColumns(random)}\n`, 'latin1'));
  const starts = new Int32Array(ROW_TEXTS + 1);
  parts.forEach((part, index) => { starts[index + 1] = (starts[index] ?? 0) + part.length; });
  return { bytes: Buffer.concat(parts), starts, longest: Math.max(...parts.map((part) => part.length)) };
}

export interface UpdateSpan {
  readonly keys: number;
  /** Coprime with `keys`. */
  readonly stride: number;
  readonly first: number;
  readonly count: number;
  readonly timeOf: (update: number) => number;
}

/** Two lines for each update, as messages, in pieces that may be sent as they are. */
export function* updateLines(texts: RowTexts, span: UpdateSpan): Generator<Buffer> {
  const { keys, stride, first, count, timeOf } = span;
  const most = 2 * (texts.longest + 64);
  let piece = Buffer.allocUnsafe(PIECE_BYTES + most);
  let at = 0;
  for (let update = first; update < first + count; update++) {
    const key = update * stride % keys;
    const version = Math.floor(update / keys) + 1;
    const time = timeOf(update - first);
    at = writeLine(piece, at, texts, { time, key, version: version - 1, isInsert: false });
    at = writeLine(piece, at, texts, { time, key, version, isInsert: true });
    if (at < PIECE_BYTES) continue;
    yield piece.subarray(0, at);
    piece = Buffer.allocUnsafe(PIECE_BYTES + most);
    at = 0;
  }
  if (at > 0) yield piece.subarray(0, at);
}

interface Line {
  readonly time: number;
  readonly key: number;
  readonly version: number;
  readonly isInsert: boolean;
}

const INSERT = Buffer.from('\tf\t1\t', 'latin1');
const RETRACT = Buffer.from('\tf\t-1\t', 'latin1');
const COPY_DATA = 0x64;

/** Returns where the next line begins. */
function writeLine(piece: Buffer, from: number, texts: RowTexts, { time, key, version, isInsert }: Line): number {
  let at = from + 5;
  writeDigits(piece, at, TIME_DIGITS, time);
  at += TIME_DIGITS;
  for (const byte of isInsert ? INSERT : RETRACT) piece[at++] = byte;
  writeDigits(piece, at, ID_DIGITS, FIRST_ID + key);
  at += ID_DIGITS;
  const text = (Math.imul(key, 0x9e37_79b1) + version * VERSION_STEP) & (ROW_TEXTS - 1);
  const start = texts.starts[text] ?? 0;
  const end = texts.starts[text + 1] ?? 0;
  if (texts.bytes[start] !== TAB) throw new Error('a text begins with its tab');
  texts.bytes.copy(piece, at, start, end);
  at += end - start;
  piece[from] = COPY_DATA;
  piece.writeUInt32BE(at - from - 1, from + 1);
  return at;
}
