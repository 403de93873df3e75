/**
 * A data or delete file as a manifest records it (spec: "Manifests", `data_file`), unpartitioned.
 */
export type FileContent = 'data' | 'position-deletes' | 'equality-deletes';

/**
 * Column metrics of one file, keyed by field id, leaves only (also leaves inside lists, maps and structs for
 * the counts; bounds only for leaves that are not below a list or map). Bounds are single-value bytes.
 */
export interface FileMetrics {
  readonly columnSizes: ReadonlyMap<number, bigint>;
  readonly valueCounts: ReadonlyMap<number, bigint>;
  readonly nullValueCounts: ReadonlyMap<number, bigint>;
  readonly nanValueCounts: ReadonlyMap<number, bigint>;
  readonly lowerBounds: ReadonlyMap<number, Uint8Array>;
  readonly upperBounds: ReadonlyMap<number, Uint8Array>;
}

export interface DataFile {
  readonly content: FileContent;
  /** Absolute location, as it goes into the manifest. */
  readonly path: string;
  readonly recordCount: bigint;
  readonly fileSizeBytes: bigint;
  readonly metrics: FileMetrics;
  /** Byte offsets of the row groups, ascending; empty when unknown. */
  readonly splitOffsets: readonly bigint[];
  /** Key field ids, for equality deletes only; else empty. */
  readonly equalityFieldIds: readonly number[];
}
