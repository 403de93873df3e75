/**
 * Objects as local files: the store of the embedded default and of catalogs with a local warehouse.
 *
 * A file appears under its name whole and durable or not at all: bytes and their fsync go to a temporary name
 * beside it, then a hard link gives it its name, which fails when the name is taken. So a crash leaves at most a
 * temporary file, and no reader ever sees half of one.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { SinkError, type ErrorCode, invariant } from '../errors.ts';
import type { ObjectStore, ObjectUpload, PutOutcome } from '../sink/ports.ts';
import { parseLocation } from './location.ts';
import { nextFlight, once } from './single-flight.ts';
import { MAX_READ_BYTES, tooLarge } from './read-limit.ts';
import { systemCodeOf } from './system-code.ts';

type DirectorySync = (directory: string) => Promise<void>;

export function createFileStore(): ObjectStore {
  // The files of a commit get their names at about the same time, and one sync makes all of them durable.
  const syncs = new Map<string, () => Promise<void>>();
  const syncNames: DirectorySync = (directory) => {
    const known = syncs.get(directory) ?? nextFlight(() => syncDirectory(directory));
    syncs.set(directory, known);
    return known();
  };
  return {
    open: (location) => openFileUpload(location, syncNames),
    put: async (location, bytes) => {
      try {
        return await writeExclusive(pathOf(location), bytes, syncNames);
      } catch (thrown) {
        throw fileError(thrown, `put ${location}`);
      }
    },
    get: async (location) => {
      try {
        return await readRegularFile(pathOf(location), `get ${location}`);
      } catch (thrown) {
        throw fileError(thrown, `get ${location}`);
      }
    },
    delete: async (location) => {
      try {
        await rm(pathOf(location), { force: true });
      } catch (thrown) {
        throw fileError(thrown, `delete ${location}`);
      }
    },
  };
}

/**
 * Files only, of the length they have when opened: a pipe would be waited for without end, a device read without end,
 * and what the kernel makes up while it is read (`/proc`) has no length. NONBLOCK is for the opening of pipes.
 */
async function readRegularFile(path: string, action: string): Promise<Uint8Array> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new SinkError('storage-forbidden', `${action}: it is not a file`, { cause: 'EINVAL' });
    if (facts.size > MAX_READ_BYTES) throw tooLarge(action);
    const bytes = new Uint8Array(facts.size);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, filled);
      if (bytesRead === 0) throw new SinkError('storage-unavailable', `${action}: it became shorter while it was read`);
      filled += bytesRead;
    }
    return bytes;
  } finally {
    await file.close();
  }
}

/** Parts are written at their places in the temporary file, so a repeated one changes nothing. */
function openFileUpload(location: string, syncNames: DirectorySync): ObjectUpload {
  const path = pathOf(location);
  const temporary = temporaryBeside(path);
  const opened = once(async () => {
    await makeDirectory(dirname(path));
    return await open(temporary, 'wx');
  });
  let ended: 'finished' | 'let go' | null = null;
  const onTheirWay = new Set<Promise<unknown>>();
  const begin = async (): Promise<FileHandle> => {
    if (ended !== null) throw new SinkError('upload-lost', `the upload of ${location} was ${ended}`);
    return await opened.get();
  };
  const settle = async (): Promise<void> => {
    await Promise.allSettled(onTheirWay);
    await opened.begun()?.then((file) => file.close(), () => undefined);
    await rm(temporary, { force: true });
  };
  return {
    put: async ({ offset, bytes }) => {
      const writing = begin().then((file) => writeAt(file, bytes, offset)).finally(() => onTheirWay.delete(writing));
      onTheirWay.add(writing);
      await writing.catch((thrown: unknown) => {
        throw fileError(thrown, `write a part of ${location}`);
      });
    },
    finish: async () => {
      if (ended === 'finished') return 'exists';
      try {
        await (await begin()).sync();
        const outcome: PutOutcome = await linkExclusive(temporary, path) ? 'stored' : 'exists';
        await syncNames(dirname(path));
        ended = 'finished';
        await settle();
        return outcome;
      } catch (thrown) {
        throw fileError(thrown, `finish ${location}`);
      }
    },
    abort: async () => {
      ended ??= 'let go';
      await settle().catch(() => undefined);
    },
  };
}

/** A write to a full disk may take a part of the bytes only. */
async function writeAt(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
  }
}

function temporaryBeside(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, 100)}.${randomUUID()}.tmp`);
}

async function writeExclusive(path: string, bytes: Uint8Array, syncNames: DirectorySync): Promise<PutOutcome> {
  const directory = dirname(path);
  await makeDirectory(directory);
  const temporary = temporaryBeside(path);
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    if (!await linkExclusive(temporary, path)) return 'exists';
    await syncNames(directory);
    return 'stored';
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Durable like the file to come: a new directory is an entry of its parent, which has to be synced as well. */
async function makeDirectory(directory: string): Promise<void> {
  const topmostMade = await mkdir(directory, { recursive: true });
  if (topmostMade === undefined) return;
  for (let made = directory; made.length >= topmostMade.length; made = dirname(made)) await syncDirectory(dirname(made));
}

/** False when the name is taken. */
async function linkExclusive(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (thrown) {
    const code = systemCodeOf(thrown);
    if (code === 'EEXIST') return false;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw thrown;
    // File systems without hard links: names are never reused, so looking first is enough there.
    if (await stat(path).then(() => true, () => false)) return false;
    await rename(temporary, path);
    return true;
  }
}

/** Makes the new name itself durable. Where directories can't be opened or synced, the platform orders them itself. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r').catch(() => null);
  if (handle === null) return;
  try {
    await handle.sync();
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'EIO') throw thrown;
  } finally {
    await handle.close();
  }
}

function pathOf(location: string): string {
  const parsed = parseLocation(location);
  invariant(parsed.kind === 'file', 'the file store is given local locations only');
  return parsed.path;
}

const FORBIDDEN: ReadonlySet<string> = new Set([
  'EACCES', 'EPERM', 'EEXIST', 'EROFS', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'EINVAL', 'ENXIO',
]);

function fileError(thrown: unknown, action: string): SinkError {
  if (thrown instanceof SinkError) return thrown;
  const code = systemCodeOf(thrown);
  const kind: ErrorCode = code === 'ENOENT' ? 'storage-object-missing'
    : FORBIDDEN.has(code) ? 'storage-forbidden' : 'storage-unavailable';
  return new SinkError(kind, `${action}: ${code === '' ? String(thrown) : code}`, { cause: code });
}
