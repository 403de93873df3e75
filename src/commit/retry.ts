/**
 * Back-off between tries: exponential with full jitter over the upper half, bounded. Jitter keeps two copies
 * (or a sink and a compactor) that collided once from colliding again in step.
 */
export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const COMMIT_BACKOFF: Backoff = { firstMs: 100, maxMs: 15_000 };
export const RESTART_BACKOFF: Backoff = { firstMs: 250, maxMs: 30_000 };

/** Delay before try number `failures + 1`; `fraction` is uniform in [0, 1). A server's own wish wins when longer. */
export function backoffMs(backoff: Backoff, failures: number, fraction: number, retryAfterMs = 0): number {
  const ceiling = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 20));
  return Math.max(Math.round(ceiling / 2 + (ceiling / 2) * fraction), retryAfterMs);
}
