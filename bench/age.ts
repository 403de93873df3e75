/**
 * A table that grows old: thousands of commits on one table, one after the other. Time of a commit, requests, bytes and
 * memory at each age. The source goes on as soon as the catalog has answered to the end, and the sink has read it: an old table's
 * answer has megabytes, which pass between two commits however short the interval. So ten thousand take minutes.
 *
 * The catalog's own part is shown apart: it writes every snapshot into each metadata file, and no sink can help that but by
 * asking for less. `--keep N` expires all but N snapshots now and then, as operators do.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CommitLine, startDaemon } from './daemon.ts';
import { type Lake, openLake, sinkSql } from './lake.ts';
import type { Outcome } from './outcome.ts';
import { startSource } from './source.ts';
import { median, rounded } from './statistics.ts';
import { lineChart } from './svg.ts';
import type { TableRow } from './table-text.ts';

export const AGE_USAGE = 'age [--commits 10000] [--changes 100] [--keep N] [--budget-minutes 30]';

interface Options {
  readonly commits: number;
  readonly changes: number;
  /** null: nobody expires snapshots. */
  readonly keep: number | null;
  readonly budgetMinutes: number;
}

/** What was seen around one age. */
interface AgePoint {
  readonly age: number;
  readonly commitMs: number;
  /** From the arrival of the commit's request at the catalog until it is carried out: the catalog's own time. */
  readonly catalogMs: number;
  readonly cpuMs: number;
  readonly rssMib: number;
  readonly writtenKib: number;
  readonly metadataKib: number;
  readonly requests: number;
}

export async function benchAge(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const { values } = parseArgs({
    args: [...args],
    options: { 'commits': { type: 'string' }, 'changes': { type: 'string' }, 'keep': { type: 'string' }, 'budget-minutes': { type: 'string' } },
  });
  const options: Options = {
    commits: Number(values.commits ?? (smoke ? 120 : 10_000)), changes: Number(values.changes ?? 100),
    keep: values.keep === undefined ? null : Number(values.keep), budgetMinutes: Number(values['budget-minutes'] ?? 30),
  };
  const points = await grow(options);
  const young = points.find(({ age }) => age >= Math.min(100, options.commits / 3)) ?? points[0];
  const rows = milestones(points).map((point) => ageRow(point, young));
  const title = `One upsert table, ${options.changes} lines a commit, `
    + (options.keep === null ? 'no snapshot ever expired' : `expired down to ${options.keep} snapshots`);
  const line = (label: string, of: (point: AgePoint) => number) => ({ label, points: points.map((point) => [point.age, of(point)] as const) });
  const suffix = options.keep === null ? '' : '-expiring';
  const picture = 'Time of a commit by the age of the table';
  return {
    ...(options.keep === null ? {} : { variant: 'expiring' }),
    sections: [{ title, rows, notes: ['Medians of 100 commits up to each age. Catalog: the embedded one, from the arrival of a request to its answer.'] }],
    pictures: [{
      name: `age${suffix}`, title: picture, svg: lineChart({
        title: picture, xLabel: 'commits before', yLabel: 'ms',
        series: [line('whole commit', (point) => point.commitMs), line('of it in the catalog', (point) => point.catalogMs)],
      }),
    }],
    details: { points },
  };
}

const TABLE = 'bench';
const WINDOW = 100;
const SNAPSHOT_ROWS = 10_000;
/** For the sink to read what of the answer is still in the socket. */
const READ_MS = 10;

async function grow(options: Options): Promise<readonly AgePoint[]> {
  const lake = await openLake({ store: 'files' });
  const source = await startSource({
    relations: [{
      name: TABLE, shape: 'peers', startMs: 1_767_225_600_000,
      steps: [
        { kind: 'snapshot', rows: SNAPSHOT_ROWS },
        { kind: 'spans-on-token', mix: 'mixed', lines: options.changes, keys: SNAPSHOT_ROWS, times: 1, spanMs: 1000 },
      ],
    }],
  }, lake.folder);
  const daemon = startDaemon({ definitions: lake.connectionSql + sinkSql(TABLE, 'upsert', '1s'), materializeUrl: source.url, folder: lake.folder });
  const points: AgePoint[] = [];
  const deadlineMs = performance.now() + options.budgetMinutes * 60_000;
  try {
    let last = await daemon.committed(() => true);
    let windowStart = startOf(lake, last);
    const times: number[] = [];
    for (let age = 1; age <= options.commits && performance.now() < deadlineMs; age++) {
      while (!lake.isQuiet()) await sleep(2);
      await sleep(READ_MS);
      const begunMs = performance.now();
      source.give(1);
      last = await daemon.committed(() => true, age);
      times.push(last.atMs - begunMs);
      const window = Math.min(WINDOW, Math.ceil(options.commits / 4));
      if (age % window !== 0) continue;
      points.push(pointOf(lake, age, windowStart, last, times));
      if (options.keep !== null) await expire(lake, options.keep);
      dropOldMetadata(lake);
      times.length = 0;
      windowStart = startOf(lake, last);
    }
    return points;
  } finally {
    await daemon.stop();
    await source.stop();
    await lake.close();
  }
}

interface WindowStart {
  readonly cpuS: number;
  readonly requests: number;
  readonly catalogMs: number;
  readonly written: { readonly bytes: number };
}

function requestCount(lake: Lake): number {
  const { loads, commits, others } = lake.requests();
  return loads + commits + others;
}

/** What the sink writes beside data: manifests and lists. The catalog's metadata files are counted apart. */
function startOf(lake: Lake, last: CommitLine): WindowStart {
  return { cpuS: last.cost.cpuS, requests: requestCount(lake), catalogMs: lake.busyMs(), written: bytesBelow(lake, '.avro') };
}

function bytesBelow(lake: Lake, suffix: string): { readonly bytes: number; readonly newest: number } {
  const folder = join(lake.folder, 'warehouse');
  let bytes = 0;
  let newest = { atMs: 0, size: 0 };
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith(suffix)) continue;
    const { size, mtimeMs } = statSync(join(folder, path));
    bytes += size;
    if (mtimeMs >= newest.atMs) newest = { atMs: mtimeMs, size };
  }
  return { bytes, newest: newest.size };
}

function pointOf(lake: Lake, age: number, start: WindowStart, last: CommitLine, times: readonly number[]): AgePoint {
  const count = times.length;
  return {
    age, commitMs: rounded(median(times)), catalogMs: rounded((lake.busyMs() - start.catalogMs) / count),
    cpuMs: rounded((last.cost.cpuS - start.cpuS) * 1000 / count), rssMib: last.cost.rssMib,
    writtenKib: rounded((bytesBelow(lake, '.avro').bytes - start.written.bytes) / count / 1024, 1),
    metadataKib: rounded(bytesBelow(lake, '.metadata.json').newest / 1024, 1),
    requests: rounded((requestCount(lake) - start.requests) / count),
  };
}

/** Every metadata file holds all snapshots: ten thousand of them would fill the disk. Only the newest are of use. */
function dropOldMetadata(lake: Lake): void {
  const folder = join(lake.folder, 'warehouse');
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.metadata.json'))
    .map((path) => ({ path: join(folder, path), atMs: statSync(join(folder, path)).mtimeMs }));
  for (const { path } of found.toSorted((a, b) => b.atMs - a.atMs).slice(5)) rmSync(path);
}

async function expire(lake: Lake, keep: number): Promise<void> {
  const { metadataText } = await lake.load(TABLE);
  // Ids are beyond what JSON numbers hold here, so they are taken from the text; the oldest stand first.
  const ids = [...metadataText.matchAll(/"snapshot-id"\s*:\s*(\d+)\s*,\s*(?:"parent-snapshot-id"\s*:\s*\d+\s*,\s*)?"sequence-number"|"sequence-number"\s*:\s*\d+\s*,\s*"snapshot-id"\s*:\s*(\d+)/g)]
    .map(([, left, right]) => left ?? right ?? '');
  const gone = ids.slice(0, Math.max(0, ids.length - keep));
  if (gone.length === 0) return;
  const answer = await lake.call('POST', `/${TABLE}`, `{"requirements":[],"updates":[{"action":"remove-snapshots","snapshot-ids":[${gone.join(',')}]}]}`);
  if (answer.status >= 300) throw new Error(`snapshots could not be expired: ${answer.text}`);
}

function milestones(points: readonly AgePoint[]): readonly AgePoint[] {
  const wanted = [100, 300, 1_000, 3_000, 10_000, 30_000];
  const found = wanted.flatMap((age) => points.find((point) => point.age === age) ?? []);
  return found.length >= 2 ? [...new Set([...found, ...points.slice(-1)])] : points;
}

function ageRow(point: AgePoint, young: AgePoint | undefined): TableRow {
  const own = (of: AgePoint): number => of.commitMs - of.catalogMs;
  const ratio = young === undefined ? 1 : own(point) / own(young);
  return {
    'commits': point.age, 'ms a commit': point.commitMs, 'in the catalog ms': point.catalogMs, 'beside it ms': rounded(own(point)), 'beside it ÷ young': rounded(ratio),
    'CPU ms of the sink': point.cpuMs, 'manifests and lists KiB': point.writtenKib, 'table metadata KiB': point.metadataKib,
    'catalog requests': point.requests, 'RSS MiB': point.rssMib,
  };
}
