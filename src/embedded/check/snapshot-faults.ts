/**
 * Structural checks of one snapshot. Each rule is a short function that returns what breaks it; together they say that the
 * table is one that any engine may read, and not only one that happens to give the right rows today.
 */
import type { DuckDBConnection } from '@duckdb/node-api';
import { metricFaults } from './column-metric-faults.ts';
import { POSITION_DELETE_FIELDS } from './live-rows.ts';
import type { ManifestEntry } from './manifests.ts';
import { byShape, describeParquetFiles, type ParquetFile, shapeFaults } from './parquet-files.ts';
import type { ManifestContent, SnapshotFiles } from './snapshot-files.ts';
import type { TableFiles } from './table-files.ts';
import { fieldsById, type TableField, type TableMetadata } from './table-metadata.ts';

export type Rule =
  | 'file-unique' | 'file-exists' | 'file-size' | 'record-count' | 'field-ids' | 'metrics' | 'split-offsets'
  | 'sequence-numbers' | 'manifest-counts' | 'manifest-list' | 'manifest-header' | 'summary-totals' | 'schema';

export interface Violation {
  readonly rule: Rule;
  /** The file or snapshot at fault. */
  readonly where: string;
  /** What is wrong, without any value of a row. */
  readonly detail: string;
}

export interface CheckedSnapshot {
  readonly connection: DuckDBConnection;
  readonly metadata: TableMetadata;
  readonly files: TableFiles;
  readonly snapshot: SnapshotFiles;
  readonly fields: readonly TableField[];
}

export async function snapshotFaults(checked: CheckedSnapshot): Promise<readonly Violation[]> {
  return [
    ...schemaFaults(checked.metadata),
    ...sequenceFaults(checked),
    ...checked.snapshot.manifests.flatMap((manifest) => manifestFaults(manifest, checked)),
    ...await manifestLengthFaults(checked),
    ...uniquenessFaults(checked.snapshot),
    ...summaryFaults(checked.snapshot),
    ...await fileFaults(checked),
  ];
}

function schemaFaults(metadata: TableMetadata): readonly Violation[] {
  const violations: Violation[] = [];
  for (const schema of metadata.schemas) {
    const where = `schema ${schema.schemaId}`;
    const ids = [...fieldsById([schema]).values()];
    const tooHigh = ids.filter((field) => field.id > metadata.lastColumnId);
    violations.push(...tooHigh.map((field): Violation => ({
      rule: 'schema', where, detail: `the field id ${field.id} is above last-column-id ${metadata.lastColumnId}`,
    })));
    for (const id of schema.identifierFieldIds) {
      const field = ids.find((candidate) => candidate.id === id);
      if (field === undefined || !field.required) {
        violations.push({ rule: 'schema', where, detail: `the identifier field ${id} is missing or not required` });
      }
    }
  }
  return violations;
}

function sequenceFaults({ metadata, snapshot }: CheckedSnapshot): readonly Violation[] {
  const where = `snapshot ${snapshot.snapshot.snapshotId}`;
  const own = snapshot.snapshot.sequenceNumber;
  const violations: Violation[] = [];
  const fault = (detail: string): void => { violations.push({ rule: 'sequence-numbers', where, detail }); };
  if (own > metadata.lastSequenceNumber) fault(`its number ${own} is above last-sequence-number ${metadata.lastSequenceNumber}`);
  const parent = metadata.snapshots.find((candidate) => candidate.snapshotId === snapshot.snapshot.parentSnapshotId);
  if (parent !== undefined && parent.sequenceNumber >= own) fault(`its number ${own} is not above its parent's ${parent.sequenceNumber}`);
  for (const { summary, entries } of snapshot.manifests) {
    if (summary.sequenceNumber > own) fault(`the manifest ${summary.path} has the later number ${summary.sequenceNumber}`);
    const live = entries.filter((entry) => entry.status !== 'deleted');
    const lowest = live.reduce((low, entry) => entry.sequenceNumber < low ? entry.sequenceNumber : low, summary.sequenceNumber);
    if (lowest < summary.minSequenceNumber) fault(`the manifest ${summary.path} holds ${lowest}, below its min_sequence_number`);
    const late = entries.find((entry) => entry.sequenceNumber > summary.sequenceNumber || entry.fileSequenceNumber > own);
    if (late !== undefined) fault(`the entry ${late.path} has a number later than its manifest`);
  }
  return violations;
}

function manifestFaults(manifest: ManifestContent, { metadata }: CheckedSnapshot): readonly Violation[] {
  const { summary, entries, file } = manifest;
  const violations: Violation[] = [];
  for (const status of ['added', 'existing', 'deleted'] as const) {
    const own = entries.filter((entry) => entry.status === status);
    const rows = own.reduce((sum, entry) => sum + entry.recordCount, 0n);
    const recorded = summary.counts[status];
    if (recorded.files !== BigInt(own.length) || recorded.rows !== rows) {
      violations.push({
        rule: 'manifest-counts', where: summary.path,
        detail: `${status}: the list says ${recorded.files} files, ${recorded.rows} rows; the manifest holds ${own.length}, ${rows}`,
      });
    }
  }
  const content = file.metadata.get('content') ?? 'data';
  const header = (detail: string): void => { violations.push({ rule: 'manifest-header', where: summary.path, detail }); };
  if (content !== summary.content) header(`its header says ${content}, the list says ${summary.content}`);
  if (entries.some((entry) => (entry.kind === 'data') !== (summary.content === 'data'))) header('it mixes data and delete files');
  if (file.metadata.get('format-version') !== '2') header('its header does not say format-version 2');
  if (file.metadata.get('partition-spec-id') !== String(summary.partitionSpecId)) header('its header has another partition-spec-id than the list');
  const schema = JSON.parse(file.metadata.get('schema') ?? 'null') as { 'schema-id'?: number } | null;
  const schemaId = schema?.['schema-id'] ?? Number(file.metadata.get('schema-id') ?? -1);
  if (!metadata.schemas.some((known) => known.schemaId === schemaId)) header('its header has no schema of the table');
  return violations;
}

async function manifestLengthFaults({ snapshot, files }: CheckedSnapshot): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const { summary } of snapshot.manifests) {
    const length = await files.sizeBytes(summary.path);
    if (length !== summary.length) {
      violations.push({ rule: 'manifest-list', where: summary.path, detail: `manifest_length is ${summary.length}, the file has ${length}` });
    }
  }
  const paths = snapshot.manifests.map((manifest) => manifest.summary.path);
  return [...violations, ...repeated(paths).map((where): Violation => ({ rule: 'manifest-list', where, detail: 'is listed twice' }))];
}

function uniquenessFaults(snapshot: SnapshotFiles): readonly Violation[] {
  return repeated(snapshot.live.map((entry) => entry.path))
    .map((where): Violation => ({ rule: 'file-unique', where, detail: 'is live twice' }));
}

function repeated(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.filter((text, index) => texts.indexOf(text) !== index))];
}

/** Totals are optional in the specification; what the summary says must be so. `total-records` counts rows of data files. */
function summaryFaults(snapshot: SnapshotFiles): readonly Violation[] {
  const { live } = snapshot;
  const own = snapshot.manifests.flatMap((manifest) => manifest.entries)
    .filter((entry) => entry.snapshotId === snapshot.snapshot.snapshotId);
  const ofKind = (entries: readonly ManifestEntry[], kind: ManifestEntry['kind']): readonly ManifestEntry[] =>
    entries.filter((entry) => entry.kind === kind);
  const added = own.filter((entry) => entry.status === 'added');
  const deletes = (entries: readonly ManifestEntry[]): readonly ManifestEntry[] => entries.filter((entry) => entry.kind !== 'data');
  const actual: Readonly<Record<string, bigint>> = {
    'total-records': rowsOf(ofKind(live, 'data')),
    'total-data-files': count(ofKind(live, 'data')),
    'total-delete-files': count(deletes(live)),
    'total-equality-deletes': rowsOf(ofKind(live, 'equality-deletes')),
    'total-position-deletes': rowsOf(ofKind(live, 'position-deletes')),
    'total-files-size': live.reduce((sum, entry) => sum + entry.sizeBytes, 0n),
    'added-data-files': count(ofKind(added, 'data')),
    'added-records': rowsOf(ofKind(added, 'data')),
    'added-delete-files': count(deletes(added)),
    'added-equality-deletes': rowsOf(ofKind(added, 'equality-deletes')),
    'added-position-deletes': rowsOf(ofKind(added, 'position-deletes')),
    'added-files-size': added.reduce((sum, entry) => sum + entry.sizeBytes, 0n),
  };
  return Object.entries(actual).flatMap(([key, value]): readonly Violation[] => {
    const recorded = snapshot.snapshot.summary[key];
    if (recorded === undefined || recorded === String(value)) return [];
    return [{ rule: 'summary-totals', where: `snapshot ${snapshot.snapshot.snapshotId}`, detail: `${key} is ${recorded}, recomputed ${value}` }];
  });
}

function count(entries: readonly ManifestEntry[]): bigint {
  return BigInt(entries.length);
}

function rowsOf(entries: readonly ManifestEntry[]): bigint {
  return entries.reduce((sum, entry) => sum + entry.recordCount, 0n);
}

async function fileFaults(checked: CheckedSnapshot): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  const present = new Map<string, ManifestEntry>();
  for (const entry of checked.snapshot.live) {
    try {
      const size = await checked.files.sizeBytes(entry.path);
      if (size !== entry.sizeBytes) {
        violations.push({ rule: 'file-size', where: entry.path, detail: `recorded as ${entry.sizeBytes} bytes, it has ${size}` });
      }
      present.set(await checked.files.localPath(entry.path), entry);
    } catch {
      violations.push({ rule: 'file-exists', where: entry.path, detail: 'is live but can\'t be read' });
    }
  }
  const described = await describeParquetFiles(checked.connection, [...present.keys()]);
  const allFields = fieldsById(checked.metadata.schemas);
  for (const kind of ['data', 'position-deletes', 'equality-deletes'] as const) {
    const ofKind = [...described.values()].filter((file) => present.get(file.localPath)?.kind === kind);
    for (const [shape, paths] of byShape(ofKind)) {
      const entries = new Map(paths.flatMap((path) => {
        const entry = present.get(path);
        return entry === undefined ? [] : [[path, entry] as const];
      }));
      violations.push(...await shapeGroupFaults(checked, allFields, shape, entries, described));
    }
  }
  return violations;
}

async function shapeGroupFaults(
  checked: CheckedSnapshot, allFields: ReadonlyMap<number, TableField>, shape: ParquetFile,
  entries: ReadonlyMap<string, ManifestEntry>, described: ReadonlyMap<string, ParquetFile>,
): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const [path, entry] of entries) {
    const file = described.get(path) ?? shape;
    const fields = expectedFields(checked, entry, allFields);
    const mustHaveAll = entry.kind !== 'data' || isNewest(checked, entry);
    const faults = shapeFaults(withoutDropped(file, entry, fields, allFields), fields, mustHaveAll);
    violations.push(...faults.map((detail): Violation => ({ rule: 'field-ids', where: entry.path, detail })));
    if (file.rowCount !== entry.recordCount) {
      violations.push({ rule: 'record-count', where: entry.path, detail: `recorded as ${entry.recordCount}, Parquet says ${file.rowCount}` });
    }
    violations.push(...splitOffsetFaults(entry, file));
  }
  const [first] = entries.values();
  if (first === undefined || first.kind === 'position-deletes') return violations;
  const present = new Set(shape.columns.map((column) => column.fieldId));
  const measured = expectedFields(checked, first, allFields).filter((field) => present.has(field.id));
  const faults = await metricFaults(checked.connection, shape, entries, measured);
  for (const [path, details] of faults) {
    violations.push(...details.map((detail): Violation => ({ rule: 'metrics', where: entries.get(path)?.path ?? path, detail })));
  }
  return violations;
}

/** A data file older than the schema may lack columns; one of this very snapshot may not. */
function isNewest({ snapshot }: CheckedSnapshot, entry: ManifestEntry): boolean {
  return entry.snapshotId === snapshot.snapshot.snapshotId;
}

/** Columns that were dropped from the schema stay in older data files; a delete file holds nothing but its fields. */
function withoutDropped(
  file: ParquetFile, entry: ManifestEntry, fields: readonly TableField[], allFields: ReadonlyMap<number, TableField>,
): ParquetFile {
  if (entry.kind !== 'data') return file;
  const current = new Set(fields.map((field) => field.id));
  const dropped = (id: number | null): boolean => id !== null && !current.has(id) && allFields.has(id);
  return { ...file, columns: file.columns.filter((column) => !dropped(column.fieldId)) };
}

function expectedFields(
  checked: CheckedSnapshot, entry: ManifestEntry, allFields: ReadonlyMap<number, TableField>,
): readonly TableField[] {
  switch (entry.kind) {
    case 'data': return checked.fields;
    case 'position-deletes': return POSITION_DELETE_FIELDS;
    case 'equality-deletes': return entry.equalityIds.flatMap((id) => allFields.get(id) ?? []);
  }
}

function splitOffsetFaults(entry: ManifestEntry, file: ParquetFile): readonly Violation[] {
  const offsets = entry.splitOffsets;
  if (offsets.length === 0) return [];
  const ascending = offsets.every((offset, index) => index === 0 || offset > (offsets[index - 1] ?? 0n));
  const inside = offsets.every((offset) => offset >= 4n && offset < entry.sizeBytes);
  if (ascending && inside && offsets.length <= Math.max(file.rowGroupCount, 1)) return [];
  return [{ rule: 'split-offsets', where: entry.path, detail: 'are not ascending positions of row groups' }];
}
