/** The peers' workloads and runners of the shared folder, each in a process of its own. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { servicesHome, sharedFolder } from '../test/services/shared-folder.ts';
import { frameFile } from './frames.ts';

export type PeerName = 'java' | 'java-append-snapshot' | 'flink' | 'rust' | 'duckdb' | 'pyiceberg';
export type Workload = 'append' | 'upsert';

interface Peer {
  readonly label: string;
  readonly script: string;
  readonly arguments: readonly string[];
  readonly workloads: readonly Workload[];
  readonly takesThreads: boolean;
}

export const PEERS: Readonly<Record<PeerName, Peer>> = {
  'java': { label: 'Iceberg Java', script: 'run-java', arguments: [], workloads: ['append', 'upsert'], takesThreads: true },
  'java-append-snapshot': {
    label: 'Iceberg Java, append-only snapshot', script: 'run-java', arguments: ['--append-snapshot'], workloads: ['upsert'], takesThreads: true,
  },
  'flink': { label: 'Flink writer', script: 'run-flink', arguments: [], workloads: ['append', 'upsert'], takesThreads: true },
  'rust': { label: 'iceberg-rust', script: 'run-rust', arguments: [], workloads: ['append'], takesThreads: true },
  'duckdb': { label: 'DuckDB, Parquet only', script: 'run-duckdb', arguments: [], workloads: ['append'], takesThreads: true },
  'pyiceberg': { label: 'PyIceberg', script: 'run-pyiceberg', arguments: [], workloads: ['append'], takesThreads: true },
};

/** One JSON line of a peer. */
export interface PeerFigures {
  readonly peer: string;
  readonly wall_s: number;
  readonly cpu_s: number;
  readonly peak_rss_mib: number;
  readonly bytes_written: number;
  readonly rows_per_s: number;
  readonly check?: unknown;
  readonly commits?: unknown;
  readonly [key: string]: unknown;
}

export interface Input {
  readonly workload: Workload;
  /** TSV, one file a commit; what the peers read. */
  readonly files: readonly string[];
  /** The same lines as messages of a SUBSCRIBE; what our source sends. */
  readonly framed: readonly string[];
  readonly lineCounts: readonly number[];
  readonly expectedPath: string;
  readonly expected: { readonly rows: number; readonly sum_id: string; readonly sum_n: string; readonly lines: number };
}

export interface InputSize {
  readonly workload: Workload;
  readonly rows: number;
  readonly commits: number;
  readonly changes: number;
}

/** Makes the input in `folder`, or takes what is there: the same arguments give the same bytes. */
export async function prepareInput(size: InputSize, folder: string): Promise<Input> {
  const { workload, rows, commits, changes } = size;
  const name = workload === 'append' ? `append-${rows}` : `upsert-${rows}-${commits}-${changes}`;
  const place = join(folder, name);
  if (!existsSync(place)) {
    const partial = `${place}.partial`;
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    const numbers = workload === 'append' ? [rows] : [rows, commits, changes];
    await promisify(execFile)(join(sharedFolder(), 'peers/generate'), [workload, partial, ...numbers.map(String)]);
    const counts: number[] = [];
    for (const file of tsvFiles(partial)) counts.push(await frameFile(join(partial, file), join(partial, file.replace('.tsv', '.framed'))));
    writeFileSync(join(partial, 'counts.json'), JSON.stringify(counts));
    renameSync(partial, place);
  }
  const files = tsvFiles(place).map((file) => join(place, file));
  const expectedPath = join(place, 'expected.json');
  return {
    workload, files, framed: files.map((file) => file.replace('.tsv', '.framed')),
    lineCounts: JSON.parse(readFileSync(join(place, 'counts.json'), 'utf8')) as number[],
    expectedPath, expected: JSON.parse(readFileSync(expectedPath, 'utf8')) as Input['expected'],
  };
}

function tsvFiles(folder: string): readonly string[] {
  return readdirSync(folder).filter((file) => file.endsWith('.tsv')).toSorted();
}

/** A run that is not told which peers to take goes on without those that the machine lacks. */
export function isInstalled(name: PeerName): boolean {
  const folder = { 'java': 'java', 'java-append-snapshot': 'java', 'flink': 'flink', 'rust': 'rust', 'duckdb': 'python', 'pyiceberg': 'python' }[name];
  return existsSync(join(servicesHome(), 'peers', folder));
}

/** Rejects when the peer fails, or says that its table is not what was expected. */
export async function runPeer(
  name: PeerName, input: Input, options: { readonly threads: number; readonly zstdLevel: number | null },
): Promise<PeerFigures> {
  const { script, arguments: own } = PEERS[name];
  const level = options.zstdLevel === null ? [] : ['--zstd-level', String(options.zstdLevel)];
  const args = [input.workload, '--threads', String(options.threads), ...level, ...own, '--expected', input.expectedPath, ...input.files];
  const { stdout } = await promisify(execFile)(join(sharedFolder(), 'peers', script), args, { maxBuffer: 1 << 26 });
  const line = stdout.trim().split('\n').at(-1) ?? '';
  const figures = JSON.parse(line) as PeerFigures;
  if (!JSON.stringify(figures.check ?? '').includes('ok')) throw new Error(`${name}: ${JSON.stringify(figures.check)}`);
  return figures;
}
