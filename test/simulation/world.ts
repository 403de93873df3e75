/** What all doubles of one run share. */
import type { Faults } from './faults.ts';
import type { History } from './history.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenario.ts';
import type { Scheduler } from './scheduler.ts';

/** The wall clock at virtual time 0; also the time of Materialize, which counts the same milliseconds. */
export const EPOCH_MS = 1_700_000_000_000;

export interface Violation {
  readonly checker: string;
  readonly what: string;
}

export interface World {
  readonly scenario: Scenario;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: Faults;
  readonly history: History;
  /** Everything that happened and that a sink may rightly halt for. */
  readonly causes: Set<string>;
  readonly violations: Violation[];
}

/** Says that something which must always hold does not. The run goes on, the first violation counts. */
export function violate(world: World, checker: string, what: string): void {
  world.scheduler.note(`VIOLATION ${checker}: ${what}`);
  world.violations.push({ checker, what });
}

/** Latency of an ordinary answer. */
export function latencyMs(random: Random): number {
  return random.between(1, 40);
}
