/** What the files of all tables that a thread writes taught about their columns. */
import type { FileContent } from '../iceberg/data-file.ts';
import { type EncodingMemory, createEncodingMemory } from '../parquet/encoding-memory.ts';
import { parquetColumns, parquetTree } from '../parquet/schema.ts';
import type { WritePlan } from './plan.ts';

export interface EncodingMemories {
  of(plan: WritePlan, content: FileContent): EncodingMemory;
}

/** Where there are many tables, all is forgotten at times rather than kept for ever. */
const TABLES_MAX = 1_000;

export function createEncodingMemories(): EncodingMemories {
  const memories = new Map<string, EncodingMemory>();
  return {
    // Field ids tell columns apart within a table. Two tables of one relation may have other ids for the same columns.
    of({ relationName, mode, codec, codecLevel, schema }, content) {
      const ids = parquetColumns(parquetTree(schema)).map(({ fieldId, path }) => [fieldId, ...path]);
      const key = JSON.stringify([relationName, mode, codec, codecLevel, content, ids]);
      const known = memories.get(key);
      if (known !== undefined) return known;
      if (memories.size >= TABLES_MAX) memories.clear();
      const memory = createEncodingMemory();
      memories.set(key, memory);
      return memory;
    },
  };
}
