/** Counts what passes between a sink and the world, for the display. The sink itself notices nothing of it. */
import type { SinkPorts } from '../../sink/driver.ts';
import type { Source, SourceEvent } from '../../sink/ports.ts';

export interface SinkCounters {
  rowsReceived: number;
  /** Data rows in committed files. */
  rowsCommitted: bigint;
  /** Keys in committed delete files. */
  deletes: bigint;
  commits: number;
  files: number;
  /** Upper of the last commit, milliseconds since 1970; null before the first. */
  committedMs: number | null;
}

export function createCounters(): SinkCounters {
  return { rowsReceived: 0, rowsCommitted: 0n, deletes: 0n, commits: 0, files: 0, committedMs: null };
}

/** The same ports, with every event and commit counted into `counters`. */
export function countedPorts(ports: SinkPorts, counters: SinkCounters): SinkPorts {
  return {
    ...ports,
    source: countedSource(ports.source, counters),
    onCommitted: (effect, state) => {
      const { added, batch } = effect;
      const [upper] = batch.span.upper;
      counters.commits += 1;
      counters.files += added.dataFiles + added.deleteFiles;
      counters.rowsCommitted += added.dataRecords;
      counters.deletes += added.deleteRecords;
      // Materialize's times are the wall clock in milliseconds.
      if (upper !== undefined) counters.committedMs = Number(upper);
      ports.onCommitted?.(effect, state);
    },
  };
}

function countedSource(source: Source, counters: SinkCounters): Source {
  return {
    discover: () => source.discover(),
    subscribe: (request, onEvent) => source.subscribe(request, (event: SourceEvent) => {
      if (event.kind === 'rows') counters.rowsReceived += event.chunk.rowCount;
      onEvent(event);
    }),
    close: () => source.close(),
  };
}
