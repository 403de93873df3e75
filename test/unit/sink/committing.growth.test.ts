import { describe, expect, test } from 'vitest';
import { tableFacts } from '../../../src/commit/decide.ts';
import { knownFromLoad } from '../../../src/commit/known-table.ts';
import { beginCommit, onTableForCommit } from '../../../src/sink/committing.ts';
import { initialState } from '../../../src/sink/state.ts';
import { NOTHING_ADDED } from '../../../src/snapshot/summary.ts';
import { metadataWith } from '../../doubles/table-metadata.ts';
import { settings } from '../../doubles/started-sink.ts';

describe('GIVEN a table that keeps more and more snapshots', () => {
  test.each([[4_999, 0], [5_000, 1], [10_000, 1]])('WHEN there are %i of them at a commit THEN %i warnings are given', (count, warnings) => {
    const progress = { frontier: [10n] as const, sinkId: 's', version: 0n };
    const metadata = metadataWith(Array.from({ length: count }, (_, index) => ({ id: BigInt(index + 1), progress })));
    const batch = { ordinal: 0, snapshotId: 99_999n, span: { lower: [10n] as const, upper: [20n] as const } };
    const state = {
      ...initialState(settings()), phase: 'running' as const, facts: tableFacts(metadata),
      committing: {
        written: { batch, sections: [], added: NOTHING_ADDED }, attempt: 1, hasLooked: false, step: 'loading' as const, base: null, staleTries: 0,
        outdatedLoads: 0, sent: null,
      },
    };
    const { effects } = onTableForCommit(state, { kind: 'loaded', table: { metadata, metadataLocation: null } }, { nowMs: 1, fraction: 0, snapshotId: 1n });
    expect(effects.filter((effect) => effect.kind === 'note' && effect.event === 'metadata-growing')).toHaveLength(warnings);
    expect(effects.at(-1)?.kind).toBe('write-list');
  });

  test('WHEN they grow by commits without a look THEN they are counted, and the warning comes all the same', () => {
    const metadata = metadataWith([{ id: 1n, progress: { frontier: [10n] as const, sinkId: 's', version: 0n } }]);
    const batch = { ordinal: 0, snapshotId: 99_999n, span: { lower: [10n] as const, upper: [20n] as const } };
    const warnings = (snapshotCount: number): number => {
      const { effects } = beginCommit({
        ...initialState(settings()), phase: 'running' as const, facts: tableFacts(metadata),
        known: { ...knownFromLoad(metadata, 1), snapshotCount }, ready: { batch, sections: [], added: NOTHING_ADDED },
      }, { nowMs: 1, fraction: 0, snapshotId: 1n });
      expect(effects.at(-1)?.kind).toBe('write-list');
      return effects.filter((effect) => effect.kind === 'note' && effect.event === 'metadata-growing').length;
    };
    expect([4_999, 5_000, 5_001, 10_000].map(warnings)).toEqual([0, 1, 0, 1]);
  });
});
