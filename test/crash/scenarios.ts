/** What is done to the daemons of an episode, one function a kind of ill-treatment. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../simulation/random.ts';
import { AIMS, A_COMMIT, type Aim, START_AIMS, drawAim, onlyWatched } from './aims.ts';
import type { Daemon } from './daemon.ts';
import { playDiskFull } from './disk-full.ts';
import { type Episode, RUSH, STEADY } from './episode.ts';
import { QUIET, type Rates } from './fault-schedule.ts';
import { count } from './tally.ts';

export interface Scenario {
  readonly name: string;
  readonly initialRows: number;
  readonly play: (episode: Episode, patience: Patience) => Promise<void>;
}

/** A short run has less of what takes long. */
export interface Patience {
  readonly outageMs: number;
}

const FIRST_COMMIT_MS = 12_000;
const SOME: Rates = { http: 0.04, tcp: 0.15 };
const MANY: Rates = { http: 0.15, tcp: 0.5 };

export const SCENARIOS: readonly Scenario[] = [
  { name: 'kills', initialRows: 3_000, play: (episode) => playKills(episode, QUIET, 14) },
  { name: 'faults', initialRows: 800, play: playFaults },
  { name: 'frozen', initialRows: 400, play: playFrozen },
  { name: 'kills-in-faults', initialRows: 2_000, play: (episode) => playKills(episode, SOME, 14) },
  { name: 'twins', initialRows: 400, play: playTwins },
  { name: 'fenced', initialRows: 200, play: playFenced },
  { name: 'outage', initialRows: 400, play: playOutage },
  { name: 'disk-full', initialRows: 1_000, play: playDiskFull },
  { name: 'server-killed', initialRows: 800, play: playServerKilled },
  { name: 'source-lost', initialRows: 4_000, play: playSourceLost },
];

/** Life after life, each ended by SIGKILL at a moment drawn or aimed at; restarted at once. */
async function playKills(episode: Episode, rates: Rates, rounds: number): Promise<void> {
  const { arena, random } = episode;
  arena.hurt(rates);
  for (let round = 0; round < rounds; round += 1) {
    episode.setPace(random.chance(0.2) ? RUSH : STEADY);
    const daemon = episode.spawn();
    await killAimed(episode, daemon, drawAim(random, round < 3 ? START_AIMS : AIMS));
    arena.tally.rounds += 1;
  }
}

/** `aim` null: at any moment from the start of the process to some commits later. */
async function killAimed(episode: Episode, daemon: Daemon, aim: Aim | null): Promise<void> {
  const { arena, random } = episode;
  // On a busy machine a start takes seconds: most lives get as far as a commit, so that there is something to resume from.
  if (random.chance(0.6)) await arena.range.wait(A_COMMIT, () => undefined, FIRST_COMMIT_MS);
  if (aim === null) {
    await sleep(random.between(50, 2_000));
    count(arena.tally.kills, 'any moment');
    await daemon.kill();
    return;
  }
  // Not the first of its kind each time: the first commit of a life is unlike the later ones.
  for (let skipped = random.below(4); skipped > 0; skipped -= 1) {
    await arena.range.wait(onlyWatched(aim), () => undefined, 1_200);
  }
  const hit = await arena.range.wait(aim, () => daemon.shoot(), 2_500);
  count(arena.tally.kills, hit ? aim.name : 'any moment');
  await daemon.kill();
}

/** One daemon through a storm of faults, with hardly a kill. */
async function playFaults(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt(MANY);
  let daemon = episode.spawn();
  for (let round = 0; round < 6; round += 1) {
    await sleep(random.between(2_000, 4_000));
    if (round % 3 === 2) {
      await killAimed(episode, daemon, drawAim(random, AIMS));
      daemon = episode.spawn();
    }
    arena.tally.rounds += 1;
  }
}

/**
 * A daemon stops in its tracks, a second one takes over, and the first wakes up as if nothing had happened: with a commit in
 * the socket, with files uploaded, or with a table in its memory that is long out of date.
 */
async function playFrozen(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt({ http: 0.01, tcp: 0 });
  let first = episode.spawn();
  for (let round = 0; round < 5; round += 1) {
    await sleep(random.between(800, 1_800));
    await freezeAimed(episode, first);
    const second = episode.spawn();
    await sleep(random.between(1_500, 3_500));
    first.thaw();
    count(arena.tally.events, 'woken');
    await sleep(random.between(300, 1_800));
    const [victim, survivor] = random.chance(0.5) ? [first, second] : [second, first];
    await killAimed(episode, victim, drawAim(random, AIMS));
    first = survivor;
    arena.tally.rounds += 1;
  }
}

const FREEZE_AIMS: readonly Aim[] = AIMS.filter(({ http }) => http !== null && ['load', 'put-list', 'commit'].includes(http.operation));

async function freezeAimed({ arena, random }: Episode, daemon: Daemon): Promise<void> {
  const aim = drawAim(random, FREEZE_AIMS);
  const hit = aim !== null && await arena.range.wait(aim, () => daemon.freeze(), 1_500);
  if (!hit) daemon.freeze();
  count(arena.tally.events, hit ? `frozen at ${aim.name}` : 'frozen at any moment');
}

/** Two daemons on the same sinks all the time; now one is killed, now the other. */
async function playTwins(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt(SOME);
  const pair: [Daemon, Daemon] = [episode.spawn(), episode.spawn()];
  for (let round = 0; round < 8; round += 1) {
    await sleep(random.between(600, 1_600));
    const which = random.below(2) as 0 | 1;
    await killAimed(episode, pair[which], drawAim(random, AIMS));
    pair[which] = episode.spawn();
    arena.tally.rounds += 1;
  }
  count(arena.tally.events, 'pairs of daemons');
}

/** A newer version takes over from one that runs, one that is frozen, and one that is started again afterwards. */
async function playFenced(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt({ http: 0.01, tcp: 0 });
  // The old one commits several times a second, warm and in step with the source, while the new one starts.
  episode.setPace(STEADY);
  let old = episode.spawn({ version: 0 });
  for (let version = 1; version <= 4; version += 1) {
    await sleep(random.between(800, 2_000));
    const isFrozen = version % 2 === 0;
    if (isFrozen) await freezeAimed(episode, old);
    old.mayBeFenced();
    const successor = episode.spawn({ version });
    await untilVersion(episode, version);
    if (isFrozen) old.thaw();
    await old.expectFenced(45_000);
    if (random.chance(0.5)) await episode.spawn({ version: old.version }).expectFenced(45_000);
    old = successor;
    arena.tally.rounds += 1;
  }
}

async function untilVersion(episode: Episode, version: number): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (const table of episode.tables) {
    for (;;) {
      const head = (await episode.arena.lakehouse.table(table.name))?.snapshots.at(-1);
      if (BigInt(head?.summary['mz-sink-version'] ?? '-1') >= BigInt(version)) break;
      if (episode.testimony.differences.length > 0) return;
      if (performance.now() > deadline) {
        const log = episode.daemons().map((daemon) => daemon.entries().filter((entry) => entry['sink'] === table.name).slice(-20));
        const lines = log.map((entries) => entries.map((entry) => JSON.stringify(entry)).join('\n')).join('\n--\n');
        throw new Error(`version ${version} did not commit to ${table.name} in a minute:\n${lines}`);
      }
      await sleep(50);
    }
  }
}

/** Catalog and storage are both away, refusing or silent, while rows arrive; with a restart in the middle of it. */
async function playOutage(episode: Episode, patience: Patience): Promise<void> {
  const { arena, random } = episode;
  const daemon = episode.spawn();
  await sleep(3_000);
  const setReach = (reach: 'up' | 'refuse' | 'hang'): void => {
    arena.catalog.setReach(reach);
    arena.s3.setReach(reach);
  };
  for (const reach of random.shuffled(['refuse', 'hang'] as const)) {
    setReach(reach);
    episode.burst(2_000, 4);
    await sleep(patience.outageMs);
    if (reach === 'hang') {
      // A stop is not held up by servers that say nothing.
      await daemon.stop();
      count(arena.tally.events, 'stopped in an outage');
      episode.spawn();
      await sleep(2_000);
    }
    setReach('up');
    count(arena.tally.events, `both servers away (${reach}) for ${Math.round(patience.outageMs / 1_000)} s`);
    await sleep(4_000);
    arena.tally.rounds += 1;
  }
}

/** SIGKILL to the server that is catalog and storage in one, at a moment of a commit or at any other. */
async function playServerKilled(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt({ http: 0.01, tcp: 0.1 });
  let daemon = episode.spawn();
  for (let round = 0; round < 3; round += 1) {
    await sleep(random.between(1_000, 2_500));
    const aim = drawAim(random, FREEZE_AIMS);
    const deaths: Promise<void>[] = [];
    const die = (): void => void deaths.push(arena.lakehouse.kill());
    const hit = aim !== null && await arena.range.wait(onlyWatched(aim), die, 1_500);
    if (!hit) die();
    await Promise.all(deaths);
    count(arena.tally.events, hit ? `server killed at ${aim.name}` : 'server killed at any moment');
    await sleep(random.between(0, 1_500));
    if (random.chance(0.4)) {
      await daemon.kill();
      count(arena.tally.kills, 'server down');
      daemon = episode.spawn();
    }
    await arena.lakehouse.restart();
    arena.tally.rounds += 1;
  }
  await sleep(3_000);
}

/** Connections to Materialize break anywhere, and Materialize itself is restarted. */
async function playSourceLost(episode: Episode): Promise<void> {
  const { arena, random } = episode;
  arena.hurt({ http: 0.01, tcp: 0.8 });
  episode.setPace(RUSH);
  let daemon = episode.spawn();
  for (let round = 0; round < 6; round += 1) {
    await sleep(random.between(1_000, 2_500));
    await loseSource(episode, random);
    if (random.chance(0.3)) {
      await killAimed(episode, daemon, drawAim(random, AIMS));
      daemon = episode.spawn();
    }
    arena.tally.rounds += 1;
  }
}

async function loseSource({ arena }: Episode, random: Random): Promise<void> {
  if (random.chance(0.5)) {
    await arena.restartSource(() => sleep(random.between(0, 1_500)));
    return;
  }
  arena.standIn()?.killConnections();
  count(arena.tally.events, 'every connection to the source reset');
}
