/** DuckDB as the stranger that judges the files: canonical values, schemas and rows of Parquet bytes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  DuckDBArrayValue, DuckDBBlobValue, DuckDBDateValue, DuckDBDecimalValue, DuckDBInstance, DuckDBListValue, DuckDBMapValue,
  DuckDBStructValue, DuckDBTimestampTZValue, DuckDBTimestampValue, DuckDBTimeValue, type DuckDBValue,
} from '@duckdb/node-api';

export interface Judge extends AsyncDisposable {
  /** Rows of a query in which `$file` stands for the file with these bytes. */
  rows(bytes: Uint8Array, sql: string): Promise<readonly Record<string, DuckDBValue>[]>;
}

export async function openJudge(): Promise<Judge> {
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-write-'));
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  let count = 0;
  return {
    async rows(bytes, sql) {
      const path = join(folder, `${count++}.parquet`);
      writeFileSync(path, bytes);
      const reader = await connection.runAndReadAll(sql.replaceAll('$file', `'${path}'`));
      return reader.getRowObjects();
    },
    async [Symbol.asyncDispose]() {
      connection.closeSync();
      instance.closeSync();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A value in the canonical form of the cases: see the README beside them. */
export function canonical(value: DuckDBValue): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return value;
  if (value instanceof DuckDBDecimalValue) return value.toString();
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('hex');
  if (value instanceof DuckDBDateValue) return dateText(value.days);
  if (value instanceof DuckDBTimeValue) return timeText(value.micros);
  if (value instanceof DuckDBTimestampTZValue) return `${timestampText(value.micros)}Z`;
  if (value instanceof DuckDBTimestampValue) return timestampText(value.micros);
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) return value.items.map(canonical);
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: item }) => [canonical(key), canonical(item)]);
  if (value instanceof DuckDBStructValue) {
    return Object.fromEntries(Object.entries(value.entries).map(([name, item]) => [name, canonical(item)]));
  }
  throw new Error(`no canonical form for ${String(value)}`);
}

function pad(value: number | bigint, width: number): string {
  return String(value).padStart(width, '0');
}

/** Fliegel and Van Flandern's Julian day algorithm, another one than the product's. */
function dateText(days: number): string {
  const shift = Math.ceil(20_000_000 / 146_097) * 146_097;
  const julian = days + 2_440_588 + shift;
  let left = julian + 68_569;
  const century = Math.floor((4 * left) / 146_097);
  left -= Math.floor((146_097 * century + 3) / 4);
  const yearOf = Math.floor((4000 * (left + 1)) / 1_461_001);
  left = left - Math.floor((1461 * yearOf) / 4) + 31;
  const monthOf = Math.floor((80 * left) / 2447);
  const day = left - Math.floor((2447 * monthOf) / 80);
  const carry = Math.floor(monthOf / 11);
  const month = monthOf + 2 - 12 * carry;
  const year = 100 * (century - 49) + yearOf + carry - (shift / 146_097) * 400;
  const head = year > 9999 ? `+${year}` : year < 0 ? `-${pad(-year, 4)}` : pad(year, 4);
  return `${head}-${pad(month, 2)}-${pad(day, 2)}`;
}

function timeText(micros: bigint): string {
  const seconds = micros / 1_000_000n;
  return `${pad(seconds / 3600n, 2)}:${pad((seconds / 60n) % 60n, 2)}:${pad(seconds % 60n, 2)}.${pad(micros % 1_000_000n, 6)}`;
}

function timestampText(micros: bigint): string {
  const perDay = 86_400_000_000n;
  const rest = ((micros % perDay) + perDay) % perDay;
  return `${dateText(Number((micros - rest) / perDay))}T${timeText(rest)}`;
}
