/**
 * How a relation's rows become files of one table: made once per incarnation from the relation and the
 * loaded table (`table-plan.ts`), sent to the workers by structured clone, so plain data only.
 */
import type { NestedField, Schema } from '../iceberg/types.ts';
import type { SqlType } from '../relation/sql-type.ts';

export type SinkMode = 'upsert' | 'append';

/** What to do with a value that the column's type can't hold (numeric only: NaN, infinity, range, lost digits). */
export type RowErrorPolicy = 'halt' | 'null';

export interface WriteColumn {
  /** Name in the relation, for messages. */
  readonly sourceName: string;
  readonly sqlType: SqlType;
  /** The table's own field: its id, name and type win over what we would have created. */
  readonly field: NestedField;
}

export type CompressionCodec = 'zstd' | 'snappy' | 'gzip' | 'uncompressed';

export interface WritePlan {
  readonly relationName: string;
  readonly mode: SinkMode;
  /** In the relation's column order: the order of the COPY text. */
  readonly columns: readonly WriteColumn[];
  /** Indices into `columns` of the key; empty in append mode. */
  readonly keyColumns: readonly number[];
  /** The schema of data files, in the table's order; append mode ends with `_mz_diff` and `_mz_timestamp`. */
  readonly schema: Schema;
  readonly codec: CompressionCodec;
  readonly codecLevel: number;
  readonly targetFileSizeBytes: number;
  readonly rowErrorPolicy: RowErrorPolicy;
}
