/**
 * The encode pool without threads and Parquet: consolidation is the production code's, files are JSON. Upsert data files
 * hold `[row, copies]`, delete files keys, append files `[row, diff, time]`. As in the pool, chunks are gone once they are
 * given, at most two files are on their way, and a failed file fails the session.
 */
import { consolidate } from '../../src/batch/consolidate.ts';
import { type RowChunk, chunkBytes } from '../../src/batch/row-chunk.ts';
import { SinkError, asSinkError } from '../../src/errors.ts';
import type { FileContent } from '../../src/iceberg/data-file.ts';
import type { EncodeSession, EncodedFile, Encoder, RowGroup } from '../../src/sink/ports.ts';
import type { WritePlan } from '../../src/write/plan.ts';
import { planned } from './faults.ts';
import { keyOf } from './history.ts';
import { detach, rowText } from './row-chunks.ts';
import type { SinkProcess } from './sink-process.ts';

const OPEN_FILES = 2;
const NO_METRICS: EncodedFile['file']['metrics'] = {
  columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(),
  lowerBounds: new Map(), upperBounds: new Map(),
};
const encoder = new TextEncoder();

export function encoderFor(process: SinkProcess): Encoder {
  return {
    open: (plan, onFile) => new JsonSession(process, plan, onFile),
    close: async () => undefined,
  };
}

class JsonSession implements EncodeSession {
  readonly #process: SinkProcess;
  readonly #plan: WritePlan;
  readonly #onFile: (file: EncodedFile) => Promise<void>;
  readonly #generation: number;
  #data: unknown[] = [];
  #deletes: string[] = [];
  #counts = { dataRows: 0, deletedKeys: 0, nulledValues: 0 };
  #error: SinkError | null = null;
  #ended = false;
  readonly #files = new Set<Promise<void>>();

  constructor(process: SinkProcess, plan: WritePlan, onFile: (file: EncodedFile) => Promise<void>) {
    this.#process = process;
    this.#plan = plan;
    this.#onFile = onFile;
    this.#generation = process.spillGeneration;
  }

  async write(group: RowGroup): Promise<void> {
    this.#check();
    const { faults, random, scenario } = this.#process.world;
    if (faults.strikes('encode-fails')) this.#fail(planned('encode-failed'));
    this.#check();
    const bytes = group.chunks.reduce((sum, chunk) => sum + chunkBytes(chunk), 0);
    try {
      this.#take(group);
    } catch (thrown) {
      this.#fail(asSinkError(thrown, 'encode-failed', 'encoding'));
    }
    for (const chunk of group.chunks) detach(chunk);
    this.#check();
    if (faults.strikes('encode-slow')) await this.#process.sleep(random.between(100, 5_000), 'encode slow');
    else if (random.chance(0.3)) await this.#process.sleep(1, 'encode');
    if (this.#process.spillGeneration === this.#generation) this.#process.heldBytes -= bytes;
    if (this.#data.length >= scenario.rowsPerFile) await this.#emitData();
    if (this.#deletes.length >= scenario.rowsPerFile) await this.#emitDeletes();
    this.#check();
  }

  async finish(): Promise<{ dataRows: number; deletedKeys: number; nulledValues: number }> {
    this.#check();
    await this.#emitData();
    await this.#emitDeletes();
    await Promise.all(this.#files);
    this.#check();
    this.#ended = true;
    return this.#counts;
  }

  abort(): void {
    this.#ended = true;
  }

  #take({ chunks, consolidate: isWhole }: RowGroup): void {
    const { mode, keyColumns } = this.#plan;
    if (mode === 'append') return each(chunks, (chunk, row) => this.#data.push([rowText(chunk, row), Number(chunk.diffs[row]), String(chunk.times[row])]));
    if (!isWhole) {
      return each(chunks, (chunk, row) => {
        const diff = Number(chunk.diffs[row]);
        if (diff <= 0) throw new SinkError('snapshot-not-insert-only', 'a retraction in a snapshot');
        this.#data.push([rowText(chunk, row), diff]);
      });
    }
    const net = consolidate(chunks, keyColumns);
    const textAt = (list: typeof net.inserts, index: number): string =>
      rowText(chunks[list.chunks[index] ?? 0] as RowChunk, list.rows[index] ?? 0);
    for (let index = 0; index < net.inserts.length; index++) this.#data.push([textAt(net.inserts, index), net.copies[index]]);
    for (let index = 0; index < net.deletes.length; index++) this.#deletes.push(keyOf(textAt(net.deletes, index)));
  }

  async #emitData(): Promise<void> {
    const rows = this.#data;
    this.#data = [];
    this.#counts.dataRows += rows.length;
    await this.#emit('data', rows);
  }

  async #emitDeletes(): Promise<void> {
    const keys = this.#deletes;
    this.#deletes = [];
    this.#counts.deletedKeys += keys.length;
    await this.#emit('equality-deletes', keys);
  }

  async #emit(content: FileContent, rows: readonly unknown[]): Promise<void> {
    if (rows.length === 0) return;
    while (this.#files.size >= OPEN_FILES && !this.#ended) await Promise.race(this.#files);
    if (this.#ended) return;
    const bytes = encoder.encode(JSON.stringify(rows));
    const file: EncodedFile = {
      bytes,
      file: {
        content, recordCount: BigInt(rows.length), fileSizeBytes: BigInt(bytes.length), metrics: NO_METRICS, splitOffsets: [],
        equalityFieldIds: content === 'data' ? [] : [1],
      },
    };
    const taken: Promise<void> = this.#onFile(file)
      .catch((thrown: unknown) => this.#fail(asSinkError(thrown, 'encode-failed', 'a file could not be handed over')))
      .finally(() => this.#files.delete(taken));
    this.#files.add(taken);
  }

  #fail(error: SinkError): void {
    if (this.#ended) return;
    this.#error = error;
    this.#ended = true;
  }

  #check(): void {
    if (this.#error !== null) throw this.#error;
    if (this.#ended) throw new SinkError('encode-failed', 'the encode session has ended');
  }
}

function each(chunks: readonly RowChunk[], take: (chunk: RowChunk, row: number) => void): void {
  for (const chunk of chunks) for (let row = 0; row < chunk.rowCount; row++) take(chunk, row);
}
