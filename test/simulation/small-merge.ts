/** `snapshot/merge.ts` with so small a fan-in that runs of a dozen commits merge manifests, and merge merged ones. */
import type { MergeLimits } from '../../src/snapshot/merge.ts';

export * from '../../src/snapshot/merge.ts';

export const DEFAULT_MERGE_LIMITS: MergeLimits = { fanIn: 3, targetBytes: 8n * 1024n * 1024n };
