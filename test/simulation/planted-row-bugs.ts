/** Planted bugs of spans, rows and memory. */
import type { Mutation } from './planted-bug.ts';

export const ROW_BUGS: readonly Mutation[] = [
  {
    name: 'resume at AS OF F',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/opening.ts',
        find: 'frontier === 0n ? 0n : frontier - 1n',
        replace: 'frontier',
      },
    ],
  },
  {
    name: 'resume with a snapshot',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/opening.ts',
        find: 'frontier - 1n, snapshot: false,',
        replace: 'frontier - 1n, snapshot: true,',
      },
    ],
  },
  {
    name: 'progress closes its own time',
    seeds: 1_000,
    edits: [
      {
        file: 'time/frontier.ts',
        find: 'time < frontier[0]',
        replace: 'time <= frontier[0]',
      },
    ],
  },
  {
    name: 'the first progress closes the as of',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/pipeline.ts',
        find: 'if (asOf === null || isClosed(asOf, observed)) {',
        replace: 'if (asOf !== null || isClosed(0n, observed)) {',
      },
    ],
  },
  {
    name: 'the first span ends at the as of',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/pipeline.ts',
        find: '? observed : frontierAfter(asOf);',
        replace: '? observed : [asOf];',
      },
    ],
  },
  {
    name: 'a broken stream is a complete one',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/machine.ts',
        find: ': drain(state, event.error, inputs);',
        replace: ': onSourceClosed(state);',
      },
    ],
  },
  {
    name: 'a closed socket is a complete input',
    seeds: 1_000,
    edits: [
      {
        file: 'subscribe/subscription-stream.ts',
        find:
          '      fail(state, new SinkError(\'source-disconnected\', '
          + '`The connection to Materialize ended: ${why}.`, { cause: why }));',
        replace: "      finish(state, { kind: 'closed' }); void why;",
      },
    ],
  },
  {
    name: 'spans do not follow each other',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/pipeline.ts',
        find: '    lower: upper,\n',
        replace: '',
      },
    ],
  },
  {
    name: 'two batches are written at once',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/pipeline.ts',
        find: 'if (state.writing !== null || state.ready !== null || state.open',
        replace: 'if (state.writing !== null || state.open',
      },
    ],
  },
  {
    name: 'answers of an earlier epoch count',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/machine.ts',
        find: "if ('epoch' in event && event.epoch !== state.epoch) return stay(state);",
        replace: '',
      },
    ],
  },
  {
    name: 'later rows join the streamed snapshot',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/incarnation.ts',
        find: 'this.#asOf === null ? FRONTIER_EMPTY : frontierAfter(this.#asOf)',
        replace: 'FRONTIER_EMPTY',
      },
    ],
  },
  {
    name: 'rows above the span are dropped',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/stash.ts',
        find: 'if (above !== null) kept.push(above);',
        replace: '',
      },
    ],
  },
  {
    name: 'rows are dropped on their way to disk',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/stash.ts',
        find: '    return chunks;\n',
        replace: '    return chunks.slice(1);\n',
      },
    ],
  },
  {
    name: 'rows on disk above the span go into it',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/stash.ts',
        find: "? 'mixed' : 'all-below'",
        replace: "? 'all-below' : 'all-below'",
      },
    ],
  },
  {
    name: 'two spans in one snapshot, not consolidated together',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/row-intake.ts',
        find:
          'if (span.chunks.length > 0) yield { chunks: span.chunks, consolidate };\n      return;\n'
          + '    }\n    if (!consolidate)',
        replace:
          'for (const chunk of span.chunks) yield { chunks: [chunk], consolidate };\n      return;\n'
          + '    }\n    if (!consolidate)',
      },
    ],
  },
  {
    name: 'the rest in memory is forgotten',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/row-intake.ts',
        find: '    this.#enqueueSpill(span.chunks, span.generation);\n',
        replace: '',
      },
    ],
  },
  {
    name: 'equal hashes are equal keys',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/consolidate.ts',
        find: 'if (keyColumns.length === 0) return sameBytes(left.bytes',
        replace:
          'if (keyColumns.length > 0) return true;\n'
          + '  if (keyColumns.length === 0) return sameBytes(left.bytes',
      },
    ],
  },
  {
    name: 'never spill',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/row-intake.ts',
        find: 'if (this.#stash.facts().heldBytes > this.#options.stashBytesMax) this.#spillAll();',
        replace: '',
      },
    ],
  },
  {
    name: 'never spill and never pause',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/row-intake.ts',
        find: 'if (this.#stash.facts().heldBytes > this.#options.stashBytesMax) this.#spillAll();',
        replace: '',
      },
      {
        file: 'sink/incarnation.ts',
        find: 'if (waitsForDisk || waitsForEncoder) this.#pause();',
        replace: 'if (heldBytes < 0) this.#pause();',
      },
    ],
  },
  {
    name: 'pause and never resume',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/incarnation.ts',
        find: '    this.#subscription?.resume();\n',
        replace: '',
      },
    ],
  },
  {
    name: 'a failed spill is not told',
    seeds: 3_000,
    edits: [
      {
        file: 'sink/incarnation.ts',
        find: "onFailure: (thrown) => this.#fail('write', thrown),",
        replace: 'onFailure: () => undefined,',
      },
    ],
  },
  {
    name: 'compacted history is tried again for ever',
    seeds: 1_000,
    edits: [
      {
        file: 'errors.ts',
        find: "'history-compacted': { disposition: 'halt'",
        replace: "'history-compacted': { disposition: 'restart'",
      },
    ],
  },
  {
    name: 'a commit does not wait for its files',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/incarnation.ts',
        find: ', this.#stored.get(ordinal)]);',
        replace: ', Promise.resolve()]);',
      },
    ],
  },
  {
    name: 'a commit waits for its files and not for its manifests',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/batch-writer.ts',
        find: 'void this.#track(manifests.put(path, bytes));',
        replace: 'void manifests.put(path, bytes).catch(() => undefined);',
      },
    ],
  },
  {
    name: 'a commit waits for its list and not for the manifests merged for it',
    seeds: 1_000,
    edits: [{ file: 'sink/manifest-lists.ts', find: '      stored.push(put);\n', replace: '' }],
  },
];
