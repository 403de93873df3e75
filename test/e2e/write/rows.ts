/** What the tests of the write stage are made of: SQL types from their text, chunks from COPY lines, plans. */
import { type RowChunk, contiguousStarts } from '../../../src/batch/row-chunk.ts';
import type { Schema } from '../../../src/iceberg/types.ts';
import type { Column, Relation } from '../../../src/relation/relation.ts';
import { RANGE_NAMES, type RangeName, SCALAR_NAMES, type ScalarName, type SqlType, range, scalar } from '../../../src/relation/sql-type.ts';
import type { RowErrorPolicy, SinkMode, WritePlan } from '../../../src/write/plan.ts';
import { wholeFiles } from '../../doubles/whole-files.ts';
import { openSpanWriter, type SpanSummary } from '../../../src/write/span-writer.ts';
import type { WrittenFile } from '../../../src/write/table-file.ts';
import { planSchema, planWrite } from '../../../src/write/table-plan.ts';
import type { UuidMapping } from '../../../src/write/type-mapping.ts';

const ALIASES: Readonly<Record<string, ScalarName>> = {
  'timestamp with time zone': 'timestamptz', 'character varying': 'varchar', 'timestamp without time zone': 'timestamp',
};

/** Reads the spelling of EXPLAIN: `record(f1: integer,f2: text) list`, `map[text=>integer]`, `int4range[]`. */
export function parseSqlType(text: string): SqlType {
  if (text.endsWith(' list')) return { kind: 'list', element: parseSqlType(text.slice(0, -5)) };
  if (text.endsWith('[]')) return { kind: 'array', element: parseSqlType(text.slice(0, -2)) };
  if (text.startsWith('map[text=>')) return { kind: 'map', value: parseSqlType(text.slice(10, -1)) };
  if (text.startsWith('record(')) {
    const fields = splitTopLevel(text.slice(7, -1)).map((part) => {
      const colon = part.indexOf(': ');
      return { name: part.slice(0, colon), type: parseSqlType(part.slice(colon + 2)), nullable: true };
    });
    return { kind: 'record', fields };
  }
  const numeric = /^numeric\(\d+,(\d+)\)$/.exec(text);
  if (numeric !== null) return scalar('numeric', Number(numeric[1]));
  if ((RANGE_NAMES as readonly string[]).includes(text)) return range(text as RangeName);
  const name = ALIASES[text] ?? text.replace(/\(\d+\)$/, '');
  if (!(SCALAR_NAMES as readonly string[]).includes(name)) throw new Error(`no such type: ${text}`);
  return scalar(name as ScalarName);
}

function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at] ?? '';
    if ('(['.includes(letter)) depth += 1;
    else if (')]'.includes(letter)) depth -= 1;
    else if (letter === ',' && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)];
}

export function relationOf(columns: readonly Column[]): Relation {
  return { id: 'u1', database: 'materialize', schema: 'public', name: 't', kind: 'table', columns, uniqueKeys: null };
}

export function column(name: string, type: string, nullable = true): Column {
  return { name, type: parseSqlType(type), nullable };
}

export interface PlanOptions {
  readonly mode?: SinkMode;
  readonly keyColumns?: readonly number[];
  readonly uuidMapping?: UuidMapping;
  readonly loaded?: Schema;
  readonly rowErrorPolicy?: RowErrorPolicy;
  readonly targetFileSizeBytes?: number;
}

export function planOf(columns: readonly Column[], options: PlanOptions = {}): WritePlan {
  const request = {
    relation: relationOf(columns), mode: options.mode ?? 'upsert', keyColumns: options.keyColumns ?? [],
    uuidMapping: options.uuidMapping ?? 'fixed',
  } as const;
  const schema = planSchema(request);
  if (schema.kind === 'conflict') throw new Error(schema.message);
  const outcome = planWrite(request, 'ns.t', options.loaded ?? schema.schema, {
    codec: 'zstd', codecLevel: 3, targetFileSizeBytes: options.targetFileSizeBytes ?? 128 * 1024 * 1024,
    rowErrorPolicy: options.rowErrorPolicy ?? 'halt',
  });
  if (outcome.kind !== 'plan') throw new Error(outcome.message);
  return outcome.plan;
}

export interface Change {
  /** The columns joined by tabs, COPY-escaped. */
  readonly row: string | Uint8Array;
  readonly diff?: bigint;
  readonly time?: bigint;
}

/** A chunk with the hashes of the key as a poor hash would give them: `hashOf` decides. */
export function chunkOf(changes: readonly Change[], hashOf: (row: string) => number = () => 7): RowChunk {
  const rows = changes.map(({ row }) => (typeof row === 'string' ? new TextEncoder().encode(row) : row));
  const bytes = Buffer.concat(rows);
  const ends = new Uint32Array(rows.length);
  let end = 0;
  rows.forEach((row, index) => { ends[index] = end += row.length; });
  const times = BigUint64Array.from(changes, (change) => change.time ?? 1n);
  return {
    bytes: new Uint8Array(bytes), starts: contiguousStarts(ends), ends, times, diffs: BigInt64Array.from(changes, (change) => change.diff ?? 1n),
    keyHashes: Uint32Array.from(changes, (change) => hashOf(String(change.row))), rowCount: rows.length,
    minTime: times.reduce((a, b) => (a < b ? a : b), 2n ** 64n - 1n), maxTime: times.reduce((a, b) => (a > b ? a : b), 0n),
  };
}

/** Runs a whole span through the writer. */
export async function writeSpan(
  plan: WritePlan, chunks: readonly RowChunk[], consolidate = false,
): Promise<{ readonly files: readonly WrittenFile[]; readonly summary: SpanSummary }> {
  const files: WrittenFile[] = [];
  const writer = openSpanWriter(plan, wholeFiles((file) => { files.push(file); }));
  await writer.write(chunks, consolidate);
  return { files, summary: await writer.finish() };
}
