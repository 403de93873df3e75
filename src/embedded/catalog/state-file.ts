/**
 * Small JSON files that are either the old or the new state, whatever happens in between: written beside
 * the target, flushed, renamed over it, and the directory flushed so that the rename itself survives a
 * power cut. Synchronous on purpose: nothing else of this process can run between a check of the state in
 * memory and its replacement on disk, which is what makes the catalog's compare-and-swap one.
 */
import {
  closeSync, fsyncSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, unlinkSync, writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

export function replaceFile(path: string, text: string): void {
  const temporary = join(dirname(path), `.${basename(path)}.new`);
  const file = openSync(temporary, 'w', 0o600);
  try {
    let rest = Buffer.from(text, 'utf8');
    while (rest.length > 0) rest = rest.subarray(writeSync(file, rest));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  flushDirectory(dirname(path));
}

export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (thrown) {
    if (!isMissing(thrown)) throw thrown;
  }
  flushDirectory(dirname(path));
}

/** null when there is no such file. */
export function readFileIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if (isMissing(thrown)) return null;
    throw thrown;
  }
}

/** The finished files of a directory, sorted; half-written ones (leading dot) are left out. Makes the directory. */
export function stateFiles(directory: string): string[] {
  mkdirSync(directory, { recursive: true });
  return readdirSync(directory).filter((name) => name.endsWith('.json') && !name.startsWith('.')).sort();
}

function flushDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT';
}
