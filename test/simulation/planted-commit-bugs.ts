/** Planted bugs of the commit protocol and of snapshots. */
import type { Mutation } from './planted-bug.ts';

export const COMMIT_BUGS: readonly Mutation[] = [
  {
    name: 'resend without a look at the table',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: "step: 'posting', base: null,",
        replace: "step: 'posting',",
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
        find: 'if (!committing.hasLooked) return look(state, committing, outcome.message);',
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
        find: 'if (!committing.hasLooked) return look(state, committing, outcome.message);',
        replace: "return committed(withOurCommit(state, committing), committing, inputs, 'answered');",
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
        replace: "return committed(withOurCommit(state, committing), committing, inputs, 'answered');",
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
        find: 'const STALE_MAX = 8;',
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
        find: 'const sequenceNumber = plan.lastSequenceNumber + BigInt(',
        replace: 'const sequenceNumber = (parent?.sequenceNumber ?? 0n) + BigInt(',
      },
    ],
  },
  {
    name: 'carry nothing',
    seeds: 1_000,
    edits: [
      {
        file: 'snapshot/snapshot.ts',
        find: ', ...plan.merged, ...plan.carried];',
        replace: ', ...plan.merged];',
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
];
