/** Objects in parts: what is repeated, what is let go, and what a lost upload means. */
import { expect, test } from 'vitest';
import { SinkError } from '../../../src/errors.ts';
import type { ObjectPart } from '../../../src/sink/ports.ts';
import { Uploads } from '../../../src/sink/uploads.ts';
import { type MemoryWorld, memoryWorld, settled } from '../../doubles/memory-world.ts';

const part = (index: number, text: string): ObjectPart => ({ index, offset: index * 2, bytes: new TextEncoder().encode(text) });
const textOf = (world: MemoryWorld, location: string): string => Buffer.from(world.store.objects.get(location) ?? []).toString();

test('GIVEN an upload WHEN one part fails for a passing reason THEN that part alone is sent again and the object is whole', async () => {
  const world = memoryWorld();
  const upload = new Uploads(world.ports).open('mem:///t/a');
  world.store.onPut.push(new SinkError('storage-unavailable', 'planned'));
  const parts = [upload.put(part(0, 'ab')), upload.put(part(1, 'cd'))];
  await world.clock.advance(60_000);
  await Promise.all(parts);
  expect(world.store.objects.has('mem:///t/a')).toBe(false);
  await upload.finish();
  expect(textOf(world, 'mem:///t/a')).toBe('abcd');
});

test('GIVEN uploads WHEN the incarnation is given up THEN the unfinished one is let go and the finished one stays', async () => {
  const world = memoryWorld();
  const uploads = new Uploads(world.ports);
  const finished = uploads.open('mem:///t/done');
  await finished.put(part(0, 'ab'));
  await finished.finish();
  const unfinished = uploads.open('mem:///t/half');
  await unfinished.put(part(0, 'ab'));
  await uploads.abandon();
  expect(world.store.aborted).toEqual(['mem:///t/half']);
  expect(textOf(world, 'mem:///t/done')).toBe('ab');
  await expect(unfinished.put(part(1, 'cd'))).rejects.toMatchObject({ code: 'source-disconnected' });
  await expect(unfinished.finish()).rejects.toMatchObject({ code: 'source-disconnected' });
});

test('GIVEN storage that does not answer WHEN the incarnation is given up THEN that takes seconds at most', async () => {
  const world = memoryWorld();
  world.ports.store.open = () => ({
    put: async () => undefined, finish: async () => 'stored', abort: () => new Promise(() => {}),
  });
  const uploads = new Uploads(world.ports);
  await uploads.open('mem:///t/half').put(part(0, 'ab'));
  let given = false;
  void uploads.abandon().then(() => { given = true; });
  await settled();
  expect(given).toBe(false);
  await world.clock.advance(5_000);
  expect(given).toBe(true);
});

test('GIVEN an upload that storage has dropped WHEN a part is sent THEN it is not repeated: the sink has to start over', async () => {
  const world = memoryWorld();
  const upload = new Uploads(world.ports).open('mem:///t/a');
  world.store.onPut.push(new SinkError('upload-lost', 'planned'));
  const error = await upload.put(part(0, 'ab')).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'upload-lost', disposition: 'restart' });
});
