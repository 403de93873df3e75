/**
 * Rows per second and per CPU-second, end to end: COPY text through a real socket from another process, to the commit that
 * holds it. Beside the peers, which read the same bytes from a file and are run in turn with us.
 *
 * Counted for the sink: from the start of its process to the line of its log that says `committed`; CPU of all its threads,
 * so start-up, JIT and collection are in. The source, and the catalog in this process, are not counted, as the peers commit to
 * a folder. Afterwards DuckDB reads the table and has to find the sums of the input.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Outcome, Picture, Section } from './outcome.ts';
import { PEERS, type Input, type InputSize, type PeerFigures, type PeerName, type Workload, isInstalled, prepareInput, runPeer } from './peers.ts';
import { type ShapeName, SHAPE_NAMES, parseShape, shapeOf } from './shapes.ts';
import { type SinkRun, runSinkOnce } from './sink-run.ts';
import type { RelationScript, SourceStep } from './source-script.ts';
import { median, rounded, spread } from './statistics.ts';
import { barChart } from './svg.ts';
import type { TableRow } from './table-text.ts';
import { sumTable } from './verify.ts';
import type { Lake, StoreKind } from './lake.ts';

export const THROUGHPUT_USAGE = `throughput [--rows 10000000] [--upsert-rows 5000000] [--commits 10] [--changes 200000] [--rounds 3]
    [--workloads append,upsert] [--peers java,java-append-snapshot,flink,rust,duckdb,pyiceberg] [--threads 1,2] [--zstd-level N]
    [--store files|s3] [--input DIR] [--profile DIR]
  throughput --shape narrow|wide|long-strings|nested|peers|all [--rows 2000000] …: own shapes, no peers`;

interface Options {
  readonly rows: number;
  readonly upsertRows: number;
  readonly commits: number;
  readonly changes: number;
  readonly rounds: number;
  readonly workloads: readonly Workload[];
  readonly peers: readonly PeerName[];
  readonly threads: readonly number[];
  readonly zstdLevel: number | null;
  readonly store: StoreKind;
  readonly inputFolder: string;
  readonly profileFolder: string | null;
  readonly shapes: readonly ShapeName[];
}

/** One writer in one round. */
interface Run {
  readonly writer: string;
  readonly phase: 'append' | 'snapshot' | 'changes' | 'upsert, all';
  readonly round: number;
  readonly lines: number;
  readonly wallS: number;
  readonly cpuS: number;
  readonly peakRssMib: number;
  readonly writtenMb: number;
  readonly loopDelayP99Ms: number | null;
}

export async function benchThroughput(args: readonly string[], smoke: boolean): Promise<Outcome> {
  const options = parseOptions(args, smoke);
  return options.shapes.length > 0 ? await benchShapes(options) : await benchPeers(options);
}

function parseOptions(args: readonly string[], smoke: boolean): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'rows': { type: 'string' }, 'upsert-rows': { type: 'string' }, 'commits': { type: 'string' }, 'changes': { type: 'string' },
      'rounds': { type: 'string' }, 'workloads': { type: 'string' }, 'peers': { type: 'string' }, 'threads': { type: 'string' },
      'zstd-level': { type: 'string' }, 'store': { type: 'string' }, 'input': { type: 'string' }, 'profile': { type: 'string' },
      'shape': { type: 'string' },
    },
  });
  const number = (text: string | undefined, full: number, short: number): number => Number(text ?? (smoke ? short : full));
  const list = (text: string | undefined, full: string, short: string): readonly string[] =>
    (text ?? (smoke ? short : full)).split(',').filter((word) => word !== '' && word !== 'none');
  const shapes = values.shape === undefined ? [] : values.shape === 'all' ? SHAPE_NAMES : [parseShape(values.shape)];
  return {
    rows: number(values.rows, shapes.length > 0 ? 2_000_000 : 10_000_000, 200_000),
    upsertRows: number(values['upsert-rows'], 5_000_000, 200_000),
    commits: number(values.commits, 10, 2),
    changes: number(values.changes, 200_000, 20_000),
    rounds: number(values.rounds, 3, 1),
    workloads: list(values.workloads, 'append,upsert', 'append,upsert').map((word) => (word === 'append' ? 'append' : 'upsert')),
    peers: list(values.peers, 'java,java-append-snapshot,flink,rust,duckdb,pyiceberg', 'java,rust').map(parsePeer)
      .filter((name) => values.peers !== undefined || !smoke || isInstalled(name)),
    threads: list(values.threads, '1,2', '1').map(Number),
    zstdLevel: values['zstd-level'] === undefined ? null : Number(values['zstd-level']),
    store: values.store === 's3' ? 's3' : 'files',
    inputFolder: values.input ?? join(tmpdir(), 'mz-sink-bench-input'),
    profileFolder: values.profile ?? null,
    shapes,
  };
}

function parsePeer(word: string): PeerName {
  const found = (Object.keys(PEERS) as PeerName[]).find((name) => name === word);
  if (found === undefined) throw new Error(`no peer ${word}; there are ${Object.keys(PEERS).join(', ')}`);
  return found;
}

async function benchPeers(options: Options): Promise<Outcome> {
  const sections: Section[] = [];
  const pictures: Picture[] = [];
  const details: Run[] = [];
  for (const workload of options.workloads) {
    const size: InputSize = {
      workload, rows: workload === 'append' ? options.rows : options.upsertRows, commits: options.commits, changes: options.changes,
    };
    const input = await prepareInput(size, options.inputFolder);
    const runs: Run[] = [];
    for (let round = 1; round <= options.rounds; round++) runs.push(...await runRound(options, input, round));
    details.push(...runs);
    for (const phase of new Set(runs.map((run) => run.phase))) {
      const section = phaseSection(phase, runs.filter((run) => run.phase === phase), options);
      sections.push(section);
      pictures.push(phasePicture(phase, section, options));
    }
  }
  const variant = variantOf(options);
  return { sections, pictures, details, ...(variant === '' ? {} : { variant }) };
}

/** In names of files: what makes figures comparable with some and not with others. */
function variantOf({ store, zstdLevel }: Options): string {
  return [...(store === 's3' ? ['s3'] : []), ...(zstdLevel === null ? [] : [`zstd-${zstdLevel}`])].join('-');
}

/** The sink first, then each peer with each number of threads. */
async function runRound(options: Options, input: Input, round: number): Promise<readonly Run[]> {
  const runs: Run[] = [...await runSink(options, input, round)];
  for (const name of options.peers) {
    if (!PEERS[name].workloads.includes(input.workload)) continue;
    for (const threads of options.threads) {
      const figures = await runPeer(name, input, { threads, zstdLevel: options.zstdLevel });
      runs.push(...peerRuns(`${PEERS[name].label}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`, input, figures, round));
    }
  }
  return runs;
}

function peerRuns(writer: string, input: Input, figures: PeerFigures, round: number): readonly Run[] {
  const common = { writer, round, peakRssMib: figures.peak_rss_mib, writtenMb: figures.bytes_written / 1e6, loopDelayP99Ms: null };
  const whole = { lines: input.expected.lines, wallS: figures.wall_s, cpuS: figures.cpu_s };
  if (input.workload === 'append') return [{ ...common, ...whole, phase: 'append' }];
  const part = (name: 'snapshot' | 'changes'): Run => {
    const { lines, wall_s: wallS, cpu_s: cpuS } = figures[name] as { lines: number; wall_s: number; cpu_s: number };
    return { ...common, phase: name, lines, wallS, cpuS };
  };
  return [part('snapshot'), part('changes'), { ...common, ...whole, phase: 'upsert, all' }];
}

const WRITER = 'this sink';

async function runSink(options: Options, input: Input, round: number): Promise<readonly Run[]> {
  const { workload } = input;
  const script = fileScript(input);
  const run = await runSinkOnce({
    store: options.store, mode: workload, script, commitInterval: '10s', zstdLevel: options.zstdLevel,
    tokensAtStart: 0, profileFolder: options.profileFolder, verify: (lake) => expectSums(lake, script.name, input),
  });
  return sinkRuns(run, workload, input.lineCounts, round);
}

/**
 * File by file, each closed by progress of its own. The next two may be under way while one is committed: never more, or the
 * sink would make one commit of two files, as it does when it is behind, and be measured on less work.
 */
function fileScript(input: Input): RelationScript {
  const snapshotMs = 1_767_225_600_000;
  const intervalMs = 10_000;
  const steps = input.framed.flatMap((path, index): SourceStep[] => {
    const closesAtMs = index === 0 ? snapshotMs + 1 : snapshotMs + (index + 1) * intervalMs;
    return index === 0 ? [{ kind: 'file', path, closesAtMs }] : [{ kind: 'token' }, { kind: 'file', path, closesAtMs }];
  });
  return { name: 'bench', shape: 'peers', startMs: snapshotMs, steps };
}

async function expectSums(lake: Lake, table: string, { expected, files }: Input): Promise<void> {
  const sums = await sumTable(lake, table);
  const isRight = sums.rows === expected.rows && sums.sumId === expected.sum_id && sums.sumN === expected.sum_n;
  if (!isRight) throw new Error(`the table has ${JSON.stringify(sums)}, expected ${JSON.stringify(expected)}`);
  if (sums.snapshots !== files.length) throw new Error(`${files.length} files became ${sums.snapshots} snapshots`);
}

function sinkRuns(run: SinkRun, workload: Workload, lineCounts: readonly number[], round: number): readonly Run[] {
  const [first, ...rest] = lineCounts;
  const lines = { snapshot: first ?? 0, changes: rest.reduce((sum, count) => sum + count, 0) };
  const common = {
    writer: WRITER, round, peakRssMib: run.end.peakRssMib, writtenMb: run.writtenBytes / 1e6, loopDelayP99Ms: run.loopDelay.p99Ms,
  };
  const snapshot = { lines: lines.snapshot, wallS: run.snapshot.wallS, cpuS: run.snapshot.cpuS };
  if (workload === 'append') return [{ ...common, ...snapshot, phase: 'append' }];
  const all = { lines: lines.snapshot + lines.changes, wallS: run.end.wallS, cpuS: run.end.cpuS };
  const changes = { lines: lines.changes, wallS: all.wallS - snapshot.wallS, cpuS: all.cpuS - snapshot.cpuS };
  return [
    { ...common, ...snapshot, phase: 'snapshot' }, { ...common, ...changes, phase: 'changes' }, { ...common, ...all, phase: 'upsert, all' },
  ];
}

function phaseSection(phase: string, runs: readonly Run[], options: Options): Section {
  const own = runs.filter(({ writer }) => writer === WRITER);
  const rate = (run: Run): number => run.lines / run.cpuS;
  const speed = (run: Run): number => run.lines / run.wallS;
  const writers = [...new Set(runs.map(({ writer }) => writer))];
  const rows = writers.map((writer): TableRow => {
    const rounds = runs.filter((run) => run.writer === writer);
    const cpu = spread(rounds.map(rate));
    const wall = spread(rounds.map(speed));
    return {
      'writer': writer,
      'k lines/s': rounded(wall.median / 1000, 0),
      'k lines/CPU-s': rounded(cpu.median / 1000, 0),
      '[min..max]': `${rounded(cpu.min / 1000, 0)}..${rounded(cpu.max / 1000, 0)}`,
      'we ÷ it, wall': rounded(median(own.map(speed)) / wall.median),
      'we ÷ it, CPU': rounded(median(own.map(rate)) / cpu.median),
      'peak RSS MiB': rounded(median(rounds.map((run) => run.peakRssMib)), 0),
      'MB written': rounded(median(rounds.map((run) => run.writtenMb)), 1),
      'loop delay p99 ms': writer === WRITER ? rounded(median(rounds.map((run) => run.loopDelayP99Ms ?? 0))) : null,
    };
  });
  const level = options.zstdLevel === null ? 'each with its own default zstd level' : `zstd level ${options.zstdLevel} for all`;
  return {
    title: `${phase}: ${(runs[0]?.lines ?? 0).toLocaleString('en-US')} lines, ${options.rounds} interleaved rounds, median; ${level}; our store: ${options.store}`,
    rows, notes: ['Peak RSS and MB written are of the whole run of a writer; each table was read back and had the sums of its input.'],
  };
}

function phasePicture(phase: string, section: Section, options: Options): Picture {
  const bars = section.rows.map((row) => ({ label: String(row['writer']), value: Number(row['k lines/CPU-s']) }));
  const title = `Thousand lines per CPU-second: ${phase}`;
  const name = ['throughput', phase.replaceAll(/\W+/g, '-'), variantOf(options)].filter((part) => part !== '').join('-');
  return { name, title, svg: barChart({ title, unit: '', bars, highlight: WRITER }) };
}

async function benchShapes(options: Options): Promise<Outcome> {
  const rows: TableRow[] = [];
  const details: unknown[] = [];
  for (const shape of options.shapes) {
    for (const workload of options.workloads) {
      const runs: SinkRun[] = [];
      for (let round = 0; round < options.rounds; round++) runs.push(await runShape(options, shape, workload));
      details.push({ shape, workload, runs });
      rows.push(shapeRow(options, shape, workload, runs));
    }
  }
  const title = `Own shapes: ${options.rows.toLocaleString('en-US')} rows of snapshot, then ${options.commits} commits of ${options.changes.toLocaleString('en-US')} lines; median of ${options.rounds}`;
  return { variant: 'shapes', sections: [{ title, rows }], details };
}

async function runShape(options: Options, shape: ShapeName, mode: Workload): Promise<SinkRun> {
  const span = { mix: 'mixed', lines: options.changes, keys: options.rows, times: 10, spanMs: 10_000 } as const;
  const steps = [
    { kind: 'snapshot', rows: options.rows },
    ...Array.from({ length: options.commits }, () => [{ kind: 'token' }, { kind: 'span', ...span }] as const).flat(),
  ] as const satisfies readonly SourceStep[];
  return await runSinkOnce({
    store: options.store, mode, commitInterval: '10s', zstdLevel: options.zstdLevel, tokensAtStart: 0,
    script: { name: 'bench', shape, startMs: 1_767_225_600_000, steps }, profileFolder: options.profileFolder,
    verify: async (lake) => {
      const { rows } = await sumTable(lake, 'bench');
      const expected = options.rows + options.commits * options.changes;
      if (mode === 'append' && rows !== expected) throw new Error(`${shape}: ${rows} rows in the table, ${expected} sent`);
    },
  });
}

function shapeRow(options: Options, shape: ShapeName, workload: Workload, runs: readonly SinkRun[]): TableRow {
  const of = (pick: (run: SinkRun) => number): number => median(runs.map(pick));
  const changed = options.commits * options.changes;
  return {
    'shape': shape, 'mode': workload, 'columns': shapeOf(shape).columns.length,
    'snapshot k rows/s': rounded(of((run) => options.rows / run.snapshot.wallS / 1000), 0),
    'k rows/CPU-s': rounded(of((run) => options.rows / run.snapshot.cpuS / 1000), 0),
    'MB/CPU-s of text': rounded(of((run) => run.snapshotTextBytes / run.snapshot.cpuS / 1e6), 0),
    'changes k lines/CPU-s': rounded(of((run) => changed / (run.end.cpuS - run.snapshot.cpuS) / 1000), 0),
    's a commit': rounded(of((run) => (run.end.wallS - run.snapshot.wallS) / options.commits)),
    'peak RSS MiB': of((run) => run.end.peakRssMib),
    'MB written': rounded(of((run) => run.writtenBytes / 1e6), 1),
    'loop delay p99 ms': of((run) => run.loopDelay.p99Ms),
  };
}

