/**
 * `npm run test:crash -- [--minutes M] [--seed S] [--only SCENARIO]`: real daemons, real servers, real kills.
 *
 * Plays the scenarios in turn until the time is over, each at least once, and prints what happened. Ends with 1 at the first
 * episode with a difference, with what to type to play that one again. The seed gives history, faults and aims; at which
 * moment of a process they strike is the machine's.
 */
import { parseArgs } from 'node:util';
import { openArena } from './arena.ts';
import { runEpisode } from './episode.ts';
import { SCENARIOS } from './scenarios.ts';
import { formatTally } from './tally.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    /** Skips the episodes before. */
    from: { type: 'string', default: '0' },
  },
});

const minutes = Number(values.minutes);
const seed = Number(values.seed);
const scenarios = values.only === undefined ? SCENARIOS : SCENARIOS.filter((scenario) => scenario.name === values.only);
if (scenarios.length === 0) throw new Error(`there is no scenario ${values.only}; there are ${SCENARIOS.map(({ name }) => name).join(', ')}`);
if (!(minutes > 0) || !Number.isInteger(seed)) throw new Error('--minutes takes a number above zero, --seed an integer');

const startedMs = Date.now();
const arena = await openArena(seed, startedMs);
let isFailed = false;
const stop = (): void => {
  void arena.close().finally(() => process.exit(130));
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
try {
  const patience = { outageMs: Math.max(12_000, Math.min(180_000, minutes * 2_400)) };
  for (let ordinal = Number(values.from); !isFailed; ordinal += 1) {
    const scenario = scenarios[ordinal % scenarios.length];
    const elapsedMs = Date.now() - startedMs;
    const isDue = ordinal - Number(values.from) < scenarios.length;
    if (scenario === undefined || (!isDue && elapsedMs > minutes * 60_000)) break;
    const began = performance.now();
    const before = arena.tally.snapshots;
    const name = `e${ordinal}_${scenario.name.replaceAll('-', '_')}`;
    const { differences } = await runEpisode(arena, name, scenario.initialRows, (episode) => scenario.play(episode, patience));
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`episode ${ordinal} ${scenario.name}: ${seconds} s, ${arena.tally.snapshots - before} commits judged, ${differences.length} differences`);
    if (differences.length > 0) {
      isFailed = true;
      arena.tally.differences.push(...differences);
      console.log(`${differences.join('\n\n')}\n\nseed ${seed}, episode ${ordinal}; again: npm run test:crash -- --seed ${seed} --from ${ordinal}`
        + (values.only === undefined ? '' : ` --only ${values.only}`));
    }
  }
} catch (thrown) {
  isFailed = true;
  console.log(`seed ${seed}: ${thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown)}`);
} finally {
  console.log(formatTally(arena.tally, Date.now()));
  await arena.close();
}
process.exit(isFailed ? 1 : 0);
