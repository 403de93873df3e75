import { execFile } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/iceberg/json.ts';
import { parseTableMetadata } from '../../../src/iceberg/metadata-json.ts';
import type { Snapshot } from '../../../src/iceberg/metadata.ts';
import { readManifest } from '../../../src/snapshot/manifest.ts';
import { readManifestList } from '../../../src/snapshot/manifest-list.ts';
import { ROOT, type RunningCatalog, startCatalog, withLake } from '../../contract/catalog-server/running-catalog.ts';

const SHARED = process.env['MZ_SINK_SHARED'] ?? resolve(import.meta.dirname, '../../../../shared');
const run = promisify(execFile);

let running: RunningCatalog;
let tables: ReadonlyMap<string, readonly Snapshot[]>;

beforeAll(async () => {
  running = await withLake(await startCatalog());
  await run(join(SHARED, 'services/readers/make-tables'), [running.catalog.catalogUrl, 'ref'], {
    env: {
      ...process.env, REST_WAREHOUSE: 'lake', REST_CREDENTIAL: `${ROOT.clientId}:${ROOT.clientSecret}`,
      REST_OAUTH2_URI: `${running.catalog.catalogUrl}/v1/oauth/tokens`, REST_SCOPE: 'PRINCIPAL_ROLE:ALL',
    },
  });
  tables = await snapshotsByTable(running.directory);
});
afterAll(() => running.stop());

/** The snapshots of each table, from its newest metadata file below `directory`. */
async function snapshotsByTable(directory: string): Promise<ReadonlyMap<string, readonly Snapshot[]>> {
  const newest = new Map<string, string>();
  for await (const path of glob('**/*.metadata.json', { cwd: directory })) {
    const table = dirname(dirname(path));
    if (path > (newest.get(table) ?? '')) newest.set(table, path);
  }
  const read = async (path: string): Promise<readonly Snapshot[]> =>
    parseTableMetadata(parseJson(await readFile(join(directory, path), 'utf8'))).snapshots;
  return new Map(await Promise.all([...newest].map(async ([table, path]) => [table.split('/').at(-1) ?? '', await read(path)] as const)));
}

async function readAt(location: string): Promise<Uint8Array> {
  return readFile(location.replace(/^file:\/*/, '/'));
}

interface Counted {
  readonly dataFiles: number;
  readonly records: bigint;
  readonly rewritable: boolean;
}

/** What the manifests of a snapshot hold, each checked against its entry in the list. */
async function countLive(snapshot: Snapshot): Promise<Counted> {
  let dataFiles = 0;
  let records = 0n;
  let rewritable = true;
  for (const manifest of readManifestList(await readAt(snapshot.manifestList))) {
    const contents = readManifest(await readAt(manifest.path));
    const live = contents.entries.filter((entry) => entry.status !== 'deleted');
    expect(contents.content).toBe(manifest.content);
    expect(live).toHaveLength(manifest.addedFilesCount + manifest.existingFilesCount);
    expect(live.reduce((sum, entry) => sum + entry.file.recordCount, 0n)).toBe(manifest.addedRowsCount + manifest.existingRowsCount);
    rewritable &&= contents.rewritable;
    if (manifest.content !== 'data') continue;
    dataFiles += live.length;
    records += manifest.addedRowsCount + manifest.existingRowsCount;
  }
  return { dataFiles, records, rewritable };
}

describe('GIVEN tables written by Iceberg Java', () => {
  it('WHEN every manifest of every snapshot is read THEN it holds what Java says in list and summary', async () => {
    expect(tables.size).toBeGreaterThanOrEqual(14);
    for (const [table, snapshots] of tables) {
      for (const snapshot of snapshots) {
        const counted = await countLive(snapshot);
        expect([table, String(counted.dataFiles), String(counted.records)])
          .toEqual([table, snapshot.summary['total-data-files'], snapshot.summary['total-records']]);
      }
    }
  });

  it('WHEN files are partitioned or have deletion vectors or row ids THEN their manifests are not for rewriting', async () => {
    const rewritable = new Map<string, boolean>();
    for (const [table, snapshots] of tables) {
      const last = snapshots.at(-1);
      if (last !== undefined) rewritable.set(table, (await countLive(last)).rewritable);
    }
    expect(Object.fromEntries(rewritable)).toMatchObject({ v2_eq_partitioned: false, v2_eq_two_keys: true });
  });
});
