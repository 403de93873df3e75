/** `mz-iceberg-sink run`: every sink of the file, until all have ended or someone asks to stop. */
import type { CatalogConnection, Definitions, SinkDefinition } from '../definition/definitions.ts';
import { type RunningSink, type SinkEnd, type SinkPorts, memoryLimits, runSink } from '../sink/driver.ts';
import { type World, portsOf, settingsOf, tableOf } from './assemble.ts';
import { watchSink } from './watchdog.ts';

/** How often storage keys are looked at for renewal, so that no upload has to wait for it. */
const PREFETCH_INTERVAL_MS = 30_000;

export interface Run {
  readonly sinks: ReadonlyMap<string, RunningSink>;
  stop(): void;
  /** Resolves with how each sink ended, once all have. */
  readonly done: Promise<ReadonlyMap<string, SinkEnd>>;
}

/** Puts an observer between a sink and the world; whatever it returns has to behave like `ports`. */
export type WatchPorts = (definition: SinkDefinition, ports: SinkPorts) => SinkPorts;

/** Starts every sink. Throws definition-invalid, with nothing started, for a connection that can't be run so far. */
export function runDefinitions(definitions: Definitions, world: World, watch: WatchPorts = (_, ports) => ports): Run {
  const limits = memoryLimits(Math.floor(world.options.memoryBudgetBytes / Math.max(1, definitions.sinks.length)));
  const sinks = new Map<string, RunningSink>();
  const ends: Promise<readonly [string, SinkEnd]>[] = [];
  // All or none: a definition that can't be run is refused before any sink has begun.
  const assembled = definitions.sinks.map((definition) => ({ definition, ports: watch(definition, portsOf(definition, world)) }));
  void world.spill.sweep().then((swept) => {
    if (swept > 0) world.log.write('info', 'spill-swept', { folders: swept });
  });
  for (const { definition, ports } of assembled) {
    const running = runSink(settingsOf(definition), ports, limits);
    const stopPrefetch = prefetchKeys(world, definition.catalog, definition);
    const stopWatch = watchSink(running, world.clock, ports.log);
    sinks.set(definition.name, running);
    ends.push(running.done.then(async (end) => {
      stopWatch();
      stopPrefetch();
      await ports.source.close();
      return [definition.name, end] as const;
    }));
  }
  return {
    sinks,
    stop: () => {
      for (const sink of sinks.values()) sink.stop();
    },
    done: Promise.all(ends).then((entries) => new Map(entries)),
  };
}

/** Failures are silent here: the use that needs the keys will meet the same failure and say so. */
function prefetchKeys(world: World, connection: CatalogConnection, definition: Definitions['sinks'][number]): () => void {
  const storage = world.catalogFor(connection).storageFor(tableOf(definition));
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = world.clock.after(PREFETCH_INTERVAL_MS, () => {
      storage.prefetch().catch(() => undefined);
      next();
    });
  };
  next();
  return () => {
    cancel();
    storage.close();
  };
}

/** 0: every sink stopped as asked or finished its input. 1: at least one halted. */
export function exitCodeOf(ends: ReadonlyMap<string, SinkEnd>): number {
  return [...ends.values()].some((end) => end.reason === 'halted') ? 1 : 0;
}
