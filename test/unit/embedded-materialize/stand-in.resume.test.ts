import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAuction } from '../../../src/embedded/auction/load-generator.ts';
import { createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { contentAt } from '../../../src/embedded/materialize/relation-history.ts';

const T = 1700000000000n;

test('GIVEN a stand-in with an auction WHEN it is left and started again THEN ids, history and content are as before', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'stand-in-'));
  const run = async (from: bigint): Promise<[string, bigint, [string, number][], [string, number][]][]> => {
    const standIn = await createMaterializeStandIn({ manualTime: true, stateDir });
    const load = createAuction(standIn, { seed: 7, auctionMs: 2000 });
    if (from === T) standIn.advance(from);
    for (let i = 1n; i <= 50n; i++) {
      load.step(20);
      standIn.advance(from + i * 100n);
    }
    const seen = standIn.relations().map(({ id, history }): [string, bigint, [string, number][], [string, number][]] => {
      return [id, history.since, [...history.base].sort(), [...contentAt(history, from + 5000n)].sort()];
    });
    for (const relation of standIn.relations()) {
      const content = standIn.snapshotAt(relation, from + 4999n);
      // A key never holds two rows, and nothing is retracted that was not there.
      expect([...content.values()].every((diff) => diff === 1)).toBe(true);
      expect(new Set([...content.keys()].map((row) => row.split('\t')[0])).size).toBe(content.size);
    }
    await standIn.close();
    return seen;
  };
  const first = await run(T);
  const standIn = await createMaterializeStandIn({ manualTime: true, stateDir });
  const again = standIn.relations().map(({ id, history }) => {
    return [id, history.since, [...history.base].sort(), [...contentAt(history, T + 5000n)].sort()];
  });
  await standIn.close();
  expect(again).toEqual(first);
  await run(T + 5000n);
  rmSync(stateDir, { recursive: true });
});
