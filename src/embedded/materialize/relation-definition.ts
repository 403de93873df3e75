/**
 * How relations and named types are declared to the stand-in. Types are SQL types of the shared vocabulary; a
 * column whose type has a name of its own (CREATE TYPE) says so beside it, since the vocabulary has no names.
 */
import type { Column, RelationKind } from '../../relation/relation.ts';
import type { SqlType } from '../../relation/sql-type.ts';
import type { Timestamp } from '../../time/timestamp.ts';

export interface RelationDefinition {
  readonly name: string;
  readonly schema: string;
  readonly database: string;
  readonly kind: RelationKind;
  readonly columns: readonly Column[];
  /** Known unique keys as column indices (0-based). */
  readonly keys: readonly (readonly number[])[];
  /** Default `quickstart`; a name that is new makes a cluster with one replica. */
  readonly cluster?: string;
  /** How far since stays behind the upper; default 1000. */
  readonly retainHistoryMs?: number;
  /** Column name to the name of a type made by createType. */
  readonly columnTypeNames?: Readonly<Record<string, string>>;
  /** Sends the snapshot from prebuilt bytes instead of rows; for measuring. Is not persisted. */
  readonly generateSnapshot?: GenerateSnapshot;
}

/**
 * Blocks of whole CopyData messages, each with the number of rows in it, for a snapshot at `asOf`; their lines start
 * with time, `f` when progress is on, and diff. COPY text only.
 */
export type GenerateSnapshot = (request: {
  readonly asOf: Timestamp;
  readonly progress: boolean;
}) => Iterable<{ readonly bytes: Uint8Array; readonly rows: number }>;

export interface NamedTypeDefinition {
  readonly name: string;
  readonly schema: string;
  /** A list, a map or a record. */
  readonly type: SqlType;
  /** Names of named types inside: by field name for a record, `element` for a list, `value` for a map. */
  readonly partTypeNames?: Readonly<Record<string, string>>;
}

export interface NamedType extends NamedTypeDefinition {
  readonly id: string;
  readonly oid: number;
}
