import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { splitChunk } from '../../../src/batch/stash.ts';
import { SinkError } from '../../../src/errors.ts';
import { createSliceMerge } from '../../../src/subscribe/merge-slices.ts';
import type { SubscriptionEvent } from '../../../src/subscribe/subscription-stream.ts';
import { type Change, chunkOf } from '../../doubles/memory-world.ts';
import { rowsOf } from '../../unit/subscribe/flat-events.ts';

const AS_OF = 100n;
const END = 140n;

const changes = fc.array(fc.bigInt(AS_OF, END - 1n), { maxLength: 40 })
  .map((times) => times.map((time, index): Change => ({ row: `${index}\tv`, time, diff: index % 5 === 0 ? -1n : 1n })));

/** What one SUBSCRIBE sends of `rows`: batches up to the given frontiers, each in chunks; `begin` is its as of. */
function scriptOf(
  rows: readonly Change[], begin: bigint, frontiers: readonly bigint[], chunkRows: number, closes: boolean,
): SubscriptionEvent[] {
  const script: SubscriptionEvent[] = [{ kind: 'progress', frontier: [begin] }];
  let sentBelow = 0n;
  for (const frontier of [...frontiers.filter((f) => f > begin).toSorted((a, b) => Number(a - b)), END]) {
    const batch = rows.filter(({ time }) => time >= sentBelow && time < frontier);
    for (let at = 0; at < batch.length; at += chunkRows) {
      script.push({ kind: 'rows', chunk: chunkOf(batch.slice(at, at + chunkRows)) });
    }
    const isLast = frontier === END;
    script.push(isLast && closes ? { kind: 'closed' } : { kind: 'progress', frontier: [frontier] });
    sentBelow = frontier;
  }
  return script;
}

const textOf = ({ row, time, diff }: Change): string => `${time} ${diff} ${row}`;

const frontierList = fc.array(fc.bigInt(AS_OF + 1n, END - 1n), { maxLength: 6 });
const scenario = fc.record({
  changes,
  slices: fc.integer({ min: 1, max: 6 }),
  frontiers: fc.array(frontierList, { minLength: 7, maxLength: 7 }),
  chunkRows: fc.integer({ min: 1, max: 5 }),
  closes: fc.boolean(),
  /** Which of the inputs with something to say speaks next; the largest numbers first ask for a follower. */
  turns: fc.array(fc.nat({ max: 1_000 }), { maxLength: 200 }),
  followersRefused: fc.nat({ max: 2 }),
});

describe('GIVEN a relation read in slices', () => {
  it('WHEN their events come in any order, with a follower at any time or none, THEN each frontier closes exactly the rows below it', () => {
    fc.assert(fc.property(scenario, (given) => {
      const scripts = Array.from({ length: given.slices }, (_, slice) => scriptOf(
        given.changes.filter((_change, index) => index % given.slices === slice), AS_OF, given.frontiers[slice] ?? [], given.chunkRows, given.closes,
      ));
      const delivered: string[] = [];
      const finished = new Set<number>();
      const progress: bigint[] = [];
      let closed = 0;
      const merge = createSliceMerge(given.slices, false, splitChunk, {
        finished: (input) => finished.add(input),
        event: (event) => {
          expect(closed).toBe(0);
          if (event.kind === 'failed') throw event.error;
          if (event.kind === 'closed') closed++;
          if (event.kind === 'rows') delivered.push(...rowsOf(event.chunk).map(({ time, diff, text }) => textOf({ time, diff, row: text })));
          if (event.kind === 'notice') expect(event.message).toContain('the slices go on');
          if (event.kind !== 'progress') return;
          const frontier = event.frontier[0]!;
          if (progress.length > 0) expect(frontier).toBeGreaterThan(progress.at(-1)!);
          progress.push(frontier);
          if (progress.length === 1) return;
          const below = delivered.filter((text) => BigInt(text.split(' ')[0]!) < frontier).toSorted();
          expect(below).toEqual(given.changes.filter(({ time }) => time < frontier).map(textOf).toSorted());
        },
      });
      let refusals = given.followersRefused;
      const beginFollower = (asOf: bigint): void => {
        const input = merge.addFollower(asOf);
        scripts[input] = refusals-- > 0
          ? [{ kind: 'failed', error: new SinkError('history-compacted', 'too late') }]
          : scriptOf(given.changes.filter(({ time }) => time > asOf), asOf, given.frontiers.at(-1)!, given.chunkRows, given.closes);
      };
      const speak = (input: number): void => {
        const event = scripts[input]?.shift();
        if (event !== undefined) merge.take(input, event);
      };
      speak(0);
      for (const turn of given.turns) {
        const asOf = merge.followerAsOf();
        const waiting = [...scripts.keys()].filter((input) => scripts[input]!.length > 0);
        if (asOf !== null && turn > 700) beginFollower(asOf);
        else if (waiting.length > 0) speak(waiting[turn % waiting.length]!);
      }
      for (const input of scripts.keys()) while (scripts[input]!.length > 0) speak(input);
      expect(delivered.toSorted()).toEqual(given.changes.map(textOf).toSorted());
      expect(progress[0]).toBe(AS_OF);
      expect(closed).toBe(given.closes ? 1 : 0);
      if (!given.closes) expect(progress.at(-1)).toBe(END);
      expect(merge.isOver()).toBe(given.closes);
    }), { numRuns: 1_000 });
  });
});
