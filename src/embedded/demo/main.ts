/** `npm run demo`: from nothing to two Iceberg tables that an independent engine found right. Exits 0 only then. */
import { USAGE, parseDemoOptions } from './options.ts';
import { runDemo } from './run-demo.ts';

const EXIT_INTERRUPTED = 130;
const EXIT_USAGE = 2;

async function main(): Promise<number> {
  let options;
  try {
    options = parseDemoOptions(process.argv.slice(2));
  } catch (thrown) {
    process.stderr.write(`demo: ${thrown instanceof Error ? thrown.message : String(thrown)}\n\n${USAGE}`);
    return EXIT_USAGE;
  }
  if (options === null) {
    process.stdout.write(USAGE);
    return 0;
  }
  const ending = new AbortController();
  const onSignal = (): void => {
    // The second time nobody wants to wait for the check any more.
    if (ending.signal.aborted) process.exit(EXIT_INTERRUPTED);
    ending.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  const holds = await runDemo({ options, stateDir: '.demo', output: process.stdout, endEarly: ending.signal });
  return holds ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
