import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createAuction } from '../../../src/embedded/auction/load-generator.ts';
import { createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';
import { contentAt } from '../../../src/embedded/materialize/relation-history.ts';

const T = 1700000000000n;

/** Id, since, content at since, content later. */
type Seen = [id: string, since: bigint, base: string[], later: string[]];

function sorted(rows: ReadonlyMap<string, number>): string[] {
  return [...rows].map(([row, diff]) => `${diff} ${row}`).toSorted((a, b) => (a < b ? -1 : 1));
}

test('GIVEN a stand-in with an auction WHEN it is left and started again THEN ids, history and content are as before', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'stand-in-'));
  const run = async (from: bigint): Promise<Seen[]> => {
    const standIn = await createMaterializeStandIn({ manualTime: true, stateDir });
    const load = createAuction(standIn, { seed: 7, auctionMs: 2000 });
    if (from === T) standIn.advance(from);
    for (let i = 1n; i <= 50n; i++) {
      load.step(20);
      standIn.advance(from + i * 100n);
    }
    const seen = standIn.relations().map(({ id, history }): Seen => {
      return [id, history.since, sorted(history.base), sorted(contentAt(history, from + 5000n))];
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
    return [id, history.since, sorted(history.base), sorted(contentAt(history, T + 5000n))];
  });
  await standIn.close();
  expect(again).toEqual(first);
  await run(T + 5000n);
  rmSync(stateDir, { recursive: true });
});

test('GIVEN types and a dropped relation WHEN started again THEN no id is given twice', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'stand-in-'));
  const ids: string[] = [];
  for (let run = 0; run < 3; run++) {
    const standIn = await createMaterializeStandIn({ manualTime: true, stateDir });
    ids.push(standIn.createRelation({ name: `kept${run}`, columns: [] }).id);
    ids.push(standIn.createType({ name: `type${run}`, schema: 'public', type: { kind: 'record', fields: [] } }).id);
    const dropped = standIn.createRelation({ name: `dropped${run}`, columns: [] });
    ids.push(dropped.id);
    standIn.drop(dropped);
    await standIn.close();
  }
  expect(new Set(ids).size).toBe(9);
  rmSync(stateDir, { recursive: true });
});
