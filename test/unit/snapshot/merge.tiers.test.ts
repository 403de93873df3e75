import { describe, expect, it } from 'vitest';
import type { ManifestContents, ManifestEntry } from '../../../src/snapshot/manifest.ts';
import type { ManifestFile } from '../../../src/snapshot/manifest-list.ts';
import { type MergeLimits, mergeEntries, planMerge } from '../../../src/snapshot/merge.ts';

const LIMITS: MergeLimits = { fanIn: 4, targetBytes: 1000n };
const NONE: ReadonlySet<string> = new Set();

function manifest(path: string, change: Partial<ManifestFile> = {}): ManifestFile {
  return {
    path, lengthBytes: 10n, partitionSpecId: 0, content: 'data', sequenceNumber: 1n, minSequenceNumber: 1n, addedSnapshotId: 1n,
    addedFilesCount: 1, existingFilesCount: 0, deletedFilesCount: 0, addedRowsCount: 1n, existingRowsCount: 0n, deletedRowsCount: 0n,
    partitions: [], keyMetadata: null, ...change,
  };
}

function several(count: number, change: Partial<ManifestFile> = {}): ManifestFile[] {
  return Array.from({ length: count }, (_, index) => manifest(`m${index}`, { sequenceNumber: BigInt(count - index), ...change }));
}

describe('GIVEN the manifests of a head', () => {
  it('WHEN they are fewer than the fan-in THEN nothing is merged', () => {
    expect(planMerge(several(3), 0, LIMITS, NONE)).toEqual([]);
  });

  it('WHEN they reach the fan-in THEN they are merged, oldest first', () => {
    const [group] = planMerge(several(4), 0, LIMITS, NONE);
    expect(group?.map((member) => member.sequenceNumber)).toEqual([1n, 2n, 3n, 4n]);
  });

  it('WHEN data and delete manifests both reach it THEN they are merged apart', () => {
    const deletes = several(4, { content: 'deletes' }).map((member) => ({ ...member, path: `d-${member.path}` }));
    expect(planMerge([...several(4), ...deletes], 0, LIMITS, NONE).map((group) => group[0]?.content)).toEqual(['data', 'deletes']);
  });

  it.each([
    ['of another spec', { partitionSpecId: 1 }],
    ['encrypted', { keyMetadata: Uint8Array.of(1) }],
    ['large already', { lengthBytes: 501n }],
    ['without live files', { addedFilesCount: 0, deletedFilesCount: 1 }],
  ])('WHEN they are %s THEN they are left alone', (_what, change) => {
    expect(planMerge(several(8, change), 0, LIMITS, NONE)).toEqual([]);
  });

  it('WHEN some were found not rewritable THEN they do not count', () => {
    expect(planMerge(several(4), 0, LIMITS, new Set(['m0']))).toEqual([]);
  });

  it('WHEN a big one lies between small ones THEN it waits for others of its tier', () => {
    const big = manifest('big', { existingFilesCount: 20 });
    expect(planMerge([big, ...several(3)], 0, LIMITS, NONE)).toEqual([]);
    const [group] = planMerge([big, ...several(4)], 0, LIMITS, NONE);
    expect(group?.some((member) => member.path === 'big')).toBe(false);
  });

  it('WHEN together they exceed the target THEN only as many are taken as fit', () => {
    const [group] = planMerge(several(4, { lengthBytes: 400n }), 0, LIMITS, NONE);
    expect(group).toHaveLength(2);
  });
});

function entry(change: Partial<ManifestEntry>): ManifestEntry {
  const metrics = { columnSizes: new Map(), valueCounts: new Map(), nullValueCounts: new Map(), nanValueCounts: new Map(), lowerBounds: new Map(), upperBounds: new Map() };
  const file = { content: 'data', path: 'f', recordCount: 1n, fileSizeBytes: 1n, metrics, splitOffsets: [], equalityFieldIds: [] } as const;
  return { status: 'added', snapshotId: null, sequenceNumber: null, fileSequenceNumber: null, file, ...change };
}

function contents(entries: readonly ManifestEntry[], rewritable = true): ManifestContents {
  return { content: 'data', entries, rewritable };
}

describe('GIVEN manifests to merge', () => {
  it('WHEN entries inherited ids and numbers THEN the merged ones say them, and deleted entries are gone', () => {
    const merged = mergeEntries([
      { manifest: manifest('a', { sequenceNumber: 5n, addedSnapshotId: 50n }), contents: contents([entry({}), entry({ status: 'deleted', sequenceNumber: 1n, fileSequenceNumber: 1n })]) },
      { manifest: manifest('b', { sequenceNumber: 9n, addedSnapshotId: 90n }), contents: contents([entry({ status: 'existing', snapshotId: 20n, sequenceNumber: 2n, fileSequenceNumber: 3n })]) },
    ]);
    expect(merged.entries.map(({ status, snapshotId, sequenceNumber, fileSequenceNumber }) => [status, snapshotId, sequenceNumber, fileSequenceNumber])).toEqual([
      ['existing', 50n, 5n, 5n],
      ['existing', 20n, 2n, 3n],
    ]);
    expect(merged.replaced.map((source) => source.path)).toEqual(['a', 'b']);
  });

  it('WHEN one says more than we could write THEN it is kept, and a single one left is not merged', () => {
    const sources = [
      { manifest: manifest('a'), contents: contents([entry({})], false) },
      { manifest: manifest('b'), contents: contents([entry({})]) },
    ];
    expect(mergeEntries(sources)).toMatchObject({ entries: [], replaced: [], notRewritable: [{ path: 'a' }] });
  });

  it('WHEN an existing entry lacks its number THEN merging is refused instead of guessed', () => {
    const broken = { manifest: manifest('a'), contents: contents([entry({ status: 'existing' })]) };
    expect(() => mergeEntries([broken, broken])).toThrow(expect.objectContaining({ code: 'catalog-protocol' }));
  });
});
