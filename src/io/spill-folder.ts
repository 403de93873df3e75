/**
 * The part of the spill directory that belongs to one process: a folder with a random name, so that neither two sinks
 * whose names read alike nor two containers that share a volume (and both are process 1) ever meet in a file.
 *
 * A process that is killed leaves its folder behind. `sweep` removes folders that bear our kind of name and have shown
 * no sign of life for an hour; a living process renews the time of its folder every minute. Should the judgement be wrong
 * all the same (a process stopped for hours, a clock that jumped), nothing is lost but disk space: spilled rows are read
 * through handles that stay open, a missing folder is made anew, and what fails beyond that is spill-failed, from which
 * the sink starts over from the table.
 */
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChunkMemory } from '../batch/chunk-memory.ts';
import { SinkError } from '../errors.ts';
import type { Clock, Entropy, SpillStore } from '../sink/ports.ts';
import { makeFolder } from './folder.ts';
import { createSpillStore } from './spill-store.ts';
import { systemCodeOf } from './system-code.ts';

const SIGN_OF_LIFE_MS = 60_000;
const DEAD_AFTER_MS = 3_600_000;
const OURS = /^mz-sink-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const LABEL_LENGTH_MAX = 40;

export interface SpillFolder {
  /** A place for one sink; the label only helps whoever looks into the directory. Returns the opener of its stores. */
  placeFor(label: string): (name: string) => SpillStore;
  /** Puts a file into the directory and takes it away again; what is wrong when that fails. Makes the directory. */
  probe(): Promise<SinkError | null>;
  /** Removes folders of dead processes; resolves with how many. Never rejects: it is tidiness, not safety. */
  sweep(): Promise<number>;
  /** Removes the folder. Every store must be closed by then. */
  close(): Promise<void>;
}

/** `directory` is shared with other processes and stays. */
export function createSpillFolder(
  directory: string, clock: Clock, entropy: Entropy, chunkMemory: ChunkMemory | null = null,
): SpillFolder {
  const own = join(directory, `mz-sink-${entropy.uuid()}`);
  let cancel = (): void => undefined;
  let closed = false;
  const beat = (): void => {
    cancel = clock.after(SIGN_OF_LIFE_MS, () => {
      const now = new Date(clock.nowMs());
      // Missing as long as nothing was spilled.
      utimes(own, now, now).catch(() => undefined).finally(() => {
        if (!closed) beat();
      });
    });
  };
  beat();
  return {
    placeFor: (label) => {
      const place = join(own, `${label.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, LABEL_LENGTH_MAX)}-${entropy.uuid()}`);
      return (name) => createSpillStore(join(place, name), chunkMemory);
    },
    probe: async () => {
      const path = `${own}-probe`;
      try {
        await makeFolder(directory);
        await writeFile(path, 'mz-iceberg-sink');
        await rm(path);
        return null;
      } catch (thrown) {
        const why = thrown instanceof Error ? thrown.message : String(thrown);
        return new SinkError('spill-failed', `the spill directory ${directory} takes no file: ${why}`, { status: systemCodeOf(thrown) });
      }
    },
    sweep: async () => {
      const names = await readdir(directory).catch((): string[] => []);
      const swept = await Promise.all(names.filter((name) => OURS.test(name)).map((name) => removeIfDead(join(directory, name), clock.nowMs())));
      return swept.filter(Boolean).length;
    },
    close: async () => {
      closed = true;
      cancel();
      await rm(own, { recursive: true, force: true });
    },
  };
}

async function removeIfDead(folder: string, nowMs: number): Promise<boolean> {
  try {
    const { mtimeMs } = await stat(folder);
    if (nowMs - mtimeMs < DEAD_AFTER_MS) return false;
    await rm(folder, { recursive: true, force: true });
    return true;
  } catch {
    // Another process swept it first, or it isn't ours to remove.
    return false;
  }
}
