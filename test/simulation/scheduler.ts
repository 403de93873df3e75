/**
 * Virtual time. Whatever happens later than now is an entry here, and one entry runs at a time, followed by every
 * promise that it settles; so a run is a function of its seed, and hours take milliseconds.
 */
import { hashText } from './random.ts';

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly label: string;
  readonly run: () => void;
  cancelled: boolean;
}

export class Scheduler {
  #nowMs = 0;
  #order = 0;
  /** Latest first, so that the next one is taken off the end. */
  readonly #entries: Entry[] = [];
  #hash = 0x811c9dc5;
  #steps = 0;
  readonly #kept: string[] | null;
  readonly #working = new Set<Promise<void>>();

  /** `keepTrace`: holds the lines for printing; their hash is always there. */
  constructor(keepTrace: boolean) {
    this.#kept = keepTrace ? [] : null;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  get traceHash(): number {
    return this.#hash;
  }

  get trace(): readonly string[] {
    return this.#kept ?? [];
  }

  note(line: string): void {
    this.#hash = hashText(line, this.#hash ^ this.#nowMs);
    this.#kept?.push(`${String(this.#nowMs).padStart(8)} ${line}`);
  }

  /** The returned function cancels. Entries of one moment run in the order of asking. */
  at(delayMs: number, label: string, run: () => void): () => void {
    const entry: Entry = {
      atMs: this.#nowMs + Math.max(0, Math.round(delayMs)), order: this.#order++, label, run, cancelled: false,
    };
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.atMs ?? 0) > entry.atMs) low = middle + 1;
      else high = middle;
    }
    this.#entries.splice(low, 0, entry);
    return () => {
      entry.cancelled = true;
    };
  }

  /** Virtual time stands still until the work is done, which takes real time. */
  async waitFor(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => this.#working.delete(tracked));
    this.#working.add(tracked);
    await tracked;
  }

  async #settled(): Promise<void> {
    await promisesSettled();
    while (this.#working.size > 0) {
      await Promise.allSettled(this.#working);
      await promisesSettled();
    }
  }

  /** Runs until `isDone` or until nothing is left; false when `stepsMax` were not enough. */
  async run(isDone: () => boolean, stepsMax: number): Promise<boolean> {
    await this.#settled();
    for (let left = stepsMax; left > 0; left--) {
      if (isDone()) return true;
      const entry = this.#entries.pop();
      if (entry === undefined) return true;
      if (entry.cancelled) continue;
      this.#nowMs = entry.atMs;
      this.#steps++;
      this.note(entry.label);
      entry.run();
      await promisesSettled();
      if (this.#working.size > 0) await this.#settled();
    }
    return isDone();
  }
}

/**
 * Node runs a tick only when its queue of promise jobs is empty, however many of them new ones have queued. So this
 * resolves when everything that can go on without time passing has gone on.
 */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}
