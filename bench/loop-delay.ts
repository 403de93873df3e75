/**
 * Loaded into the daemon with `--import`: watches its main thread's event loop without a line of it in the daemon. On SIGUSR2
 * one line on standard error says how late timers were since the last such line.
 */
import { writeSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 2;

if (isMainThread) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  // The histogram holds the whole time between two timers; what is beyond the resolution is the delay.
  const delayMs = (nanoseconds: number): number => Math.max(0, Math.round((nanoseconds / 1e6 - RESOLUTION_MS) * 100) / 100);
  process.on('SIGUSR2', () => {
    const percentile = (share: number): number => delayMs(histogram.percentile(share));
    const delays = { p50Ms: percentile(50), p90Ms: percentile(90), p99Ms: percentile(99), p999Ms: percentile(99.9), maxMs: delayMs(histogram.max) };
    writeSync(2, `${JSON.stringify({ level: 'info', event: 'bench-loop-delay', ...delays })}\n`);
    histogram.reset();
  });
}
