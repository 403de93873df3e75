import { describe, expect, it } from 'vitest';

import { splitChunk } from '../../../src/batch/stash.ts';
import { SinkError } from '../../../src/errors.ts';
import { type SliceMerge, createSliceMerge } from '../../../src/subscribe/merge-slices.ts';
import type { SubscriptionEvent } from '../../../src/subscribe/subscription-stream.ts';
import { chunkOf } from '../../doubles/memory-world.ts';
import { rowsOf } from './flat-events.ts';

function merging(count: number, asOfGiven = false): { merge: SliceMerge; said: string[]; finished: number[] } {
  const said: string[] = [];
  const finished: number[] = [];
  const merge = createSliceMerge(count, asOfGiven, splitChunk, { event: (event) => said.push(words(event)), finished: (input) => finished.push(input) });
  return { merge, said, finished };
}

function words(event: SubscriptionEvent): string {
  switch (event.kind) {
    case 'rows': return rowsOf(event.chunk).map(({ text }) => text).join(' ');
    case 'progress': return `progress ${event.frontier[0]}`;
    case 'notice': return `notice ${event.message}`;
    case 'failed': return `failed ${event.error.code}`;
    case 'closed': return 'closed';
  }
}

const progress = (time: bigint): SubscriptionEvent => ({ kind: 'progress', frontier: [time] });
const rows = (time: bigint, row: string): SubscriptionEvent => ({ kind: 'rows', chunk: chunkOf([{ row, time, diff: 1n }]) });
const failed = (code: ConstructorParameters<typeof SinkError>[0]): SubscriptionEvent => ({ kind: 'failed', error: new SinkError(code, 'x') });

describe('GIVEN two slices', () => {
  it('WHEN only one has said how far it is THEN nothing but the as of is passed on, and rows pass at once', () => {
    const { merge, said } = merging(2);
    for (const event of [progress(5n), rows(5n, 'a'), progress(9n)]) merge.take(0, event);
    expect(said).toEqual(['progress 5', 'a']);
    merge.take(1, progress(5n));
    expect(said).toEqual(['progress 5', 'a']);
    merge.take(1, progress(7n));
    expect(said.at(-1)).toBe('progress 7');
  });

  it('WHEN the second begins at another time THEN the whole fails', () => {
    const { merge, said } = merging(2);
    merge.take(0, progress(5n));
    merge.take(1, progress(6n));
    expect(said).toEqual(['progress 5', 'failed source-protocol']);
  });

  it('WHEN one brings rows before its as of, or goes back, THEN the whole fails once and nothing follows', () => {
    const early = merging(2);
    early.merge.take(0, rows(5n, 'a'));
    early.merge.take(0, progress(5n));
    expect(early.said).toEqual(['failed source-protocol']);
    const back = merging(1);
    for (const event of [progress(5n), progress(9n), progress(8n), rows(8n, 'a'), failed('source-disconnected')]) back.merge.take(0, event);
    expect(back.said).toEqual(['progress 5', 'progress 9', 'failed source-protocol']);
  });

  it('WHEN one is lost midway THEN the whole fails with its error', () => {
    const { merge, said } = merging(2);
    for (const input of [0, 1]) merge.take(input, progress(5n));
    merge.take(1, failed('source-disconnected'));
    merge.take(0, rows(5n, 'a'));
    expect(said).toEqual(['progress 5', 'failed source-disconnected']);
  });

  it('WHEN one is closed THEN the other decides, and the input is closed with the last', () => {
    const { merge, said } = merging(2);
    for (const input of [0, 1]) merge.take(input, progress(5n));
    merge.take(0, { kind: 'closed' });
    merge.take(1, progress(8n));
    expect(merge.followerAsOf()).toBeNull();
    merge.take(1, { kind: 'closed' });
    expect(said).toEqual(['progress 5', 'progress 8', 'closed']);
  });

  it('WHEN the second comes too late for the time that the first was given THEN it is no lost history: all start over', () => {
    const chosen = merging(2);
    chosen.merge.take(0, progress(5n));
    chosen.merge.take(1, failed('history-compacted'));
    expect(chosen.said).toEqual(['progress 5', 'failed slices-out-of-step']);
    expect(new SinkError('slices-out-of-step', '').disposition).toBe('restart');
    const given = merging(2, true);
    given.merge.take(0, progress(5n));
    given.merge.take(1, failed('history-compacted'));
    expect(given.said).toEqual(['progress 5', 'failed history-compacted']);
  });

  it('WHEN both tell the same news THEN it is told once', () => {
    const { merge, said } = merging(2);
    for (const input of [0, 1]) merge.take(input, { kind: 'notice', severity: 'NOTICE', code: '00000', message: 'offline' });
    expect(said).toEqual(['notice offline']);
  });
});

describe('GIVEN two slices past their first step', () => {
  function past(): ReturnType<typeof merging> {
    const given = merging(2);
    for (const input of [0, 1]) given.merge.take(input, progress(5n));
    expect(given.merge.followerAsOf()).toBeNull();
    given.merge.take(0, progress(7n));
    given.merge.take(1, progress(9n));
    given.merge.take(1, rows(12n, 'ahead'));
    given.said.length = 0;
    return given;
  }

  it('WHEN a follower is accepted THEN it takes over behind all that was brought, and each slice ends there', () => {
    const { merge, said, finished } = past();
    expect(merge.followerAsOf()).toBe(6n);
    const follower = merge.addFollower(6n);
    expect(merge.followerAsOf()).toBeNull();
    for (const event of [progress(6n), rows(8n, 'double'), rows(13n, 'new'), progress(20n)]) merge.take(follower, event);
    merge.take(0, rows(8n, 'mine'));
    merge.take(0, rows(13n, 'theirs'));
    merge.take(0, progress(14n));
    merge.take(1, progress(13n));
    expect(said).toEqual(['new', 'mine', 'progress 9', 'progress 20']);
    expect(finished).toEqual([0, 1]);
  });

  it('WHEN a follower is refused THEN the slices go on and another may come', () => {
    const { merge, said, finished } = past();
    const follower = merge.addFollower(6n);
    merge.take(follower, failed('history-compacted'));
    expect(said).toEqual(['notice the slices go on: x']);
    expect(finished).toEqual([follower]);
    expect(merge.followerAsOf()).toBe(6n);
    merge.take(0, rows(30n, 'a'));
    expect(said.at(-1)).toBe('a');
  });

  it('WHEN a follower that was accepted is lost THEN the whole fails', () => {
    const { merge, said } = past();
    const follower = merge.addFollower(6n);
    merge.take(follower, progress(6n));
    merge.take(follower, failed('source-result-too-large'));
    expect(said.at(-1)).toBe('failed source-result-too-large');
  });
});
