/**
 * Failures of the past, made small and kept as whole scenarios, because what a seed means changes with the generator.
 * They are played again before anything else.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Scenario } from './scenario.ts';

export interface KeptSeed {
  readonly scenario: Scenario;
  /** What it showed, in a sentence. */
  readonly showed: string;
  /** The commit at which it failed. */
  readonly commit: string;
}

const PATH = new URL('./seeds.json', import.meta.url);

export function keptSeeds(): readonly KeptSeed[] {
  return JSON.parse(readFileSync(PATH, 'utf8')) as readonly KeptSeed[];
}

export function keep(seed: KeptSeed): void {
  writeFileSync(PATH, `${JSON.stringify([...keptSeeds(), seed], null, 2)}\n`);
}
