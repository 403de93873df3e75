import { describe, expect, it } from 'vitest';

import { chunkBytes } from '../../../src/batch/row-chunk.ts';
import { createRowReader } from '../../../src/subscribe/row-reader.ts';
import { COPY_END, copyOut, message, progress, row } from './backend-messages.ts';
import { type FlatRow, rowsOf, run } from './flat-events.ts';

const rowOf = (time: string, diff: string, ...columns: readonly string[]): FlatRow => {
  const { events } = run([copyOut(columns.length + 3), row(time, diff, ...columns), COPY_END], columns.length);
  const [first] = events;
  if (first?.kind !== 'row') throw new Error(JSON.stringify(first, (_, value: unknown) => String(value)));
  return first;
};

const failureOf = (line: string, columnCount: number, keyColumns: readonly number[] = []): string => {
  const { events } = run([copyOut(columnCount + 3), message('d', line), COPY_END], columnCount, { keyColumns });
  const last = events.at(-1);
  if (last?.kind !== 'failed') return 'no failure';
  return `${events.length} ${last.error.code}: ${last.error.message}`;
};

describe('GIVEN one line of a SUBSCRIBE', () => {
  it.each([
    ['0', 0n], ['1', 1n], ['1700000000000', 1700000000000n], ['4294967296', 4294967296n],
    ['999999999999999', 999999999999999n], ['1000000000000000', 1000000000000000n],
    ['9007199254740993', 9007199254740993n], ['18446744073709551615', 18446744073709551615n],
  ])('WHEN mz_timestamp is %s THEN the time is exact', (text, time) => {
    expect(rowOf(text, '1', 'a').time).toBe(time);
  });

  it.each([
    ['1', 1n], ['-1', -1n], ['2', 2n], ['-4294967296', -4294967296n], ['-4294967297', -4294967297n],
    ['999999999999999', 999999999999999n], ['-999999999999999', -999999999999999n],
    ['9007199254740993', 9007199254740993n], ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n], ['-9223372036854775808', -9223372036854775808n],
  ])('WHEN mz_diff is %s THEN the diff is exact', (text, diff) => {
    expect(rowOf('5', text, 'a').diff).toBe(diff);
  });

  it('WHEN columns hold escapes, NULL, nothing and raw control bytes THEN their bytes are untouched', () => {
    expect(rowOf('5', '1', '\\N', '', 'a\\tb\\n\\\\', '\b\f\v').text).toBe('\\N\t\ta\\tb\\n\\\\\t\b\f\v');
  });

  it('WHEN the relation has no columns THEN the row is empty', () => {
    expect(rowOf('5', '3')).toMatchObject({ time: 5n, diff: 3n, text: '' });
  });

  it.each([
    ['5\tf\t1\n', 'no columns'],
    ['\tf\t1\ta\tb\n', 'no time'], ['-5\tf\t1\ta\tb\n', 'a negative time'], ['5x\tf\t1\ta\tb\n', 'a time with a letter'],
    ['18446744073709551616\tf\t1\ta\tb\n', 'a time beyond 64 bits'], ['5\n', 'only a time'], ['\n', 'nothing'],
    ['5\tx\t1\ta\tb\n', 'a flag that is no boolean'], ['5\tff\t1\ta\tb\n', 'a longer flag'],
    ['5\tf\t0\ta\tb\n', 'a diff of zero'], ['5\tf\t\\N\ta\tb\n', 'no diff'], ['5\tf\t-\ta\tb\n', 'only a sign'],
    ['5\tf\t+1\ta\tb\n', 'a plus sign'], ['5\tf\t1.0\ta\tb\n', 'a fraction'],
    ['5\tf\t9223372036854775808\ta\tb\n', 'a diff beyond 64 bits'],
    ['5\tf\t-9223372036854775809\ta\tb\n', 'a diff below 64 bits'],
    [`5\tf\t${'9'.repeat(400)}\ta\tb\n`, 'an endless diff'],
    ['5\tt\t1\t\\N\t\\N\n', 'progress with a diff'], ['5\tt\t\\N\ta\t\\N\n', 'progress with a value'],
    ['5\tt\t\\N\t\\N\n', 'progress with too few columns'], ['5\tt\t\\N\t\\N\t\\N\t\\N\n', 'progress with too many columns'],
    ['5\tf\t1\ta\tb', 'no newline at the end of the COPY'],
  ])('WHEN it is %j THEN the subscription fails with source-protocol (%s)', (line) => {
    expect(failureOf(line, 2)).toMatch(/^1 source-protocol: Line 1 of the SUBSCRIBE is malformed/);
  });

  it('WHEN it is malformed THEN the message shows no value', () => {
    expect(failureOf('5\tf\tsecret\tsecret\n', 2)).not.toContain('secret');
  });

  it('WHEN a good row comes before the bad one in the scratch THEN neither comes out', () => {
    const { events } = run([copyOut(4), row(5n, 1n, 'a'), message('d', 'bad\n')], 1);
    expect(events.map((event) => event.kind)).toEqual(['failed']);
  });
});

describe('GIVEN payloads that are not one line each', () => {
  it('WHEN several lines share a payload and one is divided THEN all come out once', () => {
    const parts = ['5\tf\t1\ta\n5\tf\t1\tb\n6\tf', '\t-1\tc', '\n7\tt\t\\N\t\\N\n'].map((text) => message('d', text));
    const { events } = run([copyOut(4), ...parts, COPY_END], 1);
    expect(events.map((event) => (event.kind === 'row' ? `${event.text}${event.diff}` : event.kind)))
      .toEqual(['a1', 'b1', 'c-1', 'progress', 'closed']);
  });
});

describe('GIVEN key columns', () => {
  const hash = (keyColumns: readonly number[], ...columns: readonly string[]): number => {
    const { events } = run([copyOut(columns.length + 3), row(5n, 1n, ...columns), COPY_END], columns.length, { keyColumns });
    return events[0]?.kind === 'row' ? events[0].hash : -1;
  };

  it('WHEN only other columns differ THEN the hash is the same', () => {
    expect(hash([0, 2], 'k', 'x', 'l')).toBe(hash([0, 2], 'k', 'something else', 'l'));
  });

  it('WHEN a key column differs THEN the hash differs', () => {
    expect(hash([0, 2], 'k', 'x', 'l')).not.toBe(hash([0, 2], 'k', 'x', 'm'));
  });

  it('WHEN a byte moves from one key column to the next THEN the hash differs', () => {
    expect(hash([0, 1], 'a', 'bc')).not.toBe(hash([0, 1], 'ab', 'c'));
  });

  it('WHEN there is no key THEN nothing is hashed', () => {
    expect([hash([], 'a', 'b'), hash([], 'x', 'b')]).toEqual([0, 0]);
  });

  it('WHEN a row ends before its last key column THEN it is malformed', () => {
    expect(failureOf('5\tf\t1\ta\n', 2, [1])).toMatch(/^1 source-protocol: Line 1 of the SUBSCRIBE is malformed/);
  });

  it('WHEN keys count up THEN each of the low and the high bits splits them evenly', () => {
    const hashes = Array.from({ length: 4096 }, (_, i) => hash([0], String(i)));
    for (const shift of [0, 26]) {
      const buckets = Array.from({ length: 64 }, () => 0);
      for (const value of hashes) buckets[(value >>> shift) & 63]! += 1;
      expect(Math.min(...buckets)).toBeGreaterThan(32);
      expect(Math.max(...buckets)).toBeLessThan(128);
    }
  });
});

describe('GIVEN two keys that differ in one bit', () => {
  it('WHEN they are hashed THEN each bit of the hash changes about half the time', () => {
    const changes = Array.from({ length: 32 }, () => 0);
    const keys = Array.from({ length: 400 }, (_, i) => `key ${i * 7919} `);
    const lines = keys.flatMap((key) => [row(1n, 1n, `${key}A`), row(1n, 1n, `${key}Q`)]);
    const { events } = run([copyOut(4), ...lines, COPY_END], 1, { keyColumns: [0] });
    const hashes = events.map((event) => (event.kind === 'row' ? event.hash : 0));
    for (let i = 0; i < keys.length; i++) {
      const difference = (hashes[i * 2] ?? 0) ^ (hashes[i * 2 + 1] ?? 0);
      for (let bit = 0; bit < 32; bit++) changes[bit]! += (difference >>> bit) & 1;
    }
    expect(Math.min(...changes)).toBeGreaterThan(140);
    expect(Math.max(...changes)).toBeLessThan(260);
  });
});

describe('GIVEN chunk limits', () => {
  const lines = (count: number): readonly Buffer[] => (
    Array.from({ length: count }, (_, i) => row(BigInt(i % 7) + 3n, 1n, `value ${i}`))
  );

  it('WHEN more rows come than fit THEN chunks are full, and each knows its own times', () => {
    const { chunks } = run([copyOut(4), ...lines(25), COPY_END], 1, { limits: { bytes: 1 << 16, rows: 10 } });
    expect(chunks.map((chunk) => chunk.rowCount)).toEqual([10, 10, 5]);
    expect(chunks.map((chunk) => [chunk.minTime, chunk.maxTime])).toEqual([[3n, 9n], [3n, 9n], [3n, 9n]]);
    expect(chunks.flatMap(rowsOf).map((flat) => flat.text)).toEqual(Array.from({ length: 25 }, (_, i) => `value ${i}`));
  });

  it('WHEN a row is longer than a chunk THEN it comes out whole, and later chunks are small again', () => {
    const huge = 'x'.repeat(5000);
    const { chunks } = run([copyOut(4), row(1n, 1n, 'a'), row(1n, 1n, huge), ...lines(3), COPY_END], 1,
      { limits: { bytes: 64, rows: 10 } });
    expect(chunks.flatMap(rowsOf).map((flat) => flat.text)).toEqual(['a', huge, 'value 0', 'value 1', 'value 2']);
    expect(chunks.at(-1)?.bytes.buffer.byteLength).toBeLessThan(64);
  });

  it('WHEN a chunk has been handed out THEN later rows do not change it, and it holds no more than was received', () => {
    const chunks: Parameters<Parameters<typeof createRowReader>[1]['rows']>[0][] = [];
    const reader = createRowReader({ columnCount: 1, keyColumns: [] }, { rows: (chunk) => chunks.push(chunk), progress() {} });
    const feed = (text: string): void => reader.take(Buffer.from(text), 0, text.length);
    feed('1\tf\t1\tfirst\n');
    feed('2\tt\t\\N\t\\N\n');
    const [first] = chunks;
    if (first === undefined) throw new Error('no chunk');
    const before = structuredClone(first);
    feed('2\tf\t-5\tsecond\n');
    reader.finish();
    expect(first).toEqual(before);
    expect(chunks.map((chunk) => rowsOf(chunk).map((flat) => flat.text))).toEqual([['first'], ['second']]);
    const received = '1\tf\t1\tfirst\n'.length;
    expect(chunkBytes(first)).toBe(received + 4 + 4 + 8 + 8 + 4);
    expect(first.bytes.buffer.byteLength).toBe(received);
  });

  it('WHEN a progress comes THEN the rows before it come first', () => {
    const { events } = run([copyOut(4), progress(1n, 1), row(1n, 1n, 'a'), progress(2n, 1), row(2n, 1n, 'b'), COPY_END], 1);
    expect(events.map((event) => event.kind)).toEqual(['progress', 'row', 'progress', 'row', 'closed']);
  });
});
