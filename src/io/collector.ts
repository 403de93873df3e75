/**
 * How often V8 collects. Rows, columns and files are buffers outside of its heap, of which the sink frees most itself; the heap
 * holds 10 to 20 MB that hardly change. V8 counts such buffers as growth, and lets a small heap grow by half before it marks all of
 * it again: twice for each commit of 200,000 changes, a tenth of all CPU, to free next to nothing.
 */
import { setFlagsFromString } from 'node:v8';

/**
 * Percent that the heap, with the buffers made since, may grow by before it is collected: of 15 MB to 45. Beyond that fewer
 * collections save little, and what only the collector can free would weigh on the memory that the budget promises.
 */
const GROWTH_PERCENT = 200;

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
