/**
 * Which table has which current metadata file. One pointer file per table, named by an id that never changes,
 * holds the table's catalog, namespace, name and metadata location: commit and rename are both the atomic
 * replacement of that one file. All pointers are read once at the start; afterwards memory answers and disk
 * follows before the answer goes out.
 *
 * `swap` is the compare-and-swap that every commit ends in. A commit over several tables is made atomic by a
 * journal: the new pointers are written as one file first, and a journal found at the start is applied again.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFileIfPresent, removeFile, replaceFile, stateFiles } from './state-file.ts';

export interface TablePointer {
  readonly id: string;
  readonly catalog: string;
  readonly namespace: readonly string[];
  readonly name: string;
  readonly metadataLocation: string;
}

/** One step of an atomic commit: the location the new metadata was computed from, and the new location. */
export interface PointerSwap {
  readonly pointer: TablePointer;
  readonly metadataLocation: string;
}

export interface TablePointers {
  find(catalog: string, namespace: readonly string[], name: string): TablePointer | null;
  /** Tables directly in a namespace, by name. */
  list(catalog: string, namespace: readonly string[]): TablePointer[];
  /** null when the name is taken. */
  create(catalog: string, namespace: readonly string[], name: string, metadataLocation: string): TablePointer | null;
  /** Moves all pointers or none. Returns the first pointer that is no longer what the caller had read, else null. */
  swap(swaps: readonly PointerSwap[]): { readonly expected: TablePointer; readonly found: TablePointer | null } | null;
  /** False when the pointer has moved meanwhile or the new name is taken. */
  rename(pointer: TablePointer, namespace: readonly string[], name: string): boolean;
  remove(pointer: TablePointer): void;
}

/** Namespace levels are joined by 0x1F, which the specification bars from names; so keys can't collide. */
export function namespaceKey(catalog: string, namespace: readonly string[]): string {
  return [catalog, ...namespace].join('\u001f');
}

export function openTablePointers(stateDir: string): TablePointers {
  const directory = join(stateDir, 'tables');
  const journal = join(stateDir, 'journal.json');
  mkdirSync(directory, { recursive: true });
  const write = (pointer: TablePointer): void => {
    replaceFile(join(directory, `${pointer.id}.json`), `${JSON.stringify(pointer)}\n`);
  };
  replayJournal(journal, write);
  const byNamespace = new Map<string, Map<string, TablePointer>>();
  const remember = (pointer: TablePointer): void => {
    const key = namespaceKey(pointer.catalog, pointer.namespace);
    const tables = byNamespace.get(key) ?? new Map<string, TablePointer>();
    byNamespace.set(key, tables.set(pointer.name, pointer));
  };
  const forget = (pointer: TablePointer): void => {
    byNamespace.get(namespaceKey(pointer.catalog, pointer.namespace))?.delete(pointer.name);
  };
  for (const name of stateFiles(directory)) {
    remember(JSON.parse(readFileSync(join(directory, name), 'utf8')) as TablePointer);
  }
  // A change that failed half-way leaves the disk undecided: the next start reads it or replays the journal. Until then
  // nothing may build on memory, or the replay would roll back what was acknowledged meanwhile.
  let undecided = false;
  const changeDisk = (change: () => void): void => {
    if (undecided) throw new Error('an earlier change of the catalog state failed half-way: restart the catalog');
    undecided = true;
    change();
    undecided = false;
  };
  const find: TablePointers['find'] = (catalog, namespace, name) =>
    byNamespace.get(namespaceKey(catalog, namespace))?.get(name) ?? null;

  return {
    find,
    list: (catalog, namespace) => [...(byNamespace.get(namespaceKey(catalog, namespace))?.values() ?? [])]
      .sort((left, right) => (left.name < right.name ? -1 : 1)),
    create: (catalog, namespace, name, metadataLocation) => {
      if (find(catalog, namespace, name) !== null) return null;
      const pointer = { id: randomUUID(), catalog, namespace, name, metadataLocation };
      changeDisk(() => write(pointer));
      remember(pointer);
      return pointer;
    },
    swap: (swaps) => {
      for (const { pointer } of swaps) {
        const found = find(pointer.catalog, pointer.namespace, pointer.name);
        if (found?.id !== pointer.id || found.metadataLocation !== pointer.metadataLocation) {
          return { expected: pointer, found };
        }
      }
      const moved = swaps.map(({ pointer, metadataLocation }) => ({ ...pointer, metadataLocation }));
      changeDisk(() => {
        if (moved.length > 1) replaceFile(journal, `${JSON.stringify(moved)}\n`);
        for (const pointer of moved) write(pointer);
        if (moved.length > 1) removeFile(journal);
      });
      for (const pointer of moved) remember(pointer);
      return null;
    },
    rename: (pointer, namespace, name) => {
      if (find(pointer.catalog, pointer.namespace, pointer.name) !== pointer) return false;
      if (find(pointer.catalog, namespace, name) !== null) return false;
      const renamed = { ...pointer, namespace, name };
      changeDisk(() => write(renamed));
      forget(pointer);
      remember(renamed);
      return true;
    },
    remove: (pointer) => {
      changeDisk(() => removeFile(join(directory, `${pointer.id}.json`)));
      forget(pointer);
    },
  };
}

function replayJournal(journal: string, write: (pointer: TablePointer) => void): void {
  const text = readFileIfPresent(journal);
  if (text === null) return;
  for (const pointer of JSON.parse(text) as TablePointer[]) write(pointer);
  removeFile(journal);
}
