/** What the files of all tables that a thread writes taught about their columns. */
import type { FileContent } from '../iceberg/data-file.ts';
import { type EncodingMemory, createEncodingMemory } from '../parquet/encoding-memory.ts';
import type { WritePlan } from './plan.ts';

export interface EncodingMemories {
  of(plan: WritePlan, content: FileContent): EncodingMemory;
}

/** Where there are many tables, all is forgotten at times rather than kept for ever. */
const TABLES_MAX = 1_000;

export function createEncodingMemories(): EncodingMemories {
  const memories = new Map<string, EncodingMemory>();
  return {
    // Field ids tell columns apart within a table, and the name of its relation one table's from another's.
    of({ relationName, mode, codec, codecLevel }, content) {
      const key = [relationName, mode, codec, codecLevel, content].join(' ');
      const known = memories.get(key);
      if (known !== undefined) return known;
      if (memories.size >= TABLES_MAX) memories.clear();
      const memory = createEncodingMemory();
      memories.set(key, memory);
      return memory;
    },
  };
}
