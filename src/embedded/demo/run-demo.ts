/**
 * The demo as a whole: stage, sinks, display, then the check. In: how long, where, and what to write to. Out: whether
 * the tables are what the relations were. Everything it starts it also ends, whatever happens in between.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type World, openWorld } from '../../cli/assemble.ts';
import { type Run, runDefinitions } from '../../cli/run.ts';
import type { Definitions } from '../../definition/definitions.ts';
import { formatProblems } from '../../definition/format-problems.ts';
import { parseDefinitions } from '../../definition/parse-definitions.ts';
import { createLog } from '../../observe/log.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import { type TableVerdict, judgeTable } from './check-tables.ts';
import { type DisplayOutput, type LiveDisplay, createLiveDisplay } from './live-display.ts';
import type { DemoOptions } from './options.ts';
import { type SinkCounters, countedPorts, createCounters } from './sink-counters.ts';
import { DEMO_SINKS, type DemoSink } from './sinks-sql.ts';
import { type Stage, openStage } from './stage.ts';
import { type UserWrites, watchUserWrites } from './user-writes.ts';
import { type EndedTable, checkHolds, queryHint, verdictText } from './verdict-text.ts';

export interface DemoSetting {
  readonly options: DemoOptions;
  /** Wiped at the start. */
  readonly stateDir: string;
  readonly output: DisplayOutput;
  /** Aborted when somebody wants the load to end now. */
  readonly endEarly: AbortSignal;
  /** Called with the tables' metadata files once the sinks have stopped; tests do damage here. */
  readonly beforeCheck?: (metadataPaths: readonly string[]) => void;
}

const REDRAW_MS = 250;
/** A sink that has not caught up by then never will. */
const CATCH_UP_MS = 60_000;
const MEMORY_BUDGET_BYTES = 192 * 1024 * 1024;

interface Show {
  readonly setting: DemoSetting;
  readonly stage: Stage;
  readonly run: Run;
  readonly counters: ReadonlyMap<string, SinkCounters>;
  readonly display: LiveDisplay;
  readonly userWrites: UserWrites;
}

/** Rejects only where the demo itself can't run, such as a directory that can't be written. */
export async function runDemo(setting: DemoSetting): Promise<boolean> {
  const stage = await openStage(setting.stateDir);
  try {
    setting.output.write(introduction(stage));
    const world = openDemoWorld(setting, stage);
    try {
      return await playAndJudge(setting, stage, world);
    } finally {
      await world.close();
    }
  } finally {
    await stage.close();
  }
}

async function playAndJudge(setting: DemoSetting, stage: Stage, world: World): Promise<boolean> {
  const show = startSinks(setting, stage, world);
  const caughtUp = await play(show);
  show.run.stop();
  const ends = await show.run.done;
  const problems = [...ends].flatMap(([name, { reason, error }]) =>
    reason === 'halted' ? [`${name} halted: ${error?.code ?? ''} ${error?.message ?? ''}`] : []);
  if (!caughtUp.all && problems.length === 0) {
    problems.push(`the sinks did not catch up within ${CATCH_UP_MS / 1000} s`);
  }

  const metadataPaths = await metadataPathsOf(stage, problems);
  setting.beforeCheck?.([...metadataPaths.values()]);
  const ended: EndedTable[] = [];
  for (const [sink, metadataPath] of metadataPaths) {
    const verdict = await judge(setting, stage, sink, metadataPath, caughtUp.lastChangeOf(sink));
    ended.push({ metadataPath, verdict });
  }
  setting.output.write(`\n${verdictText(ended, problems, join(setting.stateDir, 'sink.log'))}`);
  setting.output.write(`\n${queryHint(ended, stage.sinksPath)}`);
  return checkHolds(ended, problems);
}

/** The daemon's own way in, so that what is shown is what `mz-iceberg-sink run` does. */
function openDemoWorld({ stateDir }: DemoSetting, stage: Stage): World {
  const logPath = join(stateDir, 'sink.log');
  const log = createLog({
    format: 'text', level: 'info', nowMs: () => Date.now(), writeLine: (line) => appendFileSync(logPath, `${line}\n`),
  });
  return openWorld({
    command: 'run',
    definitionsPath: stage.sinksPath,
    materializeUrl: stage.materializeUrl,
    memoryBudgetBytes: MEMORY_BUDGET_BYTES,
    spillDir: join(stateDir, 'spill'),
    logFormat: 'text',
    logLevel: 'info',
    encodeWorkers: 1,
  }, log);
}

function startSinks(setting: DemoSetting, stage: Stage, world: World): Show {
  const counters = new Map(DEMO_SINKS.map(({ name }) => [name, createCounters()]));
  const run = runDefinitions(readDefinitions(stage.sinksPath), world, ({ name }, ports) => {
    const own = counters.get(name);
    return own === undefined ? ports : countedPorts(ports, own);
  });
  const display = createLiveDisplay(setting.output, DEMO_SINKS.map(({ name, table }) => ({
    label: table,
    counters: counters.get(name) ?? createCounters(),
    phase: () => run.sinks.get(name)?.state().phase ?? '',
  })));
  return { setting, stage, run, counters, display, userWrites: watchUserWrites(stage.standIn) };
}

function readDefinitions(path: string): Definitions {
  const parsed = parseDefinitions(readFileSync(path, 'utf8'), {
    env: () => undefined,
    readFile: (file) => readFileSync(file, 'utf8'),
  });
  if (parsed.kind === 'problems') throw new Error(formatProblems(parsed.problems, path));
  return parsed.definitions;
}

interface CaughtUp {
  readonly all: boolean;
  /** The last change of the sink's relation when the load ended. */
  lastChangeOf(sink: DemoSink): Timestamp;
}

/** The load's time, then the time until all of it is in the tables. Ends at once when a sink has ended by itself. */
async function play(show: Show): Promise<CaughtUp> {
  const { setting, stage, run, display } = show;
  let sinkEnded = false;
  for (const sink of run.sinks.values()) {
    void sink.done.then(() => {
      sinkEnded = true;
    });
  }
  const { loadMs } = setting.options;
  const startMs = Date.now();
  const loadEndMs = loadMs === null ? Infinity : startMs + loadMs;
  while (!sinkEnded && !setting.endEarly.aborted && Date.now() < loadEndMs) {
    const left = `${Math.ceil((loadEndMs - Date.now()) / 1000)} s to go`;
    draw(show, loadMs === null ? 'Ctrl-C ends the load, then comes the check' : `${left}; Ctrl-C ends the load now`);
    await pause(setting.endEarly);
  }
  stage.load.stop();
  const lastChanges = new Map(DEMO_SINKS.map((sink) => [sink, lastChange(stage, sink)]));
  const isCaughtUp = (): boolean => DEMO_SINKS.every((sink) =>
    (show.counters.get(sink.name)?.committedMs ?? 0) > Number(lastChanges.get(sink)));
  const giveUpMs = Date.now() + CATCH_UP_MS;
  while (!sinkEnded && !isCaughtUp() && Date.now() < giveUpMs) {
    draw(show, 'the load has ended; waiting until all of it is committed');
    await sleep(REDRAW_MS);
  }
  for (const line of arrivals(show)) display.say(line);
  display.finish(Date.now(), isCaughtUp() ? 'everything is committed' : 'not everything is committed');
  return { all: isCaughtUp(), lastChangeOf: (sink) => lastChanges.get(sink) ?? 0n };
}

function draw(show: Show, note: string): void {
  for (const line of arrivals(show)) show.display.say(line);
  show.display.update(Date.now(), note);
}

function arrivals({ userWrites, counters }: Show): string[] {
  const nameOf = (table: string): string => DEMO_SINKS.find((sink) => sink.table === table)?.name ?? '';
  return userWrites.arrived((table) => counters.get(nameOf(table)), Date.now());
}

async function pause(endEarly: AbortSignal): Promise<void> {
  // An abort only ends the wait; the loop around it sees why.
  await sleep(REDRAW_MS, undefined, { signal: endEarly }).catch(() => undefined);
}

function lastChange(stage: Stage, sink: DemoSink): Timestamp {
  const { history } = stage.load.relations[sink.relation];
  return history.log.at(-1)?.time ?? history.since;
}

/** A table that is not there is a problem of its own, not an end of the check of the others. */
async function metadataPathsOf(stage: Stage, problems: string[]): Promise<ReadonlyMap<DemoSink, string>> {
  const paths = new Map<DemoSink, string>();
  for (const sink of DEMO_SINKS) {
    try {
      paths.set(sink, fileURLToPath(await stage.metadataLocationOf(sink.table)));
    } catch (thrown) {
      problems.push(`${sink.table}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  return paths;
}

function judge(
  setting: DemoSetting, stage: Stage, sink: DemoSink, metadataPath: string, last: Timestamp,
): Promise<TableVerdict> {
  // The load's own handle: it stays good when somebody drops the relation.
  const relation = stage.load.relations[sink.relation];
  return judgeTable({
    sink,
    metadataLocation: metadataPath,
    columns: relation.columns.map(({ name }) => name),
    readableFrom: relation.history.since,
    contentAt: (time) => stage.standIn.snapshotAt(relation, time),
    lastChange: last,
  }, join(setting.stateDir, 'check'));
}

function introduction(stage: Stage): string {
  const sinks = DEMO_SINKS.map(({ relation, table, mode }) => `${relation} → ${table} (${mode})`);
  return `Materialize (stand-in)  ${stage.materializeUrl}
Iceberg catalog         ${stage.catalogUrl}
Definitions             ${stage.sinksPath}
Sinks                   ${sinks.join(', ')}

Change rows yourself, in another terminal: psql ${stage.materializeUrl}
  INSERT INTO auctions VALUES (1000000, 7, 'My teapot', NULL, 0, now() + interval '1 day');
  UPDATE accounts SET balance = balance + 1000 WHERE id = 1;
  DELETE FROM auctions WHERE id = 1000000;

`;
}
