/** Planted bugs of spans that are encoded in sections, before they close (batch/encode-ahead.ts). */
import type { Mutation } from './planted-bug.ts';

export const SECTION_BUGS: readonly Mutation[] = [
  {
    name: 'all sections have the number of the snapshot',
    seeds: 1_000,
    edits: [{ file: 'snapshot/snapshot.ts', find: 'sequenceNumber: plan.lastSequenceNumber + BigInt(index + 1) }', replace: 'sequenceNumber }' }],
  },
  {
    name: 'later sections have lower numbers',
    seeds: 1_000,
    edits: [{ file: 'snapshot/snapshot.ts', find: 'plan.lastSequenceNumber + BigInt(index + 1) }', replace: 'sequenceNumber - BigInt(index) }' }],
  },
  {
    name: 'a section writes on into the files of the one before it',
    seeds: 1_000,
    edits: [{ file: 'sink/batch-writer.ts', find: "if (this.#options.plan.mode === 'upsert') await this.#endFiles();", replace: '' }],
  },
  {
    name: 'files of a section are listed with the next one too',
    seeds: 1_000,
    edits: [{ file: 'sink/batch-writer.ts', find: '    this.#files = [];\n', replace: '' }],
  },
  {
    name: 'the close of a span forgets what was encoded before it',
    seeds: 1_000,
    edits: [{
      file: 'sink/incarnation.ts',
      find: 'const writer = this.#open ?? this.#openWriter(this.#planned(), batch.ordinal,',
      replace: 'const writer = this.#openWriter(this.#planned(), batch.ordinal,',
    }],
  },
  {
    name: 'the close of a span has a snapshot id that its sections do not',
    seeds: 1_000,
    edits: [{ file: 'sink/pipeline.ts', find: 'const begun = stream ?? open;', replace: 'const begun = stream;' }],
  },
  {
    name: 'rows leave the stash while a section is being written',
    seeds: 8_000,
    edits: [{ file: 'sink/pipeline.ts', find: ' || state.open?.isWriting === true) return', replace: ') return' }],
  },
  {
    name: 'a section is made of rows that come after it',
    seeds: 1_000,
    edits: [{ file: 'sink/incarnation.ts', find: 'return this.#intake.seal(effect.upper);', replace: 'return this.#intake.seal(FRONTIER_EMPTY);' }],
  },
  {
    name: 'what is left over from an epoch goes into the next',
    seeds: 8_000,
    edits: [{ file: 'sink/state.ts', find: '    open: null,\n', replace: '' }],
  },
];
