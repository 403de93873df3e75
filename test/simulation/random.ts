/**
 * The one source of chance. A seed gives a stream; a stream gives named streams of its own, so that switching one fault
 * off leaves the draws of all others as they were. Minimising a failure would be hopeless without that.
 */
import { type Random as Seeded, createRandom as createSeeded } from '../../src/embedded/auction/seeded-random.ts';

export interface Random extends Seeded {
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  shuffled<T>(items: readonly T[]): T[];
  /** Another stream, the same for the same name. */
  stream(name: string): Random;
}

export function hashText(text: string, start = 0x811c9dc5): number {
  let hash = start;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function createRandom(seed: number): Random {
  const first = seed >>> 0;
  const { fraction, below, pick } = createSeeded(seed);
  const random: Random = {
    fraction,
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (probability) => probability > 0 && fraction() < probability,
    pick,
    shuffled<T>(items: readonly T[]): T[] {
      const result = [...items];
      for (let last = result.length - 1; last > 0; last--) {
        const other = below(last + 1);
        const held = result[last] as T;
        result[last] = result[other] as T;
        result[other] = held;
      }
      return result;
    },
    stream: (name) => createRandom(hashText(name, first ^ 0x9e3779b9)),
  };
  return random;
}
