/**
 * The encoder for what `src/parquet` leaves out, which is snappy: parquet-wasm. One batch becomes one row group.
 *
 * Traps of the library that this file closes: objects of the wasm heap that are not consumed must be freed, also
 * on errors; a stream whose source fails ends like a good one, so the rows of the footer are compared with those
 * fed; a panic leaves promises behind that never settle, so every wait also watches the reading side.
 *
 * Its statistics leave NaN out (parquet/statistics.ts says what that does to readers), so floats have none.
 *
 * It has no levels of compression: `level` is for encoders that have a choice.
 */
import {
  type Data, RecordBatch, type Schema as ArrowSchema, type Struct, Table, tableToIPC,
} from 'apache-arrow';
import {
  Compression, EnabledStatistics, type RecordBatch as WasmRecordBatch, Table as WasmTable, type WriterProperties,
  WriterPropertiesBuilder, transformParquetStream, wasmMemory,
} from 'parquet-wasm';

import { asSinkError, invariant } from '../errors.ts';
import { arrowSchema } from './arrow-types.ts';
import { parquetColumns, parquetTree } from '../parquet/schema.ts';
import { readFooter } from './parquet-footer.ts';
import type { ParquetOptions, ParquetWriter } from './parquet.ts';
import type { CompressionCodec } from './plan.ts';

/** As many as a batch has at most, so each is one row group. */
const ROW_GROUP_ROWS = 131_072;
/** Row groups of wide rows end here instead. */
const ROW_GROUP_BYTES = 64 * 1024 * 1024;

const CODECS: Readonly<Record<CompressionCodec, Compression>> = {
  zstd: Compression.ZSTD, snappy: Compression.SNAPPY, gzip: Compression.GZIP, uncompressed: Compression.UNCOMPRESSED,
};

/** Bytes of the wasm heap, which never shrinks; a worker past a limit is better replaced. */
export function wasmHeapBytes(): number {
  return (wasmMemory() as WebAssembly.Memory).buffer.byteLength;
}

/**
 * Opens a file whose bytes go to `append`, which must copy them. At least one batch must be written before `finish`.
 * Failures are SinkError encode-failed.
 */
export function openWasmParquet(options: ParquetOptions, append: (bytes: Uint8Array) => void): ParquetWriter {
  const schema = arrowSchema(options.schema);
  const feed = openFeed();
  const leafTypes = new Map(parquetColumns(parquetTree(options.schema)).map(({ fieldId, type }) => [fieldId, type]));
  // What comes after the last batch: the footer is in it.
  const tail: Uint8Array[] = [];
  let rows = 0;
  let length = 0;
  let closing = false;
  const drained = drain(feed.stream, properties(options), (bytes) => {
    length += bytes.length;
    if (closing) tail.push(bytes.slice());
    append(bytes);
  });
  // The waits below report its failure; without one in progress it must not count as unhandled.
  drained.catch(() => {});

  return {
    async write(batch) {
      rows += batch.length;
      await Promise.race([feed.push(toWasm(schema, batch)), drained]);
    },
    encodedBytes: () => length,
    async finish() {
      closing = true;
      feed.close();
      await drained;
      const footer = readFooter(Buffer.concat(tail), leafTypes);
      invariant(footer.rowCount === rows, `a Parquet file of ${rows} rows came out with ${footer.rowCount}`);
      return footer;
    },
    abort: () => feed.abort(),
  };
}

function properties(options: ParquetOptions): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setCompression(CODECS[options.codec])
    .setCreatedBy('mz-iceberg-sink')
    .setDictionaryEnabled(false)
    .setStatisticsEnabled(EnabledStatistics.None)
    .setMaxRowGroupSize(ROW_GROUP_ROWS)
    .setMaxRowGroupBytes(ROW_GROUP_BYTES);
  for (const name of columnsWithStatistics(options)) builder = builder.setColumnStatisticsEnabled(name, EnabledStatistics.Chunk);
  for (const name of options.dictionaryColumns()) builder = builder.setColumnDictionaryEnabled(name, true);
  return builder.build();
}

/** The library finds columns by name at the top level only, so nested ones go without. */
function columnsWithStatistics({ schema }: ParquetOptions): readonly string[] {
  return parquetColumns(parquetTree(schema))
    .filter(({ path, type }) => path.length === 1 && type.kind !== 'float' && type.kind !== 'double')
    .flatMap(({ path }) => path);
}

/** IPC copies the column buffers, so the caller may reuse them at once. */
function toWasm(schema: ArrowSchema, batch: Data<Struct>): WasmRecordBatch {
  const ipc = tableToIPC(new Table([new RecordBatch(schema, batch)]), 'stream');
  try {
    const table = WasmTable.fromIPCStream(ipc);
    try {
      const wasm = table.recordBatch(0);
      invariant(wasm !== undefined && wasm.numRows === batch.length, 'a batch has as many rows in wasm');
      return wasm;
    } finally {
      table.free();
    }
  } catch (thrown) {
    throw asSinkError(thrown, 'encode-failed', 'could not hand a batch to the Parquet encoder');
  }
}

interface Feed {
  readonly stream: ReadableStream<WasmRecordBatch>;
  /** Resolves when the encoder asks for the next batch. */
  push(batch: WasmRecordBatch): Promise<void>;
  close(): void;
  abort(): void;
}

function openFeed(): Feed {
  let controller: ReadableStreamDefaultController<WasmRecordBatch> | null = null;
  let asked = Promise.withResolvers<void>();
  let closed = false;
  const stream = new ReadableStream<WasmRecordBatch>({
    start: (given) => { controller = given; },
    pull: () => { asked.resolve(); },
  }, { highWaterMark: 0 });
  return {
    stream,
    async push(batch) {
      await asked.promise;
      if (closed) {
        batch.free();
        return;
      }
      asked = Promise.withResolvers();
      controller?.enqueue(batch);
    },
    close() {
      closed = true;
      controller?.close();
    },
    abort() {
      // An error here would end the output like a good file; ending the input lets wasm free what it holds.
      if (!closed) controller?.close();
      closed = true;
    },
  };
}

async function drain(
  input: ReadableStream<WasmRecordBatch>, writerProperties: WriterProperties, take: (part: Uint8Array) => void,
): Promise<void> {
  try {
    const output = await transformParquetStream(input, writerProperties) as ReadableStream<Uint8Array>;
    const reader = output.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      take(value);
    }
  } catch (thrown) {
    throw asSinkError(thrown, 'encode-failed', 'the Parquet encoder failed');
  }
}
