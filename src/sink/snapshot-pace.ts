/**
 * When the source waits for the encoder while it sends the initial snapshot. In: bytes that wait for the encoder, and the time.
 * Out: whether the socket is to be read.
 *
 * Materialize drops a client behind which too much piles up, but the message that is being sent does not count towards that
 * bound, and a snapshot is one: only what changes in the meantime piles up. So for a while waiting costs nothing, and it saves
 * writing the rows to disk and reading them back, which is half of what a snapshot takes where the source is faster than the
 * encoder. The patience is bounded in all, not for each pause: what changes in 10 s stays far below the bound of 128 MiB
 * (materialize-wire, `subscribe_max_buffered_bytes`) unless it comes at 13 MB/s. Afterwards the socket is read whatever comes.
 */
export class SnapshotPace {
  readonly #highBytes: number;
  readonly #lowBytes: number;
  #leftMs: number;
  #sinceMs: number | null = null;

  /** `heldBytesMax`: what may wait in memory. A read that is under way still comes in after the decision to wait. */
  constructor(heldBytesMax: number, patienceMs: number) {
    this.#highBytes = Math.floor(heldBytesMax * 0.75);
    this.#lowBytes = Math.floor(heldBytesMax * 0.5);
    this.#leftMs = patienceMs;
  }

  /** What is left of the patience, in which a pause has to be ended. */
  get leftMs(): number {
    return this.#leftMs;
  }

  /** Whether the source waits from now on, asked whenever something came in or went out, and when the patience ends. */
  waits(heldBytes: number, nowMs: number): boolean {
    if (this.#sinceMs !== null) {
      // A clock that was set back must not make the pause last until it is where it was, so what is left counts from its new time.
      this.#sinceMs = Math.min(this.#sinceMs, nowMs);
      const spentMs = nowMs - this.#sinceMs;
      if (heldBytes > this.#lowBytes && spentMs < this.#leftMs) return true;
      this.#leftMs = Math.max(0, this.#leftMs - spentMs);
      this.#sinceMs = null;
    }
    if (heldBytes <= this.#highBytes || this.#leftMs === 0) return false;
    this.#sinceMs = nowMs;
    return true;
  }
}
