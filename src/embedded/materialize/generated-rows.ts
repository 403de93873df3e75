/**
 * Snapshots out of prebuilt bytes, for measuring a consumer without measuring the source. In: how many rows and
 * what they look like. Out: a snapshot generator for a relation.
 *
 * A block of messages is built once; for each further block only the digits of the ids are written over. So ids
 * have a fixed number of digits: they count up from 10^9, 10 digits up to 9 x 10^9 rows.
 */
import { toBinaryString } from './copy-text.ts';
import type { GenerateSnapshot } from './relation-definition.ts';
import { int32 } from './wire-frames.ts';

export const FIRST_GENERATED_ID = 1_000_000_000;
const ID_DIGITS = 10;
const ROWS_PER_BLOCK = 512;

/** Rows of an id (first column) and the COPY text of the other columns, equal in every row of the same residue. */
export function generatedSnapshot(rowCount: number, otherColumns: (index: number) => string): GenerateSnapshot {
  return function* generate({ asOf, progress }) {
    const head = progress ? `${asOf}\tf\t1\t` : `${asOf}\t1\t`;
    const places: number[] = [];
    let text = '';
    for (let i = 0; i < ROWS_PER_BLOCK; i++) {
      const line = `${head}${'0'.repeat(ID_DIGITS)}\t${toBinaryString(otherColumns(i))}\n`;
      places.push(text.length + 5 + head.length);
      text += `d${int32(line.length + 4).toString('latin1')}${line}`;
    }
    const template = Buffer.from(text, 'latin1');
    for (let sent = 0; sent < rowCount; sent += ROWS_PER_BLOCK) {
      const rows = Math.min(ROWS_PER_BLOCK, rowCount - sent);
      // The socket may still hold the block before, so each one is a copy.
      const bytes = Buffer.from(template);
      for (let i = 0; i < rows; i++) writeDigits(bytes, places[i] ?? 0, FIRST_GENERATED_ID + sent + i);
      yield { bytes: rows === ROWS_PER_BLOCK ? bytes : bytes.subarray(0, (places[rows] ?? 0) - head.length - 5), rows };
    }
  };
}

function writeDigits(bytes: Buffer, at: number, id: number): void {
  let rest = id;
  for (let place = at + ID_DIGITS - 1; place >= at; place--) {
    const next = Math.floor(rest / 10);
    bytes[place] = 48 + rest - next * 10;
    rest = next;
  }
}
