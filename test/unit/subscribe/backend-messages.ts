/** Backend messages as bytes, written from the PostgreSQL protocol documentation and not from src. */
export function message(type: string, payload: string | Uint8Array = ''): Buffer {
  const body = Buffer.from(payload as string);
  const header = Buffer.alloc(5);
  header.write(type, 0, 'latin1');
  header.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

export function copyOut(columns: number, format = 0): Buffer {
  const payload = Buffer.alloc(3 + columns * 2);
  payload.writeUInt8(format, 0);
  payload.writeInt16BE(columns, 1);
  return message('H', payload);
}

export function fields(entries: Readonly<Record<string, string>>): string {
  return `${Object.entries(entries).map(([letter, text]) => `${letter}${text}\0`).join('')}\0`;
}

export function errorResponse(sqlState: string, text: string): Buffer {
  return message('E', fields({ S: 'ERROR', C: sqlState, M: text }));
}

export function notice(sqlState: string, text: string): Buffer {
  return message('N', fields({ S: 'NOTICE', C: sqlState, M: text }));
}

export function row(time: bigint | string, diff: bigint | string, ...columns: readonly string[]): Buffer {
  return message('d', `${[time, 'f', diff, ...columns].join('\t')}\n`);
}

export function progress(time: bigint | string, columns: number): Buffer {
  return message('d', `${time}\tt\t\\N${'\t\\N'.repeat(columns)}\n`);
}

export const COPY_END = Buffer.concat([message('c'), message('C', 'COPY 3\0'), message('Z', 'I')]);
