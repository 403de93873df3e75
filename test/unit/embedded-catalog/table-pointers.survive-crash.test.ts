import { mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lockState } from '../../../src/embedded/catalog/state-lock.ts';
import { openTablePointers } from '../../../src/embedded/catalog/table-pointers.ts';

let directory: string;
beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'pointers-')); });
afterEach(() => { rmSync(directory, { recursive: true }); });

const namespace = ['a', 'b'];

describe('GIVEN two tables', () => {
  test('WHEN the process died between journal and pointers THEN the next start moves both', () => {
    const pointers = openTablePointers(directory);
    const left = pointers.create('c', namespace, 'left', 'l0')!;
    const right = pointers.create('c', namespace, 'right', 'r0')!;
    writeFileSync(join(directory, 'journal.json'), JSON.stringify([{ ...left, metadataLocation: 'l1' }, { ...right, metadataLocation: 'r1' }]));
    const reopened = openTablePointers(directory);
    expect(reopened.list('c', namespace).map((pointer) => pointer.metadataLocation)).toEqual(['l1', 'r1']);
    expect(readdirSync(directory)).toEqual(['tables']);
  });

  test('WHEN one of two swaps is stale THEN neither moves, in memory or on disk', () => {
    const pointers = openTablePointers(directory);
    const left = pointers.create('c', namespace, 'left', 'l0')!;
    const right = pointers.create('c', namespace, 'right', 'r0')!;
    expect(pointers.swap([{ pointer: right, metadataLocation: 'r1' }])).toBeNull();
    const lost = pointers.swap([{ pointer: left, metadataLocation: 'l1' }, { pointer: right, metadataLocation: 'r2' }]);
    expect(lost).toEqual({ expected: right, found: { ...right, metadataLocation: 'r1' } });
    for (const state of [pointers, openTablePointers(directory)]) {
      expect(state.list('c', namespace).map((pointer) => pointer.metadataLocation)).toEqual(['l0', 'r1']);
    }
  });

  test('WHEN a table was dropped and made anew under its name THEN an old swap is refused', () => {
    const pointers = openTablePointers(directory);
    const first = pointers.create('c', namespace, 't', 'same')!;
    pointers.remove(first);
    pointers.create('c', namespace, 't', 'same');
    expect(pointers.swap([{ pointer: first, metadataLocation: 'new' }])).not.toBeNull();
  });

  test('WHEN moving both fails half-way THEN nothing more is changed until the next start, which moves both', () => {
    const pointers = openTablePointers(directory);
    const left = pointers.create('c', namespace, 'left', 'l0')!;
    const right = pointers.create('c', namespace, 'right', 'r0')!;
    // A directory where the second pointer's temporary file would go makes its write fail.
    const obstacle = join(directory, 'tables', `.${right.id}.json.new`);
    mkdirSync(obstacle);
    const swaps = [{ pointer: left, metadataLocation: 'l1' }, { pointer: right, metadataLocation: 'r1' }];
    expect(() => pointers.swap(swaps)).toThrow(/EISDIR/);
    rmdirSync(obstacle);
    expect(() => pointers.swap([{ pointer: left, metadataLocation: 'l2' }])).toThrow(/restart/);
    const reopened = openTablePointers(directory);
    expect(reopened.list('c', namespace).map((pointer) => pointer.metadataLocation)).toEqual(['l1', 'r1']);
  });

  test('WHEN a half-written pointer was left behind THEN it is not read', () => {
    const pointers = openTablePointers(directory);
    const pointer = pointers.create('c', namespace, 't', 'm0')!;
    writeFileSync(join(directory, 'tables', `.${pointer.id}.json.new`), '{"id":');
    expect(openTablePointers(directory).find('c', namespace, 't')).toEqual(pointer);
  });
});

describe('GIVEN a state directory', () => {
  test('WHEN it is held THEN a second catalog is refused, and after the release or the death of the holder it is not', () => {
    const release = lockState(directory);
    expect(() => lockState(directory)).toThrow(/in use/);
    release();
    lockState(directory)();
    // A process id that no process has: above the highest that the kernel gives out.
    writeFileSync(join(directory, 'lock'), '4194399');
    lockState(directory)();
    writeFileSync(join(directory, 'lock'), '1');
    expect(() => lockState(directory)).toThrow(/in use by process 1/);
  });
});
