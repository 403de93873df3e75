/**
 * The journal of a stand-in on disk: one JSON entry a line. In: entries. Out: the same entries at the next start.
 * An entry is written before it is shown to anyone; a torn last line (killed while writing) is left out, nobody
 * has seen it.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JournalEntry } from './world-journal.ts';

export interface JournalFile {
  /** Entries of the last run, in order. */
  readonly entries: readonly JournalEntry[];
  /** Replaces what is there, then goes on appending. */
  restart(entries: readonly JournalEntry[]): void;
  append(entry: JournalEntry): void;
  close(): void;
}

const FILE_NAME = 'materialize.jsonl';

export function openJournal(directory: string): JournalFile {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, FILE_NAME);
  let file: number | null = null;
  return {
    entries: existsSync(path) ? readEntries(readFileSync(path, 'utf8')) : [],
    restart(entries) {
      if (file !== null) closeSync(file);
      const fresh = `${path}.new`;
      writeFileSync(fresh, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
      renameSync(fresh, path);
      file = openSync(path, 'a');
    },
    append(entry) {
      if (file !== null) writeSync(file, `${JSON.stringify(entry)}\n`);
    },
    close() {
      if (file !== null) closeSync(file);
      file = null;
    },
  };
}

function readEntries(text: string): JournalEntry[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEntry);
}
