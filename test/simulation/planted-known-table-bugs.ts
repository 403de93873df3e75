/** Planted bugs of commits without a look at the table: what the request asserts, and what is known after its answer. */
import type { Mutation } from './planted-bug.ts';

export const KNOWN_TABLE_BUGS: readonly Mutation[] = [
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
    name: 'the schema is not asserted',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/driver.ts',
        find: '        { type: \'assert-current-schema-id\', currentSchemaId: schemaId },\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the spec is not asserted',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/driver.ts',
        find: '        { type: \'assert-default-spec-id\', defaultSpecId: specId },\n',
        replace: '',
      },
    ],
  },
  {
    name: 'the known table is kept after a conflict',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: 'if (!committing.hasLooked) return look(state, committing, outcome.message);',
        replace: 'if (!committing.hasLooked) return beginCommit({ ...state, ready: committing.written, committing: null }, inputs);',
      },
    ],
  },
  {
    name: 'the known table is not moved to our snapshot',
    seeds: 1_000,
    edits: [
      {
        file: 'sink/committing.ts',
        find: 'known: knownAfterCommit(state.known, sent),',
        replace: 'known: state.known,',
      },
    ],
  },
  {
    name: 'the known sequence number stays behind',
    seeds: 1_000,
    edits: [
      {
        file: 'commit/known-table.ts',
        find: 'lastSequenceNumber: sequenceNumber,',
        replace: '',
      },
    ],
  },
];
