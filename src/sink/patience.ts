/** Waiting for what only tidies up: not longer than it is worth. */
import type { Clock } from './ports.ts';

/** Resolves when `work` has, or after that time; its failure is its own affair. */
export async function atMost(clock: Clock, patienceMs: number, work: Promise<unknown>): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const cancel = clock.after(patienceMs, patience.resolve);
  await Promise.race([work.catch(() => undefined), patience.promise]);
  cancel();
}
