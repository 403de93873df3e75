/** One life of a sink over a script: a fresh lake, a source, the daemon until every span is committed, and what it cost. */
import { planSchema } from '../src/write/table-plan.ts';
import { type LoopDelay, startDaemon } from './daemon.ts';
import { type Lake, type StoreKind, openLake, sinkSql } from './lake.ts';
import { type MemorySample, sampleMemory } from './process-cost.ts';
import { shapeOf } from './shapes.ts';
import { startSource } from './source.ts';
import type { RelationScript } from './source-script.ts';

export interface SinkRunOptions {
  readonly store: StoreKind;
  readonly mode: 'append' | 'upsert';
  readonly script: RelationScript;
  readonly commitInterval: string;
  readonly zstdLevel: number | null;
  readonly tokensAtStart: number;
  readonly profileFolder: string | null;
  /** Arguments of the daemon. */
  readonly arguments?: readonly string[];
  /** Milliseconds between samples of memory. */
  readonly sampleEveryMs?: number;
  /** After the last commit, while the lake is there. */
  readonly verify: (lake: Lake) => Promise<void>;
}

/** From the start of the process on. */
export interface Reached {
  readonly wallS: number;
  readonly cpuS: number;
  readonly peakRssMib: number;
}

export interface SinkRun {
  readonly snapshot: Reached;
  readonly end: Reached;
  /** Data and delete files. */
  readonly writtenBytes: number;
  readonly writtenFiles: number;
  readonly snapshotTextBytes: number;
  readonly loopDelay: LoopDelay;
  readonly sourceCpuS: number;
  readonly memory: readonly MemorySample[];
  readonly commits: number;
  readonly complaints: readonly string[];
}

const STEPS_THAT_CLOSE = new Set(['snapshot', 'file', 'span']);

export async function runSinkOnce(options: SinkRunOptions): Promise<SinkRun> {
  const { script, mode } = options;
  const spans = script.steps.filter(({ kind }) => STEPS_THAT_CLOSE.has(kind)).length;
  const lake = await openLake({ store: options.store });
  const source = await startSource({ relations: [script] }, lake.folder);
  try {
    if (options.zstdLevel !== null) await createTable(lake, script, mode, options.zstdLevel);
    source.give(options.tokensAtStart);
    const daemon = startDaemon({
      definitions: lake.connectionSql + sinkSql(script.name, mode, options.commitInterval),
      materializeUrl: source.url, folder: lake.folder, profileFolder: options.profileFolder,
      ...(options.arguments === undefined ? {} : { arguments: options.arguments }),
    });
    const sampler = sampleMemory(daemon.pid, options.sampleEveryMs ?? 250);
    try {
      const reached: Reached[] = [];
      while (reached.length < spans) {
        const closed = source.closed.length;
        const commit = await daemon.committed(() => true, reached.length);
        const { cost } = commit;
        reached.push({ wallS: (commit.atMs - daemon.startedMs) / 1000, cpuS: cost.cpuS, peakRssMib: cost.peakRssMib });
        if (closed > spans) throw new Error('the source closed more spans than its script has');
        // Behind the snapshot two spans are let go, then one for each that is committed.
        source.give(reached.length === 1 ? 2 : 1);
      }
      const loopDelay = await daemon.loopDelay();
      sampler.stop();
      const sourceCpuS = source.cost().cpuS;
      await daemon.stop();
      await options.verify(lake);
      const [snapshot] = reached;
      const end = reached.at(-1);
      if (snapshot === undefined || end === undefined) throw new Error('the script closes no span');
      const written = await lake.files('.parquet');
      return {
        snapshot, end, writtenBytes: written.bytes, writtenFiles: written.count, snapshotTextBytes: snapshotTextBytes(script),
        loopDelay, sourceCpuS, memory: sampler.samples, commits: daemon.commits.length, complaints: daemon.complaints,
      };
    } finally {
      sampler.stop();
      await daemon.stop();
    }
  } finally {
    await source.stop();
    await lake.close();
  }
}

/** Of the relation's columns alone; estimated by a few rows. */
function snapshotTextBytes(script: RelationScript): number {
  const [step] = script.steps;
  if (step?.kind !== 'snapshot') return 0;
  const shape = shapeOf(script.shape);
  let state = 1;
  const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const sample = Array.from({ length: 200 }, () => shape.otherColumns(random).length + 11);
  return step.rows * sample.reduce((sum, length) => sum + length, 0) / sample.length;
}

/** Before the sink does, to give it a property that the sink would not. */
async function createTable(lake: Lake, script: RelationScript, mode: 'append' | 'upsert', zstdLevel: number): Promise<void> {
  const { columns } = shapeOf(script.shape);
  const relation = { id: 'u1', database: 'materialize', schema: 'public', name: script.name, kind: 'table', columns, uniqueKeys: null } as const;
  const planned = planSchema({ relation, mode, keyColumns: mode === 'upsert' ? [0] : [], uuidMapping: 'fixed' });
  if (planned.kind === 'conflict') throw new Error(planned.message);
  await lake.createTable(script.name, planned.schema, {
    'write.parquet.compression-codec': 'zstd', 'write.parquet.compression-level': String(zstdLevel),
  });
}
