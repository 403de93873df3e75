import { describe, expect, it } from 'vitest';
import { readProgress } from '../../../src/snapshot/progress.ts';
import { NOTHING_ADDED, countAdded, operationOf, snapshotSummary } from '../../../src/snapshot/summary.ts';
import { FRONTIER_EMPTY, frontierAt } from '../../../src/time/frontier.ts';

const PROGRESS = { frontier: frontierAt(1723456789001n), sinkId: 'u123', version: 3n } as const;

function files(data: number, deletes: number): ReturnType<typeof countAdded> {
  const metrics = { columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(), lowerBounds: new Map(), upperBounds: new Map() };
  const file = { recordCount: 10n, fileSizeBytes: 100n, metrics, splitOffsets: [] };
  return countAdded([
    ...Array.from({ length: data }, () => ({ ...file, content: 'data' as const, equalityFieldIds: [] })),
    ...Array.from({ length: deletes }, () => ({ ...file, content: 'equality-deletes' as const, equalityFieldIds: [1] })),
  ]);
}

describe('GIVEN what a snapshot adds', () => {
  it('WHEN it is the first THEN totals are what it adds', () => {
    expect(snapshotSummary(null, files(2, 1), PROGRESS)).toEqual({
      operation: 'overwrite',
      'added-data-files': '2', 'added-records': '20', 'added-files-size': '300',
      'added-delete-files': '1', 'added-equality-delete-files': '1', 'added-equality-deletes': '10', 'changed-partition-count': '1',
      'total-data-files': '2', 'total-records': '20', 'total-files-size': '300',
      'total-delete-files': '1', 'total-position-deletes': '0', 'total-equality-deletes': '10',
      'mz-frontier': '[1723456789001]', 'mz-sink-id': 'u123', 'mz-sink-version': '3',
    });
  });

  it('WHEN it has a parent THEN totals go on, and what the parent does not say stays unsaid', () => {
    const parent = { summary: { 'total-records': '9007199254740993', 'total-data-files': '5', 'total-files-size': 'many', 'total-position-deletes': '2' } };
    const summary = snapshotSummary(parent, files(1, 0), PROGRESS);
    expect(summary).toMatchObject({ operation: 'append', 'total-records': '9007199254741003', 'total-data-files': '6', 'total-position-deletes': '2' });
    expect(summary).not.toHaveProperty('total-files-size');
    expect(summary).not.toHaveProperty('total-delete-files');
  });

  it('WHEN it adds nothing THEN it is an append that only moves the frontier', () => {
    const first = snapshotSummary(null, files(1, 1), PROGRESS);
    const heartbeat = snapshotSummary({ summary: first }, NOTHING_ADDED, { ...PROGRESS, frontier: FRONTIER_EMPTY });
    expect(heartbeat).toMatchObject({ operation: 'append', 'mz-frontier': '[]', 'total-records': '10' });
    expect(Object.keys(heartbeat).filter((key) => key.startsWith('added'))).toEqual([]);
  });

  it('WHEN the operation is chosen THEN it follows from the kinds of files', () => {
    expect([files(0, 0), files(1, 0), files(1, 1), files(0, 1)].map(operationOf)).toEqual(['append', 'append', 'overwrite', 'delete']);
  });
});

describe('GIVEN the summary of a snapshot', () => {
  it('WHEN it is ours THEN progress comes back', () => {
    expect(readProgress(snapshotSummary(null, NOTHING_ADDED, PROGRESS))).toEqual({ kind: 'progress', progress: PROGRESS });
  });

  it('WHEN it has none of the keys THEN it is another writer\'s', () => {
    expect(readProgress({ operation: 'append' })).toEqual({ kind: 'none' });
  });

  it.each([
    [{ 'mz-frontier': '[1]' }, 'mz-sink-id and mz-sink-version missing'],
    [{ 'mz-frontier': '[1.5]', 'mz-sink-id': 'u1', 'mz-sink-version': '0' }, 'mz-frontier is not a frontier'],
    [{ 'mz-frontier': '[1]', 'mz-sink-id': 'u1', 'mz-sink-version': '-1' }, 'mz-sink-version is not a version'],
    [{ 'mz-frontier': '[1]', 'mz-sink-id': '', 'mz-sink-version': '0' }, 'mz-sink-id is empty'],
  ])('WHEN it says %o THEN it is unreadable, never taken for nothing', (summary, reason) => {
    expect(readProgress(summary)).toEqual({ kind: 'unreadable', reason: expect.stringContaining(reason) as string });
  });
});
