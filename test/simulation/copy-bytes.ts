/** What Materialize sends for `COPY (SUBSCRIBE …)`, as bytes; see the wire reference, sections 1.3 and 1.5. */
const encoder = new TextEncoder();

function message(type: string, body: Uint8Array): Uint8Array {
  const framed = new Uint8Array(body.length + 5);
  framed[0] = type.charCodeAt(0);
  new DataView(framed.buffer).setUint32(1, body.length + 4);
  framed.set(body, 5);
  return framed;
}

export function copyOutResponse(columns: number): Uint8Array {
  const body = new Uint8Array(3 + columns * 2);
  new DataView(body.buffer).setUint16(1, columns);
  return message('H', body);
}

export function rowMessage(time: bigint, diff: number, row: string): Uint8Array {
  return message('d', encoder.encode(`${time}\tf\t${diff}\t${row}\n`));
}

/** `columns`: those of the relation. */
export function progressMessage(time: bigint, columns: number): Uint8Array {
  return message('d', encoder.encode(`${time}\tt\t\\N${'\t\\N'.repeat(columns)}\n`));
}

export function endMessages(rows: number): Uint8Array {
  return joined([
    message('c', new Uint8Array(0)), message('C', encoder.encode(`COPY ${rows}\0`)), message('Z', encoder.encode('I')),
  ]);
}

export function errorMessage(sqlState: string, text: string): Uint8Array {
  return message('E', encoder.encode(`SERROR\0VERROR\0C${sqlState}\0M${text}\0\0`));
}

export function noticeMessage(text: string): Uint8Array {
  return message('N', encoder.encode(`SNOTICE\0VNOTICE\0C00000\0M${text}\0\0`));
}

export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
