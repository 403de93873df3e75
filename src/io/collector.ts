/**
 * How often V8 collects. Rows, columns and files are buffers outside of its heap, of which the sink frees most itself; the heap
 * holds 10 to 20 MB that hardly change. V8 counts such buffers as growth, and lets a small heap grow by half before it marks all of
 * it again: twice for each commit of 200,000 changes, a tenth of all CPU, to free next to nothing.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * Percent that the heap, with the buffers that came since, may grow by before it is collected: of 15 MB to 75. Buffers come by transfer
 * too: a span of 300,000 rows brings 47 MB to the worker and back. At a growth by 200 % that was a collection of either thread for each
 * such span, 8 % of what it took; the peak of memory is the same, since the buffers themselves go round and are not left to the collector.
 */
const GROWTH_PERCENT = 400;

/**
 * Factor by which V8 enlarges the space for new objects when many of them outlive a collection. It would go on up to 128 MB in the main
 * thread and 32 MB in each worker and never give them back, for objects that fill a tenth of it: a fifth of all the memory that the
 * process took. What survives here is what a commit or a socket holds for a moment, so a small space is no slower.
 */
const NEW_SPACE_GROWTH_FACTOR = 1;

/** For all threads of the process. V8 reads both at every collection, so they may be set at any time; the sooner, the less was taken. */
export function tuneCollector(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
  setFlagsFromString(`--semi-space-growth-factor=${NEW_SPACE_GROWTH_FACTOR}`);
}
