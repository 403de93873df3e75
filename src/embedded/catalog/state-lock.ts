/**
 * One catalog process per state directory: the compare-and-swap of the pointers is in memory, so a second process
 * would silently undo it. The lock is a file with the holder's process id; a dead holder's lock is taken over.
 * Process ids mean nothing across containers: a directory shared between these has to be kept apart by its owner.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Directories held by this process: its own id in a lock file is otherwise a leftover (a container's id 1). */
const heldHere = new Set<string>();

/** Takes the lock and returns its release. Throws when another catalog holds it. */
export function lockState(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true });
  const directory = resolve(stateDir);
  const path = join(directory, 'lock');
  for (let attempt = 0; ; attempt += 1) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      break;
    } catch (thrown) {
      const taken = thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST';
      if (!taken || attempt > 0) throw thrown;
      const holder = Number(readFileSync(path, 'utf8'));
      if (heldHere.has(directory) || isAlive(holder)) {
        throw new Error(`the state directory is in use by process ${holder}: ${directory}`, { cause: thrown });
      }
      rmSync(path, { force: true });
    }
  }
  heldHere.add(directory);
  return () => {
    if (heldHere.delete(directory)) rmSync(path, { force: true });
  };
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM';
  }
}
