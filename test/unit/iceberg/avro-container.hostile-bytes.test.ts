import { deflateRawSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type AvroRecord, readAvroContainer, writeAvroContainer } from '../../../src/iceberg/avro-container.ts';
import type { JsonObject } from '../../../src/iceberg/json.ts';
import { MANIFEST_ENTRY_SCHEMA } from '../../../src/iceberg/manifest-schema.ts';

const SYNC = Uint8Array.from({ length: 16 }, (_, index) => index + 1);

const SCHEMA: JsonObject = {
  type: 'record',
  name: 'entry',
  fields: [
    { name: 'id', type: 'long', 'field-id': 5 },
    { name: 'list', type: { type: 'array', items: 'long', 'element-id': 6 }, 'field-id': 7 },
    { name: 'note', type: ['null', 'string'], default: null, 'field-id': 8 },
  ],
};

function write(records: readonly AvroRecord[], codec: 'null' | 'deflate' = 'null'): Uint8Array {
  return writeAvroContainer({ schema: SCHEMA, records, metadata: { 'format-version': '2' }, codec, syncMarker: SYNC });
}

/** A container with one block of raw bytes, so that the bytes can lie. */
function blockOf(count: number[], block: Uint8Array, codec = 'null'): Uint8Array {
  const text = Buffer.from(write([])).toString('latin1');
  const header = Buffer.from(codec === 'null' ? text : text.replace('avro.codec\u0008null', `avro.codec${String.fromCharCode(codec.length * 2)}${codec}`), 'latin1');
  return Buffer.concat([header, Uint8Array.from(count), Uint8Array.from([block.length * 2]), block, SYNC]);
}

const protocolError = expect.objectContaining({ code: 'catalog-protocol' }) as Error;

describe('GIVEN records', () => {
  it.each(['null', 'deflate'] as const)('WHEN written and read with codec %s THEN longs keep every bit', (codec) => {
    const records = [9223372036854775807n, -9223372036854775808n, 5735460159761889537n, 0n, -1n, 1n << 28n, 1n << 35n]
      .map((id) => ({ id, list: [id, 1n], note: id < 0n ? null : 'é' }));
    expect(readAvroContainer(write(records, codec)).records).toEqual(records);
  });

  it('WHEN the header is looked at THEN the schema in it is ours, ids and logical types included', () => {
    const bytes = writeAvroContainer({ schema: MANIFEST_ENTRY_SCHEMA, records: [], metadata: { content: 'data' }, codec: 'deflate', syncMarker: SYNC });
    const { schema, metadata, records } = readAvroContainer(bytes);
    expect(schema).toEqual(MANIFEST_ENTRY_SCHEMA);
    expect(metadata.get('content')).toBe('data');
    expect(records).toEqual([]);
  });

  it('WHEN there are many THEN they go into several blocks and come back in order', () => {
    const records = Array.from({ length: 50_000 }, (_, index) => ({ id: BigInt(index), list: [1n, 2n, 3n], note: 'some text' }));
    const read = readAvroContainer(write(records, 'deflate')).records;
    expect(read).toHaveLength(50_000);
    expect(read[49_999]).toEqual(records[49_999]);
  });

  it('WHEN a record does not fit the schema THEN the error does not show its values', () => {
    let message = '';
    try {
      write([{ id: 'secret-value', list: [], note: null }]);
    } catch (thrown) {
      message = String(thrown);
    }
    expect(message).toContain('entry');
    expect(message).not.toContain('secret-value');
  });
});

describe('GIVEN bytes that lie', () => {
  it.each([
    ['no Avro at all', Buffer.from('PAR1 something')],
    ['nothing', new Uint8Array(0)],
    ['an array of 2^50 items', blockOf([2], Uint8Array.from([2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x04]))],
    ['an array of a negative count of 2^50', blockOf([2], Uint8Array.from([2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03, 2]))],
    ['a block of 2^40 records', blockOf([0x80, 0x80, 0x80, 0x80, 0x80, 0x40], Uint8Array.from([2, 0, 0]))],
    ['a branch that does not exist', blockOf([2], Uint8Array.from([2, 0, 6]))],
    ['a string longer than the file', blockOf([2], Uint8Array.from([2, 0, 2, 0xfe, 0xff, 0x03]))],
    ['an integer without an end', blockOf([2], new Uint8Array(12).fill(0xff))],
    ['bytes after the last record', blockOf([2], Uint8Array.from([2, 0, 0, 0]))],
    ['a codec that is not known', blockOf([2], Uint8Array.from([2, 0, 0]), 'lz99')],
    ['a block that is not deflate', blockOf([2], Uint8Array.from([0xff, 0xff, 0xff]), 'deflate')],
  ])('WHEN they have %s THEN reading is refused by name and at once', (_what, bytes) => {
    const start = performance.now();
    expect(() => readAvroContainer(bytes)).toThrow(protocolError);
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('WHEN an array claims 2^40 items that take no bytes THEN it is refused instead of looped over', () => {
    const schema: JsonObject = {
      type: 'record', name: 'r', fields: [{ name: 'a', type: { type: 'array', items: { type: 'record', name: 'empty', fields: [] } } }],
    };
    const header = writeAvroContainer({ schema, records: [], metadata: {}, codec: 'null', syncMarker: SYNC });
    const lie = Uint8Array.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 0]);
    const start = performance.now();
    expect(() => readAvroContainer(Buffer.concat([header, Uint8Array.from([2, lie.length * 2]), lie, SYNC]))).toThrow(protocolError);
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('WHEN a small block unpacks to gigabytes THEN it is refused before memory runs out', () => {
    // 600 MB of zeros fit into about 600 KB; the limit stops the unpacking.
    const bomb = deflateRawSync(Buffer.alloc(600 * 1024 * 1024), { level: 1 });
    const length: number[] = [];
    for (let rest = bomb.length * 2; ; rest = Math.floor(rest / 128)) {
      if (rest < 128) {
        length.push(rest);
        break;
      }
      length.push((rest % 128) + 128);
    }
    const text = Buffer.from(write([], 'deflate'));
    expect(() => readAvroContainer(Buffer.concat([text, Uint8Array.from([2, ...length]), bomb, SYNC]))).toThrow(protocolError);
  });

  it('WHEN a writer packs with zstandard THEN it is read all the same', () => {
    const packed = zstdCompressSync(Uint8Array.from([2, 0, 0]));
    expect(readAvroContainer(blockOf([2], packed, 'zstandard')).records).toEqual([{ id: 1n, list: [], note: null }]);
  });
});
