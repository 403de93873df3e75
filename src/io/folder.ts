/** Making folders. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemCodeOf } from './system-code.ts';

/**
 * Makes a folder and those above it. Not by Node's recursive mkdir, which never ends where the folder above exists and takes none in
 * it, as below /proc. Rejects as `mkdir` does.
 */
export async function makeFolder(path: string): Promise<void> {
  const failure = await tryToMake(path);
  if (failure === null || await isFolder(path)) return;
  const above = dirname(path);
  if (systemCodeOf(failure) !== 'ENOENT' || above === path || await isFolder(above)) throw failure;
  await makeFolder(above);
  const second = await tryToMake(path);
  // Another process may have made it meanwhile.
  if (second !== null && !await isFolder(path)) throw second;
}

async function tryToMake(path: string): Promise<Error | null> {
  try {
    await mkdir(path);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown));
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}
