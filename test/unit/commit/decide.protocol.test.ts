/**
 * The decisions of the commit protocol. Rows of peer-faults.md: 1, 2, 3, 6, 8, 9, 10, 13; rows of section 13 of
 * materialize-iceberg-sink.md: 2, 3, 4, 6, 7, 8, 45, 46.
 */
import { describe, expect, test } from 'vitest';
import { type CommitCandidate, type SinkIdentity, decideCommit, decideResume, tableFacts } from '../../../src/commit/decide.ts';
import type { TableMetadata } from '../../../src/iceberg/metadata.ts';
import type { Frontier } from '../../../src/time/frontier.ts';
import { metadataWith } from '../../doubles/table-metadata.ts';

const us: SinkIdentity = { sinkId: 'orders', version: 3n, takeOver: false };
const at = (frontier: Frontier, over: Partial<{ sinkId: string; version: bigint }> = {}) =>
  ({ frontier, sinkId: 'orders', version: 3n, ...over });
const batch = (lower: Frontier | null, upper: Frontier, snapshotId = 77n): CommitCandidate => ({ span: { lower, upper }, snapshotId });
const decide = (metadata: TableMetadata, candidate: CommitCandidate, sink = us) =>
  decideCommit(metadata, tableFacts(metadataWith([])), sink, candidate);
const code = (decision: ReturnType<typeof decide>) => (decision.kind === 'stop' ? decision.error.code : decision.kind);

describe('GIVEN a table whose newest progress is ours and equals the lower of the batch', () => {
  test('THEN the batch is sent against exactly that head', () => {
    const table = metadataWith([{ id: 1n, progress: at([10n]) }, { id: 9007199254740993n, progress: at([20n]) }]);
    expect(decide(table, batch([20n], [30n]))).toMatchObject({ kind: 'send', head: 9007199254740993n, parent: { snapshotId: 9007199254740993n } });
  });

  test('WHEN compaction put a replace snapshot on top THEN the head is the compaction, the frontier still ours', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }, { id: 2n, operation: 'replace' }, { id: 3n, operation: 'replace' }]);
    expect(decide(table, batch([20n], [30n]))).toMatchObject({ kind: 'send', head: 3n });
  });

  test('WHEN another process copied our keys onto a snapshot of its own THEN that is progress like any other', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }, { id: 2n, operation: 'append', progress: at([20n]) }]);
    expect(decide(table, batch([20n], [30n]))).toMatchObject({ kind: 'send', head: 2n });
  });

  test('WHEN only properties changed since THEN the commit is allowed', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }], { properties: { a: 'b' }, lastUpdatedMs: 99n });
    expect(code(decide(table, batch([20n], [30n])))).toBe('send');
  });
});

describe('GIVEN an answer that was lost', () => {
  test('WHEN our snapshot is the head THEN the batch is done and nothing is sent', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }, { id: 77n, progress: at([30n]) }]);
    expect(decide(table, batch([20n], [30n]))).toEqual({ kind: 'already-committed' });
  });

  test('WHEN others committed on top of it THEN it is still found in the ancestry', () => {
    const table = metadataWith([{ id: 77n, progress: at([30n]) }, { id: 78n, operation: 'replace' }, { id: 79n, progress: at([40n]) }]);
    expect(code(decide(table, batch([20n], [30n])))).toBe('already-committed');
  });

  test('WHEN our snapshot exists but main was rolled back past it THEN it is not taken for success', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }, { id: 77n, progress: at([30n]) }]);
    const rolledBack = { ...table, refs: { main: { snapshotId: 1n, type: 'branch' as const } }, currentSnapshotId: 1n };
    expect(code(decide(rolledBack, batch([20n], [30n])))).toBe('send');
    expect(code(decide(rolledBack, batch([30n], [40n], 78n)))).toBe('frontier-behind');
  });

  test('WHEN another sink made a snapshot with the same frontier THEN it is not mistaken for ours', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n]) }, { id: 2n, progress: at([30n], { sinkId: 'other' }) }]);
    expect(code(decide(table, batch([20n], [30n])))).toBe('foreign-sink');
  });
});

describe('GIVEN a frontier that is not the lower of the batch', () => {
  test.each([
    [[21n], 'frontier-inside'],
    [[29n], 'frontier-inside'],
    [[30n], 'frontier-beyond'],
    [[31n], 'frontier-beyond'],
    [[], 'frontier-beyond'],
    [[19n], 'frontier-behind'],
  ] as const)('WHEN it is %s THEN the batch [20, 30) is not sent: %s', (frontier, expected) => {
    expect(code(decide(metadataWith([{ id: 1n, progress: at(frontier) }]), batch([20n], [30n])))).toBe(expected);
  });

  test('WHEN another copy took the first snapshot of the table THEN ours is not added to it', () => {
    expect(code(decide(metadataWith([{ id: 1n, progress: at([20n]) }]), batch(null, [11n])))).toBe('frontier-beyond');
  });

  test('WHEN the table became empty again THEN later spans are not sent into the hole', () => {
    expect(code(decide(metadataWith([]), batch([20n], [30n])))).toBe('frontier-behind');
  });
});

describe('GIVEN another owner', () => {
  test('WHEN the version in the table is newer THEN this sink is fenced although the frontier would fit', () => {
    const decision = decide(metadataWith([{ id: 1n, progress: at([20n], { version: 999n }) }]), batch([20n], [30n]));
    expect(code(decision)).toBe('fenced');
    expect(decision).toHaveProperty('error.message', expect.stringContaining('Fenced off by newer sink version'));
  });

  test('WHEN the version in the table is older THEN it is ours to go on from', () => {
    expect(code(decide(metadataWith([{ id: 1n, progress: at([20n], { version: 2n }) }]), batch([20n], [30n])))).toBe('send');
  });

  test('WHEN the table was taken over on purpose THEN the old owner\'s frontier is the base', () => {
    const table = metadataWith([{ id: 1n, progress: at([20n], { sinkId: 'old' }) }]);
    expect(code(decide(table, batch([20n], [30n]), { ...us, takeOver: true }))).toBe('send');
    expect(code(decide(table, batch([20n], [30n])))).toBe('foreign-sink');
  });

  test.each(['append', 'overwrite', 'delete'])('WHEN a snapshot of operation %s without our keys is on top THEN it is named as a foreign writer', (operation) => {
    const decision = decide(metadataWith([{ id: 1n, progress: at([20n]) }, { id: 2n, operation }]), batch([20n], [30n]));
    expect(code(decision)).toBe('foreign-writer');
    expect(decision).toHaveProperty('error.message', expect.stringContaining("is missing 'mz-frontier'"));
  });
});

describe('GIVEN a table that is no longer the one the files were written for', () => {
  test.each([
    [{ tableUuid: 'bbbbbbbb-0000-4000-8000-000000000002' }, 'table-replaced'],
    [{ currentSchemaId: 1 }, 'schema-changed'],
    [{ defaultSpecId: 1 }, 'spec-changed'],
  ] as const)('WHEN %o THEN %s', (over, expected) => {
    expect(code(decide(metadataWith([{ id: 1n, progress: at([20n]) }], over), batch([20n], [30n])))).toBe(expected);
  });
});

describe('GIVEN a start', () => {
  const resume = (metadata: TableMetadata, sink = us) => {
    const decision = decideResume(metadata, sink);
    return decision.kind === 'stop' ? decision.error.code : decision;
  };

  test('WHEN the table never had a snapshot THEN it is fresh, whatever its properties went through', () => {
    expect(resume(metadataWith([], { lastUpdatedMs: 5n }))).toEqual({ kind: 'fresh' });
  });

  test('WHEN all snapshots expired THEN it is not taken for a fresh table', () => {
    expect(resume(metadataWith([], { snapshotLogLength: 1 }))).toBe('progress-missing');
    expect(resume(metadataWith([], { lastSequenceNumber: 4n }))).toBe('progress-missing');
  });

  test('WHEN only a compaction snapshot is left THEN progress is missing', () => {
    expect(resume(metadataWith([{ id: 5n, operation: 'replace', parent: 4n }]))).toBe('progress-missing');
  });

  test('WHEN progress lies only on a branch THEN main\'s own progress counts', () => {
    const table = metadataWith([{ id: 1n, progress: at([10n]) }, { id: 2n, progress: at([20n]) }]);
    const onBranch = { ...table, currentSnapshotId: 1n, refs: { main: { snapshotId: 1n, type: 'branch' as const }, audit: { snapshotId: 2n, type: 'branch' as const } } };
    expect(resume(onBranch)).toEqual({ kind: 'resume', frontier: [10n], takesOver: false });
  });

  test('WHEN the input was complete THEN the empty frontier is resumed', () => {
    expect(resume(metadataWith([{ id: 1n, progress: at([]) }]))).toEqual({ kind: 'resume', frontier: [], takesOver: false });
  });

  test('WHEN the newest progress is of an older version THEN this one takes over', () => {
    const older = metadataWith([{ id: 1n, progress: at([10n], { version: 2n }) }]);
    expect(resume(older)).toEqual({ kind: 'resume', frontier: [10n], takesOver: true });
  });

  test('WHEN a part of the keys is gone or unreadable THEN nothing is guessed', () => {
    expect(resume(metadataWith([{ id: 1n, summary: { 'mz-frontier': '[10]', 'mz-sink-id': 'orders' } }]))).toBe('progress-unreadable');
    expect(resume(metadataWith([{ id: 1n, progress: at([10n]), summary: { 'mz-frontier': '[ten]' } }]))).toBe('progress-unreadable');
  });

  test('WHEN the parents form a cycle THEN looking for progress ends', () => {
    const table = metadataWith([{ id: 1n, operation: 'replace', parent: 2n }, { id: 2n, operation: 'replace', parent: 1n }]);
    expect(resume(table)).toBe('progress-missing');
  });
});
