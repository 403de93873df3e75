/**
 * The simulator's command line: `node test/simulation/main.ts --seeds N --from S [--trace]`.
 * Ends with code 1 at the first failing seed, after having made it smaller and printed how to play it again.
 *
 * --shards N: in so many processes, each up to its first failing seed. --bytes: real Parquet and Avro in every seed.
 * --once: without the second run that must give the same trace. --quick: without making failures smaller. --keep-going:
 * past failures. --keep: write the smaller scenario into seeds.json.
 */
import { parseArgs } from 'node:util';
import './redirect-modules.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    shards: { type: 'string', default: '1' },
    // Says that this process is one of the shards, and that its tally goes to the one that started it.
    shard: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    bytes: { type: 'boolean', default: false },
    once: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const seeds = Number(values.seeds);
const from = Number(values.from);
const shards = Number(values.shards);
if (shards > 1) {
  const flags = (['trace', 'bytes', 'once', 'quick', 'keep-going', 'keep'] as const)
    .flatMap((flag) => (values[flag] ? [`--${flag}`] : []));
  const { runShards } = await import('./run-shards.ts');
  process.exitCode = await runShards({ shards, seeds, from, flags });
} else {
  // After the redirection, so that it holds for everything that is loaded here.
  const { runSeeds } = await import('./run-seeds.ts');
  process.exitCode = await runSeeds({
    seeds, from,
    trace: values.trace,
    bytes: values.bytes,
    once: values.once,
    minimise: !values.quick,
    keepGoing: values['keep-going'],
    keep: values.keep,
    isShard: values.shard,
  });
}
