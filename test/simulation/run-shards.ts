/** Divides the seeds among processes and adds up what they did: a run is a function of its seed, wherever it is played. */
import { fork } from 'node:child_process';
import { type TallyCounts, createTally, tallyText } from './tally.ts';

export interface ShardOptions {
  readonly shards: number;
  readonly seeds: number;
  readonly from: number;
  /** What each process gets besides its seeds. */
  readonly flags: readonly string[];
}

const MAIN = new URL('./main.ts', import.meta.url);

/** The exit code: that of the worst shard. Failures are printed as they come. */
export async function runShards({ shards, seeds, from, flags }: ShardOptions): Promise<number> {
  const tally = createTally();
  const startedMs = performance.now();
  const codes = await Promise.all(Array.from({ length: shards }, (_, index) => {
    const first = from + Math.floor((seeds * index) / shards);
    const next = from + Math.floor((seeds * (index + 1)) / shards);
    return runShard(['--from', String(first), '--seeds', String(next - first), ...flags], (counts) => tally.add(counts));
  }));
  console.log(tallyText(tally, (performance.now() - startedMs) / 1000));
  return Math.max(...codes);
}

function runShard(args: readonly string[], onTally: (counts: TallyCounts) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = fork(MAIN, [...args, '--shard'], { serialization: 'advanced' });
    child.on('message', (counts) => onTally(counts as TallyCounts));
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (signal !== null) console.log(`the shard ${args.join(' ')} was ended by ${signal}, its seeds are missing`);
      resolve(code ?? 1);
    });
  });
}
