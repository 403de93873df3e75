/** Local disk of one process: slow now and then, full now and then, gone with the process. */
import type { RowChunk } from '../../src/batch/row-chunk.ts';
import type { SpillStore } from '../../src/sink/ports.ts';
import { planned } from './faults.ts';
import { bytesOfRows, copyOfChunk } from './row-chunks.ts';
import type { SinkProcess } from './sink-process.ts';

export function openSpill(process: SinkProcess): SpillStore {
  const { faults, random } = process.world;
  const partitions = new Map<string, RowChunk[]>();
  const generation = ++process.spillGeneration;
  process.heldBytes = 0;
  process.plannedFor = process.seen;
  const counts = (): boolean => process.spillGeneration === generation;
  return {
    async append(partition, chunk) {
      const copy = copyOfChunk(chunk);
      const bytes = bytesOfRows(chunk);
      if (faults.strikes('spill-slow')) await process.sleep(random.between(10, 2_000), 'spill slow');
      else if (random.chance(0.05)) await process.sleep(1, 'spill');
      if (faults.strikes('spill-fails')) throw planned('spill-failed');
      if (counts()) process.heldBytes -= bytes;
      const known = partitions.get(partition);
      if (known === undefined) partitions.set(partition, [copy]);
      else known.push(copy);
    },
    letGo(chunk) {
      // The memory is another's from now on.
      chunk.bytes.fill(0x21);
      chunk.ends.set(chunk.starts);
    },
    async *read(partition) {
      // By index: what is appended while it is read is read as well, or not, as on disk.
      const chunks = partitions.get(partition) ?? [];
      const size = chunks.length;
      for (let index = 0; index < size; index++) {
        if (random.chance(0.02)) await process.sleep(1, 'spill read');
        const chunk = copyOfChunk(chunks[index] as RowChunk);
        if (counts()) process.holds(chunk, bytesOfRows(chunk));
        yield chunk;
      }
    },
    async remove(partition) {
      partitions.delete(partition);
    },
    async removeAll() {
      partitions.clear();
    },
  };
}
