/**
 * What a planted bug is: a few replacements in files of `src`, every `find` occurring exactly once. The lists hold the
 * mistakes that sinks are known to make, and those that a hurried change here could make.
 */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutation {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** Caught within this many seeds from 1. */
  readonly seeds: number;
}
