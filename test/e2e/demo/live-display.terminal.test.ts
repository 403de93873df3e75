import { describe, expect, test } from 'vitest';
import { type LiveDisplay, createLiveDisplay } from '../../../src/embedded/demo/live-display.ts';
import { createCounters } from '../../../src/embedded/demo/sink-counters.ts';

const NOW_MS = 1_800_000_000_000;

function display(isTTY: boolean, columns: number): { readonly shown: LiveDisplay; readonly written: string[] } {
  const written: string[] = [];
  const counters = { ...createCounters(), rowsReceived: 1200, rowsCommitted: 900n, commits: 3, committedMs: NOW_MS - 1234 };
  const output = { isTTY, columns, write: (text: string) => written.push(text) };
  return { shown: createLiveDisplay(output, [{ label: 'auctions', counters, phase: () => 'running' }]), written };
}

/** What a terminal of unlimited height shows after the texts: lines, with the cursor moved up and lines cleared. */
function screen(texts: readonly string[]): string[] {
  const lines: string[] = [];
  let at = 0;
  // The escape character is set aside as one that no line contains.
  const written = texts.join('').replaceAll('\u001b', '⎋').replaceAll('\r', '').replaceAll('⎋[K', '');
  for (const [, up, clearBelow, text, end] of written.matchAll(/⎋\[(\d+)A|(⎋\[J)|([^⎋\n]+)|(\n)/g)) {
    if (up !== undefined) at -= Number(up);
    if (clearBelow !== undefined) lines.length = at;
    if (text !== undefined) lines[at] = text;
    if (end !== undefined) at += 1;
  }
  return lines;
}

describe('GIVEN a terminal', () => {
  test('WHEN the block is drawn again and lines are said between THEN the lines stay above one block', () => {
    const { shown, written } = display(true, 100);
    shown.update(NOW_MS, '3 s to go');
    shown.say('one arrived');
    shown.update(NOW_MS, '2 s to go');
    shown.update(NOW_MS, '1 s to go');
    shown.finish(NOW_MS, 'done');
    const lines = screen(written);
    expect(lines).toHaveLength(4);
    expect([lines[0], lines[3]]).toEqual(['one arrived', 'done']);
    expect(lines[2]).toMatch(/^auctions +1200 +900 +0 +3 +0 +1234 +running$/);
  });

  test('WHEN it is narrow THEN no line wraps', () => {
    const { shown, written } = display(true, 40);
    shown.update(NOW_MS, 'a note that is a good deal longer than forty characters');
    expect(screen(written).every((line) => line.length < 40)).toBe(true);
  });
});

describe('GIVEN a pipe', () => {
  test('WHEN updates come four times a second THEN a block is written every five seconds, without escape codes', () => {
    const { shown, written } = display(false, 80);
    for (let ms = 0; ms < 11_000; ms += 250) shown.update(NOW_MS + ms, 'note');
    expect(written).toHaveLength(3);
    expect(written.join('')).not.toContain('\x1b');
  });
});
