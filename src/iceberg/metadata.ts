/**
 * Table metadata as the sink uses it (spec: "Table Metadata", format version 2; version 3 is readable).
 * All 64-bit ids and times are bigints: snapshot ids above 2^53 are the rule, not the exception.
 * Parsed and written by `metadata-json.ts`.
 */
import type { Schema } from './types.ts';

export interface PartitionField {
  readonly sourceId: number;
  readonly fieldId: number;
  readonly name: string;
  readonly transform: string;
}

export interface PartitionSpec {
  readonly specId: number;
  readonly fields: readonly PartitionField[];
}

export interface Snapshot {
  readonly snapshotId: bigint;
  readonly parentSnapshotId: bigint | null;
  readonly sequenceNumber: bigint;
  readonly timestampMs: bigint;
  /** `operation` included, as in the JSON. */
  readonly summary: Readonly<Record<string, string>>;
  readonly manifestList: string;
  readonly schemaId: number | null;
}

export interface SnapshotRef {
  readonly snapshotId: bigint;
  readonly type: 'branch' | 'tag';
}

export interface TableMetadata {
  readonly formatVersion: number;
  readonly tableUuid: string;
  readonly location: string;
  readonly lastSequenceNumber: bigint;
  readonly lastUpdatedMs: bigint;
  readonly lastColumnId: number;
  readonly schemas: readonly Schema[];
  readonly currentSchemaId: number;
  readonly partitionSpecs: readonly PartitionSpec[];
  readonly defaultSpecId: number;
  readonly defaultSortOrderId: number;
  readonly properties: Readonly<Record<string, string>>;
  /** null when the table has no snapshot (absent, null and -1 in the JSON are all that). */
  readonly currentSnapshotId: bigint | null;
  readonly snapshots: readonly Snapshot[];
  readonly refs: Readonly<Record<string, SnapshotRef>>;
  /** Number of entries of the snapshot log: evidence of history even when every snapshot has expired. */
  readonly snapshotLogLength: number;
}

/** Commit requirements of the REST specification. */
export type Requirement =
  | { readonly type: 'assert-create' }
  | { readonly type: 'assert-table-uuid'; readonly uuid: string }
  | { readonly type: 'assert-ref-snapshot-id'; readonly ref: string; readonly snapshotId: bigint | null }
  | { readonly type: 'assert-current-schema-id'; readonly currentSchemaId: number }
  | { readonly type: 'assert-default-spec-id'; readonly defaultSpecId: number };

/** The updates that the sink sends. The embedded catalog applies all of the specification's. */
export type Update =
  | { readonly action: 'add-snapshot'; readonly snapshot: Snapshot }
  | {
      readonly action: 'set-snapshot-ref';
      readonly ref: string;
      readonly snapshotId: bigint;
      readonly type: 'branch' | 'tag';
    }
  | { readonly action: 'set-properties'; readonly updates: Readonly<Record<string, string>> };
