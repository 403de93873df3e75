/**
 * The one source of chance. A seed gives a stream; a stream gives named streams of its own, so that switching one fault
 * off leaves the draws of all others as they were. Minimising a failure would be hopeless without that.
 */
export interface Random {
  /** At least 0, below 1. */
  fraction(): number;
  /** An integer at least 0, below `limit`. */
  below(limit: number): number;
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
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
  let state = first;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (limit: number): number => Math.floor(fraction() * limit);
  const random: Random = {
    fraction,
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: (probability) => probability > 0 && fraction() < probability,
    pick<T>(items: readonly T[]): T {
      const picked = items[below(items.length)];
      if (picked === undefined) throw new RangeError('nothing to pick from');
      return picked;
    },
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
