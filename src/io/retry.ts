/**
 * Repeating reads, and writes that are safe to repeat, while the other side is only temporarily unwell. What
 * changes the table (a commit) never comes here: its outcome goes back to the machine, which loads and decides.
 */
import { SinkError } from '../errors.ts';
import type { Clock, Entropy } from '../sink/ports.ts';

export interface RetryPolicy {
  readonly maxTries: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export const READ_RETRIES: RetryPolicy = { maxTries: 4, firstDelayMs: 200, maxDelayMs: 5_000 };

export interface RetryDeps {
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export function delay(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/**
 * Runs `attempt` until it succeeds, fails for good (a SinkError whose disposition isn't `retry`, or any other
 * error) or `maxTries` are used up; then rejects with the last error. The delay doubles, jittered over its upper
 * half. A server that asks for a longer pause than `maxDelayMs` gets it from the caller, who knows what else to do.
 */
export async function withRetries<T>(deps: RetryDeps, policy: RetryPolicy, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      const asked = thrown instanceof SinkError ? (thrown.detail.retryAfterMs ?? 0) : 0;
      const transient = thrown instanceof SinkError && thrown.disposition === 'retry';
      if (!transient || tries >= policy.maxTries || asked > policy.maxDelayMs) throw thrown;
      const ceiling = Math.min(policy.firstDelayMs * 2 ** (tries - 1), policy.maxDelayMs);
      await delay(deps.clock, Math.max(ceiling / 2 + (ceiling / 2) * deps.entropy.fraction(), asked));
    }
  }
}
