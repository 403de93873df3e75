/**
 * COPY … TO STDOUT around rows: what is announced before and sent behind them. In: columns and CopyData messages.
 * Out: messages in the order of the wire reference 1.5: the header of the binary format is no message of its own, it
 * stands in front of the first row; its trailer is one.
 */
import type { SqlType } from '../../relation/sql-type.ts';
import { binaryValue, requireBinary } from './binary-values.ts';
import { csvRecord, escapeCopyText } from './copy-text.ts';
import type { CopyFormat } from './subscribe-syntax.ts';
import type { StreamSink } from './subscription-stream.ts';
import { copyDone, copyOutResponse, int16, int32, readBody, wireMessage } from './wire-frames.ts';

/** Signature, flags and length of the header's extension. */
const BINARY_HEADER = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), int32(0), int32(0)]);

/** CopyOutResponse. Throws 08P01 for columns that the binary format does not know. */
export function copyStart(format: CopyFormat, types: readonly SqlType[]): Buffer {
  if (format === 'copy-binary') types.forEach(requireBinary);
  return copyOutResponse(types.length, format === 'copy-binary');
}

export function copyEnd(format: CopyFormat): Buffer {
  return format === 'copy-binary' ? Buffer.concat([wireMessage('d', int16(-1)), copyDone()]) : copyDone();
}

const COPY_DATA = 'd'.charCodeAt(0);

/** A sink that puts the header in front of the first row. */
export function withBinaryHeader(sink: StreamSink): StreamSink {
  let pending = true;
  return {
    ...sink,
    send(block) {
      if (!pending || block[0] !== COPY_DATA) return sink.send(block);
      pending = false;
      const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
      const length = int32(bytes.readInt32BE(1) + BINARY_HEADER.length);
      sink.send(Buffer.concat([bytes.subarray(0, 1), length, BINARY_HEADER, bytes.subarray(5)]));
    },
  };
}

/** A DataRow of text values as CopyData. */
export function copyRowOf(format: CopyFormat, types: readonly SqlType[], row: Buffer): Buffer {
  const read = readBody(row.subarray(5));
  const values = Array.from({ length: read.int16() }, () => {
    const length = read.int32();
    return length < 0 ? null : read.bytes(length);
  });
  if (format === 'copy-binary') {
    const parts = values.flatMap((value, i) => {
      const type = types[i];
      if (value === null || type === undefined) return [int32(-1)];
      const bytes = binaryValue(type, value);
      return [int32(bytes.length), bytes];
    });
    return wireMessage('d', int16(values.length), ...parts);
  }
  const texts = values.map((value) => value?.toString('utf8') ?? null);
  const escaped = texts.map((text) => (text === null ? '\\N' : escapeCopyText(text)));
  const line = format === 'copy-csv' ? csvRecord(texts) : escaped.join('\t');
  return wireMessage('d', Buffer.from(`${line}\n`, 'utf8'));
}
