/** Codecs of `node:zlib`, one call a page: pages are read one by one, so each is a stream of its own. */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';

/** Numbers of parquet.thrift. */
export const CODEC = { uncompressed: 0, gzip: 2, zstd: 6 } as const;
export type Codec = keyof typeof CODEC;

export type Compress = (page: Uint8Array) => Uint8Array;

/**
 * What a column's pages may be compressed with: as asked for, and with a short memory.
 *
 * zstd's search for matches does harm where there is nothing to find: in keys, hashes and numbers it trades literals,
 * which its entropy coder packs well, for chance matches that cost more. With a table of 64 places it finds what repeats
 * value after value (prefixes, high bytes, lengths) and little else, so such columns get smaller (random text by 13 %,
 * decimals by 5 % of level 3) in half the time. Text that does repeat wants the search. Only a try can tell.
 */
export function compressors(codec: Codec, level: number): readonly Compress[] {
  if (codec === 'uncompressed') return [(page) => page];
  if (codec === 'gzip') return [(page) => gzipSync(page, { level: Math.min(9, Math.max(1, level)), chunkSize: room(page) })];
  return [zstd({ [constants.ZSTD_c_compressionLevel]: level }), zstd(SHORT_MEMORY)];
}

const SHORT_MEMORY = {
  [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_hashLog]: 6, [constants.ZSTD_c_minMatch]: 4,
};

function zstd(params: Readonly<Record<number, number>>): Compress {
  return (page) => zstdCompressSync(page, { params, chunkSize: room(page) });
}

/** Below this Node takes a buffer from a pool that others share. */
const OWN_BUFFER_BYTES = 128 * 1024;

/**
 * Frees what a compressor returned, at once; the bytes must not be used after. It has room for the page uncompressed, and left
 * to the collector a file of pages makes it collect everything every few hundred of them.
 */
export function letGo(compressed: Uint8Array): void {
  const { buffer, byteOffset } = compressed;
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength >= OWN_BUFFER_BYTES) buffer.transfer(0);
}

/** With room for all of the output zlib makes one buffer; else it would gather many. */
function room(page: Uint8Array): number {
  return page.length + (page.length >> 7) + 1024;
}
