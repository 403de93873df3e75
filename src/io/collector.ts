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

/** For all threads of the process. V8 reads it at every collection, so it may be set at any time. */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
