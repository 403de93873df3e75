/** No row value in a log line: values are marked `zq`. */
import type { Log } from '../../../src/sink/ports.ts';
import type { SinkProcess } from '../sink-process.ts';
import { violate } from '../world.ts';

export function watchedLog(process: SinkProcess): Log {
  return {
    write: (_level, event, fields) => {
      process.world.scheduler.note(`p${process.id} log ${event} ${String(fields['code'] ?? fields['cause'] ?? fields['frontier'] ?? '')}`);
      for (const field of Object.values(fields)) {
        if (typeof field === 'string' && field.includes('zq')) violate(process.world, 'log', `${event} shows a row value`);
      }
    },
  };
}
