import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningCatalog } from '../../contract/catalog-server/running-catalog.ts';
import { ROOT, startCatalog, withLake } from '../../contract/catalog-server/running-catalog.ts';
import { SERVICES } from './s3-server.ts';

const run = promisify(execFile);
const HOME = process.env['SERVICES_HOME'] ?? join(homedir(), '.cache/mz-iceberg-sink-services');
const CREDENTIAL = `${ROOT.clientId}:${ROOT.clientSecret}`;
const SCOPE = 'PRINCIPAL_ROLE:ALL';

let running: RunningCatalog;
beforeAll(async () => {
  running = await withLake(await startCatalog());
});
afterAll(() => running.stop());

describe('GIVEN the embedded catalog on local files, behind OAuth', () => {
  test('WHEN PyIceberg makes, appends to, changes and renames tables THEN it reads back what it wrote', async () => {
    const { stdout } = await run(join(HOME, 'readers/venv/bin/python'), [
      '-W', 'ignore', join(import.meta.dirname, 'pyiceberg_walk.py'),
      running.catalog.catalogUrl, 'lake', CREDENTIAL, SCOPE,
    ]);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({
      rows: [[1, 'a'], [2, null], [3, 'c'], [4, 'stale']].map(([id, name]) => ({ id, name, extra: null })),
      again: 'exists',
      old: 'gone',
      property: 'v',
      columns: ['id', 'name', 'extra'],
      snapshots: 3,
      staged: 'staged',
      tables: ['renamed', 'staged'],
      namespace: 'walk',
    });
  });

  test('WHEN Iceberg Java writes its reference tables THEN Java and PyIceberg read them as recorded', async () => {
    // Exits with 1, and so rejects, where an engine answers otherwise than on other catalogs.
    const { stdout } = await run(join(SERVICES, 'readers/check'), [running.catalog.catalogUrl, 'ref', 'java', 'pyiceberg'], {
      env: {
        ...process.env,
        REST_WAREHOUSE: 'lake',
        REST_CREDENTIAL: CREDENTIAL,
        REST_OAUTH2_URI: `${running.catalog.catalogUrl}/v1/oauth/tokens`,
        REST_SCOPE: SCOPE,
      },
    });
    expect(stdout).toMatch(/(\d+) of \1 outcomes as recorded/);
  });
});
