/**
 * What the sinks run against, all of it in this process: the stand-in with its auction, the catalog, a directory for
 * everything. In: that directory. Out: addresses, and the definitions on disk.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AuctionLoad, startAuction } from '../auction/load-generator.ts';
import { createEmbeddedCatalog } from '../catalog/server.ts';
import { lockState } from '../catalog/state-lock.ts';
import { type MaterializeStandIn, createMaterializeStandIn } from '../materialize/stand-in.ts';
import { metadataLocationOf, setUpCatalog } from './set-up-catalog.ts';
import { sinksSql } from './sinks-sql.ts';

export interface Stage {
  readonly standIn: MaterializeStandIn;
  readonly load: AuctionLoad;
  /** With the password, as psql and the sink take it. */
  readonly materializeUrl: string;
  readonly catalogUrl: string;
  readonly sinksPath: string;
  metadataLocationOf(table: string): Promise<string>;
  close(): Promise<void>;
}

const USER = 'materialize';
/** Nothing is behind it but made-up auctions, and the server listens on the loopback address alone. */
const PASSWORD = 'demo';
const ROOT = { clientId: 'root', clientSecret: 'demo-root' };
/** Materialize's own port, so that the address to type is the usual one. */
const PREFERRED_PORT = 6875;
const CHANGES_PER_SECOND = 400;

/** Wipes `stateDir` first: a demo always tells its own story from the start. */
export async function openStage(stateDir: string): Promise<Stage> {
  // Not below a demo that still runs there: taking the catalog's lock says so, or fails with who holds it.
  lockState(join(stateDir, 'catalog'))();
  rmSync(stateDir, { recursive: true, force: true });
  const warehouse = resolve(stateDir, 'warehouse');
  mkdirSync(warehouse, { recursive: true });
  const standIn = await createMaterializeStandIn({
    port: await portOr(PREFERRED_PORT), users: { [USER]: PASSWORD }, tickMs: 250,
  });
  const load = startAuction(standIn, {
    seed: 1,
    changesPerSecond: CHANGES_PER_SECOND,
    organizations: 100,
    openAuctions: 150,
    auctionMs: 6000,
    tables: ['accounts', 'auctions'],
  });
  const catalog = await createEmbeddedCatalog({ stateDir: join(stateDir, 'catalog'), root: ROOT });
  const { catalogUrl } = catalog;
  const credential = await setUpCatalog(catalog, ROOT, pathToFileURL(warehouse).href);
  const sinksPath = join(stateDir, 'sinks.sql');
  writeFileSync(sinksPath, sinksSql({ catalogUrl, ...credential }));
  return {
    standIn, load, catalogUrl, sinksPath,
    materializeUrl: `postgres://${USER}:${PASSWORD}@${standIn.host}:${standIn.port}/materialize`,
    metadataLocationOf: (table) => metadataLocationOf(catalogUrl, credential, table),
    close: async () => {
      load.stop();
      await standIn.close();
      await catalog.close();
    },
  };
}

/** `port` where it is free, else 0: any. */
function portOr(port: number): Promise<number> {
  return new Promise((resolvePort) => {
    const probe = createServer();
    probe.once('error', () => resolvePort(0));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolvePort(port)));
  });
}
