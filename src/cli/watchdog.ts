/** Looks at a running sink every few seconds and logs what `sink/stall.ts` makes of it. */
import { FIRST_LOOK, look } from '../sink/stall.ts';
import type { RunningSink } from '../sink/driver.ts';
import type { Clock, Log } from '../sink/ports.ts';

const LOOK_INTERVAL_MS = 5_000;

/** Returns the function that ends the watch. */
export function watchSink(sink: Pick<RunningSink, 'state'>, clock: Clock, log: Log): () => void {
  let memory = FIRST_LOOK;
  let cancel = (): void => undefined;
  const next = (): void => {
    cancel = clock.after(LOOK_INTERVAL_MS, () => {
      const seen = look(memory, sink.state(), clock.nowMs());
      memory = seen.memory;
      for (const { level, event, fields } of seen.reports) log.write(level, event, fields);
      next();
    });
  };
  next();
  return () => cancel();
}
