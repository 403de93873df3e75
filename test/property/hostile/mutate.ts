/**
 * Damage to bytes, decided by a seed: the same seed and corpus give the same inputs on every machine. Mutations are
 * those that find faults in readers of formats: bits, boundary values where a length or count may stand, pieces doubled,
 * moved, cut or taken from another entry.
 */
import { type Random, createRandom } from '../../../src/embedded/auction/seeded-random.ts';

/** Bytes that end things, escape things, or are the largest and smallest of their kind in some format. */
const POINTED = [
  [0x00], [0xff], [0x7f], [0x80], [0x01], [0x09], [0x0a], [0x0d], [0x22], [0x27], [0x5c], [0x2c], [0x2d], [0x2e], [0x30],
  [0x39], [0x7b], [0x7d], [0x5b], [0x5d], [0x28], [0x29], [0x3a], [0x3d, 0x3e], [0x5c, 0x4e], [0xc3], [0xa9],
  [0x7f, 0xff, 0xff, 0xff], [0xff, 0xff, 0xff, 0xff], [0x00, 0x00, 0x00, 0x00], [0xff, 0xff, 0xff, 0xff, 0x0f],
  [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], [0x4e, 0x55, 0x4c, 0x4c], [0xed, 0xa0, 0x80],
];

type Mutation = (bytes: Uint8Array, random: Random, other: Uint8Array) => Uint8Array;

const splice = (bytes: Uint8Array, at: number, removed: number, added: Uint8Array | readonly number[]): Uint8Array => {
  const result = new Uint8Array(bytes.length - removed + added.length);
  result.set(bytes.subarray(0, at));
  result.set(added, at);
  result.set(bytes.subarray(at + removed), at + added.length);
  return result;
};

const rangeOf = (bytes: Uint8Array, random: Random): { readonly at: number; readonly length: number } => {
  const at = random.below(bytes.length + 1);
  return { at, length: random.below(Math.min(bytes.length - at, 16) + 1) };
};

const MUTATIONS: readonly Mutation[] = [
  (bytes, random) => {
    const result = Uint8Array.from(bytes);
    const at = random.below(bytes.length);
    if (bytes.length > 0) result[at] = (result[at] ?? 0) ^ (1 << random.below(8));
    return result;
  },
  (bytes, random) => {
    const value = POINTED[random.below(POINTED.length)] ?? [];
    const at = random.below(bytes.length + 1);
    return splice(bytes, at, Math.min(value.length, bytes.length - at), value);
  },
  (bytes, random) => splice(bytes, random.below(bytes.length + 1), 0, POINTED[random.below(POINTED.length)] ?? []),
  (bytes, random) => {
    const { at, length } = rangeOf(bytes, random);
    return splice(bytes, at, length, []);
  },
  (bytes, random) => {
    const { at, length } = rangeOf(bytes, random);
    return splice(bytes, random.below(bytes.length + 1), 0, bytes.slice(at, at + length));
  },
  (bytes, random, other) => {
    const { at, length } = rangeOf(other, random);
    return splice(bytes, random.below(bytes.length + 1), 0, other.slice(at, at + length));
  },
  (bytes, random) => bytes.slice(0, random.below(bytes.length + 1)),
  (bytes, random) => splice(bytes, random.below(bytes.length + 1), 0, [0x30 + random.below(10)]),
];

/** `count` damaged entries of the corpus, each with one to four mutations; every tenth is an entry as it is. */
export function* damaged(corpus: readonly Uint8Array[], seed: number, count: number): Generator<Uint8Array> {
  const random = createRandom(seed);
  const pick = (): Uint8Array => corpus[random.below(corpus.length)] ?? new Uint8Array();
  for (let made = 0; made < count; made += 1) {
    let bytes = pick();
    const times = made % 10 === 0 ? 0 : 1 + random.below(4);
    for (let done = 0; done < times; done += 1) {
      bytes = MUTATIONS[random.below(MUTATIONS.length)]?.(bytes, random, pick()) ?? bytes;
    }
    yield bytes;
  }
}

/** `HOSTILE_RUNS` multiplies every count, `HOSTILE_SEED` moves every seed: for the long mode. */
export function runsOf(usual: number): number {
  return usual * Number(process.env['HOSTILE_RUNS'] ?? 1);
}

export function seedOf(usual: number): number {
  return usual + Number(process.env['HOSTILE_SEED'] ?? 0);
}
