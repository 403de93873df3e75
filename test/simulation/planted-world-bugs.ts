/** Planted bugs in what the sink makes of its surroundings: relation, keys, values, other sinks, old answers, a stop. */
import type { Mutation } from './planted-bug.ts';

export const WORLD_BUGS: readonly Mutation[] = [
  {
    name: 'a missing relation is waited for',
    seeds: 1_000,
    edits: [
      {
        file: 'errors.ts',
        find: "'relation-missing': { disposition: 'halt'",
        replace: "'relation-missing': { disposition: 'retry'",
      },
    ],
  },
  {
    name: 'a dropped relation is a complete input',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/machine.ts',
        find: ': drain(state, event.error, inputs);',
        replace:
          ": event.error.code === 'relation-dropped' ? onSourceClosed(state) : drain(state, event.error, inputs);",
      },
    ],
  },
  {
    name: 'a column that the table lacks is left out',
    seeds: 3_000,
    edits: [
      {
        file: 'write/table-plan.ts',
        find: 'const expected = planned.schema;',
        replace:
          'const known = planned.schema.fields.filter((field) => loaded.fields.some(({ name }) => name === field.name));\n'
          + '  const expected = { ...planned.schema, fields: known };',
      },
      {
        file: 'write/table-plan.ts',
        find: 'const columns = request.relation.columns.map(',
        replace: 'const columns = request.relation.columns.filter((column) => byName.has(column.name)).map(',
      },
    ],
  },
  {
    name: 'a key that is not enforced must be unique',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/check-relation.ts',
        find: 'if (problems.length > 0 || !settings.keyEnforced) return problems;',
        replace: 'if (problems.length > 0) return problems;',
      },
    ],
  },
  {
    name: 'one row of a key is written',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/consolidate.ts',
        find: 'return { inserts, copies, deletes:',
        replace: 'return { inserts: onePerKey(chunks, inserts, keyColumns), copies, deletes:',
      },
    ],
  },
  {
    name: 'a row that is there twice is written once',
    seeds: 1_000,
    edits: [
      {
        file: 'batch/consolidate.ts',
        find: 'if (sum > 0) copies[at] = sum;',
        replace: 'if (sum > 0) copies[at] = 1;',
      },
    ],
  },
  {
    name: 'an upsert always begins with a snapshot',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/opening.ts',
        find: 'plan, asOf: null, snapshot: settings.snapshot,',
        replace: "plan, asOf: null, snapshot: settings.snapshot || settings.mode === 'upsert',",
      },
    ],
  },
  {
    name: 'a table taken over begins anew',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: "if (refused !== null) return { kind: 'stop', error: refused };\n  const { frontier, sinkId",
        replace:
          "if (refused !== null) return { kind: 'stop', error: refused };\n"
          + "  if (found.progress.sinkId !== sink.sinkId) return { kind: 'fresh' };\n  const { frontier, sinkId",
      },
    ],
  },
  {
    name: 'a table is taken over at the start and never after',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find:
          'return decideOnFresh(batch.span);\n'
          + '  const refused = ownershipError(found.progress, found.snapshot.snapshotId, sink);',
        replace:
          'return decideOnFresh(batch.span);\n'
          + '  const refused = ownershipError(found.progress, found.snapshot.snapshotId, { ...sink, takeOver: false });',
      },
    ],
  },
  {
    name: 'whoever takes over need not be newer',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/decide.ts',
        find: 'if (progress.version > sink.version)',
        replace: 'if (progress.version > sink.version && !sink.takeOver)',
      },
    ],
  },
  {
    name: 'a single value written as NULL is not told',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/batch-writer.ts',
        find: 'this.#nulledValues > 0',
        replace: 'this.#nulledValues > 1',
      },
    ],
  },
  {
    name: 'a value that no column holds is tried for ever',
    seeds: 1_000,
    edits: [
      {
        file: 'errors.ts',
        find: "'row-not-representable': { disposition: 'halt'",
        replace: "'row-not-representable': { disposition: 'restart'",
      },
    ],
  },
  {
    name: 'an evaluation error is final',
    seeds: 1_000,
    edits: [
      {
        file: 'errors.ts',
        find: "'source-evaluation-error': { disposition: 'retry'",
        replace: "'source-evaluation-error': { disposition: 'halt'",
      },
    ],
  },
  {
    name: 'an outdated answer is a rollback',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: 'const OUTDATED_MAX = 11;',
        replace: 'const OUTDATED_MAX = 0;',
      },
    ],
  },
  {
    name: 'a notice is an error',
    seeds: 1_000,
    edits: [
      {
        file: 'subscribe/subscription-stream.ts',
        find: '      return emit(state, noticeEvent(readMessageFields(bytes, start, end)));',
        replace: "      return unexpected(state, 'a notice');",
      },
    ],
  },
  {
    name: 'a step that is too large is read in as many slices again',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/slicing.ts',
        find: 'Math.min(MAX_SLICES, tried * 2)',
        replace: 'Math.min(MAX_SLICES, tried)',
      },
    ],
  },
  {
    name: 'a step that is too large is final',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/machine.ts',
        find: "event.error.code === 'source-result-too-large'",
        replace: "event.error.code === 'source-protocol'",
      },
    ],
  },
  {
    name: 'rows are sealed a moment after the decision',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/driver.ts',
        find: '        const span = incarnation?.seal(effect) ?? null;\n',
        replace: '',
      },
      {
        file: 'sink/driver.ts',
        find: 'written: await opened(incarnation).write(effect, span) }));',
        replace: 'written: await opened(incarnation).write(effect, opened(incarnation).seal(effect)) }));',
      },
    ],
  },
  {
    name: 'the grace of a stop never ends',
    seeds: 3_000,
    edits: [
      {
        file: 'sink/ending.ts',
        find: "        { kind: 'set-timer', epoch: state.epoch, timer: 'stop-grace', delayMs: state.settings.stopGraceMs },\n",
        replace: '',
      },
    ],
  },
];
