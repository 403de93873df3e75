/**
 * The reader whose view freshness is about: it asks the catalog for the table until there is something new. It pauses between its
 * questions, so that the one thread that the catalog has is left to the commit; the floor is seen by the same reader, so that a
 * ratio to it says nothing about the reader.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lake } from './lake.ts';

const PAUSE_MS = 2;

/** Asks until the text of the table says so; resolves with the time of the machine at which it was known, null when stopped before. */
export async function seeTable(lake: Lake, table: string, isThere: (metadataText: string) => boolean, isStopped: () => boolean): Promise<number | null> {
  while (!isStopped()) {
    const { metadataText } = await lake.load(table);
    if (isThere(metadataText)) return Date.now();
    await sleep(PAUSE_MS);
  }
  return null;
}
