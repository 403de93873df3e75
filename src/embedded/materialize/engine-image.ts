/**
 * A started SQL engine with the catalog's tables. In: nothing. Out: a PGlite of its own.
 *
 * Initialising a Postgres data directory costs seconds of CPU, unpacking one a tenth of that. So the first start keeps
 * an image, in memory and in the user's temporary folder, and later ones begin with it. Its name holds the engine's
 * version and the schema, so an image never serves another one; a broken or foreign file is ignored, never trusted:
 * losing the image costs time only.
 */
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { CATALOG_SCHEMA_SQL } from './catalog-schema.ts';

let image: Promise<Blob> | null = null;

/** An engine that nobody else uses; the caller closes it. */
export async function startEngine(): Promise<PGlite> {
  image ??= Promise.resolve(readImage()).then((stored) => stored ?? makeImage());
  try {
    const lite = await PGlite.create({ loadDataDir: await image });
    await lite.query('SELECT count(*) FROM mz_catalog.mz_objects');
    return lite;
  } catch {
    image = makeImage();
    return PGlite.create({ loadDataDir: await image });
  }
}

async function makeImage(): Promise<Blob> {
  const lite = await PGlite.create();
  await lite.exec(CATALOG_SCHEMA_SQL);
  const made = await lite.dumpDataDir('none');
  await lite.close();
  storeImage(Buffer.from(await made.arrayBuffer()));
  return made;
}

function imagePath(): string {
  const require = createRequire(import.meta.url);
  const engine = readFileSync(require.resolve('@electric-sql/pglite')).length;
  const key = createHash('sha256').update(`${engine}\n${CATALOG_SCHEMA_SQL}`).digest('hex').slice(0, 16);
  return join(tmpdir(), `mz-iceberg-sink-${userInfo().uid}`, `catalog-engine-${key}.tar`);
}

function readImage(): Blob | null {
  try {
    const path = imagePath();
    // A folder that another user could write may hold anything.
    const folder = statSync(join(path, '..'));
    if (folder.uid !== userInfo().uid || (folder.mode & 0o022) !== 0) return null;
    return new Blob([readFileSync(path)]);
  } catch {
    return null;
  }
}

function storeImage(bytes: Uint8Array): void {
  try {
    const path = imagePath();
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    chmodSync(join(path, '..'), 0o700);
    const fresh = `${path}.${randomUUID()}`;
    writeFileSync(fresh, bytes);
    renameSync(fresh, path);
  } catch {
    // Without a place to keep it the next process makes its own.
  }
}
