/**
 * Rows like those of the peers' workload, as CopyData messages: id int64 (key), s1 of 1,000 strings, s2 of 12 characters or
 * NULL (5 %), d double, ts timestamptz, n decimal(38,2), b boolean; about 115 bytes a line.
 *
 * Made from a seed, so the same arguments give the same bytes. A block of distinct rows is built once and sent again with
 * other ids: making rows must not cost what is to be measured. A block is as long as a row group, so no encoder sees a
 * repetition.
 */
import { createRandom } from '../../../src/embedded/auction/seeded-random.ts';
import type { GenerateSnapshot } from '../../../src/embedded/materialize/relation-definition.ts';
import type { Column } from '../../../src/relation/relation.ts';
import { scalar } from '../../../src/relation/sql-type.ts';

export const BENCH_COLUMNS: readonly Column[] = [
  { name: 'id', type: scalar('bigint'), nullable: false },
  { name: 's1', type: scalar('text'), nullable: false },
  { name: 's2', type: scalar('text'), nullable: true },
  { name: 'd', type: scalar('double precision'), nullable: false },
  { name: 'ts', type: scalar('timestamptz'), nullable: false },
  { name: 'n', type: scalar('numeric', 2), nullable: false },
  { name: 'b', type: scalar('boolean'), nullable: false },
];

export const FIRST_ID = 1_000_000_000;
const ID_DIGITS = 10;
const BLOCK_ROWS = 131_072;
const MESSAGES_ROWS = 1_024;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** The COPY text of all columns but the id. */
export function otherColumns(random: () => number): string {
  const pad = (value: number, digits: number): string => String(value).padStart(digits, '0');
  const int = (below: number): number => Math.floor(random() * below);
  const s2 = random() < 0.05 ? '\\N' : Array.from({ length: 12 }, () => LETTERS[int(36)]).join('');
  const ts = `2024-${pad(1 + int(12), 2)}-${pad(1 + int(28), 2)} ${pad(int(24), 2)}:${pad(int(60), 2)}:${pad(int(60), 2)}.${pad(1 + int(999_999), 6)}`;
  const micros = ts.replace(/0+$/, '');
  const cents = int(100);
  const n = `${int(10_000_000)}${cents === 0 ? '' : `.${pad(cents, 2).replace(/0$/, '')}`}`;
  return [`string-${pad(int(1000), 4)}`, s2, String(Number((random() * 1_000_000).toPrecision(15))), `${micros}+00`, n, random() < 0.5 ? 't' : 'f'].join('\t');
}

/** A snapshot of `rowCount` rows with ids from FIRST_ID on. */
export function generateSnapshot(rowCount: number, seed: number): GenerateSnapshot {
  const random = createRandom(seed).fraction;
  const tails = Array.from({ length: Math.min(BLOCK_ROWS, rowCount) }, () => otherColumns(random));
  return function* generate({ asOf, progress }) {
    const head = progress ? `${asOf}\tf\t1\t` : `${asOf}\t1\t`;
    const templates = messageTemplates(head, tails);
    for (let sent = 0; sent < rowCount;) {
      for (const template of templates) {
        const rows = Math.min(template.places.length, rowCount - sent);
        if (rows === 0) break;
        const bytes = Buffer.from(template.bytes);
        for (let row = 0; row < rows; row++) writeDigits(bytes, template.places[row] ?? 0, FIRST_ID + sent + row);
        sent += rows;
        yield { bytes: rows === template.places.length ? bytes : bytes.subarray(0, template.ends[rows - 1]), rows };
      }
    }
  };
}

interface MessageTemplate {
  readonly bytes: Buffer;
  /** Where the id of each row stands. */
  readonly places: readonly number[];
  readonly ends: readonly number[];
}

function messageTemplates(head: string, tails: readonly string[]): readonly MessageTemplate[] {
  const templates: MessageTemplate[] = [];
  for (let first = 0; first < tails.length; first += MESSAGES_ROWS) {
    const places: number[] = [];
    const ends: number[] = [];
    const parts: Buffer[] = [];
    let length = 0;
    for (const tail of tails.slice(first, first + MESSAGES_ROWS)) {
      const line = Buffer.from(`${head}${'0'.repeat(ID_DIGITS)}\t${tail}\n`, 'latin1');
      const message = Buffer.alloc(5 + line.length, 'd');
      message.writeUInt32BE(line.length + 4, 1);
      line.copy(message, 5);
      places.push(length + 5 + head.length);
      parts.push(message);
      length += message.length;
      ends.push(length);
    }
    templates.push({ bytes: Buffer.concat(parts), places, ends });
  }
  return templates;
}

function writeDigits(bytes: Buffer, at: number, id: number): void {
  let rest = id;
  for (let place = at + ID_DIGITS - 1; place >= at; place--) {
    const next = Math.floor(rest / 10);
    bytes[place] = 48 + rest - next * 10;
    rest = next;
  }
}
