/**
 * kill -9 in the middle of a snapshot of 2,000,000 rows, again and again, then in a stream of updates on top of it, with a small
 * memory budget, until it is done: the table is the relation, row by row, by DuckDB's reckoning.
 */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BENCH_COLUMNS, FIRST_ID, generateSnapshot, otherColumns } from './workload.ts';
import { createRandom } from '../../../src/embedded/auction/seeded-random.ts';
import { openDuckdbTable } from '../../../src/embedded/check/duckdb-table.ts';
import type { LineChange } from '../../../src/embedded/materialize/world.ts';
import { openStage } from '../../e2e/harness/stage.ts';

const ROWS = 2_000_000;
const SEED = 5;
const BUDGET_BYTES = 16 * 1024 * 1024;

/** The generated rows as COPY text, with the lines of `replaced` ids left out and `added` put behind. */
async function writeExpected(path: string, replaced: ReadonlySet<number>, added: readonly string[]): Promise<void> {
  const out = createWriteStream(path);
  for (const { bytes } of generateSnapshot(ROWS, SEED)({ asOf: 0n, progress: true })) {
    const lines: string[] = [];
    for (let at = 0; at < bytes.length;) {
      const length = new DataView(bytes.buffer, bytes.byteOffset + at + 1, 4).getUint32(0);
      const line = Buffer.from(bytes.buffer, bytes.byteOffset + at + 5, length - 4).toString('latin1').split('\t').slice(3).join('\t');
      if (!replaced.has(Number(line.slice(0, line.indexOf('\t'))))) lines.push(line);
      at += length + 1;
    }
    if (!out.write(lines.join(''), 'latin1')) await new Promise<void>((resolve) => out.once('drain', () => resolve()));
  }
  out.end(added.map((line) => `${line}\n`).join(''), 'latin1');
  await finished(out);
}

test.each(['upsert', 'append'] as const)('GIVEN a daemon in %s mode WHEN it is killed over and over THEN the table is the relation', async (mode) => {
  const scratch = mkdtempSync(join(tmpdir(), 'mz-sink-two-million-'));
  await using stage = await openStage({ materialize: { manualTime: false, tickMs: 100, maxBufferedBytes: 4e9, maxResultBytes: 1e12 } });
  const relation = stage.materialize.createRelation({
    name: 'big', columns: BENCH_COLUMNS, keys: [[0]], retainHistoryMs: 3_600_000, generateSnapshot: generateSnapshot(ROWS, SEED),
  });
  const clause = { from: 'big', table: 'big', mode, ...(mode === 'upsert' ? { key: '(id)' } : {}) };
  const spawn = () => stage.spawn(clause, { memoryBudgetBytes: BUDGET_BYTES });
  for (const delayMs of [1_000, 1_800, 2_600]) {
    const child = spawn();
    await sleep(delayMs);
    await child.kill();
  }
  let child = spawn();
  await stage.waitForFrontier('big', 1n, 120_000);
  // Updates of rows of the snapshot, each id once, while the daemon goes on being killed.
  const random = createRandom(9).fraction;
  const original = new Map<number, string>();
  const tails = originalTails();
  const added: string[] = [];
  let last = 0n;
  for (let round = 0; round < 12; round++) {
    const changes: LineChange[] = [];
    for (let index = 0; index < 500; index++) {
      const id = FIRST_ID + round * 500 + index;
      const before = `${id}\t${tails[round * 500 + index] ?? ''}`;
      const after = `${id}\t${otherColumns(random)}`;
      original.set(id, before);
      added.push(after);
      changes.push({ line: before, diff: -1 }, { line: after, diff: 1 });
    }
    last = stage.materialize.writeTime();
    stage.materialize.applyLines(relation, last, changes);
    stage.materialize.advance(last + 1n);
    await sleep(700);
    if (round % 3 === 2) {
      await child.kill();
      child = spawn();
    }
  }
  await stage.waitForFrontier('big', last + 1n, 60_000);
  const path = join(scratch, 'expected.copy');
  await writeExpected(path, new Set(original.keys()), added);
  const now = await stage.lake.table('big');
  const reader = await openDuckdbTable({ metadataLocation: now?.metadataLocation ?? '' });
  try {
    const comparison = await reader.compareWith({
      columns: BENCH_COLUMNS.map((column) => column.name), rows: { kind: 'copy-text', path }, fold: mode === 'append' ? 'change-log' : 'none',
    });
    expect(comparison).toEqual({ equal: true, tableRows: BigInt(ROWS), relationRows: BigInt(ROWS), missingRows: 0n, unexpectedRows: 0n });
    expect(await reader.checkTable('current')).toEqual([]);
  } finally {
    reader.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}, 400_000);

/** What the generator puts behind the first ids. */
function originalTails(): readonly string[] {
  const random = createRandom(SEED).fraction;
  return Array.from({ length: 10_000 }, () => otherColumns(random));
}
