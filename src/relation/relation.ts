import type { RecordField } from './sql-type.ts';

/** A column of a relation: its name, type at every depth, and whether it may be NULL. */
export type Column = RecordField;

export type RelationKind = 'table' | 'source' | 'materialized-view' | 'view' | 'index' | 'other';

/** A Materialize relation as discovered from its catalog when the sink starts. */
export interface Relation {
  /** Global id such as `u42`; a recreated relation has another one. */
  readonly id: string;
  readonly database: string;
  readonly schema: string;
  readonly name: string;
  readonly kind: RelationKind;
  readonly columns: readonly Column[];
  /** Known unique keys, as sets of column indices (0-based); null when Materialize could not tell. */
  readonly uniqueKeys: readonly (readonly number[])[] | null;
}
