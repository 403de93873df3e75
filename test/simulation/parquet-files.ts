/**
 * The other fidelity: files as production writes them, and a reader of them that is none of ours (the Parquet reader of
 * Arrow's Rust implementation).
 */
import { tableFromIPC } from 'apache-arrow';
import { readParquet } from 'parquet-wasm/node';
import type { EncodedFile } from '../../src/sink/ports.ts';
import type { WritePlan } from '../../src/write/plan.ts';
import { openSpanWriter } from '../../src/write/span-writer.ts';
import { wholeFiles } from '../doubles/whole-files.ts';
import type { FileMaker } from './encoder-double.ts';

export function parquetFiles(plan: WritePlan): FileMaker {
  const files: EncodedFile[] = [];
  let counts = { dataRows: 0, deletedKeys: 0, nulledValues: 0 };
  // Files are taken at once and uploaded later, for nothing may wait for virtual time while the writer works.
  const writer = openSpanWriter(plan, wholeFiles((file) => {
    files.push(file);
  }));
  return {
    take: (chunks, isWhole) => writer.write(chunks, isWhole),
    full: () => files.splice(0),
    async rest() {
      counts = await writer.finish();
      return files.splice(0);
    },
    summary: () => counts,
  };
}

export function isParquet(bytes: Uint8Array): boolean {
  return bytes.length > 4 && bytes[0] === 0x50 && bytes[1] === 0x41 && bytes[2] === 0x52 && bytes[3] === 0x31;
}

/** A decimal is the words of an unscaled number, lowest first. */
type Value = string | Uint32Array | null;

interface Row {
  readonly id: bigint | number | null;
  readonly v?: Value;
  /** Its name after the column was renamed. */
  readonly w?: Value;
  readonly _mz_diff?: number | bigint;
  readonly _mz_timestamp?: bigint;
}

/** The contents as a JSON file of the fast fidelity has them. */
export function parquetContent(bytes: Uint8Array): readonly unknown[] {
  const table = tableFromIPC(readParquet(bytes).intoIPCStream());
  const isKeys = !table.schema.fields.some((field) => field.name === 'v' || field.name === 'w');
  return (table.toArray() as readonly Row[]).map(({ id, v, w, _mz_diff: diff, _mz_timestamp: time }) => {
    if (isKeys) return String(id);
    const text = `${id}\t${valueText(v ?? w ?? null)}`;
    return diff === undefined ? [text, 1] : [text, Number(diff), String(time)];
  });
}

const SCALE = 100n;

function valueText(value: Value): string {
  if (value === null) return '\\N';
  if (typeof value === 'string') return value;
  const unscaled = value.reduce((sum, word, index) => sum + (BigInt(word) << BigInt(index * 32)), 0n);
  return `${unscaled / SCALE}.${String(unscaled % SCALE).padStart(2, '0')}`;
}
