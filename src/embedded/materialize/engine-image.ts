/**
 * A started SQL engine with the catalog's tables. In: nothing. Out: a PGlite of its own.
 *
 * Initialising a Postgres data directory costs seconds of CPU, unpacking one a tenth of that. So the first start keeps
 * an image, in memory and in the user's temporary folder, and later ones begin with it. Its name holds the engine's
 * version and the schema, so an image never serves another one.
 *
 * Losing the image costs time only, so nothing about it can fail a start: a file that is cut short or altered fails
 * its digest and is made anew, one that others could write is not looked at, and where nothing can be written each
 * process makes its own. Processes that start together each write a file of their own and rename it: whoever comes
 * last wins, and every reader sees a whole one.
 */
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { CATALOG_SCHEMA_SQL } from './catalog-schema.ts';

let image: Promise<Blob> | null = null;

/** An engine that nobody else uses; the caller closes it. `folder` keeps the image. */
export async function startEngine(folder: string = defaultFolder()): Promise<PGlite> {
  image ??= loadOrMake(folder);
  const tried = image;
  try {
    return await engineFrom(await tried);
  } catch {
    // Only the first of those who failed with this image makes another one; the others wait for it.
    if (image === tried || image === null) image = makeImage(folder);
    const fresh = image;
    try {
      return await engineFrom(await fresh);
    } catch (thrown) {
      // The next start tries again instead of failing with an old failure.
      if (image === fresh) image = null;
      throw thrown;
    }
  }
}

/** Lets go of the image in memory, as in a new process. */
export function forgetImage(): void {
  image = null;
}

/** Where the image lies. */
export function imagePath(folder: string = defaultFolder()): string {
  const require = createRequire(import.meta.url);
  const engine = readFileSync(require.resolve('@electric-sql/pglite')).length;
  const key = createHash('sha256').update(`${engine}\n${CATALOG_SCHEMA_SQL}`).digest('hex').slice(0, 16);
  return join(folder, `catalog-engine-${key}.image`);
}

function defaultFolder(): string {
  return join(tmpdir(), `mz-iceberg-sink-${userInfo().uid}`);
}

async function engineFrom(stored: Blob): Promise<PGlite> {
  const lite = await PGlite.create({ loadDataDir: stored });
  try {
    await lite.query('SELECT count(*) FROM mz_catalog.mz_objects');
    return lite;
  } catch (thrown) {
    await lite.close();
    throw thrown;
  }
}

async function loadOrMake(folder: string): Promise<Blob> {
  return readImage(folder) ?? makeImage(folder);
}

async function makeImage(folder: string): Promise<Blob> {
  const lite = await PGlite.create();
  await lite.exec(CATALOG_SCHEMA_SQL);
  const made = await lite.dumpDataDir('none');
  await lite.close();
  storeImage(folder, Buffer.from(await made.arrayBuffer()));
  return made;
}

const DIGEST_BYTES = 32;

function digestOf(content: Uint8Array): Buffer {
  return createHash('sha256').update(content).digest();
}

/** The stored image; null when there is none that can be trusted. */
function readImage(folder: string): Blob | null {
  try {
    // A folder that another user could write may hold anything.
    const { uid, mode } = statSync(folder);
    if (uid !== userInfo().uid || (mode & 0o022) !== 0) return null;
    const bytes = readFileSync(imagePath(folder));
    const content = bytes.subarray(DIGEST_BYTES);
    return digestOf(content).equals(bytes.subarray(0, DIGEST_BYTES)) ? new Blob([content]) : null;
  } catch {
    return null;
  }
}

function storeImage(folder: string, content: Uint8Array): void {
  let fresh: string | null = null;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    const path = imagePath(folder);
    fresh = `${path}.${randomUUID()}`;
    writeFileSync(fresh, Buffer.concat([digestOf(content), content]), { mode: 0o600 });
    renameSync(fresh, path);
  } catch {
    // Without a place to keep it the next process makes its own. A full disk must not be left with half a file.
    if (fresh !== null) rmSync(fresh, { force: true });
  }
}
