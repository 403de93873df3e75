/**
 * The disk that rows are spilled to is full. A file system in memory of its own, so that the refusal is the kernel's: the
 * catalog and the store are away, rows come, memory is short, rows go to disk, the disk takes no more. Then there is room again.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Episode, RUSH, STEADY } from './episode.ts';
import { count } from './tally.ts';

const SMALL = '256k';
const LARGE = '256m';
/** The least that the command takes. */
const BUDGET_BYTES = 16 * 1024 * 1024;
const FULL_WITHIN_MS = 40_000;
const FIRST_COMMITS_WITHIN_MS = 60_000;

export async function playDiskFull(episode: Episode): Promise<void> {
  const { arena } = episode;
  const parent = join(arena.scratch, 'disks');
  mkdirSync(parent, { recursive: true });
  const disk = mkdtempSync(join(parent, 'disk-'));
  await run('mount', ['-t', 'tmpfs', '-o', `size=${SMALL}`, 'tmpfs', disk]);
  try {
    let daemon = episode.spawn({ spillDir: disk, memoryBudgetBytes: BUDGET_BYTES });
    await untilAllCommit(episode);
    arena.catalog.setReach('hang');
    arena.s3.setReach('hang');
    episode.setPace(RUSH);
    episode.burst(4_000, 10_000);
    const isFull = (): boolean => daemon.entries().some((entry) => entry['code'] === 'spill-failed');
    const deadline = performance.now() + FULL_WITHIN_MS;
    while (!isFull()) {
      if (performance.now() > deadline) {
        episode.differ('the spill disk never got full: the scenario does not do what it is for');
        break;
      }
      await sleep(100);
    }
    count(arena.tally.events, 'spill disk full');
    episode.burst(0, 0);
    episode.setPace(STEADY);
    await daemon.kill();
    count(arena.tally.kills, 'disk full');
    daemon = episode.spawn({ spillDir: disk, memoryBudgetBytes: BUDGET_BYTES });
    arena.catalog.setReach('up');
    arena.s3.setReach('up');
    await sleep(6_000);
    await run('mount', ['-o', `remount,size=${LARGE}`, disk]);
    await sleep(3_000);
    // The mount goes with the last daemon that uses it; the one that catches up has a disk of its own.
    await daemon.kill();
    count(arena.tally.kills, 'disk has room again');
    arena.tally.rounds += 2;
  } finally {
    for (const daemon of episode.daemons()) await daemon.kill();
    await run('umount', [disk]);
    rmSync(disk, { recursive: true, force: true });
  }
}

/** A sink reads no rows before it has seen its table: with the servers away sooner, nothing would come that fills the disk. */
async function untilAllCommit(episode: Episode): Promise<void> {
  const deadline = performance.now() + FIRST_COMMITS_WITHIN_MS;
  for (const { name } of episode.tables) {
    while (await episode.frontier(name) === 0n) {
      if (performance.now() > deadline) throw new Error(`${name} had no commit in ${FIRST_COMMITS_WITHIN_MS} ms, with all servers up`);
      await sleep(50);
    }
  }
}

/** Needs the right to mount. Without it the test fails, for it could not show what it is for. */
async function run(command: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, args);
}
