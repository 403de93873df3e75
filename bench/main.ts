/** `npm run bench -- NAME [options]`: runs a benchmark, prints its tables, saves figures and pictures (outcome.ts). */
import { type Benchmark, findBenchmark, usageText } from './benchmarks.ts';
import { recordOutcome } from './outcome.ts';

const [name = '', ...rest] = process.argv.slice(2);
const benchmark: Benchmark | null = findBenchmark(name);
if (benchmark === null) {
  if (name !== '' && name !== 'help' && name !== '--help') console.error(`there is no benchmark ${name}`);
  console.error(usageText());
  process.exit(2);
}
const smoke = rest.includes('--smoke');
const args = rest.filter((argument) => argument !== '--smoke');
if (benchmark.kind === 'series') await benchmark.run(args);
else await recordOutcome(name, args, smoke, () => benchmark.run(args, smoke));
// What a benchmark left open, such as a kept-alive connection, is of no use to anybody any more.
process.exit(0);
