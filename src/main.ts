#!/usr/bin/env node
/** The command `mz-iceberg-sink`. Reads the command line and the definitions, then hands over to `cli/`. */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openWorld } from './cli/assemble.ts';
import { type CommandOptions, USAGE, parseCommand } from './cli/options.ts';
import { exitCodeOf, runDefinitions } from './cli/run.ts';
import { refusals } from './cli/runnable.ts';
import { validateDefinitions } from './cli/validate.ts';
import type { Definitions } from './definition/definitions.ts';
import { formatProblems } from './definition/format-problems.ts';
import { parseDefinitions } from './definition/parse-definitions.ts';
import type { SinkError } from './errors.ts';
import { createLog } from './observe/log.ts';

const EXIT_USAGE = 2;
const LINGER_MS = 2_000;

async function main(): Promise<number> {
  const parsed = parseCommand(process.argv.slice(2), process.env, tmpdir());
  switch (parsed.kind) {
    case 'help':
      process.stdout.write(USAGE);
      return 0;
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'usage':
      process.stderr.write(`mz-iceberg-sink: ${parsed.message}\n\n${USAGE}`);
      return EXIT_USAGE;
    case 'command': {
      const definitions = readDefinitions(parsed.options);
      if (definitions === null) return EXIT_USAGE;
      return parsed.options.command === 'validate' ? validate(parsed.options, definitions) : run(parsed.options, definitions);
    }
  }
}

function readDefinitions(options: CommandOptions): Definitions | null {
  let text;
  try {
    text = readFileSync(options.definitionsPath, 'utf8');
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
    process.stderr.write(`mz-iceberg-sink: the file of definitions can't be read: ${options.definitionsPath} (${code})\n`);
    return null;
  }
  const parsed = parseDefinitions(text, {
    env: (name) => process.env[name],
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  if (parsed.kind === 'definitions') {
    if (parsed.warnings.length > 0) process.stderr.write(formatProblems(parsed.warnings, options.definitionsPath));
    return parsed.definitions;
  }
  process.stderr.write(formatProblems(parsed.problems, options.definitionsPath));
  return null;
}

async function run(options: CommandOptions, definitions: Definitions): Promise<number> {
  const refused = refusals(definitions);
  for (const error of refused) process.stderr.write(`mz-iceberg-sink: [${error.code}] ${error.message}\n`);
  if (refused.length > 0) return EXIT_USAGE;
  const log = createLog({
    format: options.logFormat,
    level: options.logLevel,
    nowMs: () => Date.now(),
    writeLine: (line) => process.stderr.write(`${line}\n`),
  });
  const world = openWorld(options, log);
  // Else it would be found out with the first large span, perhaps in weeks.
  const unusable = await world.spill.probe();
  if (unusable !== null && !isFull(unusable)) {
    process.stderr.write(`mz-iceberg-sink: [${unusable.code}] ${unusable.message}. ${unusable.remedy}\n`);
    await world.close();
    return EXIT_USAGE;
  }
  log.write('info', 'started', { version: version(), sinks: definitions.sinks.length });
  if (unusable !== null) log.write('warn', 'spill-full', { code: unusable.code, message: unusable.message, remedy: unusable.remedy });
  const running = runDefinitions(definitions, world);
  // A second signal means that waiting is no longer wanted; nothing is lost by going at once.
  let asked = false;
  const onSignal = (): void => {
    if (asked) process.exit(130);
    asked = true;
    running.stop();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const ends = await running.done;
  await world.close();
  // Sockets to a server that says nothing would keep the process for minutes.
  setTimeout(() => process.exit(), LINGER_MS).unref();
  return exitCodeOf(ends);
}

/** A full disk may have room again, and most spans need none: no reason to stay away. */
function isFull({ detail }: SinkError): boolean {
  return detail.status === 'ENOSPC' || detail.status === 'EDQUOT';
}

async function validate(options: CommandOptions, definitions: Definitions): Promise<number> {
  const quiet = createLog({ format: 'text', level: 'error', nowMs: () => Date.now(), writeLine: () => undefined });
  const world = openWorld(options, quiet);
  try {
    const report = await validateDefinitions(definitions, world);
    process.stdout.write(report.text);
    return report.ok ? 0 : 1;
  } finally {
    await world.close();
  }
}

function version(): string {
  const { version: text } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return text;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`mz-iceberg-sink: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
