/**
 * Arrow batches in, the bytes of one Parquet file out: by our own encoder (`src/parquet`), and by parquet-wasm for
 * the one codec that Node doesn't have, snappy. That one is loaded when a table asks for it: a megabyte-sized module
 * and a heap that never shrinks are no price for every worker to pay.
 */
import type { Data } from 'apache-arrow/data';
import type { Struct } from 'apache-arrow/type';

import { asSinkError, invariant } from '../errors.ts';
import type { Schema } from '../iceberg/types.ts';
import type { EncodingMemory } from '../parquet/encoding-memory.ts';
import type { ParquetFooter } from '../parquet/footer.ts';
import { openParquetFile } from '../parquet/writer.ts';
import type { CompressionCodec } from './plan.ts';

/** Rows of a batch at most. */
export const BATCH_ROWS = 131_072;

export interface ParquetWriter {
  /** Takes a batch over; its buffers may be reused when the promise resolves. */
  write(batch: Data<Struct>): Promise<void>;
  /** Bytes encoded so far; an encoder may hold back some more. */
  encodedBytes(): number;
  /** Puts out the rest of the file. */
  finish(): Promise<ParquetFooter>;
  /** Lets go of everything; the file is dropped. */
  abort(): void;
}

export interface ParquetOptions {
  readonly schema: Schema;
  readonly codec: CompressionCodec;
  readonly level: number;
  readonly memory: EncodingMemory;
  /** Names of top-level columns with few distinct values, for an encoder that can't tell by itself. */
  readonly dictionaryColumns: () => readonly string[];
}

let heapBytes = (): number => 0;

/** Bytes of the wasm heap, which never shrinks; a worker past a limit is better replaced. */
export function wasmHeapBytes(): number {
  return heapBytes();
}

/**
 * Opens a file whose bytes go to `append`, which must copy them. At least one batch must be written before `finish`.
 * Failures are SinkError encode-failed.
 */
export function openParquet(options: ParquetOptions, append: (bytes: Uint8Array) => void): ParquetWriter {
  const { schema, codec, level, memory } = options;
  if (codec === 'snappy') return openLater(options, append);
  const file = openParquetFile({ schema, codec, level, memory }, append);
  return {
    write: (batch) => encoding(() => file.writeBatch(batch)),
    encodedBytes: file.encodedBytes,
    finish: () => encoding(() => file.finish().footer),
    abort: () => {},
  };
}

/** The encoder is synchronous; the interface leaves room for one that isn't. */
async function encoding<Result>(step: () => Result): Promise<Result> {
  try {
    return step();
  } catch (thrown) {
    throw asSinkError(thrown, 'encode-failed', 'the Parquet encoder failed');
  }
}

function openLater(options: ParquetOptions, append: (bytes: Uint8Array) => void): ParquetWriter {
  let writer: ParquetWriter | null = null;
  let aborted = false;
  return {
    async write(batch) {
      const wasm = await import('./parquet-wasm.ts');
      heapBytes = wasm.wasmHeapBytes;
      if (aborted) return;
      writer ??= wasm.openWasmParquet(options, append);
      await writer.write(batch);
    },
    encodedBytes: () => writer?.encodedBytes() ?? 0,
    finish() {
      invariant(writer !== null, 'a file has at least one batch');
      return writer.finish();
    },
    abort() {
      aborted = true;
      writer?.abort();
    },
  };
}
