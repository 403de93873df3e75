/** Codecs of `node:zlib`, one call a page: pages are read one by one, so each is a stream of its own. */
import { constants, gzipSync, zstdCompressSync } from 'node:zlib';

/** Numbers of parquet.thrift. */
export const CODEC = { uncompressed: 0, gzip: 2, zstd: 6 } as const;
export type Codec = keyof typeof CODEC;

export type Compress = (page: Uint8Array) => Uint8Array;

/**
 * What a column's pages may be compressed with, the likely best first. zstd's search for matches does harm where
 * there are none: in keys, hashes and numbers it trades literals, which its entropy coder packs well, for chance
 * matches that cost more. Level 1 searches least, so it is smaller there and twice as fast; text is the opposite.
 * Only a try on the column's own page can tell.
 */
export function compressors(codec: Codec, level: number): readonly Compress[] {
  if (codec === 'uncompressed') return [(page) => page];
  if (codec === 'gzip') return [(page) => gzipSync(page, { level: Math.min(9, Math.max(1, level)), chunkSize: room(page) })];
  return level > 1 ? [zstd(level), zstd(1)] : [zstd(level)];
}

function zstd(level: number): Compress {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return (page) => zstdCompressSync(page, { params, chunkSize: room(page) });
}

/** With room for all of the output zlib makes one buffer; else it would gather many. */
function room(page: Uint8Array): number {
  return page.length + (page.length >> 7) + 1024;
}
