import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

/** What is left over of a commit for a moment: two hundred thousand objects, renewed again and again. */
const CHURN = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { tuneCollector } from '${join(import.meta.dirname, '../../../src/io/collector.ts')}';
  if (process.argv[1] === 'tuned') tuneCollector();
  const kept = [];
  const size = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
  const sizes = [];
  for (let count = 0; count < 3_000_000; count++) {
    kept[count % 200_000] = { count, own: [count] };
    if (count % 100_000 === 0 && count > 2_000_000) sizes.push(size());
  }
  // The least of several: while V8 copies what outlives a collection there are pages of both spaces.
  console.log(Math.min(...sizes));
`;

function newSpaceBytes(argument: 'tuned' | 'plain'): number {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', CHURN, argument], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return Number(stdout);
}

describe('GIVEN a process in which many objects outlive a collection', () => {
  test('WHEN V8 is left alone THEN the space for new objects grows, which is why the collector is tuned', () => {
    expect(newSpaceBytes('plain')).toBeGreaterThan(16 * 1024 ** 2);
  });

  test('WHEN the collector is tuned THEN that space stays small', () => {
    expect(newSpaceBytes('tuned')).toBeLessThanOrEqual(4 * 1024 ** 2);
  });
});
