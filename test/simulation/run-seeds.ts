/** Runs seeds one after the other, each twice, and reports. */
import { execFileSync } from 'node:child_process';
import { keep, keptSeeds } from './kept-seeds.ts';
import { minimised } from './minimise.ts';
import { type Scenario, scenarioOf } from './scenario.ts';
import { type RunResult, simulate } from './simulate.ts';
import { countsOf, createTally, tallyText } from './tally.ts';

export interface RunOptions {
  readonly seeds: number;
  readonly from: number;
  readonly trace: boolean;
  /** Every seed with real Avro bytes, instead of a share of them. */
  readonly bytes: boolean;
  /** Without the second run that must give the same trace. */
  readonly once: boolean;
  readonly minimise: boolean;
  readonly keepGoing: boolean;
  /** Whether a failure goes into seeds.json. */
  readonly keep: boolean;
  /** The tally goes to the process that started this one, instead of being printed. */
  readonly isShard: boolean;
}

/** A long run says so often how far it is. */
const SEEDS_PER_NOTE = 25_000;

/** The exit code. */
export async function runSeeds(options: RunOptions): Promise<number> {
  const unhandled: string[] = [];
  process.on('unhandledRejection', (reason) => unhandled.push(
    reason instanceof Error ? reason.stack ?? reason.message : String(reason),
  ));
  const tally = createTally();
  const startedMs = performance.now();
  let failures = await replayKept(options, unhandled);
  for (let seed = options.from; seed < options.from + options.seeds; seed++) {
    const scenario: Scenario = options.bytes ? { ...scenarioOf(seed), fidelity: 'bytes' } : scenarioOf(seed);
    const failure = await failureOf(scenario, options, unhandled, (result) => tally.add(countsOf(result)));
    const played = seed - options.from + 1;
    if (played % SEEDS_PER_NOTE === 0) console.log(`… ${played} of ${options.seeds} seeds from ${options.from} on`);
    if (failure === null) continue;
    failures++;
    await report(scenario, failure, options);
    if (!options.keepGoing) break;
  }
  if (options.isShard) process.send?.(tally.counts);
  else console.log(tallyText(tally, (performance.now() - startedMs) / 1000));
  return failures === 0 ? 0 : 1;
}

/** How many of the failures of the past fail again. */
async function replayKept(options: RunOptions, unhandled: string[]): Promise<number> {
  let failures = 0;
  for (const { scenario, showed } of keptSeeds()) {
    const failure = await failureOf(scenario, { ...options, trace: false }, unhandled, () => undefined);
    if (failure === null) continue;
    failures++;
    console.log(`seed ${scenario.seed} fails: ${failure} (kept: ${showed})`);
  }
  return failures;
}

async function failureOf(
  scenario: Scenario, options: RunOptions, unhandled: string[], onResult: (result: RunResult) => void,
): Promise<string | null> {
  const result = await simulate(scenario, options.trace);
  onResult(result);
  if (options.trace) for (const line of result.trace) console.log(line);
  // Rejections that nobody handled are reported when the loop turns.
  await new Promise((resolve) => setImmediate(resolve));
  if (unhandled.length > 0) return `unhandled rejection: ${unhandled.splice(0).join('\n')}`;
  if (result.violation !== null) return `${result.violation.checker}: ${result.violation.what}`;
  if (options.once) return null;
  const again = await simulate(scenario, false);
  return again.traceHash === result.traceHash ? null : 'determinism: two runs of the seed have different traces';
}

async function report(scenario: Scenario, failure: string, options: RunOptions): Promise<void> {
  console.log(`seed ${scenario.seed} fails: ${failure}`);
  console.log(`commit ${commitText()}; play it again with --from ${scenario.seed} --seeds 1 --trace`);
  if (!options.minimise) return;
  const small = await minimised(scenario, failure);
  if (options.keep) keep({ scenario: small, showed: failure, commit: commitText() });
  console.log(`made smaller:\n${JSON.stringify(small, null, 2)}`);
  const { trace } = await simulate(small, true);
  for (const line of trace.slice(-80)) console.log(line);
}

function commitText(): string {
  try {
    return execFileSync(
      'git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    ).trim();
  } catch {
    return 'unknown';
  }
}
