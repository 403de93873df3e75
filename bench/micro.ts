/**
 * The stages of a row one by one, within this process: nanoseconds of CPU a row and a byte of COPY text, collection included,
 * and the metadata of a commit by entry. What the whole costs beyond their sum is transport, scheduling and start-up.
 */
import { parseArgs } from 'node:util';
import { consolidate } from '../src/batch/consolidate.ts';
import type { RowChunk } from '../src/batch/row-chunk.ts';
import { partitionChunks } from '../src/batch/stash.ts';
import { createSubscriptionStream } from '../src/subscribe/subscription-stream.ts';
import { RowDecoder } from '../src/write/copy-row.ts';
import { makeSlot } from '../src/write/columns/make-column.ts';
import { UPLOAD_PART_BYTES } from '../src/write/file-parts.ts';
import type { WritePlan } from '../src/write/plan.ts';
import { openSpanWriter } from '../src/write/span-writer.ts';
import { planSchema, planWrite } from '../src/write/table-plan.ts';
import { copyOutResponse, progressMessage } from './frames.ts';
import { FIRST_ID, type Mix, buildLineBlocks, fillLineBlocks } from './line-blocks.ts';
import { metadataStages } from './micro-metadata.ts';
import type { Outcome } from './outcome.ts';
import { SHAPE_NAMES, type ShapeName, parseShape, shapeOf } from './shapes.ts';
import { median, rounded } from './statistics.ts';
import type { TableRow } from './table-text.ts';

export const MICRO_USAGE = 'micro [--rows 1000000] [--shapes peers,narrow,wide,long-strings,nested] [--rounds 3]';

/** Bytes of text that a shape is measured on at most, so that wide rows don't take minutes. */
const TEXT_BYTES_MAX = 256 * 1024 * 1024;
const SOCKET_READ_BYTES = 64 * 1024;
const TIME_MS = 1_767_225_600_000;

interface Work {
  readonly stage: string;
  readonly rows: number;
  readonly run: () => void | Promise<void>;
}

export async function benchMicro(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({
    args: [...args], options: { 'rows': { type: 'string' }, 'shapes': { type: 'string' }, 'rounds': { type: 'string' } },
  });
  const rows = Number(values.rows ?? (smoke ? 50_000 : 1_000_000));
  const rounds = Number(values.rounds ?? (smoke ? 1 : 3));
  const shapes = values.shapes === undefined ? (smoke ? ['peers' as const] : SHAPE_NAMES) : values.shapes.split(',').map(parseShape);
  const sections = [];
  for (const shape of shapes) sections.push(await benchShape(shape, rows, rounds));
  const metadata: TableRow[] = [];
  for (const { stage, entries, run } of metadataStages(smoke ? 200 : 2_000)) {
    const { cpuMs } = await measured({ stage, rows: entries, run }, rounds);
    metadata.push({ 'stage': stage, 'entries': entries, 'ms': rounded(cpuMs), 'µs an entry': rounded(cpuMs * 1000 / entries) });
  }
  return { sections: [...sections, { title: 'Metadata of a commit, CPU', rows: metadata }] };
}

async function benchShape(name: ShapeName, rowsWanted: number, rounds: number): Promise<{ title: string; rows: readonly TableRow[] }> {
  const sample = wireOf(name, 'insert', 1_000).reduce((sum, piece) => sum + piece.length, 0) / 1_000;
  const rows = Math.min(rowsWanted, Math.floor(TEXT_BYTES_MAX / sample));
  const inserts = wireOf(name, 'insert', rows);
  const chunks = chunksOf(name, inserts, [0]);
  const updates = chunksOf(name, wireOf(name, 'update', rows), [0]);
  const textBytes = chunks.reduce((sum, chunk) => sum + textBytesOf(chunk), 0);
  const work: Work[] = [
    { stage: 'wire to chunks, no key', rows, run: () => void chunksOf(name, inserts, []) },
    { stage: 'wire to chunks, key hashed', rows, run: () => void chunksOf(name, inserts, [0]) },
    { stage: 'deal out for spilling', rows, run: () => { for (const chunk of chunks) partitionChunks([chunk], 0); } },
    { stage: 'consolidate, distinct keys', rows, run: () => void consolidate(chunks, [0]) },
    { stage: 'consolidate, updates', rows, run: () => void consolidate(updates, [0]) },
    { stage: 'decode into columns', rows, run: () => decode(planOf(name, 'uncompressed', 0), chunks) },
    { stage: 'decode and encode, uncompressed', rows, run: () => write(planOf(name, 'uncompressed', 0), chunks) },
    { stage: 'decode and encode, zstd 1', rows, run: () => write(planOf(name, 'zstd', 1), chunks) },
    { stage: 'decode and encode, zstd 3', rows, run: () => write(planOf(name, 'zstd', 3), chunks) },
  ];
  const measures: TableRow[] = [];
  for (const one of work) {
    const { cpuMs } = await measured(one, rounds);
    measures.push({
      'stage': one.stage, 'ns a row': rounded(cpuMs * 1e6 / rows, 1), 'ns a byte': rounded(cpuMs * 1e6 / textBytes), 'M rows/CPU-s': rounded(rows / cpuMs / 1000),
    });
  }
  return { title: `${name}: ${rows.toLocaleString('en-US')} rows of ${Math.round(textBytes / rows)} bytes, ${shapeOf(name).columns.length} columns`, rows: measures };
}

/** Once to warm up; then the median of the rounds. */
async function measured({ run }: Work, rounds: number): Promise<{ readonly cpuMs: number }> {
  await run();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = process.cpuUsage();
    await run();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return { cpuMs: median(times) };
}

function wireOf(name: ShapeName, mix: Mix, rows: number): readonly Buffer[] {
  const shape = shapeOf(name);
  const names = { idOf: (key: number) => FIRST_ID + key, timeOf: () => TIME_MS };
  const wire = Buffer.concat([
    copyOutResponse(shape.columns.length), ...fillLineBlocks(buildLineBlocks(shape, mix, rows, 1), rows, names),
    progressMessage(BigInt(TIME_MS + 1), shape.columns.length),
  ]);
  return Array.from({ length: Math.ceil(wire.length / SOCKET_READ_BYTES) }, (_, index) =>
    wire.subarray(index * SOCKET_READ_BYTES, (index + 1) * SOCKET_READ_BYTES));
}

function chunksOf(name: ShapeName, wire: readonly Buffer[], keyColumns: readonly number[]): readonly RowChunk[] {
  const chunks: RowChunk[] = [];
  const stream = createSubscriptionStream({ columnCount: shapeOf(name).columns.length, keyColumns }, (event) => {
    if (event.kind === 'rows') chunks.push(event.chunk);
    if (event.kind === 'failed') throw event.error;
  });
  for (const piece of wire) stream.push(piece);
  return chunks;
}

function textBytesOf({ starts, ends }: RowChunk): number {
  let bytes = 0;
  for (let row = 0; row < ends.length; row++) bytes += (ends[row] ?? 0) - (starts[row] ?? 0);
  return bytes;
}

function planOf(name: ShapeName, codec: 'zstd' | 'uncompressed', codecLevel: number): WritePlan {
  const { columns } = shapeOf(name);
  const relation = { id: 'u1', database: 'materialize', schema: 'public', name, kind: 'table', columns, uniqueKeys: null } as const;
  const request = { relation, mode: 'upsert', keyColumns: [0], uuidMapping: 'fixed' } as const;
  const planned = planSchema(request);
  if (planned.kind === 'conflict') throw new Error(planned.message);
  const outcome = planWrite(request, 'ns.t', planned.schema, {
    codec, codecLevel, targetFileSizeBytes: 128 * 1024 * 1024, rowErrorPolicy: 'halt',
  });
  if (outcome.kind !== 'plan') throw new Error(outcome.message);
  return outcome.plan;
}

const BATCH_ROWS = 131_072;

function decode(plan: WritePlan, chunks: readonly RowChunk[]): void {
  const policy = { enabled: false, count: 0 };
  const slots = plan.columns.map(({ sqlType, field }) => makeSlot(sqlType, field, policy));
  const decoder = new RowDecoder(plan, slots);
  let held = 0;
  const reset = (): void => {
    decoder.settle();
    for (const { column } of slots) column.reset();
    held = 0;
  };
  for (const { bytes, starts, ends, rowCount } of chunks) {
    for (let row = 0; row < rowCount; row++) {
      decoder.append(bytes, starts[row] ?? 0, ends[row] ?? 0);
      held++;
      if (held === BATCH_ROWS) reset();
    }
  }
  reset();
}

async function write(plan: WritePlan, chunks: readonly RowChunk[]): Promise<void> {
  const taken = async (): Promise<void> => undefined;
  const writer = openSpanWriter(plan, { allocatePart: () => new Uint8Array(UPLOAD_PART_BYTES),
    reusePart: () => undefined, takePart: taken, takeFile: taken });
  await writer.write(chunks, false);
  await writer.finish();
}
