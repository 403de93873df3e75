/**
 * The progress of a sink as a snapshot's summary carries it: which sink wrote it and up to where the table holds the
 * relation. This is the only durable state of the sink, so reading it never guesses: all three keys or none.
 */
import type { Snapshot } from '../iceberg/metadata.ts';
import { type Frontier, formatFrontier, parseFrontier } from '../time/frontier.ts';

export interface Progress {
  readonly frontier: Frontier;
  readonly sinkId: string;
  /** Rises with every change of the sink's definition; the higher one fences the lower off. */
  readonly version: bigint;
}

export type ProgressReading =
  | { readonly kind: 'progress'; readonly progress: Progress }
  /** The snapshot is of another writer. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly reason: string };

export const FRONTIER_KEY = 'mz-frontier';
export const SINK_ID_KEY = 'mz-sink-id';
export const SINK_VERSION_KEY = 'mz-sink-version';

const KEYS = [FRONTIER_KEY, SINK_ID_KEY, SINK_VERSION_KEY] as const;

export function progressToSummary(progress: Progress): Readonly<Record<string, string>> {
  return {
    [FRONTIER_KEY]: formatFrontier(progress.frontier),
    [SINK_ID_KEY]: progress.sinkId,
    [SINK_VERSION_KEY]: progress.version.toString(),
  };
}

/** Reads a snapshot's summary. A part of the keys is `unreadable`, not `none`: something damaged it. */
export function readProgress(summary: Snapshot['summary']): ProgressReading {
  const missing = KEYS.filter((key) => summary[key] === undefined);
  if (missing.length === KEYS.length) return { kind: 'none' };
  const frontierText = summary[FRONTIER_KEY];
  const sinkId = summary[SINK_ID_KEY];
  const versionText = summary[SINK_VERSION_KEY];
  if (frontierText === undefined || sinkId === undefined || versionText === undefined) {
    return unreadable(`${missing.join(' and ')} missing`);
  }
  const frontier = parseFrontier(frontierText);
  if (frontier === null) return unreadable(`${FRONTIER_KEY} is not a frontier: '${frontierText.slice(0, 100)}'`);
  if (!/^\d{1,20}$/.test(versionText)) {
    return unreadable(`${SINK_VERSION_KEY} is not a version: '${versionText.slice(0, 100)}'`);
  }
  if (sinkId === '') return unreadable(`${SINK_ID_KEY} is empty`);
  return { kind: 'progress', progress: { frontier, sinkId, version: BigInt(versionText) } };
}

function unreadable(reason: string): ProgressReading {
  return { kind: 'unreadable', reason };
}
