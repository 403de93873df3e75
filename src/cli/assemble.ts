/** A checked definition becomes settings for the machine and ports onto the world. */
import { availableParallelism } from 'node:os';
import { type ChunkMemory, createChunkMemory } from '../batch/chunk-memory.ts';
import { SECTION_BYTES_MIN } from '../batch/encode-ahead.ts';
import type { CatalogConnection, SinkDefinition } from '../definition/definitions.ts';
import { Secret } from '../definition/secret.ts';
import { tuneCollector } from '../io/collector.ts';
import { openEncodePool } from '../io/encode-pool.ts';
import { createHttpClient } from '../io/http.ts';
import { createMaterializeSource } from '../io/materialize.ts';
import { type RestCatalog, createRestCatalog } from '../io/rest-catalog.ts';
import { type SpillFolder, createSpillFolder } from '../io/spill-folder.ts';
import { createSystemClock, createSystemEntropy } from '../io/system.ts';
import { withFields } from '../observe/log.ts';
import type { SinkPorts } from '../sink/driver.ts';
import type { SinkSettings } from '../sink/effects.ts';
import type { Clock, Encoder, Entropy, Log, Source, TableIdentifier } from '../sink/ports.ts';
import type { CommandOptions } from './options.ts';
import { connectionRefusal } from './runnable.ts';

const STOP_GRACE_MS = 20_000;

/** What all sinks of a process share. */
export interface World {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly encoder: Encoder;
  readonly log: Log;
  readonly spill: SpillFolder;
  readonly options: CommandOptions;
  readonly chunkMemory: ChunkMemory;
  catalogFor(connection: CatalogConnection): RestCatalog;
  close(): Promise<void>;
}

/** Of the memory budget: what comes back from a worker with a span and is filled with the next. What is dropped instead is garbage of that size. */
const SPARE_CHUNK_SHARE = 4;

export function openWorld(options: CommandOptions, log: Log): World {
  tuneCollector();
  const clock = createSystemClock();
  const entropy = createSystemEntropy();
  const http = createHttpClient(clock);
  const catalogs = new Map<CatalogConnection, RestCatalog>();
  const workers = options.encodeWorkers ?? Math.max(1, availableParallelism() - 1);
  const chunkMemory = createChunkMemory(Math.floor(options.memoryBudgetBytes / SPARE_CHUNK_SHARE));
  const encoder = openEncodePool({ workers, chunkMemory, startNow: options.command === 'run' });
  const spill = createSpillFolder(options.spillDir, clock, entropy, chunkMemory);
  return {
    clock, entropy, encoder, log, spill, options, chunkMemory,
    catalogFor: (connection) => {
      const refusal = connectionRefusal(connection);
      if (refusal !== null) throw refusal;
      let catalog = catalogs.get(connection);
      if (catalog === undefined) {
        catalog = createRestCatalog(connection, { http, clock, entropy });
        catalogs.set(connection, catalog);
      }
      return catalog;
    },
    close: async () => {
      await encoder.close();
      await spill.close().catch((thrown: unknown) => {
        log.write('warn', 'clean-up-failed', { message: thrown instanceof Error ? thrown.message : String(thrown) });
      });
    },
  };
}

export function tableOf(definition: SinkDefinition): TableIdentifier {
  return { namespace: [definition.namespace], name: definition.table };
}

export function sourceOf(definition: SinkDefinition, { options, chunkMemory }: World): Source {
  return createMaterializeSource({
    connectionString: new Secret(options.materializeUrl),
    applicationName: `mz-iceberg-sink ${definition.name}`,
    relationName: definition.from,
    cluster: definition.cluster,
    chunkMemory,
  });
}

export function settingsOf(definition: SinkDefinition): SinkSettings {
  return {
    name: definition.name,
    identity: { sinkId: definition.sinkId, version: definition.version, takeOver: definition.takeOver },
    table: tableOf(definition),
    mode: definition.mode,
    keyColumns: definition.keyColumns,
    keyEnforced: definition.keyEnforced,
    cluster: definition.cluster,
    snapshot: definition.snapshot,
    snapshotSlices: definition.snapshotSlices,
    commitIntervalMs: definition.commitIntervalMs,
    heartbeatIntervalMs: definition.heartbeatIntervalMs,
    uuidMapping: definition.uuidMapping,
    rowErrorPolicy: definition.rowErrorPolicy,
    targetFileSizeBytes: definition.targetFileSizeBytes,
    sectionBytesMin: SECTION_BYTES_MIN,
    stopGraceMs: STOP_GRACE_MS,
  };
}

/** Ports of one sink; `source` is to be closed when the sink has ended. */
export function portsOf(definition: SinkDefinition, world: World): SinkPorts {
  const catalog = world.catalogFor(definition.catalog);
  return {
    source: sourceOf(definition, world),
    catalog,
    store: catalog.storageFor(tableOf(definition)).store,
    encoder: world.encoder,
    openSpill: world.spill.placeFor(definition.name),
    clock: world.clock,
    entropy: world.entropy,
    log: withFields(world.log, { sink: definition.name }),
  };
}
