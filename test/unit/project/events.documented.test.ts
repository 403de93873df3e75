/** docs/operating.md has every event of the log, and none that is not written. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.startsWith('embedded'))
  .map((path) => readFileSync(join(ROOT, 'src', path), 'utf8'))
  .join('\n');

const documented = readFileSync(join(ROOT, 'docs/operating.md'), 'utf8').split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => {
    const [events = '', levels = ''] = line.slice(2).split(' | ');
    const level = levels.split(', ');
    return events.split(', ').map((event, index) => `${event.replaceAll('`', '')} ${level[index] ?? level[0]}`);
  });

describe('GIVEN the events that are written to the log', () => {
  const notes = [...sources.matchAll(/level: '(\w+)',\s*event: '([a-z-]+)'/g)].map(([, level, event]) => `${event} ${level}`);
  const writes = [...sources.matchAll(/\.write\('(\w+)', '([a-z-]+)'/g)].map(([, level, event]) => `${event} ${level}`);
  // Chosen as they are written: by the reason of an end, and by whether a snapshot is being read.
  const chosen = ['stopped info', 'complete info', 'halted error', 'source-silent warn'];

  test('THEN each has its line in docs/operating.md, with its level', () => {
    expect(notes.length).toBeGreaterThan(8);
    expect(writes.length).toBeGreaterThan(4);
    expect(documented.toSorted()).toEqual([...new Set([...notes, ...writes, ...chosen])].toSorted());
  });
});
