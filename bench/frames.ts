/**
 * Messages of a COPY of a SUBSCRIBE as bytes: what the benchmark's source sends. Made from the protocol's description and not
 * with the stand-in's functions, which make one row at a time and would cost more than what is to be measured.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';

/** mz_timestamp, mz_progressed, mz_diff. */
const SUBSCRIBE_COLUMNS = 3;
const COPY_DATA = 0x64;
const NEWLINE = 0x0a;
const HEADER_BYTES = 5;

function message(type: string, body: Buffer): Buffer {
  const framed = Buffer.alloc(HEADER_BYTES + body.length, type);
  framed.writeUInt32BE(body.length + 4, 1);
  body.copy(framed, HEADER_BYTES);
  return framed;
}

/** `columns`: those of the relation. */
export function copyOutResponse(columns: number): Buffer {
  const body = Buffer.alloc(3 + 2 * (columns + SUBSCRIBE_COLUMNS));
  body.writeUInt16BE(columns + SUBSCRIBE_COLUMNS, 1);
  return message('H', body);
}

export function progressMessage(time: bigint, columns: number): Buffer {
  return message('d', Buffer.from(`${time}\tt\t\\N${'\t\\N'.repeat(columns)}\n`, 'latin1'));
}

export function copyDataLine(line: string): Buffer {
  return message('d', Buffer.from(`${line}\n`, 'latin1'));
}

/**
 * Writes each line of a file of COPY text as a CopyData message of its own, as Materialize sends them. Done beforehand, so
 * that replaying costs no more than reading the file. Resolves with the number of lines.
 */
export async function frameFile(from: string, to: string): Promise<number> {
  const output = createWriteStream(to);
  let rest: Buffer = Buffer.alloc(0);
  let lines = 0;
  for await (const chunk of createReadStream(from, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const framed = frameLines(bytes);
    lines += framed.lines;
    rest = Buffer.from(bytes.subarray(framed.taken));
    if (!output.write(framed.bytes)) await once(output, 'drain');
  }
  if (rest.length > 0) throw new Error(`${from} ends within a line`);
  output.end();
  await once(output, 'close');
  return lines;
}

function frameLines(bytes: Buffer): { readonly bytes: Buffer; readonly taken: number; readonly lines: number } {
  // A line has a byte at least, the newline: that bounds the headers.
  const framed = Buffer.allocUnsafe(bytes.length * (HEADER_BYTES + 1));
  let at = 0;
  let start = 0;
  let lines = 0;
  for (;;) {
    const newline = bytes.indexOf(NEWLINE, start);
    if (newline < 0) break;
    const end = newline + 1;
    framed[at] = COPY_DATA;
    framed.writeUInt32BE(end - start + 4, at + 1);
    bytes.copy(framed, at + HEADER_BYTES, start, end);
    at += HEADER_BYTES + end - start;
    start = end;
    lines++;
  }
  return { bytes: framed.subarray(0, at), taken: start, lines };
}
