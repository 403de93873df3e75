/**
 * Do a file's column metrics hold? DuckDB computes counts, minimum and maximum of every leaf from the file, and each is held
 * against what the manifest says. A bound too tight makes engines skip rows, so this is about wrong answers and not tidiness.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api';
import { compareSingleValues, decodeSingleValue, singleValueOf } from './bounds.ts';
import type { ManifestEntry } from './manifests.ts';
import { type ParquetFile, readRows, selectByFieldId } from './parquet-files.ts';
import { childFields, type TableField, type TableType } from './table-metadata.ts';

/** A leaf that is not below a list or map: there is one value of it a row. */
interface SingleLeaf {
  readonly field: TableField;
  readonly expression: string;
}

interface MeasuredLeaf {
  readonly leaf: SingleLeaf;
  readonly nulls: bigint;
  readonly nans: bigint;
  readonly min: DuckDBValue;
  readonly max: DuckDBValue;
}

/** Measures all files of one shape with one query. Returns faults by local path. */
export async function metricFaults(
  connection: DuckDBConnection, shapeOf: ParquetFile, entries: ReadonlyMap<string, ManifestEntry>, fields: readonly TableField[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const leaves = fields.flatMap((field) => singleLeaves(field, `c${field.id}`));
  const repeated = fields.flatMap((field) => repeatedLeaves(field));
  const measures = leaves.flatMap(({ field, expression }) => {
    const orderable = isFloat(field.type) ? `CASE WHEN NOT isnan(${expression}) THEN ${expression} END` : expression;
    return [
      `count(*) - count(${expression})`,
      isFloat(field.type) ? `count(*) FILTER (isnan(${expression}))` : '0',
      `min(${orderable})`, `max(${orderable})`,
    ];
  });
  const scan = selectByFieldId(shapeOf, [...entries.keys()], fields, false);
  const rows = await readRows(connection, `SELECT ${['"$file"', ...measures].join(', ')} FROM (${scan}) GROUP BY "$file"`);
  const faults = new Map<string, readonly string[]>();
  for (const row of rows) {
    const path = String(row[0]);
    const entry = entries.get(path);
    if (entry === undefined) continue;
    const measured = leaves.map((leaf, index): MeasuredLeaf => {
      const [nulls = null, nans = null, min = null, max = null] = row.slice(1 + 4 * index);
      return { leaf, nulls: BigInt(String(nulls)), nans: BigInt(String(nans)), min, max };
    });
    faults.set(path, [
      ...measured.flatMap((leaf) => leafFaults(entry, leaf)),
      ...repeated.flatMap((field) => repeatedLeafFaults(entry, field)),
      ...strayIdFaults(entry, [...leaves.map((leaf) => leaf.field), ...repeated]),
    ]);
  }
  return faults;
}

function singleLeaves(field: TableField, expression: string): readonly SingleLeaf[] {
  if (field.type.kind === 'list' || field.type.kind === 'map') return [];
  if (field.type.kind !== 'struct') return [{ field, expression }];
  return field.type.fields.flatMap((child) => singleLeaves(child, `struct_extract(${expression}, 'f${child.id}')`));
}

function repeatedLeaves(field: TableField, below = false): readonly TableField[] {
  const children = childFields(field.type);
  if (children.length === 0) return below ? [field] : [];
  const repeats = below || field.type.kind !== 'struct';
  return children.flatMap((child) => repeatedLeaves(child, repeats));
}

function isFloat(type: TableType): boolean {
  return type.kind === 'float' || type.kind === 'double';
}

function leafFaults(entry: ManifestEntry, measured: MeasuredLeaf): readonly string[] {
  const { field } = measured.leaf;
  const { metrics } = entry;
  const faults: string[] = [];
  const expectCount = (what: string, recorded: bigint | undefined, actual: bigint): void => {
    if (recorded !== undefined && recorded !== actual) faults.push(`${field.name} (${field.id}): ${what} is recorded as ${recorded}, it is ${actual}`);
  };
  expectCount('the value count', metrics.valueCounts?.get(field.id), entry.recordCount);
  expectCount('the null count', metrics.nullCounts?.get(field.id), measured.nulls);
  expectCount('the NaN count', metrics.nanCounts?.get(field.id), measured.nans);
  faults.push(...boundFaults(field, 'lower', metrics.lowerBounds?.get(field.id), measured.min));
  faults.push(...boundFaults(field, 'upper', metrics.upperBounds?.get(field.id), measured.max));
  return faults;
}

/** No value is put into the message: the values are the user's. */
function boundFaults(field: TableField, side: 'lower' | 'upper', bytes: Uint8Array | undefined, extreme: DuckDBValue): readonly string[] {
  if (bytes === undefined) return [];
  try {
    const bound = decodeSingleValue(field.type, bytes);
    if (extreme === null) return [];
    const order = compareSingleValues(bound, singleValueOf(extreme));
    const binds = side === 'lower' ? order <= 0 : order >= 0;
    return binds ? [] : [`${field.name} (${field.id}): the ${side} bound excludes a value of the file`];
  } catch (thrown) {
    return [`${field.name} (${field.id}): the ${side} bound can't be decoded: ${thrown instanceof Error ? thrown.message : 'unknown'}`];
  }
}

/** Below a list or map engines differ in what they count, so only what no reading allows is a fault. */
function repeatedLeafFaults(entry: ManifestEntry, field: TableField): readonly string[] {
  const values = entry.metrics.valueCounts?.get(field.id);
  const nulls = entry.metrics.nullCounts?.get(field.id);
  const faults: string[] = [];
  if (values !== undefined && nulls !== undefined && nulls > values) {
    faults.push(`${field.name} (${field.id}): more nulls (${nulls}) than values (${values})`);
  }
  if (entry.metrics.lowerBounds?.has(field.id) === true || entry.metrics.upperBounds?.has(field.id) === true) {
    faults.push(`${field.name} (${field.id}): has bounds, though it is below a list or map`);
  }
  return faults;
}

function strayIdFaults(entry: ManifestEntry, leaves: readonly TableField[]): readonly string[] {
  const known = new Set(leaves.map((field) => field.id));
  const { valueCounts, nullCounts, nanCounts, lowerBounds, upperBounds } = entry.metrics;
  const maps = { valueCounts, nullCounts, nanCounts, lowerBounds, upperBounds };
  return Object.entries(maps).flatMap(([name, map]) =>
    [...(map?.keys() ?? [])].filter((id) => !known.has(id)).map((id) => `${name} names the field id ${id}, which is no leaf of the file`));
}
