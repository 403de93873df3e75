/** Who owns what in the spill directory: two sinks, two processes, and what a dead process left. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RowChunk } from '../../../src/batch/row-chunk.ts';
import { createSpillFolder } from '../../../src/io/spill-folder.ts';
import { createSystemEntropy } from '../../../src/io/system.ts';
import type { Clock, SpillStore } from '../../../src/sink/ports.ts';

const HOUR_MS = 3_600_000;
const DEAD = 'mz-sink-01890a5d-ac96-774b-bcce-b302099a8057';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'mz-sink-spill-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A clock whose timers are fired by hand. */
function handClock(): Clock & { fire(): void } {
  const due = new Set<() => void>();
  return {
    nowMs: () => Date.now(),
    after: (_delayMs, callback) => {
      due.add(callback);
      return () => due.delete(callback);
    },
    fire: () => {
      for (const callback of Array.from(due)) {
        due.delete(callback);
        callback();
      }
    },
  };
}

function row(text: string): RowChunk {
  return {
    rowCount: 1, minTime: 1n, maxTime: 1n, times: new BigUint64Array([1n]), diffs: new BigInt64Array([1n]),
    starts: new Uint32Array([0]), ends: new Uint32Array([text.length]), keyHashes: new Uint32Array([1]), bytes: Buffer.from(text),
  };
}

async function textOf(store: SpillStore): Promise<string> {
  let text = '';
  for await (const chunk of store.read('p')) text += Buffer.from(chunk.bytes).toString();
  return text;
}

function folder(clock: Clock = handClock()) {
  return createSpillFolder(directory, clock, createSystemEntropy());
}

describe('GIVEN sinks that spill', () => {
  test('WHEN two sinks have names that read alike THEN each has its own rows', async () => {
    const own = folder();
    const first = own.placeFor('a b')('epoch-0');
    const second = own.placeFor('a_b')('epoch-0');
    await first.append('p', row('first'));
    await second.append('p', row('second'));
    expect([await textOf(first), await textOf(second)]).toEqual(['first', 'second']);
    await first.removeAll();
    expect(await textOf(second)).toBe('second');
    await second.removeAll();
    await own.close();
  });

  test('WHEN two processes share the directory, as containers with one volume do, THEN neither removes what the other holds', async () => {
    const [one, other] = [folder(), folder()];
    const [mine, theirs] = [one.placeFor('s')('epoch-0'), other.placeFor('s')('epoch-0')];
    await mine.append('p', row('mine'));
    await theirs.append('p', row('theirs'));
    await mine.removeAll();
    await one.close();
    expect(await textOf(theirs)).toBe('theirs');
    expect(readdirSync(directory)).toHaveLength(1);
    await theirs.removeAll();
    await other.close();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('WHEN nothing is spilled THEN nothing is created', async () => {
    const own = folder();
    own.placeFor('s')('epoch-0');
    await own.close();
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('GIVEN folders that processes left behind', () => {
  const left = (name: string, ageMs: number): string => {
    const path = join(directory, name);
    mkdirSync(join(path, 's', 'epoch-0'), { recursive: true });
    writeFileSync(join(path, 's', 'epoch-0', 'p.spill'), 'rows');
    const then = new Date(Date.now() - ageMs);
    utimesSync(path, then, then);
    return path;
  };

  test('WHEN one has shown no sign of life for an hour THEN it is swept, a younger one is not', async () => {
    const dead = left(DEAD, HOUR_MS + 1000);
    const living = left(DEAD.replace('8057', '8058'), HOUR_MS - 60_000);
    const own = folder();
    expect(await own.sweep()).toBe(1);
    expect([existsSync(dead), existsSync(living)]).toEqual([false, true]);
    await own.close();
  });

  test('WHEN a folder does not bear our kind of name THEN it is left alone however old', async () => {
    const names = ['data', 'mz-sink-', `${DEAD}.bak`, `x${DEAD}`, '1-orders'];
    for (const name of names) left(name, 1000 * HOUR_MS);
    const own = folder();
    expect(await own.sweep()).toBe(0);
    expect(readdirSync(directory).toSorted()).toEqual(names.toSorted());
    await own.close();
  });

  test('WHEN the directory does not exist THEN there is nothing to sweep', async () => {
    const own = createSpillFolder(join(directory, 'nowhere'), handClock(), createSystemEntropy());
    expect(await own.sweep()).toBe(0);
    await own.close();
  });

  test('WHEN a process lives long THEN its folder shows it', async () => {
    const clock = handClock();
    const own = folder(clock);
    const store = own.placeFor('s')('epoch-0');
    await store.append('p', row('x'));
    const [name = ''] = readdirSync(directory);
    const old = new Date(Date.now() - 2 * HOUR_MS);
    utimesSync(join(directory, name), old, old);
    clock.fire();
    await expect.poll(() => Date.now() - statSync(join(directory, name)).mtimeMs).toBeLessThan(HOUR_MS);
    expect(await folder().sweep()).toBe(0);
    await store.removeAll();
    await own.close();
  });

  test('WHEN a living one is swept by mistake THEN it reads what it had spilled, and spills on', async () => {
    const own = folder();
    const store = own.placeFor('s')('epoch-0');
    await store.append('p', row('before '));
    const [name = ''] = readdirSync(directory);
    const old = new Date(Date.now() - 2 * HOUR_MS);
    utimesSync(join(directory, name), old, old);
    expect(await folder().sweep()).toBe(1);
    await store.append('p', row('after'));
    await store.append('q', row('new partition'));
    expect(await textOf(store)).toBe('before after');
    await store.removeAll();
    await own.close();
    expect(readdirSync(directory)).toEqual([]);
  });
});
