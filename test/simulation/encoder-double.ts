/**
 * The encode pool without threads. What is made of the rows is the fidelity's affair (`json-files.ts`,
 * `parquet-files.ts`); here is how the pool behaves: chunks are gone once they are given, a few files are on their way
 * at a time, a file that can't be handed over fails the session, and encoding takes time or breaks.
 */
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import { SinkError, asSinkError } from '../../src/errors.ts';
import type { EncodeSession, EncodeSummary, EncodedFile, Encoder, FileReceiver, RowGroup } from '../../src/sink/ports.ts';
import { planned } from './faults.ts';
import { jsonFiles } from './json-files.ts';
import { parquetFiles } from './parquet-files.ts';
import { bytesOfRows, detach } from './row-chunks.ts';
import type { SinkProcess } from './sink-process.ts';

const OPEN_FILES = 2;

/** Makes files of rows. Methods may take real time, never virtual time. */
export interface FileMaker {
  take(chunks: readonly RowChunk[], consolidate: boolean): Promise<void> | void;
  /** Files that are full. */
  full(): readonly EncodedFile[];
  /** The last files. */
  rest(): Promise<readonly EncodedFile[]> | readonly EncodedFile[];
  summary(): EncodeSummary;
}

export function encoderFor(process: SinkProcess): Encoder {
  const { fidelity, rowsPerFile } = process.world.scenario;
  return {
    open: (plan, receiver) => new Session(
      process, receiver, fidelity === 'bytes' ? parquetFiles(plan) : jsonFiles(plan, rowsPerFile),
    ),
    close: async () => undefined,
  };
}

class Session implements EncodeSession {
  readonly #process: SinkProcess;
  readonly #maker: FileMaker;
  readonly #receiver: FileReceiver;
  readonly #generation: number;
  #error: SinkError | null = null;
  #ended = false;
  #lastFileId = 0;
  readonly #files = new Set<Promise<void>>();

  constructor(process: SinkProcess, receiver: FileReceiver, maker: FileMaker) {
    this.#process = process;
    this.#maker = maker;
    this.#receiver = receiver;
    this.#generation = process.spillGeneration;
  }

  async write(group: RowGroup): Promise<void> {
    this.#check();
    const { faults, random } = this.#process.world;
    if (faults.strikes('encode-fails')) this.#fail(planned('encode-failed'));
    this.#check();
    const bytes = group.chunks.reduce((sum, chunk) => sum + bytesOfRows(chunk), 0);
    await this.#work(() => this.#maker.take(group.chunks, group.consolidate));
    for (const chunk of group.chunks) detach(chunk);
    this.#check();
    if (faults.strikes('encode-slow')) await this.#process.sleep(random.between(100, 5_000), 'encode slow');
    else if (random.chance(0.3)) await this.#process.sleep(1, 'encode');
    if (this.#process.spillGeneration === this.#generation) this.#process.heldBytes -= bytes;
    for (const file of this.#maker.full()) await this.#handOver(file);
    this.#check();
  }

  async finish(): Promise<EncodeSummary> {
    this.#check();
    let rest: readonly EncodedFile[] = [];
    await this.#work(async () => {
      rest = await this.#maker.rest();
    });
    this.#check();
    for (const file of rest) await this.#handOver(file);
    await Promise.all(this.#files);
    this.#check();
    this.#ended = true;
    return this.#maker.summary();
  }

  abort(): void {
    this.#ended = true;
  }

  /** Real time passes here and virtual time must not, so the scheduler waits. */
  async #work(run: () => Promise<void> | void): Promise<void> {
    try {
      const working = run();
      if (working === undefined) return;
      await this.#process.world.scheduler.waitFor(working);
    } catch (thrown) {
      this.#fail(asSinkError(thrown, 'encode-failed', 'encoding'));
    }
  }

  async #handOver(file: EncodedFile): Promise<void> {
    while (this.#files.size >= OPEN_FILES && !this.#ended) await Promise.race(this.#files);
    if (this.#ended) return;
    const taken: Promise<void> = this.#give(file)
      .catch((thrown: unknown) => this.#fail(asSinkError(thrown, 'encode-failed', 'a file could not be handed over')))
      .finally(() => this.#files.delete(taken));
    this.#files.add(taken);
  }

  /** Whole or, now and then, the first bytes as parts, the way files leave the encoder that are larger than one. */
  async #give(file: EncodedFile): Promise<void> {
    const { random } = this.#process.world;
    if (file.bytes.length < 4 || random.chance(0.7)) {
      await this.#receiver.takeFile(file);
      return;
    }
    const fileId = (this.#lastFileId += 1);
    const partBytes = Math.ceil(file.bytes.length / random.between(2, 4));
    const { content } = file.file;
    const parts: Promise<void>[] = [];
    let offset = 0;
    for (; offset + partBytes < file.bytes.length; offset += partBytes) {
      parts.push(this.#receiver.takePart({ fileId, content, bytes: file.bytes.slice(offset, offset + partBytes) }));
    }
    parts.push(this.#receiver.takeFile({ ...file, fileId, bytes: file.bytes.slice(offset) }));
    await Promise.all(parts);
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
