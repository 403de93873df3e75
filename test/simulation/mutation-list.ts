/**
 * Bugs that the simulator must find: each is a few replacements in one or more files of `src`, every `find` occurring
 * exactly once. They are the mistakes that sinks are known to make, and those that a hurried change here could make.
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

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'resend without a look at the table',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "step: 'posting', base: null }",
        replace: "step: 'posting' }",
      },
      {
        file: 'sink/committing.ts',
        find: "step: 'waiting', base: null }",
        replace: "step: 'waiting' }",
      },
      {
        file: 'sink/committing.ts',
        find: '  const committing = expectStep(state, \'waiting\');\n  return stay(\n',
        replace:
          '  const committing = expectStep(state, \'waiting\');\n'
          + '  if (committing.base !== null) return stay({ ...state, committing: { ...committing, '
          + 'step: \'listing\' } }, { kind: \'write-list\', epoch: state.epoch, '
          + 'attempt: committing.attempt, base: committing.base, written: committing.written, '
          + 'timestampMs: committing.base.metadata.lastUpdatedMs });\n  return stay(\n',
      },
    ],
  },
  {
    name: 'our snapshot anywhere in the table is proof',
    seeds: 8_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (ancestry.some((snapshot)',
        replace: 'if (metadata.snapshots.some((snapshot)',
      },
    ],
  },
  {
    name: 'compare only the upper',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (toLower === 0) return null;',
        replace: 'if (compareFrontiers(frontier, span.upper) < 0) return null;',
      },
    ],
  },
  {
    name: 'take a frontier inside the span for our lower',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: "return new SinkError('frontier-inside'",
        replace: "return null; new SinkError('frontier-inside'",
      },
    ],
  },
  {
    name: 'skip the version check',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (progress.version > sink.version)',
        replace: 'if (progress.version < 0n)',
      },
    ],
  },
  {
    name: 'fence an equal version',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (progress.version > sink.version)',
        replace: 'if (progress.version >= sink.version)',
      },
    ],
  },
  {
    name: 'skip the sink id check',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'progress.sinkId !== sink.sinkId &&',
        replace: 'progress.sinkId === null &&',
      },
    ],
  },
  {
    name: 'skip the uuid check',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (metadata.tableUuid !== facts.tableUuid) {',
        replace: "if (metadata.tableUuid === '') {",
      },
    ],
  },
  {
    name: 'skip the schema check',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (metadata.currentSchemaId !== facts.schemaId) {',
        replace: 'if (metadata.currentSchemaId < 0) {',
      },
    ],
  },
  {
    name: 'skip the spec check',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (metadata.defaultSpecId !== facts.specId) {',
        replace: 'if (metadata.defaultSpecId < 0) {',
      },
    ],
  },
  {
    name: 'take a rollback for our own past',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (toLower < 0) {',
        replace: 'if (toLower < 0) return null; if (false) {',
      },
    ],
  },
  {
    name: 'send a first snapshot onto a table that has one',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (span.lower === null) {\n    return new',
        replace: 'if (span.lower === null) {\n    return null; new',
      },
    ],
  },
  {
    name: 'progress of any branch',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/ancestry.ts',
        find: "return metadata.refs['main']?.snapshotId ?? metadata.currentSnapshotId;",
        replace: 'return metadata.snapshots.at(-1)?.snapshotId ?? null;',
      },
    ],
  },
  {
    name: 'do not look through compactions',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/ancestry.ts',
        find: "if (operation !== 'replace') {",
        replace: "if (operation !== '') {",
      },
    ],
  },
  {
    name: 'look through foreign snapshots',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/ancestry.ts',
        find: "if (operation !== 'replace') {",
        replace: "if (operation === '') {",
      },
    ],
  },
  {
    name: 'expired progress is a fresh table',
    seeds: 3_000,
    edits: [
      {
        file: 'commit/ancestry.ts',
        find: '  return stop(missing(metadata));\n}\n\n/**\n * Evidence',
        replace: '  return { kind: \'fresh\' };\n}\n\n/**\n * Evidence',
      },
    ],
  },
  {
    name: '409 is a failure',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "return again(state, committing, inputs, 'conflict', outcome.message, 0);",
        replace: "return fail(state, new SinkError('commit-refused', outcome.message), inputs);",
      },
    ],
  },
  {
    name: '409 is a success',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "return again(state, committing, inputs, 'conflict', outcome.message, 0);",
        replace: "return committed(state, committing, inputs, 'answered');",
      },
    ],
  },
  {
    name: 'an unknown answer is a success',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "return again(state, committing, inputs, 'unknown', outcome.message, 0);",
        replace: "return committed(state, committing, inputs, 'answered');",
      },
    ],
  },
  {
    name: 'an unknown answer drops the batch',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "return again(state, committing, inputs, 'unknown', outcome.message, 0);",
        replace: 'return stay({ ...state, committing: null });',
      },
    ],
  },
  {
    name: 'an invalid commit is never built again',
    seeds: 3_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: 'const STALE_MAX = 3;',
        replace: 'const STALE_MAX = 0;',
      },
    ],
  },
  {
    name: "the snapshot has this machine's time",
    seeds: 3_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: '.reduce((latest, time) => (time > latest ? time : latest))',
        replace: '[0] ?? 0n',
      },
    ],
  },
  {
    name: 'the head is not asserted',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/driver.ts',
        find: '        { type: \'assert-ref-snapshot-id\', ref: \'main\', snapshotId: effect.head },\n',
        replace: '',
      },
    ],
  },
  {
    name: 'delete the list after an unknown answer',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/driver.ts',
        find: '    return catalog.commit(',
        replace:
          '    return (async (...args: Parameters<typeof catalog.commit>) => {\n'
          + '      const outcome = await catalog.commit(...args);\n'
          + '      if (outcome.kind === \'unknown\') await this.#ports.store.delete(effect.snapshot.manifestList);\n'
          + '      return outcome;\n    })(',
      },
    ],
  },
  {
    name: "sequence number after the parent's",
    seeds: 1_000,
    edits: [
      {
        file: 'snapshot/snapshot.ts',
        find: 'const sequenceNumber = plan.lastSequenceNumber + 1n;',
        replace: 'const sequenceNumber = (parent?.sequenceNumber ?? 0n) + 1n;',
      },
    ],
  },
  {
    name: 'carry nothing',
    seeds: 1_000,
    edits: [
      {
        file: 'snapshot/snapshot.ts',
        find: '...plan.carried.filter(hasLiveFiles)',
        replace: '',
      },
    ],
  },
  {
    name: 'keep what was merged',
    seeds: 3_000,
    edits: [
      {
        file: 'sink/manifest-lists.ts',
        find: 'kept: manifests.filter((manifest) => !replaced.has(manifest.path))',
        replace: 'kept: manifests',
      },
    ],
  },
  {
    name: 'merged files inherit the number of their manifest',
    seeds: 3_000,
    edits: [
      {
        file: 'snapshot/merge.ts',
        find: 'const sequenceNumber = entry.sequenceNumber ?? inherited;',
        replace: 'const sequenceNumber = manifest.sequenceNumber;',
      },
    ],
  },
  {
    name: 'object names without the incarnation',
    seeds: 1_000,
    edits: [
      {
        file: 'snapshot/object-names.ts',
        find: 'const owner = `${safeName(sinkId)}-${incarnation}`;',
        replace: 'const owner = safeName(sinkId);',
      },
    ],
  },
  {
    name: 'one list name for all attempts',
    seeds: 1_000,
    edits: [
      {
        file: 'snapshot/object-names.ts',
        find: '`${locations.metadata}/snap-${snapshotId}-${attempt}-',
        replace: '`${locations.metadata}/snap-${snapshotId}-${attempt > 0 ? 1 : 0}-',
      },
    ],
  },
  {
    name: 'a failed upload is done',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/uploads.ts',
        find: "if (error.disposition !== 'retry') throw error;",
        replace:
          'if (error.disposition !== \'retry\') throw error;\n'
          + '        if (what === \'upload\') return undefined as T;',
      },
    ],
  },
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
        find: 'frontier - 1n, snapshot: false, streamed: null',
        replace: 'frontier - 1n, snapshot: true, streamed: null',
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
        find: "case 'source-failed': return drain(state, event.error, inputs);",
        replace: "case 'source-failed': return onSourceClosed(state);",
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
        find: 'if (state.writing !== null || state.ready !== null) return stay(state);',
        replace: 'if (state.writing !== null) return stay(state);',
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
        find: 'if (!this.#paused && heldBytes > rowBytesMax',
        replace: 'if (heldBytes < 0',
      },
    ],
  },
  {
    name: 'pause and never resume',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/incarnation.ts',
        find: '      this.#subscription?.resume();\n',
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
];
