/** Somebody changes rows by SQL while the load runs on the same tables: no row may ever be taken away twice. */
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { startAuction } from '../../../src/embedded/auction/load-generator.ts';
import { createMaterializeStandIn } from '../../../src/embedded/materialize/stand-in.ts';

describe('GIVEN an auction with a thousand changes a second and clients that write into its tables', () => {
  test('WHEN they insert, update and delete THEN every row is there once, theirs as they wrote it', async () => {
    const standIn = await createMaterializeStandIn({ tickMs: 300 });
    const load = startAuction(standIn, {
      seed: 1, changesPerSecond: 1000, auctionMs: 500, tables: ['accounts', 'auctions'],
    });
    const client = new pg.Client({ connectionString: standIn.url });
    await client.connect();
    try {
      const item = `E'Teekännchen\\t"weiß" \\\\ 1'`;
      await client.query(`INSERT INTO auctions VALUES (1000000, 1, ${item}, NULL, 0, '2100-01-01 00:00:00.123456+00')`);
      for (let round = 0; round < 15; round++) {
        await client.query('UPDATE auctions SET seller = seller + 1');
        await client.query('UPDATE accounts SET balance = balance + 0.5');
        await client.query('DELETE FROM auctions WHERE id = (SELECT min(id) FROM auctions WHERE id <> 1000000)');
      }
      const { rows } = await client.query('SELECT item, seller FROM auctions WHERE id = 1000000');
      expect(rows).toEqual([{ item: 'Teekännchen\t"weiß" \\ 1', seller: '16' }]);
      load.stop();
      for (const name of ['accounts', 'auctions'] as const) {
        const content = standIn.snapshotAt(load.relations[name], standIn.writeTime());
        expect(content.size).toBeGreaterThan(10);
        expect([...content].filter(([, count]) => count !== 1)).toEqual([]);
      }
    } finally {
      load.stop();
      await client.end();
      await standIn.close();
    }
  });
});
