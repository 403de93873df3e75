import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextFlight } from '../../../src/io/single-flight.ts';

describe('GIVEN a call that makes durable what was there when it began', () => {
  it('WHEN many ask at any time and some calls fail THEN each gets the outcome of one that began after it asked, and never two run at once', async () => {
    await fc.assert(fc.asyncProperty(fc.array(fc.record({ pauses: fc.nat(4), asks: fc.integer({ min: 1, max: 4 }) }), { maxLength: 12 }),
      fc.array(fc.record({ turns: fc.nat(5), fails: fc.boolean() }), { minLength: 1, maxLength: 6 }), async (bursts, calls) => {
        let begun = 0;
        let running = 0;
        const ask = nextFlight(async () => {
          const mine = begun++;
          running++;
          expect(running).toBe(1);
          const { turns, fails } = calls[mine % calls.length] ?? { turns: 0, fails: false };
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          running--;
          if (fails) throw new Error(`call ${mine}`);
        });
        let asked = 0;
        const outcomes: Promise<void>[] = [];
        for (const { pauses, asks } of bursts) {
          for (let turn = 0; turn < pauses; turn++) await Promise.resolve();
          for (let index = 0; index < asks; index++) {
            const before = begun;
            asked++;
            outcomes.push(ask().then(() => null, (thrown: unknown) => Number(String(thrown).split(' ').at(-1))).then((failed) => {
              expect(begun).toBeGreaterThan(before);
              if (failed !== null) expect(failed).toBeGreaterThanOrEqual(before);
            }));
          }
        }
        await Promise.all(outcomes);
        expect(begun).toBeLessThanOrEqual(asked);
      }));
  });

  it('WHEN many ask while one is under way THEN they share one more', async () => {
    let begun = 0;
    const gate = Promise.withResolvers<void>();
    const ask = nextFlight(async () => {
      begun++;
      await gate.promise;
    });
    const first = ask();
    await Promise.resolve();
    await Promise.resolve();
    const others = [ask(), ask(), ask()];
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(begun).toBe(2);
  });
});
