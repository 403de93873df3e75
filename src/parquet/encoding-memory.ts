/**
 * How the columns of a table were encoded best, remembered from file to file. Whether a dictionary pays and which compression wins
 * is found by trying, and of a commit of a few thousand rows the tries are half of the work; the next commit has the same columns.
 *
 * What is remembered decides how large a file gets and never what is in it. It is believed a few times and then tried again, since
 * data change.
 */
export type PageEncoding = 'plain' | 'dictionary';

export interface ColumnEncoding {
  readonly encoding: PageEncoding;
  /** Which of the compressors, by the encoding of the page. */
  readonly compressors: ReadonlyMap<PageEncoding, number>;
}

export interface EncodingMemory {
  /** null: unknown, or believed often enough. */
  recall(fieldId: number): ColumnEncoding | null;
  learn(fieldId: number, found: ColumnEncoding): void;
  forget(fieldId: number): void;
}

const BELIEVED_TIMES = 15;

export function createEncodingMemory(): EncodingMemory {
  const columns = new Map<number, { readonly found: ColumnEncoding; uses: number }>();
  return {
    recall(fieldId) {
      const known = columns.get(fieldId);
      if (known === undefined) return null;
      if (known.uses === BELIEVED_TIMES) {
        columns.delete(fieldId);
        return null;
      }
      known.uses += 1;
      return known.found;
    },
    learn: (fieldId, found) => void columns.set(fieldId, { found, uses: 0 }),
    forget: (fieldId) => void columns.delete(fieldId),
  };
}

/** For files of which none follows another. */
export const NO_MEMORY: EncodingMemory = { recall: () => null, learn: () => undefined, forget: () => undefined };
