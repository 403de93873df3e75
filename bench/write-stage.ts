/**
 * Rows per CPU-second of the write stage alone: chunks of COPY text in, Parquet bytes out, one thread, start-up and
 * JIT included. The seven columns are those of the library measurements, so that figures compare.
 * Run: `node bench/write-stage.ts [rows]`.
 */
import { type RowChunk, contiguousStarts } from '../src/batch/row-chunk.ts';
import { scalar } from '../src/relation/sql-type.ts';
import { planSchema, planWrite } from '../src/write/table-plan.ts';
import { UPLOAD_PART_BYTES } from '../src/write/file-parts.ts';
import { openSpanWriter } from '../src/write/span-writer.ts';

const CHUNK_ROWS = 20_000;

function chunk(first: number): RowChunk {
  const lines = Array.from({ length: CHUNK_ROWS }, (_, index) => {
    const id = first + index;
    const text = id % 20 === 0 ? '\\N' : `val-${String(Math.imul(id, 2_654_435_761) >>> 0).padStart(8, '0').slice(-8)}`;
    const seconds = String(id % 60).padStart(2, '0');
    const minutes = String(Math.floor(id / 60) % 60).padStart(2, '0');
    return [
      id, `customer-${id % 1000}`, text, ((Math.imul(id, 48_271) >>> 0) / 1000).toString(),
      `2024-03-0${1 + (id % 9)} 12:${minutes}:${seconds}.${String(id % 1_000_000).padStart(6, '0')}+00`,
      `${id % 10_000_000}.${String(id % 100).padStart(2, '0')}`, id % 3 === 0 ? 't' : 'f',
    ].join('\t');
  });
  const bytes = new TextEncoder().encode(lines.join(''));
  const ends = new Uint32Array(CHUNK_ROWS);
  let end = 0;
  lines.forEach((line, index) => { ends[index] = end += line.length; });
  return {
    bytes, starts: contiguousStarts(ends), ends, times: new BigUint64Array(CHUNK_ROWS).fill(1n), diffs: new BigInt64Array(CHUNK_ROWS).fill(1n),
    keyHashes: Uint32Array.from({ length: CHUNK_ROWS }, (_, index) => Math.imul(first + index, 0x9e37_79b1) >>> 0),
    rowCount: CHUNK_ROWS, minTime: 1n, maxTime: 1n,
  };
}

const rows = Number(process.argv[2] ?? 2_000_000);
const nullable = (name: string, type: Parameters<typeof scalar>[0], scale: number | null = null) =>
  ({ name, type: scalar(type, scale), nullable: true });
const columns = [
  { name: 'id', type: scalar('bigint'), nullable: false }, nullable('s1', 'text'), nullable('s2', 'text'),
  nullable('d', 'double precision'), nullable('ts', 'timestamptz'), nullable('n', 'numeric', 2), nullable('b', 'boolean'),
];
const relation = { id: 'u1', database: 'm', schema: 'public', name: 't', kind: 'table', columns, uniqueKeys: null } as const;

// Made beforehand, so that their garbage is not collected on the stage's account.
const chunks = Array.from({ length: Math.ceil(rows / CHUNK_ROWS) }, (_, index) => chunk(index * CHUNK_ROWS));

const runs = [['append', false], ['upsert', false], ['upsert', true]] as const;
for (const [mode, consolidated] of runs.slice(Number(process.argv[3] ?? 0), Number(process.argv[4] ?? 3))) {
  const request = { relation, mode, keyColumns: mode === 'upsert' ? [0] : [], uuidMapping: 'fixed' } as const;
  const planned = planSchema(request);
  if (planned.kind === 'conflict') throw new Error(planned.message);
  const outcome = planWrite(request, 'ns.t', planned.schema, {
    codec: 'zstd', codecLevel: 3, targetFileSizeBytes: 128 * 1024 * 1024, rowErrorPolicy: 'halt',
  });
  if (outcome.kind !== 'plan') throw new Error(outcome.message);
  let written = 0;
  const writer = openSpanWriter(outcome.plan, {
    allocatePart: () => new Uint8Array(UPLOAD_PART_BYTES),
    reusePart: () => undefined,
    takePart: async ({ bytes }) => { written += bytes.length; },
    takeFile: async ({ bytes }) => { written += bytes.length; },
  });
  const before = process.cpuUsage();
  const perGroup = consolidated ? 50 : 1;
  for (let first = 0; first < chunks.length; first += perGroup) {
    await writer.write(chunks.slice(first, first + perGroup), consolidated);
  }
  const summary = await writer.finish();
  const used = process.cpuUsage(before);
  const cpu = (used.user + used.system) / 1e6;
  const name = `${mode}${consolidated ? ', consolidated' : ''}`;
  console.log(
    `${name}: ${summary.dataRows} rows, ${cpu.toFixed(2)} CPU-s (${(used.system / 1e6).toFixed(2)} of it in the kernel), ${Math.round(summary.dataRows / cpu / 1000)} k rows/CPU-s, `
    + `${(written / 1e6).toFixed(1)} MB, ${Math.round(process.memoryUsage.rss() / 1e6)} MB RSS`,
  );
}
