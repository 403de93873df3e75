import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ManifestFile } from '../../../src/snapshot/manifest-list.ts';
import { DEFAULT_MERGE_LIMITS, planMerge } from '../../../src/snapshot/merge.ts';

const BYTES_PER_FILE = 80n;
const HEADER_BYTES = 3000n;

function manifest(path: string, files: number, sequenceNumber: bigint): ManifestFile {
  return {
    path, lengthBytes: HEADER_BYTES + BYTES_PER_FILE * BigInt(files), partitionSpecId: 0, content: 'data', sequenceNumber,
    minSequenceNumber: sequenceNumber, addedSnapshotId: 1n, addedFilesCount: files, existingFilesCount: 0, deletedFilesCount: 0,
    addedRowsCount: 1n, existingRowsCount: 0n, deletedRowsCount: 0n, partitions: [], keyMetadata: null,
  };
}

interface Run {
  readonly longest: number;
  readonly filesWritten: number;
  readonly filesRewritten: number;
  readonly filesListed: number;
}

/** Commits `sizes` one after the other, merging as planned. */
function commitAll(sizes: readonly number[], fanIn: number, targetBytes: bigint): Run {
  let list: readonly ManifestFile[] = [];
  let longest = 0;
  let filesRewritten = 0;
  sizes.forEach((files, index) => {
    for (const group of planMerge(list, 0, { fanIn, targetBytes }, new Set())) {
      const merged = group.reduce((sum, member) => sum + member.addedFilesCount, 0);
      filesRewritten += merged;
      list = [manifest(`merged${index}`, merged, BigInt(index)), ...list.filter((member) => !group.includes(member))];
    }
    list = [manifest(`m${index}`, files, BigInt(index)), ...list];
    longest = Math.max(longest, list.length);
  });
  const filesListed = list.reduce((sum, member) => sum + member.addedFilesCount, 0);
  return { longest, filesRewritten, filesListed, filesWritten: sizes.reduce((sum, files) => sum + files, 0) };
}

describe('GIVEN any number of commits of any size', () => {
  it('WHEN manifests are merged as planned THEN no file is lost, the list stays short and each file is rewritten about once a tier', () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 1500 }), fc.integer({ min: 3, max: 12 }), (sizes, fanIn) => {
      const run = commitAll(sizes, fanIn, 2n ** 40n);
      const tiers = Math.ceil(Math.log(Math.max(2, run.filesWritten)) / Math.log(fanIn)) + 1;
      expect(run.filesListed).toBe(run.filesWritten);
      expect(run.longest).toBeLessThanOrEqual(fanIn * tiers + 1);
      // A merge of a tier's members yields at least the next tier, so no file passes a tier twice.
      expect(run.filesRewritten).toBeLessThanOrEqual(run.filesWritten * tiers);
    }), { numRuns: 60 });
  });

  it('WHEN a table had 20,000 commits with the defaults THEN its list never had more than 140 manifests, and an entry was written again three times', () => {
    const { fanIn, targetBytes } = DEFAULT_MERGE_LIMITS;
    const run = commitAll(Array.from({ length: 20_000 }, () => 2), fanIn, targetBytes);
    expect(run.longest).toBeLessThan(140);
    expect(run.filesRewritten / run.filesWritten).toBeLessThan(3.1);
  });
});
