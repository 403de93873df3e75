/**
 * End to end: a stand-in in its own process, the daemon in its own process, files on local disk, commits through the
 * embedded catalog in this one. Counts from the start of the daemon process to the commit, so start-up and JIT are in.
 *
 *   node bench/main.ts e2e [--rows 2000000] [--changes 200000] [--commits 5]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createEmbeddedCatalog } from '../src/embedded/catalog/server.ts';
import { type ProcessCost, processCost } from './process-cost.ts';

export interface E2eOptions {
  readonly rows: number;
  readonly changes: number;
  readonly commits: number;
}

export interface E2eResult {
  readonly mode: 'append' | 'upsert';
  readonly phase: 'snapshot' | 'changes';
  readonly lines: number;
  readonly wallS: number;
  readonly rowsPerS: number;
  readonly cpuS: number;
  readonly rowsPerCpuS: number;
  readonly peakRssMib: number;
  readonly fileMb: number;
}

const script = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export async function benchE2e(options: E2eOptions): Promise<readonly E2eResult[]> {
  const results: E2eResult[] = [];
  for (const mode of ['append', 'upsert'] as const) results.push(...await benchMode(mode, options));
  return results;
}

async function benchMode(mode: 'append' | 'upsert', options: E2eOptions): Promise<readonly E2eResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mz-sink-bench-'));
  const catalog = await createEmbeddedCatalog({ stateDir: join(folder, 'state'), root: { clientId: 'root', clientSecret: 'bench' } });
  const source = await startSource(options.rows);
  try {
    await prepareCatalog(catalog, folder);
    const definitions = join(folder, 'sinks.sql');
    writeFileSync(definitions, definitionsOf(mode, catalog.catalogUrl));
    const daemon = startDaemon(definitions, source.url);
    try {
      const started = { atMs: performance.now(), cost: { cpuS: 0, peakRssMib: 0 } };
      await daemon.committed(1, options.rows);
      const snapshot = result(mode, 'snapshot', options.rows, started, daemon.pid, folder);
      const begun = { atMs: performance.now(), cost: processCost(daemon.pid) };
      let lines = 0;
      for (let commit = 1; commit <= options.commits; commit++) {
        lines += await source.change(options.changes);
        await daemon.committed(1 + commit, options.rows + lines);
      }
      return lines === 0 ? [snapshot] : [snapshot, result(mode, 'changes', lines, begun, daemon.pid, folder)];
    } finally {
      await daemon.stop();
    }
  } finally {
    source.stop();
    await catalog.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function result(
  mode: E2eResult['mode'], phase: E2eResult['phase'], lines: number, from: { atMs: number; cost: ProcessCost }, pid: number, folder: string,
): E2eResult {
  const wallS = (performance.now() - from.atMs) / 1000;
  const { cpuS, peakRssMib } = processCost(pid);
  const spentS = cpuS - from.cost.cpuS;
  const fileBytes = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.parquet'))
    .reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
  return {
    mode, phase, lines, wallS, rowsPerS: Math.round(lines / wallS), cpuS: spentS, rowsPerCpuS: Math.round(lines / spentS), peakRssMib,
    fileMb: Math.round(fileBytes / 1e5) / 10,
  };
}

async function startSource(rows: number): Promise<{ url: string; change(lines: number): Promise<number>; stop(): void }> {
  const child = spawn(process.execPath, [script('./source-process.ts'), '--rows', String(rows)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await answers.next();
    if (done === true) throw new Error('the source process ended');
    return JSON.parse(value) as Record<string, unknown>;
  };
  const ready = await next();
  return {
    url: String(ready['url']),
    change: async (lines) => {
      child.stdin.write(`changes ${lines}\n`);
      return Number((await next())['lines']);
    },
    stop: () => child.kill('SIGTERM'),
  };
}

function definitionsOf(mode: 'append' | 'upsert', catalogUrl: string): string {
  const key = mode === 'upsert' ? 'KEY (id) MODE UPSERT' : 'MODE APPEND';
  return `CREATE SECRET bench AS 'root:bench';
CREATE CONNECTION c TO ICEBERG CATALOG (
  CATALOG TYPE = 'rest', URL = '${catalogUrl}', WAREHOUSE = 'bench', CREDENTIAL = SECRET bench, SCOPE = 'PRINCIPAL_ROLE:ALL');
CREATE SINK s FROM bench INTO ICEBERG CATALOG CONNECTION c (NAMESPACE = 'bench', TABLE = 't') ${key} WITH (COMMIT INTERVAL = '1s');
`;
}

interface Daemon {
  readonly pid: number;
  /** Resolves after so many commits with at least so many lines between them. */
  committed(commits: number, lines: number): Promise<void>;
  stop(): Promise<void>;
}

function startDaemon(definitions: string, materializeUrl: string): Daemon {
  const args = [script('../src/main.ts'), 'run', definitions, '--materialize', materializeUrl, '--log-format', 'json'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  if (child.pid === undefined) throw new Error('the daemon did not start');
  const seen = { commits: 0, lines: 0 };
  createInterface({ input: child.stderr }).on('line', (line) => {
    const event = JSON.parse(line) as Record<string, string>;
    if (event['event'] === 'committed' && (Number(event['records']) > 0 || Number(event['deletes']) > 0)) {
      seen.commits++;
      seen.lines += Number(event['records']) + Number(event['deletes']);
    } else if (event['level'] === 'error') process.stderr.write(`${line}\n`);
  });
  return {
    pid: child.pid,
    committed: async (commits, lines) => {
      // A commit may take in less or more than one round of changes, so rows decide; deletes and inserts count as lines.
      while (seen.commits < commits || seen.lines < lines) {
        if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`);
        await sleep(2);
      }
    },
    stop: () => stopChild(child),
  };
}

function stopChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) {
      resolve();
      return;
    }
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

async function prepareCatalog(catalog: { catalogUrl: string; managementUrl: string }, folder: string): Promise<void> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: 'root', client_secret: 'bench', scope: 'PRINCIPAL_ROLE:ALL' });
  const token = await (await fetch(`${catalog.catalogUrl}/v1/oauth/tokens`, { method: 'POST', body: form })).json() as { access_token: string };
  const call = async (method: string, url: string, body: unknown): Promise<void> => {
    const headers = { 'authorization': `Bearer ${token.access_token}`, 'content-type': 'application/json' };
    const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  };
  const location = `file://${folder}/warehouse`;
  await call('POST', `${catalog.managementUrl}/catalogs`, {
    catalog: {
      name: 'bench', type: 'INTERNAL', properties: { 'default-base-location': location },
      storageConfigInfo: { storageType: 'FILE', allowedLocations: [location] },
    },
  });
  await call('PUT', `${catalog.managementUrl}/catalogs/bench/catalog-roles/catalog_admin/grants`, {
    grant: { type: 'catalog', privilege: 'CATALOG_MANAGE_CONTENT' },
  });
  await call('POST', `${catalog.catalogUrl}/v1/bench/namespaces`, { namespace: ['bench'] });
}
