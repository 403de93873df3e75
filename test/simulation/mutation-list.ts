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

const one = (name: string, file: string, find: string, replace: string, seeds = 1_000): Mutation =>
  ({ name, edits: [{ file, find, replace }], seeds });

const DECIDE = 'commit/decide.ts';
const ANCESTRY = 'commit/ancestry.ts';
const COMMITTING = 'sink/committing.ts';
const PIPELINE = 'sink/pipeline.ts';
const OPENING = 'sink/opening.ts';
const INTAKE = 'sink/row-intake.ts';
const INCARNATION = 'sink/incarnation.ts';

export const MUTATIONS: readonly Mutation[] = [
  // Commit protocol
  {
    name: 'resend without a look at the table',
    seeds: 1_000,
    edits: [
      { file: COMMITTING, find: "step: 'posting', base: null }", replace: "step: 'posting' }" },
      { file: COMMITTING, find: "step: 'waiting', base: null }", replace: "step: 'waiting' }" },
      {
        file: COMMITTING,
        find: "  const committing = expectStep(state, 'waiting');\n  return stay(\n",
        replace: "  const committing = expectStep(state, 'waiting');\n  if (committing.base !== null) return stay({ ...state, committing: { ...committing, step: 'listing' } }, { kind: 'write-list', epoch: state.epoch, attempt: committing.attempt, base: committing.base, written: committing.written, timestampMs: committing.base.metadata.lastUpdatedMs });\n  return stay(\n",
      },
    ],
  },
  one('our snapshot anywhere in the table is proof', DECIDE, 'if (ancestry.some((snapshot)', 'if (metadata.snapshots.some((snapshot)', 3_000),
  one('a first look that says fresh is enough', DECIDE, "if (found.kind === 'fresh') return decideOnFresh(batch.span);", "if (found.kind === 'fresh') return { kind: 'send', head: null, parent: null };", 3_000),
  one('compare only the upper', DECIDE, 'if (toLower === 0) return null;', 'if (compareFrontiers(frontier, span.upper) < 0) return null;'),
  one('take a frontier inside the span for our lower', DECIDE, "return new SinkError('frontier-inside'", "return null; new SinkError('frontier-inside'"),
  one('skip the version check', DECIDE, 'if (progress.version > sink.version)', 'if (progress.version < 0n)'),
  one('fence an equal version', DECIDE, 'if (progress.version > sink.version)', 'if (progress.version >= sink.version)'),
  one('skip the sink id check', DECIDE, 'progress.sinkId !== sink.sinkId &&', 'progress.sinkId === null &&'),
  one('skip the uuid check', DECIDE, 'if (metadata.tableUuid !== facts.tableUuid) {', "if (metadata.tableUuid === '') {", 3_000),
  one('skip the schema check', DECIDE, 'if (metadata.currentSchemaId !== facts.schemaId) {', 'if (metadata.currentSchemaId < 0) {', 3_000),
  one('skip the spec check', DECIDE, 'if (metadata.defaultSpecId !== facts.specId) {', 'if (metadata.defaultSpecId < 0) {', 3_000),
  one('take a rollback for our own past', DECIDE, 'if (toLower < 0) {', 'if (toLower < 0) return null; if (false) {', 3_000),
  one('send a first snapshot onto a table that has one', DECIDE, 'if (span.lower === null) {\n    return new', 'if (span.lower === null) {\n    return null; new', 3_000),
  one('progress of any branch', ANCESTRY, "return metadata.refs['main']?.snapshotId ?? metadata.currentSnapshotId;", 'return metadata.snapshots.at(-1)?.snapshotId ?? null;'),
  one('do not look through compactions', ANCESTRY, "if (operation !== 'replace') {", "if (operation !== '') {"),
  one('look through foreign snapshots', ANCESTRY, "if (operation !== 'replace') {", "if (operation === '') {"),
  {
    name: 'expired progress is a fresh table',
    seeds: 3_000,
    edits: [{ file: ANCESTRY, find: '  return stop(missing(metadata));\n}\n\n/**\n * Evidence', replace: "  return { kind: 'fresh' };\n}\n\n/**\n * Evidence" }],
  },
  one('409 is a failure', COMMITTING, "return again(state, committing, inputs, 'conflict', outcome.message, 0);", "return fail(state, new SinkError('commit-refused', outcome.message), inputs);"),
  one('409 is a success', COMMITTING, "return again(state, committing, inputs, 'conflict', outcome.message, 0);", "return committed(state, committing, inputs, 'answered');"),
  one('an unknown answer is a success', COMMITTING, "return again(state, committing, inputs, 'unknown', outcome.message, 0);", "return committed(state, committing, inputs, 'answered');"),
  one('an unknown answer drops the batch', COMMITTING, "return again(state, committing, inputs, 'unknown', outcome.message, 0);", 'return stay({ ...state, committing: null });'),
  one('an invalid commit is never built again', COMMITTING, 'const REFUSALS_MAX = 3;', 'const REFUSALS_MAX = 0;', 3_000),
  one('the snapshot has this machine\'s time', COMMITTING, '.reduce((latest, time) => (time > latest ? time : latest))', '[0] ?? 0n', 3_000),
  one('the head is not asserted', 'sink/driver.ts', "        { type: 'assert-ref-snapshot-id', ref: 'main', snapshotId: effect.head },\n", ''),
  {
    name: 'delete the list after an unknown answer',
    seeds: 1_000,
    edits: [{
      file: 'sink/driver.ts', find: '    return catalog.commit(', replace: "    return (async (...args: Parameters<typeof catalog.commit>) => {\n      const outcome = await catalog.commit(...args);\n      if (outcome.kind === 'unknown') await this.#ports.store.delete(effect.snapshot.manifestList);\n      return outcome;\n    })(",
    }],
  },
  // Snapshots
  one('sequence number after the parent\'s', 'snapshot/snapshot.ts', 'const sequenceNumber = plan.lastSequenceNumber + 1n;', 'const sequenceNumber = (parent?.sequenceNumber ?? 0n) + 1n;'),
  one('carry nothing', 'snapshot/snapshot.ts', '...plan.carried.filter(hasLiveFiles)', ''),
  one('keep what was merged', 'sink/manifest-lists.ts', 'kept: manifests.filter((manifest) => !replaced.has(manifest.path))', 'kept: manifests', 3_000),
  one('merged files inherit the number of their manifest', 'snapshot/merge.ts', 'const sequenceNumber = entry.sequenceNumber ?? inherited;', 'const sequenceNumber = manifest.sequenceNumber;', 3_000),
  one('object names without the incarnation', 'snapshot/object-names.ts', 'const owner = `${safeName(sinkId)}-${incarnation}`;', 'const owner = safeName(sinkId);'),
  one('one list name for all attempts', 'snapshot/object-names.ts', '`${locations.metadata}/snap-${snapshotId}-${attempt}-', '`${locations.metadata}/snap-${snapshotId}-${attempt > 0 ? 1 : 0}-'),
  one('a failed upload is done', 'sink/uploads.ts', "if (error.disposition !== 'retry') throw error;", "if (error.disposition !== 'retry') throw error;\n        if (what === 'upload') return undefined as T;"),
  // Spans and rows
  one('resume at AS OF F', OPENING, 'frontier === 0n ? 0n : frontier - 1n', 'frontier'),
  one('resume with a snapshot', OPENING, "frontier - 1n, snapshot: false, streamed: null", 'frontier - 1n, snapshot: true, streamed: null'),
  one('progress closes its own time', 'time/frontier.ts', 'time < frontier[0]', 'time <= frontier[0]'),
  one('the first progress closes the as of', PIPELINE, 'if (asOf === null || isClosed(asOf, observed)) {', 'if (asOf !== null || isClosed(0n, observed)) {'),
  one('the first span ends at the as of', PIPELINE, '? observed : frontierAfter(asOf);', '? observed : [asOf];'),
  one('a broken stream is a complete one', 'sink/machine.ts', "case 'source-failed': return drain(state, event.error, inputs);", "case 'source-failed': return onSourceClosed(state);"),
  one('a closed socket is a complete input', 'subscribe/subscription-stream.ts', "      fail(state, new SinkError('source-disconnected', `The connection to Materialize ended: ${why}.`, { cause: why }));", "      finish(state, { kind: 'closed' }); void why;"),
  one('spans do not follow each other', PIPELINE, '    lower: upper,\n', ''),
  one('two batches are written at once', PIPELINE, 'if (state.writing !== null || state.ready !== null) return stay(state);', 'if (state.writing !== null) return stay(state);'),
  one('answers of an earlier epoch count', 'sink/machine.ts', "if ('epoch' in event && event.epoch !== state.epoch) return stay(state);", ''),
  one('later rows join the streamed snapshot', INCARNATION, 'this.#asOf === null ? FRONTIER_EMPTY : frontierAfter(this.#asOf)', 'FRONTIER_EMPTY'),
  one('rows above the span are dropped', 'batch/stash.ts', 'if (above !== null) kept.push(above);', ''),
  one('rows are dropped on their way to disk', 'batch/stash.ts', '    return chunks;\n', '    return chunks.slice(1);\n'),
  one('rows on disk above the span go into it', 'batch/stash.ts', "? 'mixed' : 'all-below'", "? 'all-below' : 'all-below'"),
  one('two spans in one snapshot, not consolidated together', INTAKE, 'if (span.chunks.length > 0) yield { chunks: span.chunks, consolidate };\n      return;\n    }\n    if (!consolidate)', 'for (const chunk of span.chunks) yield { chunks: [chunk], consolidate };\n      return;\n    }\n    if (!consolidate)'),
  one('the rest in memory is forgotten', INTAKE, '    this.#enqueueSpill(span.chunks, span.generation);\n', ''),
  one('equal hashes are equal keys', 'batch/consolidate.ts', 'if (keyColumns.length === 0) return sameBytes(left.bytes', 'if (keyColumns.length > 0) return true;\n  if (keyColumns.length === 0) return sameBytes(left.bytes'),
  one('never spill', INTAKE, 'if (this.#stash.facts().heldBytes > this.#options.stashBytesMax) this.#spillAll();', ''),
  {
    name: 'never spill and never pause',
    seeds: 1_000,
    edits: [
      { file: INTAKE, find: 'if (this.#stash.facts().heldBytes > this.#options.stashBytesMax) this.#spillAll();', replace: '' },
      { file: INCARNATION, find: 'if (!this.#paused && heldBytes > rowBytesMax', replace: 'if (heldBytes < 0' },
    ],
  },
  one('pause and never resume', INCARNATION, '      this.#subscription?.resume();\n', ''),
  one('a failed spill is not told', INCARNATION, "onFailure: (thrown) => this.#fail('write', thrown),", 'onFailure: () => undefined,', 3_000),
  one('compacted history is tried again for ever', 'errors.ts', "'history-compacted': { disposition: 'halt'", "'history-compacted': { disposition: 'restart'"),
];
