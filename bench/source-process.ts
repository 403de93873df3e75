/**
 * The benchmark's source, in a process of its own so that its cost is not the sink's. Prints one JSON line when ready; then
 * each line on standard input `changes COUNT` applies that many change lines at one time and answers with that time.
 *
 *   node bench/source-process.ts --rows N --seed S
 */
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createMaterializeStandIn } from '../src/embedded/materialize/stand-in.ts';
import type { LineChange } from '../src/embedded/materialize/world.ts';
import { BENCH_COLUMNS, FIRST_ID, createRandom, generateSnapshot, otherColumns } from './workload.ts';

const { values } = parseArgs({ options: { rows: { type: 'string' }, seed: { type: 'string' } } });
const rowCount = Number(values.rows ?? 1_000_000);
const seed = Number(values.seed ?? 1);

const standIn = await createMaterializeStandIn({ tickMs: 200, maxResultBytes: 1e12, maxBufferedBytes: 4e9 });
const relation = standIn.createRelation({
  name: 'bench', kind: 'table', columns: BENCH_COLUMNS, keys: [[0]], retainHistoryMs: 3_600_000,
  generateSnapshot: generateSnapshot(rowCount, seed),
});
const random = createRandom(seed + 1);
let nextId = FIRST_ID + rowCount;

/** Half updates (two lines), a quarter inserts, a quarter deletes, of keys uniform over the snapshot, each touched once. */
function changes(lines: number): LineChange[] {
  const made: LineChange[] = [];
  const touched = new Set<number>();
  while (made.length < lines) {
    const kind = random();
    if (kind < 0.4) {
      made.push({ line: `${nextId++}\t${otherColumns(random)}`, diff: 1 });
      continue;
    }
    const id = FIRST_ID + Math.floor(random() * rowCount);
    if (touched.has(id)) continue;
    touched.add(id);
    // The old values are as wrong as they are irrelevant: a retraction counts by its key.
    made.push({ line: `${id}\t${otherColumns(random)}`, diff: -1 });
    if (kind < 0.8) made.push({ line: `${id}\t${otherColumns(random)}`, diff: 1 });
  }
  return made;
}

process.stdout.write(`${JSON.stringify({ url: standIn.url })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const [, count] = line.split(' ');
  const made = changes(Number(count));
  const time = standIn.writeTime();
  standIn.applyLines(relation, time, made);
  standIn.advance(time + 1n);
  process.stdout.write(`${JSON.stringify({ time: String(time), lines: made.length })}\n`);
}
await standIn.close();
