/**
 * Where a table's files are read from: local paths directly, everything else through a fetcher that the caller gives,
 * once a file, into a temporary folder. Locations are taken as they stand; nothing is percent-decoded.
 */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The bytes at a location such as `s3://bucket/key`; rejects where there is nothing. */
export type FetchFile = (location: string) => Promise<Uint8Array>;

export interface TableFiles {
  /** A local path without glob characters that holds the file; rejects where the file doesn't exist. */
  localPath(location: string): Promise<string>;
  bytes(location: string): Promise<Uint8Array>;
  sizeBytes(location: string): Promise<bigint>;
  close(): void;
}

export function openTableFiles(fetchFile: FetchFile | null): TableFiles {
  const folder = mkdtempSync(join(tmpdir(), 'iceberg-check-'));
  const fetched = new Map<string, Promise<string>>();
  let ordinal = 0;
  const place = async (location: string): Promise<string> => {
    const local = localPathOf(location);
    ordinal += 1;
    const own = join(folder, `${ordinal}${/\.[a-z]+$/.exec(location)?.[0] ?? ''}`);
    if (local === null) {
      if (fetchFile === null) throw new Error(`no fetcher was given for ${location}`);
      await writeFile(own, await fetchFile(location));
      return own;
    }
    await stat(local);
    if (!/[*?[\]{}]/.test(local)) return local;
    // DuckDB would take such a path for a pattern.
    symlinkSync(local, own);
    return own;
  };
  const localPath = (location: string): Promise<string> => {
    const known = fetched.get(location) ?? place(location);
    fetched.set(location, known);
    return known;
  };
  return {
    localPath,
    bytes: async (location) => new Uint8Array(await readFile(await localPath(location))),
    sizeBytes: async (location) => BigInt((await stat(await localPath(location))).size),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** `/a`, `file:/a`, `file:///a` and `file://localhost/a` are one path; null for any other scheme. */
function localPathOf(location: string): string | null {
  if (location.startsWith('/')) return location;
  const match = /^file:(?:\/\/(?:localhost)?)?(\/[^/].*)$/s.exec(location);
  return match?.[1] ?? null;
}
