/**
 * A world in memory for tests of machine and driver: a catalog that checks requirements for real, a store, a source
 * that the test plays, an encoder that writes rows as JSON, and a clock that the test moves. Faults are planned
 * per call: `catalog.onCommit.push('lost-after')`.
 */
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import { consolidate } from '../../src/batch/consolidate.ts';
import { SinkError, asSinkError } from '../../src/errors.ts';
import { applyUpdates } from '../../src/iceberg/apply-update.ts';
import { type JsonObject, formatJson, parseJson } from '../../src/iceberg/json.ts';
import { parseTableMetadata, requirementToJson, updateToJson } from '../../src/iceberg/metadata-json.ts';
import { newTableMetadata } from '../../src/iceberg/new-table-metadata.ts';
import { checkRequirement } from '../../src/iceberg/requirements.ts';
import { schemaToJson } from '../../src/iceberg/schema-json.ts';
import type { Relation } from '../../src/relation/relation.ts';
import { scalar } from '../../src/relation/sql-type.ts';
import type { SinkPorts } from '../../src/sink/driver.ts';
import type {
  Catalog, Clock, CommitOutcome, EncodedFile, Encoder, LoadedTable, ObjectStore, ObjectUpload, Source, SourceEvent, SpillStore, SubscribeRequest, Subscription,
} from '../../src/sink/ports.ts';

export const RELATION: Relation = {
  id: 'u1', database: 'materialize', schema: 'public', name: 'orders', kind: 'table', uniqueKeys: [[0]],
  columns: [{ name: 'id', type: scalar('bigint'), nullable: false }, { name: 'v', type: scalar('text'), nullable: true }],
};

export interface Change { readonly row: string; readonly time: bigint; readonly diff: bigint }

/** `row` is COPY text; its first column is the key. */
export function chunkOf(changes: readonly Change[]): RowChunk {
  const texts = changes.map((change) => Buffer.from(change.row, 'utf8'));
  let start = 0;
  let end = 0;
  const times = changes.map((change) => change.time);
  return {
    bytes: new Uint8Array(Buffer.concat(texts)),
    starts: Uint32Array.from(texts, (text) => (start += text.length) - text.length),
    ends: Uint32Array.from(texts, (text) => (end += text.length)),
    times: BigUint64Array.from(times),
    diffs: BigInt64Array.from(changes, (change) => change.diff),
    keyHashes: Uint32Array.from(changes, (change) => hashOf(change.row.split('\t')[0] ?? '')),
    rowCount: changes.length,
    minTime: times.reduce((a, b) => (a < b ? a : b), times[0] ?? 0n),
    maxTime: times.reduce((a, b) => (a > b ? a : b), 0n),
  };
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619);
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> 0;
}

export type CommitFault = 'none' | 'lost-after' | 'lost-before' | 'conflict' | 'refused';

export class MemoryCatalog implements Catalog {
  #metadata: JsonObject | null = null;
  readonly onCommit: CommitFault[] = [];
  readonly onLoad: SinkError[] = [];
  /** Refuses a snapshot that does not have the next sequence number. Iceberg's own catalogs ask no more than that it is higher. */
  wantsNextNumber = false;
  commits = 0;
  loads = 0;

  async listNamespaces(): Promise<readonly string[][]> {
    return [['ns']];
  }

  async loadTable(): Promise<{ kind: 'loaded'; table: LoadedTable } | { kind: 'missing' }> {
    this.loads++;
    const fault = this.onLoad.shift();
    if (fault !== undefined) throw fault;
    return this.#metadata === null ? { kind: 'missing' } : { kind: 'loaded', table: this.table() };
  }

  async createTable(_namespace: readonly string[], request: Parameters<Catalog['createTable']>[1]): ReturnType<Catalog['createTable']> {
    this.#metadata = newTableMetadata({
      uuid: 'aaaaaaaa-0000-4000-8000-000000000001', location: 'mem:///t', schema: schemaToJson(request.schema), partitionSpec: null,
      writeOrder: null, properties: request.properties, nowMs: 1n, formatVersion: 2,
    });
    return { kind: 'created', table: this.table() };
  }

  async commit(_table: unknown, requirements: Parameters<Catalog['commit']>[1], updates: Parameters<Catalog['commit']>[2]): Promise<CommitOutcome> {
    this.commits++;
    const fault = this.onCommit.shift() ?? 'none';
    if (fault === 'lost-before') return { kind: 'unknown', message: 'reset before the request arrived' };
    if (fault === 'conflict') return { kind: 'conflict', message: 'planned' };
    if (fault === 'refused') return { kind: 'refused', error: new SinkError('catalog-forbidden', 'planned') };
    for (const requirement of requirements) {
      const failed = checkRequirement(this.#metadata, requirementToJson(requirement));
      if (failed !== null) return { kind: 'conflict', message: failed };
    }
    const added = updates.find((update) => update.action === 'add-snapshot');
    if (this.wantsNextNumber && added?.snapshot.sequenceNumber !== this.table().metadata.lastSequenceNumber + 1n) {
      return { kind: 'refused', error: new SinkError('commit-refused', 'not the next sequence number') };
    }
    try {
      this.edit(updates.map(updateToJson));
    } catch (thrown) {
      return { kind: 'refused', error: asSinkError(thrown, 'commit-refused', 'applying') };
    }
    return fault === 'lost-after' ? { kind: 'unknown', message: 'reset after it was applied' } : { kind: 'committed' };
  }

  /** What a rival does: updates without requirements. */
  edit(updates: readonly JsonObject[]): void {
    if (this.#metadata === null) throw new Error('there is no table');
    this.#metadata = applyUpdates(this.#metadata, updates, 1n);
  }

  table(): LoadedTable {
    return { metadata: parseTableMetadata(parseJson(formatJson(this.#metadata))), metadataLocation: null };
  }
}

export class MemoryStore implements ObjectStore {
  readonly objects = new Map<string, Uint8Array>();
  readonly onPut: SinkError[] = [];
  /** Uploads in parts that were let go. */
  readonly reads: string[] = [];
  readonly aborted: string[] = [];

  async put(location: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    const fault = this.onPut.shift();
    if (fault !== undefined) throw fault;
    if (this.objects.has(location)) return 'exists';
    this.objects.set(location, bytes);
    return 'stored';
  }

  open(location: string): ObjectUpload {
    const parts: Uint8Array[] = [];
    return {
      put: async ({ index, bytes }) => {
        const fault = this.onPut.shift();
        if (fault !== undefined) throw fault;
        parts[index] = bytes.slice();
      },
      finish: async () => await this.put(location, new Uint8Array(Buffer.concat(parts))),
      abort: async () => {
        this.aborted.push(location);
      },
    };
  }

  async get(location: string): Promise<Uint8Array> {
    this.reads.push(location);
    const bytes = this.objects.get(location);
    if (bytes === undefined) throw new SinkError('storage-object-missing', location);
    return bytes;
  }

  async delete(location: string): Promise<void> {
    this.objects.delete(location);
  }
}

export class PlayedSource implements Source {
  readonly requests: SubscribeRequest[] = [];
  pauses = 0;
  resumes = 0;
  #listener: ((event: SourceEvent) => void) | null = null;

  async discover(): Promise<Relation> {
    return RELATION;
  }

  async subscribe(request: SubscribeRequest, onEvent: (event: SourceEvent) => void): Promise<Subscription> {
    this.requests.push(request);
    this.#listener = onEvent;
    return {
      pause: () => void this.pauses++,
      resume: () => void this.resumes++,
      close: async () => {
        if (this.#listener === onEvent) this.#listener = null;
      },
    };
  }

  play(event: SourceEvent): void {
    this.#listener?.(event);
  }

  rows(...changes: readonly Change[]): void {
    this.play({ kind: 'rows', chunk: chunkOf(changes) });
  }

  progress(time: bigint): void {
    this.play({ kind: 'progress', frontier: [time] });
  }

  async close(): Promise<void> {
    this.#listener = null;
  }
}

/** Files are JSON: data `[["row", copies]…]`, deletes `["key"…]`, append `[["row", diff, time]…]`. */
export const jsonEncoder: Encoder = {
  open(plan, receiver) {
    const data: unknown[] = [];
    const deletes: string[] = [];
    const textOf = (chunk: RowChunk, row: number): string =>
      Buffer.from(chunk.bytes.subarray(chunk.starts[row], chunk.ends[row])).toString('utf8');
    const emit = (content: 'data' | 'equality-deletes', rows: readonly unknown[]): Promise<void> => {
      if (rows.length === 0) return Promise.resolve();
      const bytes = new TextEncoder().encode(JSON.stringify(rows));
      const none = { columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(), lowerBounds: new Map(), upperBounds: new Map() };
      const file: EncodedFile = {
        bytes, fileId: null,
        file: {
          content, recordCount: BigInt(rows.length), fileSizeBytes: BigInt(bytes.length), metrics: none, splitOffsets: [],
          equalityFieldIds: content === 'data' ? [] : [1],
        },
      };
      return receiver.takeFile(file);
    };
    return {
      async write({ chunks, consolidate: whole }) {
        if (plan.mode === 'append') {
          for (const chunk of chunks) for (let row = 0; row < chunk.rowCount; row++) data.push([textOf(chunk, row), String(chunk.diffs[row]), String(chunk.times[row])]);
        } else if (whole) {
          const net = consolidate(chunks, plan.keyColumns);
          for (let i = 0; i < net.inserts.length; i++) data.push([textOf(chunks[net.inserts.chunks[i]!]!, net.inserts.rows[i]!), net.copies[i]]);
          for (let i = 0; i < net.deletes.length; i++) deletes.push(textOf(chunks[net.deletes.chunks[i]!]!, net.deletes.rows[i]!).split('\t')[0] ?? '');
        } else {
          for (const chunk of chunks) {
            for (let row = 0; row < chunk.rowCount; row++) {
              if (chunk.diffs[row]! <= 0n) throw new SinkError('snapshot-not-insert-only', 'a retraction');
              data.push([textOf(chunk, row), Number(chunk.diffs[row])]);
            }
          }
        }
      },
      async finish() {
        await emit('data', data);
        await emit('equality-deletes', deletes);
        return { dataRows: data.length, deletedKeys: deletes.length, nulledValues: 0 };
      },
      abort: () => undefined,
    };
  },
  close: async () => undefined,
};

/** Time stands still until `advance`; timers due are called in order. */
export class ManualClock implements Clock {
  #nowMs = 1_000_000;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs;
    await settled();
    for (;;) {
      const due = this.#timers.filter((timer) => timer.atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.#nowMs = Math.max(this.#nowMs, due.atMs);
      due.callback();
      await settled();
    }
    this.#nowMs = untilMs;
  }
}

/** Lets everything that can run without time passing run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

class MemorySpill implements SpillStore {
  readonly #partitions = new Map<string, RowChunk[]>();
  async append(partition: string, chunk: RowChunk): Promise<void> {
    this.#partitions.set(partition, [...(this.#partitions.get(partition) ?? []), chunk]);
  }
  letGo(): void {}
  async *read(partition: string): AsyncIterable<RowChunk> {
    yield* this.#partitions.get(partition) ?? [];
  }
  async remove(partition: string): Promise<void> {
    this.#partitions.delete(partition);
  }
  async removeAll(): Promise<void> {
    this.#partitions.clear();
  }
}

export interface MemoryWorld {
  readonly ports: SinkPorts;
  readonly catalog: MemoryCatalog;
  readonly store: MemoryStore;
  readonly source: PlayedSource;
  readonly clock: ManualClock;
  readonly log: { level: string; event: string; fields: Readonly<Record<string, unknown>> }[];
}

export function memoryWorld(shared?: Pick<MemoryWorld, 'catalog' | 'store'>): MemoryWorld {
  const catalog = shared?.catalog ?? new MemoryCatalog();
  const store = shared?.store ?? new MemoryStore();
  const source = new PlayedSource();
  const clock = new ManualClock();
  const log: MemoryWorld['log'] = [];
  let id = 100n;
  let uuid = BigInt(store.objects.size) * 1_000_000n;
  const ports: SinkPorts = {
    source, catalog, store, clock,
    encoder: jsonEncoder,
    openSpill: () => new MemorySpill(),
    entropy: {
      snapshotId: () => BigInt(store.objects.size) * 1_000_000n + id++,
      uuid: () => (uuid++).toString(16).padStart(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
      fraction: () => 0.5,
    },
    log: { write: (level, event, fields) => void log.push({ level, event, fields }) },
  };
  return { ports, catalog, store, source, clock, log };
}
