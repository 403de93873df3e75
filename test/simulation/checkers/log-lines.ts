/**
 * What the log tells: no row value is in a line (values are marked `zq` and 97531086), and as long as nothing out of the ordinary
 * has happened the sink does not start over. Many a bug does no harm because a restart mends it.
 */
import type { Log } from '../../../src/sink/ports.ts';
import type { SinkProcess } from '../sink-process.ts';
import { violate } from '../world.ts';

export function watchedLog(process: SinkProcess): Log {
  return {
    write: (_level, event, fields) => {
      process.world.scheduler.note(
        `p${process.id} log ${event} ${String(fields['code'] ?? fields['cause'] ?? fields['frontier'] ?? '')}`,
      );
      if (event === 'restarting' && !process.world.faults.disturbed) {
        const why = `${String(fields['code'])} ${String(fields['message'])}`;
        violate(process.world, 'calm', `p${process.id} starts over in a calm world: ${why}`);
      }
      if (event === 'values-nulled') process.nulledValues.set(fields['snapshotId'], Number(fields['nulledValues']));
      for (const field of Object.values(fields)) {
        if (typeof field === 'string' && (field.includes('zq') || field.includes('97531086'))) {
          violate(process.world, 'log', `${event} shows a row value`);
        }
      }
    },
  };
}
