/** Draws faults at the rates of the scenario, and counts them. Each kind has a stream of its own. */
import { SinkError, type ErrorCode } from '../../src/errors.ts';
import type { Random } from './random.ts';
import type { FaultKind, Scenario } from './scenario.ts';

/** They take time or say something; a sink that starts over for them is wrong. */
const HARMLESS: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'notice', 'late-progress', 'put-slow', 'load-slow', 'commit-slow', 'spill-slow', 'encode-slow',
]);

export class Faults {
  readonly #rates: Scenario['rates'];
  readonly #streams = new Map<FaultKind, Random>();
  readonly #random: Random;
  readonly counts = new Map<FaultKind, number>();
  /** Off once the time of faults is over. */
  active = true;
  /** True once anything out of the ordinary has happened in this run; others set it as well. */
  disturbed = false;

  constructor(rates: Scenario['rates'], random: Random) {
    this.#rates = rates;
    this.#random = random;
  }

  strikes(kind: FaultKind): boolean {
    const rate = this.#rates[kind];
    if (rate === undefined || !this.active) return false;
    let stream = this.#streams.get(kind);
    if (stream === undefined) {
      stream = this.#random.stream(kind);
      this.#streams.set(kind, stream);
    }
    if (!stream.chance(rate)) return false;
    if (!HARMLESS.has(kind)) this.disturbed = true;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    return true;
  }
}

export function planned(code: ErrorCode): SinkError {
  return new SinkError(code, 'a planned fault');
}
