/** Events of a subscription with their chunks taken apart, so that chunk sizes do not matter to a comparison. */
import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import type { ChunkLimits } from '../../../src/subscribe/row-scratch.ts';
import { type SubscriptionEvent, createSubscriptionStream } from '../../../src/subscribe/subscription-stream.ts';

export interface FlatRow {
  readonly kind: 'row';
  readonly time: bigint;
  readonly diff: bigint;
  readonly text: string;
  readonly hash: number;
}

export type FlatEvent = FlatRow | Exclude<SubscriptionEvent, { kind: 'rows' }>;

export function rowsOf(chunk: RowChunk): readonly FlatRow[] {
  return Array.from({ length: chunk.rowCount }, (_, i) => ({
    kind: 'row',
    time: chunk.times[i] ?? -1n,
    diff: chunk.diffs[i] ?? 0n,
    text: Buffer.from(chunk.bytes.subarray(chunk.starts[i], chunk.ends[i])).toString('latin1'),
    hash: chunk.keyHashes[i] ?? -1,
  }));
}

export function run(
  chunks: readonly Uint8Array[],
  columnCount: number,
  options: { readonly keyColumns?: readonly number[]; readonly limits?: ChunkLimits } = {},
): { readonly events: readonly FlatEvent[]; readonly chunks: readonly RowChunk[] } {
  const raw: SubscriptionEvent[] = [];
  const shape = { columnCount, keyColumns: options.keyColumns ?? [] };
  const stream = createSubscriptionStream(shape, (event) => raw.push(event), options.limits);
  for (const chunk of chunks) stream.push(chunk);
  return {
    events: raw.flatMap((event): readonly FlatEvent[] => (event.kind === 'rows' ? rowsOf(event.chunk) : [event])),
    chunks: raw.flatMap((event) => (event.kind === 'rows' ? [event.chunk] : [])),
  };
}
